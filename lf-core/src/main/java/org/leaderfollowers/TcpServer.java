package org.leaderfollowers;

import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.List;
import java.util.Objects;
import java.util.stream.Stream;

import org.jspecify.annotations.Nullable;

/**
 * A TCP server whose connections are served by a {@link LeaderFollowersPool}.
 *
 * <pre>
 * LeaderFollowersPool pool = LeaderFollowersPool.builder().name("demo").threads(2, 64).build();
 * TcpServer server = TcpServer.builder(pool).port(7070).framing(Framing.line())
 *     .handler((connection, message) -&gt; connection.send(message)).build();
 * server.start();
 * </pre>
 *
 * Several servers may share a pool. A server is started once and closed once; any thread
 * may call all methods.
 */
public final class TcpServer implements Server {

	final TcpLifecycle life;

	private TcpServer(TcpLifecycle life) {
		this.life = life;
	}

	/**
	 * Creates a builder of a server.
	 * @param pool the pool whose threads serve the connections
	 * @return a builder with defaults
	 */
	public static Builder builder(LeaderFollowersPool pool) {
		return new Builder(pool);
	}

	@Override
	public void start() {
		this.life.start();
	}

	/**
	 * Replaces the TLS configuration of the server, for example with a renewed
	 * certificate. Connections that are accepted from now on use the new configuration.
	 * Open connections keep theirs; {@linkplain ServerSnapshot#tls() the snapshot} counts
	 * the connections of each configuration.
	 * @param tls the new configuration
	 * @throws IllegalStateException if the server was built without TLS: its clients
	 * would not understand TLS
	 */
	public void tls(ServerTls tls) {
		Objects.requireNonNull(tls, "'tls' must not be null");
		TlsGenerations generations = this.life.context().tls();
		if (generations == null) {
			throw new IllegalStateException(
					"Server '%s' does not use TLS, so there is nothing to replace: call tls(...) before build()"
						.formatted(name()));
		}
		generations.replace(tls);
	}

	@Override
	public void pause() {
		this.life.pause();
	}

	@Override
	public void resume() {
		this.life.resume();
	}

	@Override
	public boolean isPaused() {
		return this.life.state().isPaused();
	}

	@Override
	public void close() {
		this.life.close();
		wireLog().stop();
	}

	@Override
	public boolean close(Duration grace) {
		boolean done = this.life.close(grace);
		wireLog().stop();
		return done;
	}

	@Override
	public boolean drain(Duration grace) {
		return this.life.drain(grace);
	}

	@Override
	public boolean awaitDrained(Duration timeout) {
		return this.life.awaitDrained(timeout);
	}

	/**
	 * Drains the connections gradually. The server stops accepting at once and closes its
	 * port; connections whose turn has not come are served as before. If the server is
	 * being evacuated already, this changes the rate. {@link #drain} and {@link #close}
	 * end the evacuation and drain the rest at once. Does not wait for the connections.
	 * @param rate how many connections begin to drain, at most
	 * @return {@code false} if the server does not run, or if all connections drain
	 * already
	 */
	public boolean evacuate(CloseRate rate) {
		return this.life.evacuate(Objects.requireNonNull(rate, "'rate' must not be null"));
	}

	@Override
	public String name() {
		return this.life.name();
	}

	@Override
	public LeaderFollowersPool pool() {
		return this.life.pool();
	}

	@Override
	public int port() {
		return this.life.port();
	}

	@Override
	public InetSocketAddress address() {
		return this.life.address();
	}

	@Override
	public ServerSnapshot snapshot() {
		return this.life.snapshot();
	}

	/**
	 * Takes snapshots of the open connections, one after the other as the stream is
	 * consumed. Connections that are opened or closed meanwhile may or may not be
	 * included. Their times refer to the moment of the call, so they can be compared with
	 * each other. Any thread; no thread is stopped.
	 * @return snapshots in no particular order
	 */
	public Stream<ConnectionSnapshot> connections() {
		long now = pool().clock.nanoTime();
		return this.life.context().registry().all().stream().map((connection) -> connection.snapshot(now));
	}

	/**
	 * Finds an open connection, for example to close it. Any thread.
	 * @param id the identifier, see {@link Connection#id()}
	 * @return {@code null} if no open connection has this identifier
	 */
	public @Nullable Connection connection(long id) {
		return this.life.context().registry().get(id);
	}

	/**
	 * Finds an open connection by its name. Any thread.
	 * @param name the name, see {@link Connection#name(String)}
	 * @return {@code null} if no open connection has this name
	 */
	public @Nullable Connection connection(String name) {
		return this.life.context().registry().get(name);
	}

