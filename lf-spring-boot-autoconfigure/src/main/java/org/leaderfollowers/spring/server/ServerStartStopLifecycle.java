package org.leaderfollowers.spring.server;

import org.apache.commons.logging.Log;
import org.apache.commons.logging.LogFactory;

import org.springframework.boot.thread.Threading;
import org.springframework.context.ApplicationContext;
import org.springframework.context.SmartLifecycle;
import org.springframework.util.Assert;

/**
 * {@link SmartLifecycle} that starts the servers of an application context when all its
 * beans are ready, and stops them after they have been drained. A server that cannot be
 * started fails the start of the context.
 */
public final class ServerStartStopLifecycle implements SmartLifecycle {

	private static final Log logger = LogFactory.getLog(ServerStartStopLifecycle.class);

	/**
	 * The phase of the web server.
	 */
	private static final int PHASE = SmartLifecycle.DEFAULT_PHASE - 2048;

	private final LeaderFollowersServers servers;

	private final LocalServerPorts ports;

	private final boolean virtualThreads;

	private volatile boolean running;

	/**
	 * Creates a new lifecycle.
	 * @param servers the servers to start and stop
	 * @param applicationContext whose environment tells the ports
	 */
	public ServerStartStopLifecycle(LeaderFollowersServers servers, ApplicationContext applicationContext) {
		Assert.notNull(servers, "'servers' must not be null");
		Assert.notNull(applicationContext, "'applicationContext' must not be null");
		this.servers = servers;
		this.ports = new LocalServerPorts(applicationContext);
		this.virtualThreads = Threading.VIRTUAL.isActive(applicationContext.getEnvironment());
	}

	@Override
	public void start() {
		if (this.virtualThreads && !this.servers.names().isEmpty()) {
			logger.info("Virtual threads are enabled, but the pools of the servers keep their platform threads: "
					+ "handlers may block on those as well");
		}
		this.servers.start((server) -> this.ports.set(server.name(), server.port()));
		this.running = true;
	}

	@Override
	public void stop() {
		this.running = false;
		this.servers.stop();
	}

	@Override
	public boolean isRunning() {
		return this.running;
	}

	@Override
	public int getPhase() {
		return PHASE;
	}

	/**
	 * A server whose port is chosen by the system would come back with another one.
	 */
	@Override
	public boolean isPauseable() {
		return false;
	}

}
