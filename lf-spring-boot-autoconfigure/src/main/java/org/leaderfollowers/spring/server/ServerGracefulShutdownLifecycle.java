package org.leaderfollowers.spring.server;

import org.springframework.context.SmartLifecycle;
import org.springframework.util.Assert;

/**
 * {@link SmartLifecycle} that drains the servers of an application context before they
 * are stopped: no connection is accepted any more, and every message that was received is
 * answered. This takes as long as the shutdown phase may take
 * ({@code spring.lifecycle.timeout-per-shutdown-phase}).
 */
public final class ServerGracefulShutdownLifecycle implements SmartLifecycle {

	/**
	 * The phase of the web server, so that both are drained at the same time.
	 */
	static final int PHASE = SmartLifecycle.DEFAULT_PHASE - 1024;

	private final LeaderFollowersServers servers;

	private volatile boolean running;

	/**
	 * Creates a new lifecycle.
	 * @param servers the servers to drain
	 */
	public ServerGracefulShutdownLifecycle(LeaderFollowersServers servers) {
		Assert.notNull(servers, "'servers' must not be null");
		this.servers = servers;
	}

	@Override
	public void start() {
		this.running = true;
	}

	@Override
	public void stop() {
		throw new UnsupportedOperationException("Draining takes a callback");
	}

	@Override
	public void stop(Runnable callback) {
		this.running = false;
		this.servers.drain(callback);
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
