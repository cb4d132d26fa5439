package org.leaderfollowers.spring.server;

import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;

import org.apache.commons.logging.Log;
import org.apache.commons.logging.LogFactory;
import org.jspecify.annotations.Nullable;
import org.leaderfollowers.CloseRate;
import org.leaderfollowers.Server;

import org.springframework.boot.availability.ApplicationAvailability;
import org.springframework.boot.availability.AvailabilityChangeEvent;
import org.springframework.boot.availability.ReadinessState;
import org.springframework.boot.thread.Threading;
import org.springframework.context.ApplicationContext;
import org.springframework.context.SmartLifecycle;
import org.springframework.core.env.ConfigurableEnvironment;
import org.springframework.core.env.MapPropertySource;
import org.springframework.core.env.MutablePropertySources;
import org.springframework.util.Assert;

/**
 * {@link SmartLifecycle} of the servers of an application context. There is one object
 * for each phase of the shutdown, in this order: {@link #readiness readiness},
 * {@link #gracefulShutdown graceful shutdown}, {@link #startStop stop}.
 */
public abstract class ServerLifecycle implements SmartLifecycle {

	private static final Log logger = LogFactory.getLog(ServerLifecycle.class);

	/** The phase in which the web server is started and stopped. */
	private static final int START_STOP_PHASE = SmartLifecycle.DEFAULT_PHASE - 2048;

	/**
	 * The phase in which the web server is drained, so that both are drained at the same
	 * time.
	 */
	private static final int GRACEFUL_SHUTDOWN_PHASE = SmartLifecycle.DEFAULT_PHASE - 1024;

	/** Stopped before the servers are drained, and started after them. */
	private static final int READINESS_PHASE = GRACEFUL_SHUTDOWN_PHASE + 512;

	final LeaderFollowersServers servers;

	private final int phase;

	private volatile boolean running;

	private ServerLifecycle(LeaderFollowersServers servers, int phase) {
		Assert.notNull(servers, "'servers' must not be null");
		this.servers = servers;
		this.phase = phase;
	}

	/**
	 * Starts the servers when all beans of the context are ready, and stops them after
	 * they have been drained. A server that cannot be started fails the start of the
	 * context.
	 * @param servers the servers to start and stop
	 * @param applicationContext the context whose environment receives the ports:
	 * {@code local.lf.servers.<name>.port}, and for the server {@code default} also
	 * {@code local.lf.server.port}
	 * @return the lifecycle
	 */
	public static ServerLifecycle startStop(LeaderFollowersServers servers, ApplicationContext applicationContext) {
		Assert.notNull(applicationContext, "'applicationContext' must not be null");
		return new StartStop(servers, applicationContext);
	}

	/**
	 * Drains the servers before they are stopped: they accept no connections, and answer
	 * every message that was received. This takes at most as long as the shutdown phase
	 * ({@code spring.lifecycle.timeout-per-shutdown-phase}).
	 * @param servers the servers to drain
	 * @return the lifecycle
	 */
	public static ServerLifecycle gracefulShutdown(LeaderFollowersServers servers) {
		return new GracefulShutdown(servers, new GradualShutdown(null, Duration.ZERO));
	}

	/**
	 * Drains the connections of the servers gradually before they are stopped. When four
	 * fifths of the phase are over, the rest drains at once.
	 * @param servers the servers to drain
	 * @param closeRate how many connections of each server are told to end, at most
	 * @param timeout how long the shutdown phase takes at most
	 * @return the lifecycle
	 */
	public static ServerLifecycle gracefulShutdown(LeaderFollowersServers servers, CloseRate closeRate,
			Duration timeout) {
		Assert.notNull(closeRate, "'closeRate' must not be null");
		Assert.notNull(timeout, "'timeout' must not be null");
		return new GracefulShutdown(servers, new GradualShutdown(closeRate, timeout));
	}

	/**
	 * Makes the application refuse traffic before its servers are drained, by publishing
	 * {@link ReadinessState#REFUSING_TRAFFIC}. During an optional delay, the servers
	 * still serve their clients, so that load balancers can notice the change and send
	 * their clients elsewhere. A web server also continues to serve during the delay,
	 * including the readiness probe.
	 * @param servers the servers that will be drained
	 * @param delay how long to continue to serve after readiness has gone down, or
	 * {@link Duration#ZERO}. It must be shorter than a shutdown phase
	 * @param applicationContext the context to publish in
	 * @return the lifecycle
	 */
	public static ServerLifecycle readiness(LeaderFollowersServers servers, Duration delay,
			ApplicationContext applicationContext) {
		Assert.notNull(delay, "'delay' must not be null");
		Assert.notNull(applicationContext, "'applicationContext' must not be null");
		return new Readiness(servers, delay, applicationContext);
	}

	@Override
	public void start() {
		this.running = true;
	}

	@Override
	public void stop() {
		stop(() -> {
		});
	}

	@Override
	public void stop(Runnable callback) {
		this.running = false;
	}

	@Override
	public boolean isRunning() {
		return this.running;
	}

