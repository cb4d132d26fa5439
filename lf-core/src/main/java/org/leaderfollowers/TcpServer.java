package org.leaderfollowers;

import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.time.Duration;
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
 * Several servers may share a pool. A server is started once and closed once; all methods
 * may be called by any thread.
 */
public final class TcpServer implements Server {

	final TcpLifecycle life;

	private TcpServer(TcpLifecycle life) {
		this.life = life;
	}

	/**
	 * Begins to build a server.
	 * @param pool whose threads serve the connections
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
	 * Replaces the TLS of the server: connections that are accepted from now on get this
	 * one, for example with a renewed certificate. Connections that are open keep theirs,
	 * and {@linkplain ServerSnapshot#tls() the snapshot} tells how many have which.
	 * @param tls from now on
	 * @throws IllegalStateException if the server was built without TLS: its clients
	 * would not understand it
	 */
	public void tls(ServerTls tls) {
		Objects.requireNonNull(tls, "'tls' must not be null");
		TlsGenerations generations = this.life.context().tls();
		if (generations == null) {
			throw new IllegalStateException(
					"Server '%s' does not speak TLS, so there is nothing to replace: call tls(...) before build()"
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
	}

	@Override
	public boolean close(Duration grace) {
		return this.life.close(grace);
	}

	/**
	 * Stops accepting, answers every message that has been received, writes what waits,
	 * and closes each connection when that is done. A message that has begun to arrive
	 * may be completed. A handler may call this method: it is not waited for then.
	 * @param grace how long to wait for that; connections that need longer stay open
	 * @return whether everything was answered and there are no connections any more.
	 * {@code false} as well if the server was closed meanwhile, with connections that
	 * were not done
	 */
	@Override
	public boolean drain(Duration grace) {
		return this.life.drain(grace);
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
	 * Looks at the open connections, one after the other as the stream is consumed. Those
	 * that are opened or closed meanwhile may be missing or not. Their times are as of
	 * the call, so that they can be compared with each other. Any thread; nobody is
	 * stopped.
	 * @return in no order
	 */
	public Stream<ConnectionSnapshot> connections() {
		long now = pool().clock.nanoTime();
		return this.life.context().registry().all().stream().map((connection) -> connection.snapshot(now));
	}

	/**
	 * Finds an open connection, for example to close it. Any thread.
	 * @param id what identifies it, see {@link Connection#id()}
	 * @return {@code null} if there is none of this number, or none any more
	 */
	public @Nullable Connection connection(long id) {
		return this.life.context().registry().get(id);
	}

	/**
	 * How the server tells messages apart.
	 * @return the framing that it was built with
	 */
	public Framing framing() {
		return this.life.context().framing();
	}

	/**
	 * Who handles the messages.
	 * @return the handler that the server was built with
	 */
	public MessageHandler handler() {
		return this.life.context().handler();
	}

	/**
	 * The size of the largest message that the server takes.
	 * @return bytes of payload
	 */
	public int maxMessageSize() {
		return this.life.context().limits().maxMessageSize();
	}

	/**
	 * How much may wait for a peer that does not read.
	 * @return bytes, framing included
	 */
	public int maxOutboundSize() {
		return this.life.context().limits().maxOutboundSize();
	}

	@Override
	public String toString() {
		return "TcpServer '" + name() + "' at " + address();
	}

	/**
	 * Builds a server.
	 */
	public static final class Builder {

		/** A frame and its overhead fit into an array. */
		private static final int LARGEST_MESSAGE = 1 << 30;

		private final LeaderFollowersPool pool;

		private String name = "default";

		private @Nullable InetAddress address;

		private int port = 7070;

		private int backlog = 1024;

		private @Nullable Framing framing;

		private @Nullable MessageHandler handler;

		private @Nullable String handlerName;

		private int maxMessageSize = 64 * 1024;

		private int maxConnections = 10_000;

		private int maxOutboundSize = 1024 * 1024;

		private Duration idleTimeout = Duration.ofMinutes(10);

		private Duration messageTimeout = Duration.ofSeconds(30);

		private Duration writeTimeout = Duration.ofSeconds(30);

		private Duration handshakeTimeout = Duration.ofSeconds(10);

		private TrustedNetworks trustedNetworks = TrustedNetworks.none();

		private boolean directClients;

		private @Nullable ServerTls tls;

		private Builder(LeaderFollowersPool pool) {
			this.pool = Objects.requireNonNull(pool, "'pool' must not be null");
		}

		/**
		 * The name of the server.
		 * @param name not empty; the default is {@code default}
		 * @return this builder
		 */
		public Builder name(String name) {
			this.name = Arguments.notBlank("name", name);
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
		 * @param port from 0 to 65535, where 0 is any that is free; the default is 7070
		 * @return this builder
		 */
		public Builder port(int port) {
			this.port = Arguments.inRange("port", port, 0, 65535);
			return this;
		}

		/**
		 * How many connections the system keeps that are established and not yet
		 * accepted.
		 * @param backlog from 1 to 65535; the default is 1024. The system may have a
		 * lower limit
		 * @return this builder
		 */
		public Builder backlog(int backlog) {
			this.backlog = Arguments.inRange("backlog", backlog, 1, 65535);
			return this;
		}

		/**
		 * How messages are told apart. Required.
		 * @param framing shared by all connections
		 * @return this builder
		 */
		public Builder framing(Framing framing) {
			this.framing = framing;
			return this;
		}

		/**
		 * What to do with messages. Required.
		 * @param handler shared by all connections
		 * @return this builder
		 */
		public Builder handler(MessageHandler handler) {
			this.handler = handler;
			return this;
		}

		/**
		 * What to call the handler when people are told about it.
		 * @param handlerName the default is the name of its class
		 * @return this builder
		 */
		public Builder handlerName(String handlerName) {
			this.handlerName = handlerName;
			return this;
		}

		/**
		 * The largest message that is read. A connection that sends a larger one is
		 * closed before memory is allocated for it.
		 * @param maxMessageSize bytes of payload, from 1 to 1 GiB; the default is 64 KiB
		 * @return this builder
		 */
		public Builder maxMessageSize(int maxMessageSize) {
			this.maxMessageSize = Arguments.inRange("maxMessageSize", maxMessageSize, 1, LARGEST_MESSAGE);
			return this;
		}

		/**
		 * How many connections may be open. Further ones are closed as soon as they are
		 * accepted.
		 * @param maxConnections at least 1; the default is 10000
		 * @return this builder
		 */
		public Builder maxConnections(int maxConnections) {
			this.maxConnections = Arguments.inRange("maxConnections", maxConnections, 1, Integer.MAX_VALUE);
			return this;
		}

		/**
		 * How much may wait for a peer that does not read; see
		 * {@link Connection#send(java.nio.ByteBuffer)}. A message is accepted while less
		 * than this waits, so what waits is at most this and one message.
		 * @param maxOutboundSize bytes for each connection, at least 1024; the default is
		 * 1 MiB
		 * @return this builder
		 */
		public Builder maxOutboundSize(int maxOutboundSize) {
			this.maxOutboundSize = Arguments.inRange("maxOutboundSize", maxOutboundSize, 1024, LARGEST_MESSAGE);
			return this;
		}

		/**
		 * How long a connection may be silent in both directions. While something waits
		 * for the peer, the write timeout counts instead.
		 * @param idleTimeout 0 for ever; the default is 10 minutes
		 * @return this builder
		 */
		public Builder idleTimeout(Duration idleTimeout) {
			this.idleTimeout = Arguments.notNegative("idleTimeout", idleTimeout);
			return this;
		}

		/**
		 * How long a message may take from its first byte to its last, however often
		 * bytes arrive in between.
		 * @param messageTimeout 0 for ever; the default is 30 seconds
		 * @return this builder
		 */
		public Builder messageTimeout(Duration messageTimeout) {
			this.messageTimeout = Arguments.notNegative("messageTimeout", messageTimeout);
			return this;
		}

		/**
		 * How long a peer may take to accept the next byte of what waits for it.
		 * @param writeTimeout 0 for ever; the default is 30 seconds
		 * @return this builder
		 */
		public Builder writeTimeout(Duration writeTimeout) {
			this.writeTimeout = Arguments.notNegative("writeTimeout", writeTimeout);
			return this;
		}

		/**
		 * Has the server speak TLS.
		 * @param tls with which keys, and how; the default is to speak in the clear
		 * @return this builder
		 */
		public Builder tls(ServerTls tls) {
			this.tls = Objects.requireNonNull(tls, "'tls' must not be null");
			return this;
		}

		/**
		 * How long a connection may take from being accepted to being established, if
		 * there is anything to do in between. A connection that is not established in
		 * time is closed, and the handler never hears of it.
		 * @param handshakeTimeout 0 for ever; the default is 10 seconds
		 * @return this builder
		 */
		public Builder handshakeTimeout(Duration handshakeTimeout) {
			this.handshakeTimeout = Arguments.notNegative("handshakeTimeout", handshakeTimeout);
			return this;
		}

		/**
		 * Expects the PROXY protocol, version 1 or 2, from load balancers and other
		 * proxies, so that {@link Connection#remoteAddress()} tells the client behind
		 * them. Each connection from one of the trusted networks has to begin with the
		 * protocol's header, within the {@linkplain #handshakeTimeout handshake timeout};
		 * if it does not, it is closed, and the handler never hears of it. Connections
		 * from elsewhere are turned away, unless {@linkplain #directClients direct
		 * clients} are allowed.
		 * <p>
		 * Whether there is a header is decided by the address of the sender alone and
		 * never guessed from what it sends, or every client could pretend to be another.
		 * @param trusted the networks of all that send the header, and of nobody else;
		 * {@link TrustedNetworks#none()}, the default, for no PROXY protocol
		 * @return this builder
		 */
		public Builder proxyProtocol(TrustedNetworks trusted) {
			this.trustedNetworks = Objects.requireNonNull(trusted, "'trusted' must not be null");
			return this;
		}

		/**
		 * Whether clients that do not come from a trusted network are served, as without
		 * the PROXY protocol: a header that they send is input like any other. Has no
		 * effect without {@linkplain #proxyProtocol trusted networks}.
		 * @param directClients the default is {@code false}: they are turned away
		 * @return this builder
		 */
		public Builder directClients(boolean directClients) {
			this.directClients = directClients;
			return this;
		}

		/**
		 * Builds the server. It is not bound until it is {@linkplain TcpServer#start()
		 * started}.
		 * @return a new server
		 * @throws IllegalStateException if framing or handler are missing
		 * @throws IllegalArgumentException if the framing allows no message of the
		 * maximum message size
		 */
		public TcpServer build() {
			if (this.framing == null || this.handler == null) {
				throw new IllegalStateException("Server '%s' needs a %s: call %s(...) before build()".formatted(
						this.name, (this.framing == null) ? "framing" : "handler",
						(this.framing == null) ? "framing" : "handler"));
			}
			if (this.framing instanceof FixedLengthFraming fixed && fixed.length() > this.maxMessageSize) {
				throw new IllegalArgumentException(
						"'maxMessageSize' (%d) must not be less than the length of every message (%d)"
							.formatted(this.maxMessageSize, fixed.length()));
			}
			InetSocketAddress requested = (this.address != null) ? new InetSocketAddress(this.address, this.port)
					: new InetSocketAddress(this.port);
			String shownName = (this.handlerName != null) ? this.handlerName : this.handler.getClass().getName();
			return new TcpServer(new TcpLifecycle(this.pool, this.name, requested, this.framing, this.handler,
					shownName, options(this.framing)));
		}

		private TcpOptions options(Framing framing) {
			ConnectionContext.Limits limits = new ConnectionContext.Limits(this.maxMessageSize,
					framing.maxFrameLength(this.maxMessageSize), this.maxOutboundSize);
			ConnectionTimeouts timeouts = new ConnectionTimeouts(LeaderFollowersPool.nanos(this.idleTimeout),
					LeaderFollowersPool.nanos(this.messageTimeout), LeaderFollowersPool.nanos(this.writeTimeout),
					LeaderFollowersPool.nanos(this.handshakeTimeout));
			return new TcpOptions(this.backlog, limits, timeouts, this.maxConnections, this.trustedNetworks,
					this.directClients, this.tls);
		}

	}

}