	/**
	 * The open connections, to send to all of them, for example. Connections that the
	 * handler has not seen yet are left out; those that are opened or closed meanwhile
	 * may or may not be included. Any thread.
	 * @return the connections in no particular order
	 */
	public Stream<Connection> openConnections() {
		return this.life.context().registry().opened();
	}

	/**
	 * The framing that separates messages.
	 * @return the framing that it was built with
	 */
	public Framing framing() {
		return this.life.context().framing();
	}

	/**
	 * The handler of the messages.
	 * @return the handler that the server was built with
	 */
	public MessageHandler handler() {
		return this.life.context().handler();
	}

	/**
	 * The size of the largest message that the server accepts.
	 * @return bytes of payload
	 */
	public int maxMessageSize() {
		return this.life.context().limits().maxMessageSize();
	}

	/**
	 * How many bytes may wait for a peer that does not read.
	 * @return bytes, framing included
	 */
	public int maxOutboundSize() {
		return this.life.context().limits().maxOutboundSize();
	}

	/**
	 * Logs the bytes of the connections, while it is on.
	 * @return the log of this server, which is off until it is started
	 */
	public WireLog wireLog() {
		return this.life.context().wire();
	}

	@Override
	public String toString() {
		return "TcpServer '" + name() + "' at " + address();
	}

	/**
	 * Builds a server.
	 */
	public static final class Builder extends TcpBuilder<Builder> {

		private @Nullable InetAddress address;

		private int port = 7070;

		int backlog = 1024;

		private @Nullable MessageHandler handler;

		private @Nullable String handlerName;

		int maxConnections = 10_000;

		Duration idleTimeout = Duration.ofMinutes(10);

		Duration handshakeTimeout = Duration.ofSeconds(10);

		Duration loginTimeout = Duration.ZERO;

		Duration drainMessageTimeout = Duration.ofSeconds(2);

		Duration readIdle = Duration.ZERO;

		Duration writeIdle = Duration.ZERO;

		TrustedNetworks trustedNetworks = TrustedNetworks.none();

		boolean directClients;

		@Nullable Correlation correlation;

		int maxExchanges = 64;

		@Nullable ServerTls tls;

		/** 0 if it was not set. */
		int maxInFlight;

		boolean skipsOversized;

		@Nullable MessageOrder messageOrder;

		ReplyOrder replyOrder = ReplyOrder.COMPLETION;

		ServicePools.@Nullable Options classes;

		@Nullable ConnectionGuard guard;

		private Builder(LeaderFollowersPool pool) {
			super(pool);
		}

		@Override
		Builder self() {
			return this;
		}

		/**
		 * The address to bind.
		 * @param address an address of this machine; the default is all of them
		 * @return this builder
		 */
		public Builder address(InetAddress address) {
			this.address = address;
			return this;
		}

		/**
		 * The port to bind.
		 * @param port from 0 to 65535, where 0 is any free port; the default is 7070
		 * @return this builder
		 */
		public Builder port(int port) {
			this.port = Arguments.inRange("port", port, 0, 65535);
			return this;
		}

		/**
		 * The maximum number of established connections that the system keeps until they
		 * are accepted.
		 * @param backlog from 1 to 65535; the default is 1024. The system may have a
		 * lower limit
		 * @return this builder
		 */
		public Builder backlog(int backlog) {
			this.backlog = Arguments.inRange("backlog", backlog, 1, 65535);
			return this;
		}

		/**
		 * The handler of messages. Required.
		 * @param handler shared by all connections
		 * @return this builder
		 */
		public Builder handler(MessageHandler handler) {
			this.handler = handler;
			return this;
		}

		/**
		 * The name of the handler in the log and in snapshots.
		 * @param handlerName the default is the name of its class
		 * @return this builder
		 */
		public Builder handlerName(String handlerName) {
			this.handlerName = handlerName;
			return this;
		}

		/**
		 * Whether a message that is larger than the maximum message size is skipped,
		 * instead of closing the connection. The handler is informed by
		 * {@link MessageHandler#onError(Connection, java.nio.ByteBuffer, Throwable)
		 * onError}, with a {@link FramingException} and the beginning of the message that
		 * has arrived so far. It can reply; the connection stays open. The message
		 * timeout applies to the whole message. The built-in framings support this; other
		 * framings do if they call {@link Framing.Frame#tooLarge}.
		 * @param skip the default is {@code false}
		 * @return this builder
		 */
		public Builder skipOversizedMessages(boolean skip) {
			this.skipsOversized = skip;
			return this;
		}

		/**
		 * The maximum number of open connections. Further ones are closed when accepted.
		 * @param maxConnections at least 1; the default is 10000
		 * @return this builder
		 */
		public Builder maxConnections(int maxConnections) {
			this.maxConnections = Arguments.inRange("maxConnections", maxConnections, 1, Integer.MAX_VALUE);
			return this;
		}

