package org.leaderfollowers.spring.health;

import java.util.function.Supplier;

import org.jspecify.annotations.Nullable;
import org.leaderfollowers.ClientSnapshot;
import org.leaderfollowers.ClientSnapshot.State;

import org.springframework.boot.health.contributor.AbstractHealthIndicator;
import org.springframework.boot.health.contributor.Health;
import org.springframework.boot.health.contributor.HealthIndicator;
import org.springframework.boot.health.contributor.Status;

/**
 * {@link HealthIndicator} for a client.
 * <ul>
 * <li>{@link Status#DOWN}: it has no connection, so requests wait for one or are
 * rejected.</li>
 * <li>{@link Status#OUT_OF_SERVICE}: it has not been started yet, or was closed.</li>
 * <li>{@link Status#UP}: it has a connection. The details show which of its addresses are
 * failing.</li>
 * <li>{@link Status#UNKNOWN}: replaces the first two if the application can work without
 * the client.</li>
 * </ul>
 */
final class ClientHealthIndicator extends AbstractHealthIndicator {

	private final Supplier<ClientSnapshot> snapshots;

	private final boolean optional;

	/**
	 * Creates a new indicator.
	 * @param snapshots takes snapshots of the client
	 * @param optional whether the application can work without it
	 */
	ClientHealthIndicator(Supplier<ClientSnapshot> snapshots, boolean optional) {
		super("Health check of a Leader/Followers client failed");
		this.snapshots = snapshots;
		this.optional = optional;
	}

	@Override
	protected void doHealthCheck(Health.Builder builder) {
		ClientSnapshot client = this.snapshots.get();
		String reason = reason(client);
		builder.status((reason == null) ? Status.UP : this.optional ? Status.UNKNOWN
				: (client.state() == State.RUNNING) ? Status.DOWN : Status.OUT_OF_SERVICE);
		if (reason != null) {
			builder.withDetail("reason", reason);
		}
		builder.withDetail("state", client.state())
			.withDetail("pool", client.pool())
			.withDetail("optional", this.optional)
			.withDetail("connections", new ServerHealthIndicator.Connections(client.connections(), client.connected()))
			.withDetail("addresses", client.addresses());
	}

	private static @Nullable String reason(ClientSnapshot client) {
		return switch (client.state()) {
			case NEW -> "The client has not been started yet";
			case CLOSING -> "The client is closing: it accepts no more requests";
			case CLOSED -> "The client is closed";
			case RUNNING ->
				(client.connected() > 0) ? null : "The client is connected to none of its addresses. It retries";
		};
	}

}
