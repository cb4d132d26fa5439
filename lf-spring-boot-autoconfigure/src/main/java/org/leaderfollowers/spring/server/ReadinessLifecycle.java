package org.leaderfollowers.spring.server;

import java.time.Duration;
import java.util.concurrent.TimeUnit;

import org.apache.commons.logging.Log;
import org.apache.commons.logging.LogFactory;
import org.jspecify.annotations.Nullable;

import org.springframework.boot.availability.ApplicationAvailability;
import org.springframework.boot.availability.AvailabilityChangeEvent;
import org.springframework.boot.availability.ReadinessState;
import org.springframework.context.ApplicationContext;
import org.springframework.context.SmartLifecycle;
import org.springframework.util.Assert;

/**
 * {@link SmartLifecycle} that lets the application refuse traffic before its servers are
 * drained: {@link ReadinessState#REFUSING_TRAFFIC} is published, and then there may be a
 * delay in which everything is still served, so that load balancers can notice and send
 * their clients elsewhere. Where there is a web server, it also serves until the delay
 * has passed, which includes the readiness probe.
 */
public final class ReadinessLifecycle implements SmartLifecycle {

	private static final Log logger = LogFactory.getLog(ReadinessLifecycle.class);

	/**
	 * Stopped before the servers are drained, and started after them.
	 */
	private static final int PHASE = ServerGracefulShutdownLifecycle.PHASE + 512;

	private final LeaderFollowersServers servers;

	private final Duration delay;

	private final ApplicationContext applicationContext;

	private final @Nullable ApplicationAvailability availability;

	/** Whether it was this object that turned traffic away. */
	private boolean refusing;

	private volatile boolean running;

	/**
	 * Creates a new lifecycle.
	 * @param servers the servers that will be drained
	 * @param delay how long to go on serving when readiness is down, or
	 * {@link Duration#ZERO}. No more than a shutdown phase may take
	 * @param applicationContext where to publish
	 */
	public ReadinessLifecycle(LeaderFollowersServers servers, Duration delay, ApplicationContext applicationContext) {
		Assert.notNull(servers, "'servers' must not be null");
		Assert.notNull(delay, "'delay' must not be null");
		Assert.notNull(applicationContext, "'applicationContext' must not be null");
		this.servers = servers;
		this.delay = delay;
		this.applicationContext = applicationContext;
		this.availability = applicationContext.getBeanProvider(ApplicationAvailability.class).getIfUnique();
	}

	@Override
	public void start() {
		this.running = true;
		// The first time, the application says itself when it is ready.
		if (this.refusing) {
			this.refusing = false;
			AvailabilityChangeEvent.publish(this.applicationContext, ReadinessState.ACCEPTING_TRAFFIC);
		}
	}

	@Override
	public void stop() {
		throw new UnsupportedOperationException("The delay takes a callback");
	}

	@Override
	public void stop(Runnable callback) {
		this.running = false;
		if (!this.servers.isAnyRunning()) {
			callback.run();
			return;
		}
		if (this.availability == null || this.availability.getReadinessState() == ReadinessState.ACCEPTING_TRAFFIC) {
			this.refusing = true;
			AvailabilityChangeEvent.publish(this.applicationContext, ReadinessState.REFUSING_TRAFFIC);
		}
		if (this.delay.isZero()) {
			callback.run();
			return;
		}
		logger.info(
				"Readiness is down. Serving for another %s ms until draining begins".formatted(this.delay.toMillis()));
		Thread thread = new Thread(() -> {
			try {
				TimeUnit.NANOSECONDS.sleep(this.delay.toNanos());
			}
			catch (InterruptedException ex) {
				Thread.currentThread().interrupt();
			}
			finally {
				callback.run();
			}
		}, "lf-shutdown-delay");
		thread.setDaemon(true);
		thread.start();
	}

	@Override
	public boolean isRunning() {
		return this.running;
	}

	@Override
	public int getPhase() {
		return PHASE;
	}

	@Override
	public boolean isPauseable() {
		return false;
	}

}
