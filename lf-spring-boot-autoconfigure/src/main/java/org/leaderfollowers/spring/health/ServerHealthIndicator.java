package org.leaderfollowers.spring.health;

import java.util.function.Supplier;

import org.jspecify.annotations.Nullable;
import org.leaderfollowers.ServerSnapshot;
import org.leaderfollowers.ServerSnapshot.State;
import org.leaderfollowers.TransportType;

import org.springframework.boot.health.contributor.AbstractHealthIndicator;
import org.springframework.boot.health.contributor.Health;
import org.springframework.boot.health.contributor.HealthIndicator;
import org.springframework.boot.health.contributor.Status;
import org.springframework.util.Assert;

/**
 * {@link HealthIndicator} for a server.
 * <ul>
 * <li>{@link Status#DOWN}: it cannot accept new clients, because its listening socket has
 * failed or the system is out of descriptors or memory.</li>
 * <li>{@link Status#OUT_OF_SERVICE}: it has not been started yet, drains, or was stopped;
 * or it rejects every new client, because the maximum number of connections is open.</li>
 * <li>{@link Status#UP}: in all other cases. This includes a paused server: an operator
 * has asked for the pause, the port stays bound, and open connections are served.</li>
 * </ul>
 */
public final class ServerHealthIndicator extends AbstractHealthIndicator {

	private final Supplier<ServerSnapshot> snapshots;

	/**
	 * Creates a new indicator.
	 * @param snapshots takes snapshots of the server
	 */
	public ServerHealthIndicator(Supplier<ServerSnapshot> snapshots) {
		super("Health check of a Leader/Followers server failed");
		Assert.notNull(snapshots, "'snapshots' must not be null");
		this.snapshots = snapshots;
	}

	@Override
	protected void doHealthCheck(Health.Builder builder) {
		ServerSnapshot server = this.snapshots.get();
		builder.status(status(server));
		String reason = reason(server);
		if (reason != null) {
			builder.withDetail("reason", reason);
		}
		builder.withDetail("state", server.state())
			.withDetail("pool", server.pool())
			.withDetail("listening", server.listening())
			.withDetail("acceptingSuspended", server.acceptingSuspended())
			.withDetail("paused", server.paused());
		if (server.transport() == TransportType.TCP) {
			builder.withDetail("connections", new Connections(server.maxConnections(), server.openConnections()));
		}
	}

	private static Status status(ServerSnapshot server) {
		if (server.state() != State.RUNNING) {
			return Status.OUT_OF_SERVICE;
		}
		if (!server.listening() || server.acceptingSuspended()) {
			return Status.DOWN;
		}
		return isFull(server) ? Status.OUT_OF_SERVICE : Status.UP;
	}

	private static boolean isFull(ServerSnapshot server) {
		return server.transport() == TransportType.TCP && server.openConnections() >= server.maxConnections();
	}

	private static @Nullable String reason(ServerSnapshot server) {
		return switch (server.state()) {
			case NEW -> "The server has not been started yet";
			case DRAINING ->
				"The server is draining: it accepts nothing new, and answers the messages that it " + "has received";
			case STOPPED -> "The server is stopped";
			case RUNNING -> reasonOfRunning(server);
		};
	}

	private static @Nullable String reasonOfRunning(ServerSnapshot server) {
		if (!server.listening()) {
			return "The server no longer listens, because its socket has failed: " + server.listeningFailure();
		}
		if (server.acceptingSuspended()) {
			return (server.transport() == TransportType.TCP)
					? "The server cannot accept connections now: usually the system is out of descriptors or memory, or the connections hold most of max-buffered-size. It retries"
					: "The server cannot receive datagrams now: usually the system is out of descriptors or memory. It retries";
		}
		if (server.paused()) {
			return "The server is paused: it accepts nothing new until it is resumed";
		}
		return isFull(server)
				? "The server rejects new connections, because %d are open, which is the maximum (max-connections)"
					.formatted(server.openConnections())
				: reasonOfWaiting(server);
	}

	/** Why new clients wait, although the server accepts them sooner or later. */
	private static @Nullable String reasonOfWaiting(ServerSnapshot server) {
		ServerSnapshot.Tls tls = server.tls();
		if (tls != null && tls.maxHandshakes() > 0 && tls.pendingHandshakes() >= tls.maxHandshakes()) {
			return "New connections wait, because %d TLS handshakes are under way, which is the maximum (ssl.max-handshakes)"
				.formatted(tls.pendingHandshakes());
		}
		ServerSnapshot.Datagrams datagrams = server.datagrams();
		if (datagrams != null && datagrams.inFlight() >= datagrams.maxInFlight()) {
			return "New datagrams wait, because %d are being handled or suspended, which is the maximum (udp.max-in-flight)"
				.formatted(datagrams.inFlight());
		}
		return null;
	}

	/**
	 * The connections of a server.
	 *
	 * @param max how many may be open
	 * @param open how many are open
	 */
	public record Connections(int max, int open) {
	}

}