		/**
		 * The maximum number of messages of one connection in flight, that is, received
		 * and not answered. If it is more than 1, messages are handled in parallel, each
		 * by its own thread; one connection can then occupy this number of threads. A
		 * message stays in flight while its handler runs, and until its
		 * {@linkplain Connection#suspend() suspensions} and {@linkplain Connection#owe()
		 * owed replies} have ended. While the maximum is in flight, nothing is read from
		 * the connection, and no thread waits for this.
		 * <p>
		 * {@link MessageHandler} describes which of its methods are called in parallel,
		 * and how failures are handled.
		 * @param maxInFlight from 1 to 4096; the default is 1: one message at a time, in
		 * the order of arrival. With a {@linkplain #messageOrder message order}, the
		 * default is 16
		 * @return this builder
		 */
		public Builder maxInFlightPerConnection(int maxInFlight) {
			this.maxInFlight = Arguments.inRange("maxInFlightPerConnection", maxInFlight, 1, 4096);
			return this;
		}

		/**
		 * Selects the messages of a connection that are handled one after the other, in
		 * the order of arrival, while others are handled in parallel. A message that
		 * waits for an earlier one is copied, within the memory budget of the pool. Has
		 * no effect if only one message may be in flight.
		 * @param messageOrder shared by all connections; the default is that no message
		 * waits for another one
		 * @return this builder
		 */
		public Builder messageOrder(MessageOrder messageOrder) {
			this.messageOrder = Objects.requireNonNull(messageOrder, "'messageOrder' must not be null");
			return this;
		}

		/**
		 * The order of the replies of a connection whose messages are handled in
		 * parallel. A reply that waits for earlier ones counts as sent, see
		 * {@link Connection#send(java.nio.ByteBuffer)}: it counts against the maximum
		 * outbound size and the memory budget of the pool.
		 * @param replyOrder the default is {@link ReplyOrder#COMPLETION}
		 * @return this builder
		 */
		public Builder replyOrder(ReplyOrder replyOrder) {
			this.replyOrder = Objects.requireNonNull(replyOrder, "'replyOrder' must not be null");
			return this;
		}

		/**
		 * How long a connection may be silent in both directions. While bytes wait for
		 * the peer, the write timeout applies instead.
		 * @param idleTimeout the timeout, 0 for none; the default is 10 minutes
		 * @return this builder
		 */
		public Builder idleTimeout(Duration idleTimeout) {
			this.idleTimeout = Arguments.notNegative("idleTimeout", idleTimeout);
			return this;
		}

		/**
		 * Makes the server use TLS.
		 * @param tls the keys and options; the default is no TLS
		 * @return this builder
		 */
		public Builder tls(ServerTls tls) {
			this.tls = Objects.requireNonNull(tls, "'tls' must not be null");
			return this;
		}

		/**
		 * Lets the server send requests to its clients by {@link Connection#exchange}:
		 * distinguishes the replies to these requests from messages for the handler. With
		 * {@link Correlation#inOrder()}, every message is a reply as long as a request
		 * waits for one. While a handler waits for a reply, its connection is read, and
		 * up to 256 messages for the handler are put aside.
		 * @param correlation the default is none: the server cannot send requests
		 * @return this builder
		 */
		public Builder correlation(Correlation correlation) {
			this.correlation = Objects.requireNonNull(correlation, "'correlation' must not be null");
			return this;
		}

		/**
		 * The maximum number of requests of the server under way on a connection. A
		 * request that has timed out counts until its reply comes. If a client owes more
		 * than half as many late replies, its connection is closed.
		 * @param maxExchanges from 1; the default is 64
		 * @return this builder
		 */
		public Builder maxExchanges(int maxExchanges) {
			this.maxExchanges = Arguments.inRange("maxExchanges", maxExchanges, 1, Integer.MAX_VALUE);
			return this;
		}

		/**
		 * How long a connection may take from being accepted to being established, for
		 * example for a TLS handshake. If it takes longer, the connection is closed, and
		 * the handler is not called.
		 * @param handshakeTimeout the timeout, 0 for none; the default is 10 seconds
		 * @return this builder
		 */
		public Builder handshakeTimeout(Duration handshakeTimeout) {
			this.handshakeTimeout = Arguments.notNegative("handshakeTimeout", handshakeTimeout);
			return this;
		}

		/**
		 * How long a client may take to log in, from {@link MessageHandler#onOpen} until
		 * {@link Connection#loggedIn()} is called. If it takes longer, the connection is
		 * closed with the reason {@link CloseReason#LOGIN_TIMEOUT}, even while it is
		 * suspended; a handler that is running is not interrupted.
		 * @param loginTimeout the timeout; the default is 0 for none
		 * @return this builder
		 */
		public Builder loginTimeout(Duration loginTimeout) {
			this.loginTimeout = Arguments.notNegative("loginTimeout", loginTimeout);
			return this;
		}

