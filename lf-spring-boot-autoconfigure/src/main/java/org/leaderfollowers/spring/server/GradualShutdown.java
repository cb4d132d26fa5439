package org.leaderfollowers.spring.server;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;

import org.apache.commons.logging.Log;
import org.apache.commons.logging.LogFactory;
import org.jspecify.annotations.Nullable;
import org.leaderfollowers.CloseRate;
import org.leaderfollowers.Server;
import org.leaderfollowers.ServerSnapshot;
import org.leaderfollowers.TcpServer;
import org.leaderfollowers.spring.internal.Printable;

/**
 * Drains servers during the shutdown of the application: at a rate, if there is one and
 * the time is enough. Connections that have not been told when four fifths of the time
 * are over drain at once, so that the last fifth is left for their replies.
 *
 * @param rate how many connections are told to end, or {@code null} to drain all at once
 * @param timeout how long the shutdown waits for the drain
 */
record GradualShutdown(@Nullable CloseRate rate, Duration timeout) {

	private static final Log logger = LogFactory.getLog(LeaderFollowersServers.class);

	/**
	 * Drains servers at the same time.
	 * @param servers the servers that may have unanswered messages
	 * @param callback runs when all of them are drained or have been stopped meanwhile
	 */
	void drain(List<ManagedServer> servers, Runnable callback) {
		drain(servers, callback, DrainThreads::run);
	}

	/** Starts threads, see {@link DrainThreads#run}. */
	@FunctionalInterface
	interface Threads {

		void run(String name, Runnable task, Runnable otherwise);

	}

	void drain(List<ManagedServer> servers, Runnable callback, Threads threads) {
		if (servers.isEmpty()) {
			callback.run();
			return;
		}
		logger.info("Commencing graceful shutdown. Waiting for the messages received to be answered");
		AtomicInteger left = new AtomicInteger(servers.size());
		AtomicBoolean drained = new AtomicBoolean(true);
		long lossesBefore = losses(servers);
		Runnable ended = () -> {
			if (left.decrementAndGet() == 0) {
				try {
					logger.info(drained.get() ? complete(losses(servers) - lossesBefore)
							: "Graceful shutdown aborted with one or more connections still open");
				}
				finally {
					callback.run();
				}
			}
		};
		List<Runnable> later = new ArrayList<>();
		for (ManagedServer server : servers) {
			threads.run("lf-shutdown-" + server.name(), () -> drain(server, ManagedServer.UNLIMITED, drained, ended),
					() -> {
						// All servers begin before the first one is waited for.
						server.current().drain(Duration.ZERO);
						later.add(() -> drain(server, this.timeout, drained, ended));
					});
		}
		later.forEach(Runnable::run);
	}

	/**
	 * Claims no more than the servers know: they do not know of replies that nobody has
	 * announced.
	 */
	private static String complete(long losses) {
		return (losses > 0)
				? "Graceful shutdown complete, but connections have failed meanwhile and may have lost replies: %d"
					.formatted(losses)
				: "Graceful shutdown complete: all messages received were handled, and all announced replies were sent";
	}

	/** How many connections were closed although replies may have waited. */
	private static long losses(List<ManagedServer> servers) {
		return servers.stream()
			.flatMap((server) -> server.current().snapshot().closedConnections().entrySet().stream())
			.filter((closed) -> !closed.getKey().isGraceful())
			.mapToLong(Map.Entry::getValue)
			.sum();
	}

	private void drain(ManagedServer server, Duration limit, AtomicBoolean drained, Runnable ended) {
		boolean complete = false;
		try {
			complete = drain(server.current(), limit);
		}
		finally {
			if (!complete) {
				drained.set(false);
			}
			ended.run();
		}
	}

	/**
	 * Drains a server.
	 * @return whether everything was answered. Other threads that stop the server end the
	 * wait
	 */
	private boolean drain(Server server, Duration limit) {
		if (this.rate == null || !(server instanceof TcpServer tcpServer)) {
			return server.drain(limit);
		}
		Duration gradual = this.timeout.multipliedBy(4).dividedBy(5);
		announce(server, this.rate, gradual);
		if (tcpServer.evacuate(this.rate) && server.awaitDrained(gradual)) {
			return true;
		}
		ServerSnapshot.Evacuation evacuation = server.snapshot().evacuation();
		if (evacuation != null && server.snapshot().state() == ServerSnapshot.State.DRAINING) {
			logger.warn(Printable
				.of("Server '%s' drains its last %d connections at once, because the shutdown leaves no time to do so gradually"
					.formatted(server.name(), evacuation.left())));
		}
		return server.drain(limit) && server.awaitDrained(Duration.ZERO);
	}

	private void announce(Server server, CloseRate rate, Duration gradual) {
		int connections = server.snapshot().openConnections();
		Duration needed = rate.timeFor(connections);
		if (needed.compareTo(gradual) > 0) {
			logger.warn(Printable.of(("Server '%s' would take at least %d s to close %d connections at the rate of "
					+ "'lf.shutdown.close-rate' (%s), but has %d s, four fifths of "
					+ "'spring.lifecycle.timeout-per-shutdown-phase'. The rest will drain at once. Raise one of them")
				.formatted(server.name(), needed.toSeconds(), connections, rate, gradual.toSeconds())));
		}
		else if (connections > 0) {
			logger.info(Printable.of("Server '%s' closes %d connections gradually, at most %s: this takes at least %d s"
				.formatted(server.name(), connections, rate, needed.toSeconds())));
		}
	}

}
