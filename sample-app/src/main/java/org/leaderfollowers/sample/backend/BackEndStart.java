package org.leaderfollowers.sample.backend;

import java.util.stream.Stream;

import org.leaderfollowers.ServerSnapshot.State;
import org.leaderfollowers.sample.Tiers;
import org.leaderfollowers.spring.server.LeaderFollowersServers;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

import org.springframework.context.SmartLifecycle;
import org.springframework.context.annotation.Profile;
import org.springframework.stereotype.Component;

/**
 * Starts the back ends before a front end in the same process connects to them. Clients
 * are started before servers, so their first attempts to connect would fail otherwise.
 */
@Component
@Profile(Tiers.FRONT_END)
class BackEndStart implements SmartLifecycle {

	/** Before the clients, whose phase is {@code DEFAULT_PHASE - 2048 - 512}. */
	private static final int PHASE = DEFAULT_PHASE - 2048 - 1024;

	private static final Logger logger = LoggerFactory.getLogger(BackEndStart.class);

	private final LeaderFollowersServers servers;

	private volatile boolean running;

	BackEndStart(LeaderFollowersServers servers) {
		this.servers = servers;
	}

	@Override
	public void start() {
		Stream.of("backend1", "backend2")
			.filter(this.servers.names()::contains)
			.map(this.servers::get)
			.forEach((server) -> {
				// A server that was stopped is built again when the others are started.
				if (server.snapshot().state() == State.NEW) {
					server.start();
					logger.info("Back end '{}' started on port {}", server.name(), server.port());
				}
			});
		this.running = true;
	}

	@Override
	public void stop() {
		this.running = false;
	}

	@Override
	public boolean isRunning() {
		return this.running;
	}

	@Override
	public int getPhase() {
		return PHASE;
	}

}
