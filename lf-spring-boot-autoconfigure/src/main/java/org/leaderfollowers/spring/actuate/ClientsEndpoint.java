package org.leaderfollowers.spring.actuate;

import java.time.Instant;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

import org.jspecify.annotations.Nullable;
import org.leaderfollowers.ClientSnapshot;
import org.leaderfollowers.TcpClient;
import org.leaderfollowers.spring.client.LeaderFollowersClients;

import org.springframework.boot.actuate.endpoint.Access;
import org.springframework.boot.actuate.endpoint.OperationResponseBody;
import org.springframework.boot.actuate.endpoint.annotation.Endpoint;
import org.springframework.boot.actuate.endpoint.annotation.ReadOperation;
import org.springframework.boot.actuate.endpoint.annotation.Selector;
import org.springframework.util.Assert;

/**
 * {@link Endpoint @Endpoint} that shows what the clients of the application are doing.
 */
@Endpoint(id = "lfclients", defaultAccess = Access.READ_ONLY)
public class ClientsEndpoint {

	private final LeaderFollowersClients clients;

	/**
	 * Creates a new endpoint.
	 * @param clients the clients to show
	 */
	public ClientsEndpoint(LeaderFollowersClients clients) {
		Assert.notNull(clients, "'clients' must not be null");
		this.clients = clients;
	}

	/**
	 * Shows all clients.
	 * @return the clients, by name
	 */
	@ReadOperation
	public ClientsDescriptor clients() {
		Instant time = Instant.now();
		Map<String, ClientDescriptor> described = new LinkedHashMap<>();
		for (TcpClient client : this.clients) {
			described.put(client.name(), describe(client));
		}
		return new ClientsDescriptor(time, described);
	}

	/**
	 * Shows one client.
	 * @param client the name of the client
	 * @return the client, or {@code null} if there is none of this name
	 */
	@ReadOperation
	public @Nullable ClientDescriptor client(@Selector String client) {
		return this.clients.names().contains(client) ? describe(this.clients.get(client)) : null;
	}

	private ClientDescriptor describe(TcpClient client) {
		return ClientDescriptor.of(client.snapshot(), this.clients.isOptional(client.name()));
	}

	/**
	 * The clients of the application. Each is looked at once, one right after the other.
	 *
	 * @param time when this was
	 * @param clients the clients, by name
	 */
	public record ClientsDescriptor(Instant time,
			Map<String, ClientDescriptor> clients) implements OperationResponseBody {
	}

	/**
	 * A client.
	 *
	 * @param state how far its life is
	 * @param pool the name of its pool
	 * @param optional whether the application does without it
	 * @param addresses the addresses that it connects to
	 * @param connections its connections
	 * @param exchanges its exchanges
	 * @param receivedBytes how much was read, framing included
	 * @param sentBytes how much was accepted for sending, framing included
	 */
	public record ClientDescriptor(ClientSnapshot.State state, String pool, boolean optional,
			List<AddressDescriptor> addresses, ConnectionsDescriptor connections, ExchangesDescriptor exchanges,
			long receivedBytes, long sentBytes) implements OperationResponseBody {

		static ClientDescriptor of(ClientSnapshot client, boolean optional) {
			return new ClientDescriptor(client.state(), client.pool(), optional,
					client.addresses().stream().map(AddressDescriptor::of).toList(),
					new ConnectionsDescriptor(client.connections(), client.connected(), client.connects(),
							client.disconnects(), client.failedConnects()),
					new ExchangesDescriptor(client.inFlight(), client.waiting(), client.exchanges(),
							client.lateReplies(), client.unexpectedMessages()),
					client.receivedBytes(), client.sentBytes());
		}

	}

	/**
	 * An address of the peer.
	 *
	 * @param address host and port, as they were configured
	 * @param reachable whether the latest attempt to connect has succeeded, or none was
	 * made
	 * @param connections how many connections there are or are being made
	 * @param failures how many attempts have failed in a row
	 * @param failure why the latest one has failed, or {@code null}
	 */
	public record AddressDescriptor(String address, boolean reachable, int connections, int failures,
			@Nullable String failure) {

		static AddressDescriptor of(ClientSnapshot.Address address) {
			return new AddressDescriptor(address.address(), address.reachable(), address.connections(),
					address.failures(), address.failure());
		}

	}

	/**
	 * The connections of a client.
	 *
	 * @param max how many it keeps open
	 * @param established how many of them are established
	 * @param connects how many have been established
	 * @param disconnects how many of those have ended
	 * @param failedConnects how many attempts to connect have failed
	 */
	public record ConnectionsDescriptor(int max, int established, long connects, long disconnects,
			long failedConnects) {
	}

	/**
	 * The exchanges of a client.
	 *
	 * @param inFlight how many wait for their replies
	 * @param waiting how many callers wait for a connection with a free place
	 * @param ended how many have ended, by outcome
	 * @param lateReplies how many replies came after their exchange had ended
	 * @param unexpectedMessages how many messages were the reply to nothing
	 */
	public record ExchangesDescriptor(int inFlight, int waiting, Map<ClientSnapshot.Outcome, Long> ended,
			long lateReplies, long unexpectedMessages) {
	}

}
