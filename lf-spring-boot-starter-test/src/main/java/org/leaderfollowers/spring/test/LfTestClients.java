package org.leaderfollowers.spring.test;

import java.net.InetAddress;

import org.leaderfollowers.Server;
import org.leaderfollowers.TcpServer;
import org.leaderfollowers.spring.server.LeaderFollowersServers;
import org.leaderfollowers.spring.server.UnknownNameException;
import org.leaderfollowers.spring.test.client.InMemoryTestClient;
import org.leaderfollowers.spring.test.client.LfTestClient;
import org.leaderfollowers.spring.test.client.TcpTestClient;
import org.leaderfollowers.spring.test.client.UdpTestClient;

/**
 * Creates clients of the servers of an application, with the address, port, framing and
 * TLS of the server. There is a bean of this type in every test of an application that
 * has servers:
 *
 * <pre>
 * &#064;Test
 * void answers(&#064;Autowired LfTestClients clients) {
 *     try (LfTestClient client = clients.connect("orders")) {
 *         client.send("...");
 *         assertThat(client).receives("...");
 *     }
 * }
 * </pre>
 *
 * The test must close the clients.
 */
public final class LfTestClients {

	private static final String DEFAULT = "default";

	private final LeaderFollowersServers servers;

	LfTestClients(LeaderFollowersServers servers) {
		this.servers = servers;
	}

	/**
	 * Connects to the server named {@code default}.
	 * @return a connected client
	 * @throws UnknownNameException if there is no such server
	 */
	public TcpTestClient connect() {
		return connect(DEFAULT);
	}

	/**
	 * Connects to a server.
	 * @param server the name of the server
	 * @return a connected client
	 * @throws UnknownNameException if there is no server of this name
	 */
	public TcpTestClient connect(String server) {
		return tcp(server).connect();
	}

	/**
	 * Begins to build a client of a TCP server. If the server uses TLS, the client trusts
	 * every certificate, and has none itself.
	 * @param name the name of the server
	 * @return a builder with the address, port and framing of the server, and with TLS if
	 * the server uses it
	 * @throws UnknownNameException if there is no server of this name
	 */
	public TcpTestClient.Builder tcp(String name) {
		TcpServer server = tcpServer(name);
		TcpTestClient.Builder builder = LfTestClient.tcp(port(server))
			.address(address(server))
			.framing(server.framing());
		return (server.snapshot().tls() != null) ? builder.tls() : builder;
	}

	/**
	 * Begins to build a client of a UDP server.
	 * @param name the name of the server
	 * @return a builder with the address and port of the server
	 * @throws UnknownNameException if there is no server of this name
	 */
	public UdpTestClient.Builder udp(String name) {
		Server server = this.servers.get(name);
		if (server instanceof TcpServer) {
			throw new IllegalStateException("The server '%s' is not a UDP server: use 'tcp'".formatted(name));
		}
		return LfTestClient.udp(port(server)).address(address(server));
	}

	/**
	 * Opens a connection in memory to the handler of the server named {@code default}.
	 * @return a client
	 * @throws UnknownNameException if there is no such server
	 */
	public InMemoryTestClient openInMemory() {
		return openInMemory(DEFAULT);
	}

	/**
	 * Opens a connection in memory to the handler of a server.
	 * @param server the name of the server
	 * @return a client
	 * @throws UnknownNameException if there is no server of this name
	 */
	public InMemoryTestClient openInMemory(String server) {
		return inMemory(server).open();
	}

	/**
	 * Begins to build a client that calls the handler of a server on the thread of the
	 * test. This is the same handler that the server calls, including everything that
	 * wraps the bean. The server need not be started.
	 * @param name the name of the server
	 * @return a builder with the handler, framing and sizes of the server
	 * @throws UnknownNameException if there is no server of this name
	 */
	public InMemoryTestClient.Builder inMemory(String name) {
		TcpServer server = tcpServer(name);
		return LfTestClient.inMemory(server.handler())
			.server(name)
			.framing(server.framing())
			.maxMessageSize(server.maxMessageSize())
			.maxOutboundSize(server.maxOutboundSize());
	}

	private TcpServer tcpServer(String name) {
		if (this.servers.get(name) instanceof TcpServer server) {
			return server;
		}
		throw new IllegalStateException("The server '%s' is not a TCP server: use 'udp'".formatted(name));
	}

	private static int port(Server server) {
		try {
			return server.port();
		}
		catch (IllegalStateException ex) {
			throw new IllegalStateException(
					"The server '%s' is not started, so there is no port to connect to: use 'openInMemory', or a test that starts servers"
						.formatted(server.name()),
					ex);
		}
	}

	private static InetAddress address(Server server) {
		InetAddress address = server.address().getAddress();
		return address.isAnyLocalAddress() ? InetAddress.getLoopbackAddress() : address;
	}

}