	@Override
	public int getPhase() {
		return this.phase;
	}

	/**
	 * A server whose port is chosen by the system would get a different port after the
	 * pause.
	 */
	@Override
	public boolean isPauseable() {
		return false;
	}

	private static final class StartStop extends ServerLifecycle {

		private static final String PORTS = "lf.server.ports";

		private final ApplicationContext applicationContext;

		private StartStop(LeaderFollowersServers servers, ApplicationContext applicationContext) {
			super(servers, START_STOP_PHASE);
			// Done now, so that mistakes are found before anything is started.
			servers.prepare();
			this.applicationContext = applicationContext;
		}

		@Override
		public void start() {
			if (Threading.VIRTUAL.isActive(this.applicationContext.getEnvironment())
					&& !this.servers.names().isEmpty()) {
				logger.info("Virtual threads are enabled, but the pools of the servers keep their platform threads: "
						+ "handlers may block on those as well");
			}
			this.servers.start(this::publishPort);
			super.start();
		}

		private void publishPort(Server server) {
			for (ApplicationContext context = this.applicationContext; context != null; context = context.getParent()) {
				if (context.getEnvironment() instanceof ConfigurableEnvironment environment) {
					Map<String, Object> ports = ports(environment.getPropertySources());
					ports.put("local.lf.servers." + server.name() + ".port", server.port());
					if (server.name().equals("default")) {
						ports.put("local.lf.server.port", server.port());
					}
				}
			}
		}

		private static Map<String, Object> ports(MutablePropertySources sources) {
			if (sources.get(PORTS) instanceof MapPropertySource ports) {
				return ports.getSource();
			}
			Map<String, Object> ports = new ConcurrentHashMap<>();
			sources.addFirst(new MapPropertySource(PORTS, ports));
			return ports;
		}

		@Override
		public void stop(Runnable callback) {
			super.stop(callback);
			List<Thread> publishing = this.servers.stop();
			if (publishing.isEmpty()) {
				callback.run();
				return;
			}
			// In another thread: if a listener blocks, the phase still ends in time.
			DrainThreads.run("lf-shutdown-events", () -> join(publishing, callback), callback);
		}

		private static void join(List<Thread> threads, Runnable callback) {
			try {
				for (Thread thread : threads) {
					thread.join();
				}
			}
			catch (InterruptedException ex) {
				Thread.currentThread().interrupt();
			}
			finally {
				callback.run();
			}
		}

	}

	private static final class GracefulShutdown extends ServerLifecycle {

		private final GradualShutdown shutdown;

		private GracefulShutdown(LeaderFollowersServers servers, GradualShutdown shutdown) {
			super(servers, GRACEFUL_SHUTDOWN_PHASE);
			this.shutdown = shutdown;
		}

		@Override
		public void stop(Runnable callback) {
			super.stop(callback);
			this.shutdown.drain(this.servers.serving(), callback);
		}

	}

	private static final class Readiness extends ServerLifecycle {

		private final Duration delay;

		private final ApplicationContext applicationContext;

		private final @Nullable ApplicationAvailability availability;

		/** Whether this object has published the refusal. */
		private volatile boolean refusing;

		private Readiness(LeaderFollowersServers servers, Duration delay, ApplicationContext applicationContext) {
			super(servers, READINESS_PHASE);
			this.delay = delay;
			this.applicationContext = applicationContext;
			this.availability = applicationContext.getBeanProvider(ApplicationAvailability.class).getIfUnique();
			servers.onEvacuation(this::refuseTraffic);
		}

		@Override
		public void start() {
			super.start();
			// At the first start, the application itself reports when it is ready.
			if (this.refusing) {
				this.refusing = false;
				AvailabilityChangeEvent.publish(this.applicationContext, ReadinessState.ACCEPTING_TRAFFIC);
			}
		}

		@Override
		public void stop(Runnable callback) {
			super.stop(callback);
			if (!this.servers.isAnyRunning()) {
				callback.run();
				return;
			}
			refuseTraffic();
			if (this.delay.isZero()) {
				callback.run();
				return;
			}
			logger.info("Readiness is down. Serving for another %s ms until draining begins"
				.formatted(this.delay.toMillis()));
			Runnable serving = () -> serve(callback);
			DrainThreads.run("lf-shutdown-delay", serving, serving);
		}

		/** Called by the thread that stops the context, or that evacuates a server. */
		private synchronized void refuseTraffic() {
			if (this.availability == null
					|| this.availability.getReadinessState() == ReadinessState.ACCEPTING_TRAFFIC) {
				this.refusing = true;
				AvailabilityChangeEvent.publish(this.applicationContext, ReadinessState.REFUSING_TRAFFIC);
			}
		}

		private void serve(Runnable callback) {
			try {
				TimeUnit.NANOSECONDS.sleep(this.delay.toNanos());
			}
			catch (InterruptedException ex) {
				Thread.currentThread().interrupt();
			}
			finally {
				callback.run();
			}
		}

	}

}
