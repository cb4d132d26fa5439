package org.leaderfollowers.spring.handler;

import java.nio.ByteBuffer;
import java.util.Optional;
import java.util.function.Predicate;

import org.jspecify.annotations.Nullable;
import org.leaderfollowers.Connection;
import org.leaderfollowers.ConnectionClosedException;
import org.leaderfollowers.Server;
import org.leaderfollowers.SlowConsumerException;
import org.leaderfollowers.TcpServer;
import org.leaderfollowers.spring.server.LeaderFollowersServers;
import org.leaderfollowers.spring.server.UnknownNameException;

import org.springframework.util.Assert;

/**
 * Sends messages to the open connections of the servers, from anywhere in the
 * application: a REST controller, a scheduled method, another handler. It can be injected
 * into any bean. Safe for many threads.
 * <p>
 * Messages are converted as the replies of a handler are: text is encoded in the charset
 * of the server, and other objects are converted by the message converters of the
 * application or to JSON. The calling thread sends, and never waits for the client. To
 * wait for a reply, {@linkplain #find find} the connection and call its
 * {@link Connection#exchange exchange} method.
 */
public final class LfConnections {

	private final LeaderFollowersServers servers;

	private final MessageConversion conversion;

	/**
	 * Creates an object that sends messages.
	 * @param servers the servers of the application
	 * @param conversion converts the messages
	 */
	public LfConnections(LeaderFollowersServers servers, MessageConversion conversion) {
		Assert.notNull(servers, "'servers' must not be null");
		Assert.notNull(conversion, "'conversion' must not be null");
		this.servers = servers;
		this.conversion = conversion;
	}

	/**
	 * The outcome of sending a message to one connection.
	 */
	public enum Delivery {

		/**
		 * The connection has accepted the message. This does not show that the client
		 * receives it: only a reply does.
		 */
		SENT,

		/**
		 * The message was not sent. The client reads more slowly than the server sends,
		 * and {@linkplain Connection#isWritable() too many bytes} wait for it already.
		 */
		NOT_WRITABLE,

		/** The message was not sent. There is no such connection, or it is closed. */
		GONE,

		/**
		 * The message was not sent. Only for sessions: the node that holds it, or the
		 * engine of the cluster, cannot be reached.
		 */
		UNREACHABLE,

		/**
		 * It is not known whether the message was sent. Only for sessions: the node that
		 * holds it has not answered in time.
		 */
		UNKNOWN;

		/**
		 * Sends a message to a connection. Never waits for the client.
		 * @param connection the connection
		 * @param message the message
		 * @return {@link #SENT}, {@link #NOT_WRITABLE} or {@link #GONE}
		 */
		public static Delivery of(Connection connection, ByteBuffer message) {
			if (!connection.isOpen()) {
				return GONE;
			}
			if (!connection.isWritable()) {
				return NOT_WRITABLE;
			}
			try {
				connection.send(message);
				return SENT;
			}
			catch (ConnectionClosedException ex) {
				return GONE;
			}
			catch (SlowConsumerException ex) {
				return NOT_WRITABLE;
			}
		}

	}

	/**
	 * The outcome of sending a message to several connections.
	 *
	 * @param sent how many connections have accepted the message
	 * @param notWritable how many connections were skipped because too many bytes wait
	 * for their clients already
	 * @param gone how many connections were closed meanwhile
	 */
	public record Broadcast(int sent, int notWritable, int gone) {

		private Broadcast plus(Delivery delivery) {
			return switch (delivery) {
				case SENT -> new Broadcast(this.sent + 1, this.notWritable, this.gone);
				case NOT_WRITABLE -> new Broadcast(this.sent, this.notWritable + 1, this.gone);
				default -> new Broadcast(this.sent, this.notWritable, this.gone + 1);
			};
		}

	}

