package org.leaderfollowers.sample.frontend;

import java.time.Duration;
import java.time.temporal.ChronoUnit;

import org.jspecify.annotations.Nullable;
import org.leaderfollowers.CloseRate;
import org.leaderfollowers.Server;
import org.leaderfollowers.TcpClient;
import org.leaderfollowers.TcpServer;
import org.leaderfollowers.sample.Tiers;
import org.leaderfollowers.spring.autoconfigure.LfProperties;
import org.leaderfollowers.spring.client.LeaderFollowersClients;
import org.leaderfollowers.spring.server.LeaderFollowersServers;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

import org.springframework.beans.factory.annotation.Value;
import org.springframework.context.SmartLifecycle;
import org.springframework.context.annotation.Profile;
import org.springframework.stereotype.Component;

/**
 * Drains the front end before all other servers. If back ends in the same process were
 * drained at the same time, they would reject orders of the front end.
 */
@Component
@Profile(Tiers.FRONT_END)
class FrontEndShutdown implements SmartLifecycle {

	/**
	 * After readiness has gone down, and before the phase in which servers are drained,
	 * {@code DEFAULT_PHASE - 1024}.
	 */
	private static final int PHASE = DEFAULT_PHASE - 1024 + 256;

	/** If the drain takes longer than a phase, the next phase ends it. */
	private static final Duration UNLIMITED = ChronoUnit.FOREVER.getDuration();

	private static final Logger logger = LoggerFactory.getLogger(FrontEndShutdown.class);

	private final LeaderFollowersServers servers;

	private final LeaderFollowersClients clients;

	private final @Nullable CloseRate closeRate;

	/** Leaves a fifth of the phase for the replies to connections that come last. */
	private final Duration gradual;

	private volatile boolean running;

	FrontEndShutdown(LeaderFollowersServers servers, LeaderFollowersClients clients, LfProperties properties,
			@Value("${spring.lifecycle.timeout-per-shutdown-phase:30s}") Duration phase) {
		this.servers = servers;
		this.clients = clients;
		this.closeRate = properties.shutdown().closeRate();
		this.gradual = phase.multipliedBy(4).dividedBy(5);
	}

	@Override
	public void start() {
		this.running = true;
	}

	@Override
	public void stop(Runnable callback) {
		this.running = false;
		Thread thread = new Thread(() -> {
			try {
				drain();
			}
			finally {
				callback.run();
			}
		}, "front-end-shutdown");
		thread.setDaemon(true);
		thread.start();
	}

	private void drain() {
		Server server = this.servers.get("default");
		logger.info("Draining the front end, before the back ends");
		boolean drained = this.closeRate != null && server instanceof TcpServer frontEnd
				&& frontEnd.evacuate(this.closeRate) && frontEnd.awaitDrained(this.gradual);
		if (!drained) {
			server.drain(UNLIMITED);
		}
		// Otherwise the clients would reconnect when the back ends close their
		// connections.
		this.clients.forEach(TcpClient::close);
	}

	@Override
	public void stop() {
		stop(() -> {
		});
	}

	@Override
	public boolean isRunning() {
		return this.running;
	}

	@Override
	public int getPhase() {
		return PHASE;
	}

	/** The servers keep running during a pause. */
	@Override
	public boolean isPauseable() {
		return false;
	}

}
