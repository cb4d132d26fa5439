package org.leaderfollowers.spring.handler;

import java.nio.ByteBuffer;
import java.nio.charset.Charset;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Function;
import java.util.function.Predicate;

import org.jspecify.annotations.Nullable;
import org.leaderfollowers.Connection;
import org.leaderfollowers.ConnectionClosedException;
import org.leaderfollowers.Server;
import org.leaderfollowers.SlowConsumerException;
import org.leaderfollowers.TcpServer;
import org.leaderfollowers.spring.server.LeaderFollowersServers;
import org.leaderfollowers.spring.server.UnknownNameException;

import org.springframework.beans.factory.ObjectProvider;
import org.springframework.beans.factory.config.ConfigurableBeanFactory;
import org.springframework.messaging.converter.MessageConverter;
import org.springframework.util.Assert;
import org.springframework.util.function.SingletonSupplier;

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

	private final Function<String, Charset> charsets;

	private final SingletonSupplier<PayloadConverters> converters;

	private final Map<String, PayloadWriter> writers = new ConcurrentHashMap<>();

	/**
	 * Creates an object that sends messages.
	 * @param servers the servers of the application
	 * @param charsets finds the charset of text by the name of a server
	 * @param beanFactory contains the mapper for JSON, if Jackson is present
	 * @param messageConverters converters that are tried before all others, in their
	 * order
	 */
	public LfConnections(LeaderFollowersServers servers, Function<String, Charset> charsets,
			ConfigurableBeanFactory beanFactory, ObjectProvider<MessageConverter> messageConverters) {
		Assert.notNull(servers, "'servers' must not be null");
		Assert.notNull(charsets, "'charsets' must not be null");
		Assert.notNull(beanFactory, "'beanFactory' must not be null");
		Assert.notNull(messageConverters, "'messageConverters' must not be null");
		this.servers = servers;
		this.charsets = charsets;
		// Created with the first message, since these beans may depend on this object.
		this.converters = SingletonSupplier
			.of(() -> PayloadConverters.of(beanFactory, messageConverters.orderedStream().toList()));
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
		GONE

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
				case GONE -> new Broadcast(this.sent, this.notWritable, this.gone + 1);
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
	 * so a {@link MessageConverter} gets no headers of a connection.
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
	 * once, so a {@link MessageConverter} gets no headers of a connection.
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
		ByteBuffer message = writer(server).write(null, payload);
		return tcpServer.openConnections()
			.filter(filter)
			.reduce(new Broadcast(0, 0, 0), (sofar, connection) -> sofar.plus(send(connection, message)),
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
		return (connection != null) ? send(connection, writer(server.name()).write(connection, payload))
				: Delivery.GONE;
	}

	private static Delivery send(Connection connection, ByteBuffer message) {
		if (!connection.isOpen()) {
			return Delivery.GONE;
		}
		if (!connection.isWritable()) {
			return Delivery.NOT_WRITABLE;
		}
		try {
			connection.send(message);
			return Delivery.SENT;
		}
		catch (ConnectionClosedException ex) {
			return Delivery.GONE;
		}
		catch (SlowConsumerException ex) {
			return Delivery.NOT_WRITABLE;
		}
	}

	private PayloadWriter writer(String server) {
		return this.writers.computeIfAbsent(server,
				(name) -> new PayloadWriter(this.converters.obtain(), new Text(this.charsets.apply(name))));
	}

}