	/**
	 * Sends a message to a connection.
	 * @param server the name of the server
	 * @param id the {@linkplain Connection#id() identifier} of the connection
	 * @param payload the message
	 * @return the outcome
	 * @throws UnknownNameException if there is no such server
	 * @throws IllegalArgumentException if the server is for datagrams, or the framing
	 * cannot express the message
	 * @throws PayloadConversionException if nothing can convert the payload
	 */
	public Delivery send(String server, long id, Object payload) {
		TcpServer tcpServer = tcp(server);
		return send(tcpServer, tcpServer.connection(id), payload);
	}

	/**
	 * Sends a message to the connection of a {@linkplain Connection#name(String) name}.
	 * @param server the name of the server
	 * @param name the name that a handler has given to the connection
	 * @param payload the message
	 * @return the outcome
	 * @throws UnknownNameException if there is no such server
	 * @throws IllegalArgumentException if the server is for datagrams, or the framing
	 * cannot express the message
	 * @throws PayloadConversionException if nothing can convert the payload
	 */
	public Delivery send(String server, String name, Object payload) {
		TcpServer tcpServer = tcp(server);
		return send(tcpServer, tcpServer.connection(name), payload);
	}

	/**
	 * Sends a message to all open connections of a server. The message is converted once,
	 * so a {@link org.springframework.messaging.converter.MessageConverter} gets no
	 * headers of a connection.
	 * @param server the name of the server
	 * @param payload the message
	 * @return the outcome
	 * @throws UnknownNameException if there is no such server
	 * @throws IllegalArgumentException if the server is for datagrams, or the framing
	 * cannot express the message
	 * @throws PayloadConversionException if nothing can convert the payload
	 */
	public Broadcast broadcast(String server, Object payload) {
		return broadcast(server, payload, (connection) -> true);
	}

	/**
	 * Sends a message to some open connections of a server. The message is converted
	 * once, so a {@link org.springframework.messaging.converter.MessageConverter} gets no
	 * headers of a connection.
	 * @param server the name of the server
	 * @param payload the message
	 * @param filter selects the connections, for example by their attributes
	 * @return the outcome
	 * @throws UnknownNameException if there is no such server
	 * @throws IllegalArgumentException if the server is for datagrams, or the framing
	 * cannot express the message
	 * @throws PayloadConversionException if nothing can convert the payload
	 */
	public Broadcast broadcast(String server, Object payload, Predicate<? super Connection> filter) {
		TcpServer tcpServer = tcp(server);
		ByteBuffer message = this.conversion.write(server, null, payload);
		return tcpServer.openConnections()
			.filter(filter)
			.reduce(new Broadcast(0, 0, 0), (sofar, connection) -> sofar.plus(Delivery.of(connection, message)),
					(one, other) -> other);
	}

	/**
	 * Finds an open connection.
	 * @param server the name of the server
	 * @param id the {@linkplain Connection#id() identifier} of the connection
	 * @return the connection, which may be closed at any time
	 * @throws UnknownNameException if there is no such server
	 * @throws IllegalArgumentException if the server is for datagrams
	 */
	public Optional<Connection> find(String server, long id) {
		return Optional.ofNullable(tcp(server).connection(id));
	}

	/**
	 * Finds an open connection by its {@linkplain Connection#name(String) name}.
	 * @param server the name of the server
	 * @param name the name that a handler has given to the connection
	 * @return the connection, which may be closed at any time
	 * @throws UnknownNameException if there is no such server
	 * @throws IllegalArgumentException if the server is for datagrams
	 */
	public Optional<Connection> find(String server, String name) {
		return Optional.ofNullable(tcp(server).connection(name));
	}

	private TcpServer tcp(String name) {
		Server server = this.servers.get(name);
		Assert.isTrue(server instanceof TcpServer,
				() -> "Server '%s' is for datagrams, which have no connections".formatted(name));
		return (TcpServer) server;
	}

	private Delivery send(TcpServer server, @Nullable Connection connection, Object payload) {
		return (connection != null) ? Delivery.of(connection, this.conversion.write(server.name(), connection, payload))
				: Delivery.GONE;
	}

}
