package org.leaderfollowers.spring.autoconfigure;

import java.util.function.ToDoubleFunction;

import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.Tags;
import io.micrometer.core.instrument.binder.BaseUnits;
import io.micrometer.core.instrument.binder.MeterBinder;
import org.leaderfollowers.ClientSnapshot;
import org.leaderfollowers.ClientSnapshot.Outcome;
import org.leaderfollowers.ClientSnapshot.State;
import org.leaderfollowers.TcpClient;
import org.leaderfollowers.spring.client.LeaderFollowersClients;

import org.springframework.util.Assert;

/**
 * Meters of the clients of an application context. A registry that reads them causes a
 * snapshot.
 */
final class ClientMetrics implements MeterBinder, AutoCloseable {

	private final LeaderFollowersClients clients;

	private final Meters meters = new Meters();

	/**
	 * Creates new metrics.
	 * @param clients the clients to measure
	 */
	ClientMetrics(LeaderFollowersClients clients) {
		Assert.notNull(clients, "'clients' must not be null");
		this.clients = clients;
	}

	/**
	 * Registers the meters of all clients. Further registries can follow. Binding the
	 * same registry again has no effect.
	 */
	@Override
	public void bindTo(MeterRegistry registry) {
		if (this.meters.bindTo(registry)) {
			this.clients.forEach((client) -> bind(
					this.meters.of(registry, () -> client, TcpClient::snapshot, Tags.of("client", client.name()))));
		}
	}

	private static void bind(Meters.Reader<TcpClient, ClientSnapshot> client) {
		for (Outcome outcome : Outcome.values()) {
			client.and("outcome", Meters.tag(outcome))
				.counter("lf.client.exchanges.ended", "Exchanges that have ended, by outcome",
						(now) -> now.exchanges().getOrDefault(outcome, 0L));
		}
		client.gauge("lf.client.exchanges.pending", "Exchanges that wait for their replies", ClientSnapshot::inFlight);
		client.gauge("lf.client.exchanges.waiting", "Callers that wait for a connection with a free place",
				ClientSnapshot::waiting);
		client.counter("lf.client.replies.late", "Replies that came after their exchange had ended",
				ClientSnapshot::lateReplies);
		client.counter("lf.client.messages.unexpected", "Messages that were not the reply to a request",
				ClientSnapshot::unexpectedMessages);
		client.gauge("lf.client.running", "Whether the client accepts requests: 1 or 0",
				(now) -> (now.state() == State.RUNNING) ? 1 : 0);
		client.gauge("lf.client.connections", "Connections that are established", ClientSnapshot::connected);
		client.gauge("lf.client.connections.max", "Connections that the client keeps open",
				ClientSnapshot::connections);
		client.gauge("lf.client.addresses.failing", "Addresses that could not be reached at the latest attempt",
				(now) -> now.addresses().stream().filter((address) -> !address.reachable()).count());
		connects(client, "success", ClientSnapshot::connects);
		connects(client, "failure", ClientSnapshot::failedConnects);
		client.counter("lf.client.disconnects", "Connections that have ended", ClientSnapshot::disconnects);
		bytes(client, "received", ClientSnapshot::receivedBytes);
		bytes(client, "sent", ClientSnapshot::sentBytes);
	}

	private static void connects(Meters.Reader<TcpClient, ClientSnapshot> client, String outcome,
			ToDoubleFunction<ClientSnapshot> number) {
		client.and("outcome", outcome)
			.counter("lf.client.connects", "Attempts to establish a connection, by outcome", number);
	}

	private static void bytes(Meters.Reader<TcpClient, ClientSnapshot> client, String direction,
			ToDoubleFunction<ClientSnapshot> number) {
		client.and("direction", direction)
			.counter("lf.client.bytes", BaseUnits.BYTES, "Data that was received or sent, framing included", number);
	}

	/**
	 * Removes the meters.
	 */
	@Override
	public void close() {
		this.meters.remove();
	}

}