		/**
		 * How long the rest of a partial message may take when its connection drains.
		 * @param drainMessageTimeout 0 for no time; the default is 2 seconds
		 * @return this builder
		 */
		public Builder drainMessageTimeout(Duration drainMessageTimeout) {
			this.drainMessageTimeout = Arguments.notNegative("drainMessageTimeout", drainMessageTimeout);
			return this;
		}

		/**
		 * If nothing was received on a connection for this period,
		 * {@link MessageHandler#onIdle} is called for {@link EventType#READ}. A
		 * connection can {@linkplain Connection#idleAfter replace} the period.
		 * @param readIdle the period; the default is 0 for never; less than 1 millisecond
		 * counts as 1 millisecond
		 * @return this builder
		 */
		public Builder readIdle(Duration readIdle) {
			this.readIdle = Arguments.notNegative("readIdle", readIdle);
			return this;
		}

		/**
		 * If nothing was sent on a connection for this period,
		 * {@link MessageHandler#onIdle} is called for {@link EventType#WRITE}. A
		 * connection can {@linkplain Connection#idleAfter replace} the period.
		 * @param writeIdle the period; the default is 0 for never; less than 1
		 * millisecond counts as 1 millisecond
		 * @return this builder
		 */
		public Builder writeIdle(Duration writeIdle) {
			this.writeIdle = Arguments.notNegative("writeIdle", writeIdle);
			return this;
		}

		/**
		 * Expects the PROXY protocol, version 1 or 2, from load balancers and other
		 * proxies, so that {@link Connection#remoteAddress()} is the address of the
		 * client behind them. Each connection from a trusted network must begin with the
		 * header of the protocol, within the {@linkplain #handshakeTimeout handshake
		 * timeout}. If it does not, it is closed, and the handler is not called.
		 * Connections from other networks are rejected, unless {@linkplain #directClients
		 * direct clients} are allowed.
		 * <p>
		 * Only the address of the sender decides whether a header is expected. If the
		 * server guessed from the bytes, every client could pretend to be another.
		 * @param trusted the networks of all senders of the header, and of no other
		 * peers; {@link TrustedNetworks#none()}, the default, for no PROXY protocol
		 * @return this builder
		 */
		public Builder proxyProtocol(TrustedNetworks trusted) {
			this.trustedNetworks = Objects.requireNonNull(trusted, "'trusted' must not be null");
			return this;
		}

		/**
		 * Whether clients from outside the trusted networks are served, as without the
		 * PROXY protocol. If such a client sends a header, the header is input like any
		 * other. Has no effect without {@linkplain #proxyProtocol trusted networks}.
		 * @param directClients the default is {@code false}: these clients are rejected
		 * @return this builder
		 */
		public Builder directClients(boolean directClients) {
			this.directClients = directClients;
			return this;
		}

		/**
		 * Lets each connection choose the pool that serves it. The other pools start with
		 * their first connections, and must be closed after the server.
		 * @param serviceClass chooses one of the pools, or the pool of the server
		 * @param pools the pools to choose from
		 * @return this builder
		 */
		public Builder serviceClass(ServiceClass serviceClass, LeaderFollowersPool... pools) {
			this.classes = new ServicePools.Options(Objects.requireNonNull(serviceClass), List.of(pools));
			return this;
		}

		/**
		 * Decides which connections are served, before their TLS handshake.
		 * @param guard shared by all connections; the default is none: all are served
		 * @return this builder
		 */
		public Builder connectionGuard(ConnectionGuard guard) {
			this.guard = Objects.requireNonNull(guard, "'guard' must not be null");
			return this;
		}

		/**
		 * Builds the server. It is not bound until it is {@linkplain TcpServer#start()
		 * started}.
		 * @return a new server
		 * @throws IllegalStateException if the framing or the handler is missing
		 * @throws IllegalArgumentException if every message of the framing is longer than
		 * the maximum message size
		 */
		public TcpServer build() {
			if (this.framing == null || this.handler == null) {
				String missing = (this.framing == null) ? "framing" : "handler";
				throw new IllegalStateException(
						"Server '%s' needs a %s: call %s(...) before build()".formatted(this.name, missing, missing));
			}
			InetSocketAddress requested = (this.address != null) ? new InetSocketAddress(this.address, this.port)
					: new InetSocketAddress(this.port);
			String shownName = (this.handlerName != null) ? this.handlerName : this.handler.getClass().getName();
			return new TcpServer(new TcpLifecycle(this.pool, this.name, requested, this.framing, this.handler,
					shownName, TcpOptions.of(this, this.framing)));
		}

	}

}
