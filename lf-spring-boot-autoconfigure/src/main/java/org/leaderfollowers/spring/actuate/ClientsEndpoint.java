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
 * {@link Endpoint @Endpoint} that shows the state of the clients of the application.
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
	 * The clients of the application. Their snapshots are taken one after the other.
	 *
	 * @param time when the snapshots were taken
	 * @param clients the clients, by name
	 */
	public record ClientsDescriptor(Instant time,
			Map<String, ClientDescriptor> clients) implements OperationResponseBody {
	}

	/**
	 * A client.
	 *
	 * @param state the state of the client
	 * @param pool the name of its pool
	 * @param optional whether the application can work without it
	 * @param addresses the addresses that it connects to
	 * @param connections its connections
	 * @param exchanges its exchanges
	 * @param receivedBytes how many bytes were read, framing included
	 * @param sentBytes how many bytes were accepted for sending, framing included
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
	 * @param address host and port, as configured
	 * @param reachable {@code false} if the latest attempt to connect has failed
	 * @param connections how many connections are open or being opened
	 * @param failures how many attempts have failed in a row
	 * @param failure why the latest attempt has failed, or {@code null} if it has not
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
	 * @param max how many connections the client keeps open
	 * @param established how many of them are established
	 * @param connects how many connections have been established
	 * @param disconnects how many of these have ended
	 * @param failedConnects how many attempts to connect have failed
	 */
	public record ConnectionsDescriptor(int max, int established, long connects, long disconnects,
			long failedConnects) {
	}

	/**
	 * The exchanges of a client.
	 *
	 * @param inFlight how many exchanges wait for their replies
	 * @param waiting how many callers wait for a connection with a free place
	 * @param ended how many exchanges have ended, by outcome
	 * @param lateReplies how many replies came after their exchange had ended
	 * @param unexpectedMessages how many messages were not the reply to an exchange
	 */
	public record ExchangesDescriptor(int inFlight, int waiting, Map<ClientSnapshot.Outcome, Long> ended,
			long lateReplies, long unexpectedMessages) {
	}

}
