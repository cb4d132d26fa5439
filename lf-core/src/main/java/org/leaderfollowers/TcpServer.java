package org.leaderfollowers;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.StandardSocketOptions;
import java.nio.channels.Channel;
import java.nio.channels.SelectionKey;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;
import java.time.Duration;
import java.time.Instant;
import java.util.Arrays;
import java.util.EnumMap;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.LongAdder;
import java.util.stream.Stream;

import org.jspecify.annotations.Nullable;
import org.leaderfollowers.internal.latency.LatencyHistogram;
import org.leaderfollowers.internal.logging.RateLimit;
import org.leaderfollowers.internal.promotion.HandlerProfile;
import org.leaderfollowers.internal.proxy.ProxyHeaderException;
import org.leaderfollowers.internal.transport.PlainTransport;
import org.leaderfollowers.internal.transport.TlsTransport;
import org.leaderfollowers.internal.transport.Transport;

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

	private static final Duration CLOSE_TIMEOUT = Duration.ofSeconds(30);

	private static final Duration ABORT_TIMEOUT = Duration.ofMillis(500);

	/** The largest maximum message size: a frame and its overhead fit into an array. */
	private static final int LARGEST_MESSAGE = 1 << 30;

	/** What is logged of an exception that a peer can provoke, in characters. */
	private static final int LONGEST_CAUSE = 300;

	private final String name;

	private final LeaderFollowersPool pool;

	private final InetSocketAddress requestedAddress;

	private final int backlog;

	private final Framing framing;

	private final MessageHandler handler;

	private final String handlerName;

	private final HandlerProfile[] profiles;

	private final int maxMessageSize;

	private final int frameLimit;

	private final int maxConnections;

	private final int maxOutboundSize;

	private final Timeouts timeouts;

	private final TrustedNetworks trustedNetworks;

	private final boolean directClients;

	private final @Nullable TlsGenerations tls;

	/**
	 * Closed connections leave it last, so it is empty when all handlers have returned.
	 * Each is its own key, found by a {@link ConnectionId}: an object less for each.
	 */
	private final Map<Object, TcpConnection> connections = new ConcurrentHashMap<>();

	private final AtomicInteger open = new AtomicInteger();

	private final AtomicLong connectionIds = new AtomicLong();

	private final LongAdder accepted = new LongAdder();

	private final LongAdder rejected = new LongAdder();

	private final Map<CloseReason, LongAdder> closed = new EnumMap<>(CloseReason.class);

	private final LongAdder receivedBytes = new LongAdder();

	private final LongAdder sentBytes = new LongAdder();

	private final LongAdder receivedMessages = new LongAdder();

	private final RateLimit rejectedLog = new RateLimit(TimeUnit.SECONDS.toNanos(10));

	private final RateLimit untrustedLog = new RateLimit(TimeUnit.SECONDS.toNanos(10));

	private final RateLimit overloadedLog = new RateLimit(TimeUnit.SECONDS.toNanos(10));

	private final RateLimit notEstablishedLog = new RateLimit(TimeUnit.SECONDS.toNanos(10));

	private final RateLimit failureLog = new RateLimit(TimeUnit.SECONDS.toNanos(1));

	/** How long the handler took, by handle set. */
	private final LatencyHistogram[] durations;

	private final HandledWork connectionWork;

	private volatile @Nullable Instant startedAt;

	private volatile @Nullable String listeningFailure;

	private volatile ServerSnapshot.State state = ServerSnapshot.State.NEW;

	private volatile @Nullable InetSocketAddress address;

	private volatile @Nullable Acceptor acceptor;

	private volatile boolean paused;

	/** Whether connections were closed that were not done. Stays true. */
	private volatile boolean aborted;

	/** Open connections whose handlers close this server. Guarded by the monitor. */
	private int endingHandlers;

	/**
	 * The timeouts in nanoseconds, 0 where there is none.
	 */
	record Timeouts(long idleNanos, long messageNanos, long writeNanos, long handshakeNanos) {
	}

	/**
	 * Finds a connection in a map whose keys are connections: a map compares by the
	 * {@code equals} of what is looked for.
	 */
	private record ConnectionId(long id) {

		@Override
		public boolean equals(@Nullable Object other) {
			return other instanceof TcpConnection connection && connection.id() == this.id;
		}

		@Override
		public int hashCode() {
			return Long.hashCode(this.id);
		}

	}

	private TcpServer(Builder builder, Framing framing, MessageHandler handler) {
		this.name = builder.name;
		this.pool = builder.pool;
		this.requestedAddress = (builder.address != null) ? new InetSocketAddress(builder.address, builder.port)
				: new InetSocketAddress(builder.port);
		this.backlog = builder.backlog;
		this.framing = framing;
		this.handler = handler;
		this.handlerName = (builder.handlerName != null) ? builder.handlerName : handler.getClass().getName();
		this.profiles = this.pool.newProfiles();
		this.durations = new LatencyHistogram[this.profiles.length];
		Arrays.setAll(this.durations, (index) -> new LatencyHistogram());
		this.connectionWork = HandledWork.ofConnections(this.name, this.handlerName);
		this.maxMessageSize = builder.maxMessageSize;
		this.frameLimit = framing.maxFrameLength(builder.maxMessageSize);
		this.maxConnections = builder.maxConnections;
		this.maxOutboundSize = builder.maxOutboundSize;
		this.timeouts = new Timeouts(LeaderFollowersPool.nanos(builder.idleTimeout),
				LeaderFollowersPool.nanos(builder.messageTimeout), LeaderFollowersPool.nanos(builder.writeTimeout),
				LeaderFollowersPool.nanos(builder.handshakeTimeout));
		this.trustedNetworks = builder.trustedNetworks;
		this.directClients = builder.directClients || builder.trustedNetworks.isEmpty();
		this.tls = (builder.tls != null) ? new TlsGenerations(builder.tls, this.pool.memory()) : null;
		for (CloseReason reason : CloseReason.values()) {
			this.closed.put(reason, new LongAdder());
		}
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
		synchronized (this) {
			if (this.state != ServerSnapshot.State.NEW) {
				throw new IllegalStateException("Server '%s' was started before".formatted(this.name));
			}
			ServerSocketChannel channel = bind();
			try {
				this.pool.start();
			}
			catch (RuntimeException | Error ex) {
				closeQuietly(channel);
				throw ex;
			}
			this.state = ServerSnapshot.State.RUNNING;
			this.startedAt = Instant.now();
			Acceptor newAcceptor = new Acceptor(this, channel);
			SelectableHandle handle = this.pool.newHandle(channel, newAcceptor, SelectionKey.OP_ACCEPT,
					new HandlerProfile());
			this.acceptor = newAcceptor;
			this.pool.serves(this);
			newAcceptor.open(handle);
		}
	}

	private ServerSocketChannel bind() {
		ServerSocketChannel channel = null;
		try {
			channel = ServerSocketChannel.open();
			channel.configureBlocking(false);
			channel.setOption(StandardSocketOptions.SO_REUSEADDR, true);
			channel.bind(this.requestedAddress, this.backlog);
			this.address = (InetSocketAddress) channel.getLocalAddress();
			return channel;
		}
		catch (IOException | RuntimeException ex) {
			if (channel != null) {
				try {
					channel.close();
				}
				catch (IOException closeFailure) {
					ex.addSuppressed(closeFailure);
				}
			}
			IOException cause = (ex instanceof IOException failure) ? failure : new IOException(ex);
			throw new UncheckedIOException(
					"Server '%s' could not bind %s: %s".formatted(this.name, this.requestedAddress, ex.getMessage()),
					cause);
		}
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
		if (this.tls == null) {
			throw new IllegalStateException(
					"Server '%s' does not speak TLS, so there is nothing to replace: call tls(...) before build()"
						.formatted(this.name));
		}
		this.tls.replace(tls);
	}

	// Called by the acceptor and the connections

	void accepted(SocketChannel channel) {
		TcpConnection connection;
		Transport transport = null;
		try {
			if (this.open.get() >= this.maxConnections) {
				reject(channel);
				return;
			}
			InetSocketAddress peer = (InetSocketAddress) channel.getRemoteAddress();
			boolean proxied = !this.trustedNetworks.isEmpty() && this.trustedNetworks.contains(peer.getAddress());
			if (!proxied && !this.directClients) {
				rejectUntrusted(channel, peer);
				return;
			}
			channel.configureBlocking(false);
			channel.setOption(StandardSocketOptions.TCP_NODELAY, true);
			channel.setOption(StandardSocketOptions.SO_KEEPALIVE, true);
			transport = (this.tls != null) ? this.tls.open(channel) : new PlainTransport(channel);
			connection = new TcpConnection(this, channel, transport, this.connectionIds.incrementAndGet(),
					(InetSocketAddress) channel.getLocalAddress(), peer);
			if (proxied) {
				connection.expectProxyHeader();
			}
			this.connections.put(connection, connection);
		}
		catch (IOException | RuntimeException ex) {
			// Reset by its peer before it was served.
			HandleSet.logger.debug("Server '{}' lost a connection while accepting it", this.name, ex);
			closeQuietly(channel);
			transportClosed(transport, null);
			return;
		}
		catch (Error ex) {
			closeQuietly(channel);
			transportClosed(transport, null);
			throw ex;
		}
		this.accepted.increment();
		this.open.incrementAndGet();
		connection.open();
	}

	private void reject(SocketChannel channel) {
		this.rejected.increment();
		closeQuietly(channel);
		long suppressed = this.rejectedLog.tryAcquire();
		if (suppressed >= 0) {
			HandleSet.logger.warn(
					"Server '{}' turned a connection away: {} are open, which is the maximum number of connections (maxConnections){}",
					this.name, this.maxConnections, RateLimit.heldBack(suppressed));
		}
	}

	private void rejectUntrusted(SocketChannel channel, InetSocketAddress peer) {
		this.rejected.increment();
		closeQuietly(channel);
		long suppressed = this.untrustedLog.tryAcquire();
		if (suppressed >= 0) {
			HandleSet.logger.warn(
					"Server '{}' turned a connection from {} away: it only serves those of its trusted networks {}, which tell the client's address by the PROXY protocol. If this is a load balancer, add its network; if clients may connect directly, allow it (directClients){}",
					this.name, peer.getAddress().getHostAddress(), this.trustedNetworks,
					RateLimit.heldBack(suppressed));
		}
	}

	private static void closeQuietly(Channel channel) {
		try {
			channel.close();
		}
		catch (IOException ex) {
			// Nothing was ever sent or accepted on it.
		}
	}

	void received(int bytes) {
		this.receivedBytes.add(bytes);
	}

	void sent(int bytes) {
		this.sentBytes.add(bytes);
	}

	void messageReceived() {
		this.receivedMessages.increment();
	}

	void handled(HandleSet set, long nanos) {
		this.durations[set.index].record(nanos);
	}

	/** The listening socket is closed, and nobody has asked for that. */
	void listeningFailed(Throwable cause) {
		// The first failure is the reason; what follows comes of it.
		if (this.state == ServerSnapshot.State.RUNNING && this.listeningFailure == null) {
			this.listeningFailure = describe(cause);
			HandleSet.logger.error("Server '{}' does not listen any more, and has to be replaced by a new one: {}",
					this.name, this.listeningFailure);
		}
	}

	void closed(TcpConnection connection, CloseReason reason) {
		if (this.connections.remove(connection) == null) {
			return;
		}
		transportClosed(connection.transport(), reason);
		LongAdder counter = this.closed.get(reason);
		if (counter != null) {
			counter.increment();
		}
		synchronized (this) {
			this.open.decrementAndGet();
			this.endingHandlers -= connection.endsServer ? 1 : 0;
			notifyAll();
		}
		Acceptor current = this.acceptor;
		if (current != null) {
			current.connectionClosed();
		}
	}

	void logOverloaded(TcpConnection connection) {
		long suppressed = this.overloadedLog.tryAcquire();
		if (suppressed >= 0) {
			HandleSet.logger.warn(
					"{} is closed: the connections of pool '{}' hold {} bytes of messages and replies that are under way, and no more than {} are allowed (maxBufferedBytes){}",
					connection, this.pool.name(), this.pool.memory().used(), this.pool.memory().limit(),
					RateLimit.heldBack(suppressed));
		}
	}

	void established() {
		if (this.tls != null) {
			this.tls.established();
		}
	}

	private void transportClosed(@Nullable Transport transport, @Nullable CloseReason reason) {
		if (this.tls != null && transport instanceof TlsTransport own) {
			this.tls.closed(own);
			if (reason == CloseReason.HANDSHAKE_FAILED || reason == CloseReason.HANDSHAKE_TIMEOUT) {
				this.tls.failed();
			}
		}
	}

	void logNotEstablished(TcpConnection connection, CloseReason reason, @Nullable Throwable cause) {
		if (reason != CloseReason.HANDSHAKE_FAILED && reason != CloseReason.HANDSHAKE_TIMEOUT) {
			return;
		}
		long suppressed = this.notEstablishedLog.tryAcquire();
		if (suppressed >= 0) {
			HandleSet.logger
				.warn("{} from {} was not established: {}{}", connection,
						connection.transportAddress().getAddress().getHostAddress(),
						(cause != null) ? describe(cause)
								: "its handshake took longer than the handshake timeout of "
										+ Duration.ofNanos(this.timeouts.handshakeNanos()),
						RateLimit.heldBack(suppressed));
		}
	}

	static String describe(Throwable cause) {
		if (cause instanceof ProxyHeaderException) {
			return "the header of the PROXY protocol is not valid: " + cause.getMessage();
		}
		if (cause.getMessage() == null) {
			return cause.getClass().getSimpleName();
		}
		String text = RateLimit.printable(cause.getMessage());
		return cause.getClass().getSimpleName() + ": "
				+ ((text.length() > LONGEST_CAUSE) ? text.substring(0, LONGEST_CAUSE) + "..." : text);
	}

	void logUnhandled(TcpConnection connection, Throwable failure) {
		if (failure instanceof IOException) {
			// Peers come and go; that is not worth a line of a production log.
			HandleSet.logger.debug("{} failed", connection, failure);
			return;
		}
		long suppressed = this.failureLog.tryAcquire();
		if (suppressed < 0) {
			return;
		}
		if (failure instanceof FramingException) {
			HandleSet.logger.warn("{} is closed: {}{}", connection, RateLimit.printable(failure.getMessage()),
					RateLimit.heldBack(suppressed));
		}
		else {
			HandleSet.logger.error("{} is closed because its handler {} failed{}", connection, this.handlerName,
					RateLimit.heldBack(suppressed), failure);
		}
	}

	// The end

	@Override
	public void close() {
		close(CLOSE_TIMEOUT);
	}

	@Override
	public boolean close(Duration grace) {
		boolean drained = drain(grace);
		int left = this.open.get();
		if (!drained && left > 0) {
			// Before the connections end: whoever drains must not take that for success.
			this.aborted = true;
			HandleSet.logger.warn(
					"Server '{}' is closed with {} connections that were not done{}; their replies may be lost",
					this.name, left, grace.isZero() ? "" : " within " + grace);
			abort();
		}
		synchronized (this) {
			this.state = ServerSnapshot.State.STOPPED;
			this.pool.servesNoMore(this);
			// Another thread may drain without an end of time.
			notifyAll();
		}
		return drained;
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
		LeaderFollowersPool.promoteBeforeBlocking();
		long deadlineNanos = System.nanoTime() + LeaderFollowersPool.nanos(grace);
		boolean abortedBefore = this.aborted;
		beginDrain(deadlineNanos);
		return awaitNoConnections(deadlineNanos) && this.aborted == abortedBefore;
	}

	/** Stops accepting, and has every connection looked at. */
	void beginDrain(long deadlineNanos) {
		Acceptor current;
		synchronized (this) {
			if (this.state == ServerSnapshot.State.NEW) {
				this.state = ServerSnapshot.State.STOPPED;
			}
			if (this.state == ServerSnapshot.State.RUNNING) {
				this.state = ServerSnapshot.State.DRAINING;
			}
			current = this.acceptor;
		}
		if (current != null) {
			current.close(deadlineNanos);
		}
		// After the last one was accepted. Each either sees the state when it is
		// released, or is looked at because of this.
		for (TcpConnection connection : this.connections.values()) {
			connection.drain();
		}
	}

	private void abort() {
		for (TcpConnection connection : this.connections.values()) {
			connection.abort();
		}
		if (!awaitNoConnections(System.nanoTime() + ABORT_TIMEOUT.toNanos())) {
			for (TcpConnection connection : this.connections.values()) {
				connection.abandon();
			}
		}
	}

	private synchronized boolean awaitNoConnections(long deadlineNanos) {
		// Handlers that close their own server wait neither for themselves nor for each
		// other.
		TcpConnection own = handledByCaller();
		if (own != null && !own.endsServer) {
			own.endsServer = true;
			this.endingHandlers++;
			notifyAll();
		}
		while (this.open.get() > ((own != null) ? this.endingHandlers : 0)) {
			long left = deadlineNanos - System.nanoTime();
			if (left <= 0 || (this.state == ServerSnapshot.State.STOPPED)) {
				return false;
			}
			try {
				TimeUnit.NANOSECONDS.timedWait(this, left);
			}
			catch (InterruptedException ex) {
				Thread.currentThread().interrupt();
				return false;
			}
		}
		return true;
	}

	private @Nullable TcpConnection handledByCaller() {
		Participant me = Participant.current();
		SelectableHandle handle = (me != null) ? me.handle() : null;
		return (handle != null && handle.handler instanceof TcpConnection connection && connection.isOf(this))
				? connection : null;
	}

	@Override
	public void pause() {
		this.paused = true;
	}

	@Override
	public void resume() {
		this.paused = false;
		Acceptor current = this.acceptor;
		if (current != null) {
			current.resume();
		}
	}

	@Override
	public boolean isPaused() {
		return this.paused;
	}

	boolean isDraining() {
		return this.state != ServerSnapshot.State.RUNNING;
	}

	// What it looks like from outside

	@Override
	public String name() {
		return this.name;
	}

	@Override
	public LeaderFollowersPool pool() {
		return this.pool;
	}

	@Override
	public int port() {
		InetSocketAddress bound = this.address;
		if (bound == null) {
			throw new IllegalStateException("Server '%s' was not started".formatted(this.name));
		}
		return bound.getPort();
	}

	@Override
	public InetSocketAddress address() {
		InetSocketAddress bound = this.address;
		return (bound != null) ? bound : this.requestedAddress;
	}

	@Override
	public ServerSnapshot snapshot() {
		InetSocketAddress bound = this.address;
		Acceptor current = this.acceptor;
		String failure = this.listeningFailure;
		Map<CloseReason, Long> reasons = new EnumMap<>(CloseReason.class);
		for (Map.Entry<CloseReason, LongAdder> entry : this.closed.entrySet()) {
			reasons.put(entry.getKey(), entry.getValue().sum());
		}
		return new ServerSnapshot(this.name, this.state, this.pool.name(),
				(bound != null) ? bound.getAddress().getHostAddress() : null, (bound != null) ? bound.getPort() : -1,
				this.framing.toString(), this.handlerName, this.open.get(), this.accepted.sum(), this.rejected.sum(),
				Map.copyOf(reasons), this.receivedBytes.sum(), this.sentBytes.sum(), this.receivedMessages.sum(),
				current != null && current.isSuspended(), this.paused, TransportType.TCP, null,
				(this.tls != null) ? this.tls.snapshot() : null, this.maxConnections, this.startedAt, failure == null,
				failure, handling());
	}

	private LatencySnapshot handling() {
		LatencyHistogram.Sum sum = new LatencyHistogram.Sum();
		for (LatencyHistogram histogram : this.durations) {
			histogram.addTo(sum);
		}
		return LatencySnapshot.of(sum);
	}

	/**
	 * Looks at the open connections, one after the other as the stream is consumed. Those
	 * that are opened or closed meanwhile may be missing or not. Their times are as of
	 * the call, so that they can be compared with each other. Any thread; nobody is
	 * stopped.
	 * @return in no order
	 */
	public Stream<ConnectionSnapshot> connections() {
		long now = this.pool.clock.nanoTime();
		return this.connections.values().stream().map((connection) -> connection.snapshot(now));
	}

	/**
	 * Finds an open connection, for example to close it. Any thread.
	 * @param id what identifies it, see {@link Connection#id()}
	 * @return {@code null} if there is none of this number, or none any more
	 */
	public @Nullable Connection connection(long id) {
		return this.connections.get(new ConnectionId(id));
	}

	HandledWork connectionWork() {
		return this.connectionWork;
	}

	/**
	 * How the server tells messages apart.
	 * @return the framing that it was built with
	 */
	public Framing framing() {
		return this.framing;
	}

	/**
	 * Who handles the messages.
	 * @return the handler that the server was built with
	 */
	public MessageHandler handler() {
		return this.handler;
	}

	HandlerProfile[] profiles() {
		return this.profiles;
	}

	int backlog() {
		return this.backlog;
	}

	/**
	 * The size of the largest message that the server takes.
	 * @return bytes of payload
	 */
	public int maxMessageSize() {
		return this.maxMessageSize;
	}

	/** The longest frame that can hold a message of the maximum size. */
	int frameLimit() {
		return this.frameLimit;
	}

	/**
	 * How much may wait for a peer that does not read.
	 * @return bytes, framing included
	 */
	public int maxOutboundSize() {
		return this.maxOutboundSize;
	}

	/** As soon as this much waits for a peer, no more messages are taken from it. */
	long highWaterMark() {
		return this.maxOutboundSize / 2;
	}

	/** When no more than this waits, messages are taken again. */
	long lowWaterMark() {
		return this.maxOutboundSize / 4;
	}

	Timeouts timeouts() {
		return this.timeouts;
	}

	@Override
	public String toString() {
		return "TcpServer '" + this.name + "' at " + address();
	}

	/**
	 * Builds a server.
	 */
	public static final class Builder {

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
			if (name.isBlank()) {
				throw new IllegalArgumentException("'name' must not be empty");
			}
			this.name = name;
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
			this.port = inRange("port", port, 0, 65535);
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
			this.backlog = inRange("backlog", backlog, 1, 65535);
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
			this.maxMessageSize = inRange("maxMessageSize", maxMessageSize, 1, LARGEST_MESSAGE);
			return this;
		}

		/**
		 * How many connections may be open. Further ones are closed as soon as they are
		 * accepted.
		 * @param maxConnections at least 1; the default is 10000
		 * @return this builder
		 */
		public Builder maxConnections(int maxConnections) {
			this.maxConnections = inRange("maxConnections", maxConnections, 1, Integer.MAX_VALUE);
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
			this.maxOutboundSize = inRange("maxOutboundSize", maxOutboundSize, 1024, LARGEST_MESSAGE);
			return this;
		}

		/**
		 * How long a connection may be silent in both directions. While something waits
		 * for the peer, the write timeout counts instead.
		 * @param idleTimeout 0 for ever; the default is 10 minutes
		 * @return this builder
		 */
		public Builder idleTimeout(Duration idleTimeout) {
			this.idleTimeout = notNegative("idleTimeout", idleTimeout);
			return this;
		}

		/**
		 * How long a message may take from its first byte to its last, however often
		 * bytes arrive in between.
		 * @param messageTimeout 0 for ever; the default is 30 seconds
		 * @return this builder
		 */
		public Builder messageTimeout(Duration messageTimeout) {
			this.messageTimeout = notNegative("messageTimeout", messageTimeout);
			return this;
		}

		/**
		 * How long a peer may take to accept the next byte of what waits for it.
		 * @param writeTimeout 0 for ever; the default is 30 seconds
		 * @return this builder
		 */
		public Builder writeTimeout(Duration writeTimeout) {
			this.writeTimeout = notNegative("writeTimeout", writeTimeout);
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
			this.handshakeTimeout = notNegative("handshakeTimeout", handshakeTimeout);
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
			return new TcpServer(this, this.framing, this.handler);
		}

		private static int inRange(String name, int value, int least, int greatest) {
			if (value < least || value > greatest) {
				throw new IllegalArgumentException(
						"'%s' must be from %d to %d, but is %d".formatted(name, least, greatest, value));
			}
			return value;
		}

		private static Duration notNegative(String name, Duration value) {
			if (value.isNegative()) {
				throw new IllegalArgumentException("'%s' must not be negative, but is %s".formatted(name, value));
			}
			return value;
		}

	}

}
