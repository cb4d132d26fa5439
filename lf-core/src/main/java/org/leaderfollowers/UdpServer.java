package org.leaderfollowers;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.SocketOption;
import java.net.StandardSocketOptions;
import java.nio.ByteBuffer;
import java.nio.channels.ClosedChannelException;
import java.nio.channels.DatagramChannel;
import java.time.Duration;
import java.time.Instant;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.LongAdder;

import org.jspecify.annotations.Nullable;
import org.leaderfollowers.internal.latency.LatencyHistogram;
import org.leaderfollowers.internal.logging.RateLimit;

/**
 * A server for datagrams, which are served by a {@link LeaderFollowersPool}.
 *
 * <pre>
 * UdpServer server = UdpServer.builder(pool).port(7071)
 *     .handler((datagram, message) -&gt; datagram.send(message)).build();
 * server.start();
 * </pre>
 *
 * Each datagram is a message: {@link MessageHandler#onMessage} is called with its
 * payload, which may be empty, and with a {@link Connection} that stands for this one
 * datagram and its sender. There are no connections beyond that:
 * <ul>
 * <li>datagrams are handled in parallel and in no order, those of one sender too;</li>
 * <li>{@link MessageHandler#onOpen}, {@link MessageHandler#onClose} and
 * {@link MessageHandler#onWritable} are not called. {@link MessageHandler#onError} is, if
 * {@code onMessage} fails; it may send a last reply;</li>
 * <li>{@link Connection#send} sends a datagram to the sender, during the call or later,
 * by any thread, while the server is open. It never waits: what the system has no room
 * for is dropped and counted. It refuses replies that are too large for what they answer
 * with a {@link ReplyRatioException};</li>
 * <li>{@link Connection#attributes} are those of this datagram;</li>
 * <li>{@link Connection#suspend} announces a later reply: the datagram counts as being
 * handled, and a drain waits for it, until the suspension has ended or timed out. It
 * holds up no other datagram;</li>
 * <li>{@link Connection#close} ends replying to this datagram and nothing else.
 * {@link Connection#pendingBytes} is 0, and {@link Connection#isWritable} is the same as
 * {@link Connection#isOpen}.</li>
 * </ul>
 * Several servers may share a pool. A server is started once and closed once; all methods
 * may be called by any thread.
 */
public final class UdpServer implements Server {

	private static final Duration CLOSE_TIMEOUT = Duration.ofSeconds(30);

	private static final Duration ABORT_TIMEOUT = Duration.ofMillis(500);

	private static final long LOG_INTERVAL_NANOS = TimeUnit.SECONDS.toNanos(10);

	private final String name;

	private final LeaderFollowersPool pool;

	private final InetSocketAddress requestedAddress;

	private final MessageHandler handler;

	private final String handlerName;

	private final int maxMessageSize;

	private final int maxInFlight;

	private final int maxReplyRatio;

	private final long suspensionNanos;

	private final int receiveBufferSize;

	private final int sendBufferSize;

	private final DatagramTransfer transfer;

	private final Set<Datagram> suspended = ConcurrentHashMap.newKeySet();

	private final LongAdder receivedBytes = new LongAdder();

	private final LongAdder sentBytes = new LongAdder();

	private final LongAdder receivedMessages = new LongAdder();

	private final LongAdder limitReached = new LongAdder();

	private final LongAdder truncated = new LongAdder();

	private final LongAdder rejected = new LongAdder();

	private final LongAdder receiveFailures = new LongAdder();

	private final LongAdder sentReplies = new LongAdder();

	private final LongAdder refusedReplies = new LongAdder();

	private final LongAdder droppedReplies = new LongAdder();

	private final RateLimit truncatedLog = new RateLimit(LOG_INTERVAL_NANOS);

	private final RateLimit limitLog = new RateLimit(LOG_INTERVAL_NANOS);

	private final RateLimit noRoomLog = new RateLimit(LOG_INTERVAL_NANOS);

	private final RateLimit failureLog = new RateLimit(TimeUnit.SECONDS.toNanos(1));

	/** How long the handler took. */
	private final LatencyHistogram durations = new LatencyHistogram();

	private volatile @Nullable Instant startedAt;

	private volatile @Nullable String listeningFailure;

	private volatile ServerSnapshot.State state = ServerSnapshot.State.NEW;

	private volatile @Nullable InetSocketAddress address;

	private volatile @Nullable DatagramChannel channel;

	private volatile @Nullable DatagramReceiver receiver;

	private volatile boolean paused;

	private volatile boolean aborted;

	/** Handlers of this server that wait for its end. Guarded by the monitor. */
	private int waitingHandlers;

	/** Of the owner of the handle. */
	private long latestId;

	private UdpServer(Builder builder, MessageHandler handler) {
		this.name = builder.name;
		this.pool = builder.pool;
		this.requestedAddress = (builder.address != null) ? new InetSocketAddress(builder.address, builder.port)
				: new InetSocketAddress(builder.port);
		this.handler = handler;
		this.handlerName = (builder.handlerName != null) ? builder.handlerName : handler.getClass().getName();
		this.maxMessageSize = builder.maxMessageSize;
		this.maxInFlight = builder.maxInFlight;
		this.maxReplyRatio = builder.maxReplyRatio;
		this.suspensionNanos = LeaderFollowersPool.nanos(builder.suspensionTimeout);
		this.receiveBufferSize = builder.receiveBufferSize;
		this.sendBufferSize = builder.sendBufferSize;
		this.transfer = builder.transfer;
	}

	/**
	 * Begins to build a server.
	 * @param pool whose threads serve the datagrams
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
			DatagramChannel bound = bind();
			DatagramReceiver newReceiver;
			try {
				this.pool.start();
				newReceiver = new DatagramReceiver(this, bound);
			}
			catch (IOException ex) {
				closeQuietly(bound, ex);
				throw new UncheckedIOException("Server '%s' could not be started".formatted(this.name), ex);
			}
			catch (RuntimeException | Error ex) {
				closeQuietly(bound, ex);
				throw ex;
			}
			this.channel = bound;
			this.state = ServerSnapshot.State.RUNNING;
			this.startedAt = Instant.now();
			this.receiver = newReceiver;
			this.pool.serves(this);
			newReceiver.open();
		}
	}

	private DatagramChannel bind() {
		DatagramChannel opened = null;
		try {
			opened = DatagramChannel.open();
			opened.configureBlocking(false);
			setBuffer(opened, StandardSocketOptions.SO_RCVBUF, this.receiveBufferSize, "receiveBufferSize");
			setBuffer(opened, StandardSocketOptions.SO_SNDBUF, this.sendBufferSize, "sendBufferSize");
			opened.bind(this.requestedAddress);
			this.address = (InetSocketAddress) opened.getLocalAddress();
			return opened;
		}
		catch (IOException | RuntimeException ex) {
			if (opened != null) {
				closeQuietly(opened, ex);
			}
			IOException cause = (ex instanceof IOException failure) ? failure : new IOException(ex);
			throw new UncheckedIOException(
					"Server '%s' could not bind %s: %s".formatted(this.name, this.requestedAddress, ex.getMessage()),
					cause);
		}
	}

	private void setBuffer(DatagramChannel opened, SocketOption<Integer> option, int size, String property)
			throws IOException {
		if (size == 0) {
			return;
		}
		opened.setOption(option, size);
		int granted = opened.getOption(option);
		if (granted < size) {
			HandleSet.logger.warn(
					"Server '{}' asked for a {} of {} bytes and got {}: the system has a lower limit, which has to be raised first",
					this.name, property, size, granted);
		}
	}

	private static void closeQuietly(DatagramChannel opened, Throwable failure) {
		try {
			opened.close();
		}
		catch (IOException ex) {
			failure.addSuppressed(ex);
		}
	}

	// Called by the receiver

	/** Called by the owner of the handle. */
	long nextId() {
		return ++this.latestId;
	}

	void received(int bytes) {
		this.receivedBytes.add(bytes);
	}

	void messageReceived() {
		this.receivedMessages.increment();
	}

	void handled(long nanos) {
		this.durations.record(nanos);
	}

	/** The socket is closed, and nobody has asked for that. */
	void listeningFailed(Throwable cause) {
		// The first failure is the reason; what follows comes of it.
		if (this.state == ServerSnapshot.State.RUNNING && this.listeningFailure == null) {
			this.listeningFailure = TcpServer.describe(cause);
			HandleSet.logger.error("Server '{}' receives no more, and has to be replaced by a new one: {}", this.name,
					this.listeningFailure);
		}
	}

	void truncated() {
		this.truncated.increment();
		long suppressed = this.truncatedLog.tryAcquire();
		if (suppressed >= 0) {
			HandleSet.logger.warn(
					"Server '{}' dropped a datagram that is larger than the maximum message size of {} bytes (maxMessageSize){}",
					this.name, this.maxMessageSize, RateLimit.heldBack(suppressed));
		}
	}

	void rejected() {
		this.rejected.increment();
	}

	void receiveFailed() {
		this.receiveFailures.increment();
	}

	void limitReached() {
		this.limitReached.increment();
		long suppressed = this.limitLog.tryAcquire();
		if (suppressed >= 0) {
			HandleSet.logger.warn(
					"Server '{}' reads no datagrams for now: {} are being handled or suspended, which is the maximum (maxInFlight). The system keeps some and drops the others{}",
					this.name, this.maxInFlight, RateLimit.heldBack(suppressed));
		}
	}

	/** Something that a drain may wait for has happened. Any thread. */
	void changed() {
		if (this.state != ServerSnapshot.State.RUNNING) {
			synchronized (this) {
				notifyAll();
			}
		}
	}

	void handlerFailed(Datagram datagram, Throwable failure) {
		if (failure instanceof ConnectionClosedException closed && closed.isOf(datagram)) {
			return;
		}
		try {
			this.handler.onError(datagram, failure);
		}
		catch (Throwable ex) {
			onErrorFailed(datagram, ex);
		}
		datagram.close(CloseReason.HANDLER_ERROR);
	}

	private void onErrorFailed(Datagram datagram, Throwable failure) {
		try {
			if (!(failure instanceof ConnectionClosedException closed && closed.isOf(datagram))) {
				logUnhandled(datagram, failure);
			}
		}
		catch (Throwable ex) {
			// Out of memory, or a failure that cannot even be logged. It must not get any
			// further: the socket belongs to others by now.
		}
	}

	void logUnhandled(Datagram datagram, Throwable failure) {
		long suppressed = this.failureLog.tryAcquire();
		if (suppressed < 0) {
			return;
		}
		if (failure instanceof ReplyRatioException) {
			HandleSet.logger.warn("{}{}", RateLimit.printable(failure.getMessage()), RateLimit.heldBack(suppressed));
		}
		else {
			HandleSet.logger.error("{} was not handled because its handler {} failed{}", datagram, this.handlerName,
					RateLimit.heldBack(suppressed), failure);
		}
	}

	// Called by datagrams

	/**
	 * Sends a reply. The payload is as it was afterwards.
	 * @return {@code false} if the server is closed
	 */
	boolean reply(ByteBuffer message, InetSocketAddress target) {
		DatagramChannel open = this.channel;
		if (open == null) {
			return false;
		}
		int position = message.position();
		int limit = message.limit();
		try {
			int sent = this.transfer.send(open, message, target);
			if (sent == 0 && position < limit) {
				this.droppedReplies.increment();
				logNoRoom();
			}
			else {
				this.sentReplies.increment();
				this.sentBytes.add(sent);
			}
			return true;
		}
		catch (ClosedChannelException ex) {
			return false;
		}
		catch (IOException ex) {
			// No route, a port that cannot be, news of an earlier reply that did not
			// arrive: the network loses datagrams, this one a little earlier.
			this.droppedReplies.increment();
			HandleSet.logger.debug("Server '{}' could not send a reply", this.name, ex);
			return true;
		}
		finally {
			message.limit(limit).position(position);
		}
	}

	private void logNoRoom() {
		long suppressed = this.noRoomLog.tryAcquire();
		if (suppressed >= 0) {
			HandleSet.logger.warn(
					"Server '{}' dropped a reply, since the send buffer of the system was full (sendBufferSize){}",
					this.name, RateLimit.heldBack(suppressed));
		}
	}

	void replyRefused() {
		this.refusedReplies.increment();
	}

	void suspended(Datagram datagram) {
		if (this.suspensionNanos == 0) {
			return;
		}
		long now = System.nanoTime();
		datagram.suspendedNanos(now);
		this.suspended.add(datagram);
		DatagramReceiver current = this.receiver;
		if (current != null) {
			current.requestTimer(now + this.suspensionNanos);
		}
	}

	/** A datagram is not under way any more. */
	void finished(Datagram datagram) {
		if (datagram.wasSuspended()) {
			this.suspended.remove(datagram);
		}
		DatagramReceiver current = this.receiver;
		if (current != null) {
			current.finished();
		}
		changed();
	}

	/** When the first suspension times out. Called by the leader. */
	long suspensionDeadline() {
		long earliest = EngineEventHandler.NO_DEADLINE;
		for (Datagram datagram : this.suspended) {
			earliest = EngineEventHandler.earlier(earliest, datagram.suspendedNanos() + this.suspensionNanos);
		}
		return earliest;
	}

	/** Called by the leader. */
	void endSuspensions(long nowNanos) {
		for (Datagram datagram : this.suspended) {
			if (nowNanos - datagram.suspendedNanos() - this.suspensionNanos >= 0) {
				this.suspended.remove(datagram);
				datagram.timeOut();
			}
		}
	}

	boolean isOpen() {
		DatagramReceiver current = this.receiver;
		return current != null && current.isOpen();
	}

	/** Why nothing can be sent any more. */
	CloseReason closeReason() {
		return this.aborted ? CloseReason.SHUTDOWN_TIMEOUT : CloseReason.SHUTDOWN;
	}

	// The end

	@Override
	public void close() {
		close(CLOSE_TIMEOUT);
	}

	@Override
	public boolean close(Duration grace) {
		boolean drained = drain(grace);
		DatagramReceiver current = this.receiver;
		if (!drained && current != null && !current.isClosed()) {
			HandleSet.logger.warn(
					"Server '{}' is closed with {} datagrams that were not done{}; their replies are lost", this.name,
					current.inFlight(), grace.isZero() ? "" : " within " + grace);
			this.aborted = true;
			current.abort(System.nanoTime() + ABORT_TIMEOUT.toNanos());
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
	 * Reads what the system has received until now, and no more; waits until all of it
	 * has been handled and no suspension is left, and closes the port. If the server is
	 * paused, what the system has received is lost. A handler may call this method: it is
	 * not waited for then.
	 * @param grace how long to wait for that; if it takes longer, the port stays open for
	 * the replies
	 * @return whether everything was handled
	 */
	@Override
	public boolean drain(Duration grace) {
		LeaderFollowersPool.promoteBeforeBlocking();
		long deadlineNanos = System.nanoTime() + LeaderFollowersPool.nanos(grace);
		beginDrain();
		return awaitNoneInFlight(deadlineNanos);
	}

	/** Has the owner of the handle read what there is, and no more. */
	void beginDrain() {
		DatagramReceiver current;
		synchronized (this) {
			if (this.state == ServerSnapshot.State.NEW) {
				this.state = ServerSnapshot.State.STOPPED;
			}
			if (this.state == ServerSnapshot.State.RUNNING) {
				this.state = ServerSnapshot.State.DRAINING;
			}
			current = this.receiver;
		}
		if (current != null) {
			current.look();
		}
	}

	private synchronized boolean awaitNoneInFlight(long deadlineNanos) {
		DatagramReceiver current = this.receiver;
		if (current == null) {
			return true;
		}
		// Handlers that close their own server wait neither for themselves nor for each
		// other.
		boolean handler = current.isHandledByCaller();
		if (handler) {
			this.waitingHandlers++;
			notifyAll();
		}
		try {
			while (!current.isClosed()
					&& !(handler && current.hasInputEnded() && current.inFlight() <= this.waitingHandlers)) {
				long left = deadlineNanos - System.nanoTime();
				if (left <= 0 || this.state == ServerSnapshot.State.STOPPED) {
					return false;
				}
				TimeUnit.NANOSECONDS.timedWait(this, left);
			}
			return !this.aborted;
		}
		catch (InterruptedException ex) {
			Thread.currentThread().interrupt();
			return false;
		}
		finally {
			this.waitingHandlers -= handler ? 1 : 0;
		}
	}

	@Override
	public void pause() {
		this.paused = true;
	}

	@Override
	public void resume() {
		this.paused = false;
		DatagramReceiver current = this.receiver;
		if (current != null) {
			current.look();
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
		DatagramReceiver current = this.receiver;
		ServerSnapshot.Datagrams datagrams = new ServerSnapshot.Datagrams((current != null) ? current.inFlight() : 0,
				this.limitReached.sum(), this.truncated.sum(), this.rejected.sum(), this.receiveFailures.sum(),
				this.sentReplies.sum(), this.refusedReplies.sum(), this.droppedReplies.sum(), this.maxInFlight);
		String failure = this.listeningFailure;
		LatencyHistogram.Sum handling = new LatencyHistogram.Sum();
		this.durations.addTo(handling);
		return new ServerSnapshot(this.name, this.state, this.pool.name(),
				(bound != null) ? bound.getAddress().getHostAddress() : null, (bound != null) ? bound.getPort() : -1,
				"datagram", this.handlerName, 0, 0, 0, Map.of(), this.receivedBytes.sum(), this.sentBytes.sum(),
				this.receivedMessages.sum(), current != null && current.isSuspended(), this.paused, TransportType.UDP,
				datagrams, null, 0, this.startedAt, failure == null, failure, LatencySnapshot.of(handling));
	}

	MessageHandler handler() {
		return this.handler;
	}

	String handlerName() {
		return this.handlerName;
	}

	int maxMessageSize() {
		return this.maxMessageSize;
	}

	int maxInFlight() {
		return this.maxInFlight;
	}

	int maxReplyRatio() {
		return this.maxReplyRatio;
	}

	DatagramTransfer transfer() {
		return this.transfer;
	}

	/** For tests: the socket. */
	@Nullable DatagramChannel channel() {
		return this.channel;
	}

	@Override
	public String toString() {
		return "UdpServer '" + this.name + "' at " + address();
	}

	/**
	 * Builds a server.
	 */
	public static final class Builder {

		/** As long as what one read can take, and longer than any datagram. */
		private static final int LARGEST_MESSAGE = Participant.BUFFER_SIZE;

		private static final int LARGEST_BUFFER = 1 << 30;

		private final LeaderFollowersPool pool;

		private String name = "default";

		private @Nullable InetAddress address;

		private int port = 7070;

		private @Nullable MessageHandler handler;

		private @Nullable String handlerName;

		private int maxMessageSize = LARGEST_MESSAGE;

		private int maxInFlight = 1024;

		private int maxReplyRatio = 3;

		private Duration suspensionTimeout = Duration.ofSeconds(30);

		private int receiveBufferSize;

		private int sendBufferSize;

		private DatagramTransfer transfer = DatagramTransfer.SYSTEM;

		private Builder(LeaderFollowersPool pool) {
			this.pool = Objects.requireNonNull(pool, "'pool' must not be null");
		}

		/** For tests: how datagrams get into and out of the socket. */
		Builder transfer(DatagramTransfer transfer) {
			this.transfer = transfer;
			return this;
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
		 * The address to bind. On a machine with several addresses, a server that is
		 * bound to all of them cannot tell to which one a datagram came, and its replies
		 * may come from another one: bind one server to each address that clients use.
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
		 * What to do with datagrams. Required.
		 * @param handler called by several threads at a time
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
		 * The largest datagram that is handled. A larger one is dropped and counted as
		 * truncated; no part of it reaches the handler.
		 * @param maxMessageSize bytes of payload, from 1 to 64 KiB; the default is 64
		 * KiB, which is more than a datagram can hold
		 * @return this builder
		 */
		public Builder maxMessageSize(int maxMessageSize) {
			this.maxMessageSize = inRange("maxMessageSize", maxMessageSize, 1, LARGEST_MESSAGE);
			return this;
		}

		/**
		 * How many datagrams may be handled or {@linkplain Connection#suspend suspended}
		 * at a time. While there are as many, none is read: the system keeps what its
		 * receive buffer has room for and drops the rest, which it may tell and we
		 * cannot. A flood of datagrams whose handler blocks takes no more threads of the
		 * pool than this, so a server that shares its pool with others needs less than
		 * the maximum of threads.
		 * @param maxInFlight at least 1; the default is 1024
		 * @return this builder
		 */
		public Builder maxInFlight(int maxInFlight) {
			this.maxInFlight = inRange("maxInFlight", maxInFlight, 1, Integer.MAX_VALUE);
			return this;
		}

		/**
		 * How many times as much as a datagram the replies to it may take, together. The
		 * sender's address may be forged: without such a limit, whoever forges it has us
		 * send much to a victim for little of his own. Headers of 28 bytes are counted
		 * for the datagram and for each reply, so there is something to answer an empty
		 * datagram with. What is more is refused with a {@link ReplyRatioException}.
		 * @param maxReplyRatio from 0, for no replies at all, to 10000; the default is 3,
		 * as in QUIC for peers whose address is not proved
		 * @return this builder
		 */
		public Builder maxReplyRatio(int maxReplyRatio) {
			this.maxReplyRatio = inRange("maxReplyRatio", maxReplyRatio, 0, 10_000);
			return this;
		}

		/**
		 * How long a datagram may be suspended. After that it does not count as being
		 * handled any more, and cannot be replied to.
		 * @param suspensionTimeout 0 for ever; the default is 30 seconds
		 * @return this builder
		 */
		public Builder suspensionTimeout(Duration suspensionTimeout) {
			if (suspensionTimeout.isNegative()) {
				throw new IllegalArgumentException(
						"'suspensionTimeout' must not be negative, but is " + suspensionTimeout);
			}
			this.suspensionTimeout = suspensionTimeout;
			return this;
		}

		/**
		 * How much the system keeps of what has been received and not been read. It holds
		 * what comes while all threads are busy; when it is full, the system drops
		 * datagrams.
		 * @param receiveBufferSize bytes, from 1024 to 1 GiB; by default the system
		 * decides. If the system grants less, a line is logged
		 * @return this builder
		 */
		public Builder receiveBufferSize(int receiveBufferSize) {
			this.receiveBufferSize = inRange("receiveBufferSize", receiveBufferSize, 1024, LARGEST_BUFFER);
			return this;
		}

		/**
		 * How much the system keeps of what is to be sent.
		 * @param sendBufferSize bytes, from 1024 to 1 GiB; by default the system decides.
		 * If the system grants less, a line is logged
		 * @return this builder
		 */
		public Builder sendBufferSize(int sendBufferSize) {
			this.sendBufferSize = inRange("sendBufferSize", sendBufferSize, 1024, LARGEST_BUFFER);
			return this;
		}

		/**
		 * Builds the server. It is not bound until it is {@linkplain UdpServer#start()
		 * started}.
		 * @return a new server
		 * @throws IllegalStateException if the handler is missing
		 */
		public UdpServer build() {
			if (this.handler == null) {
				throw new IllegalStateException(
						"Server '%s' needs a handler: call handler(...) before build()".formatted(this.name));
			}
			return new UdpServer(this, this.handler);
		}

		private static int inRange(String name, int value, int least, int greatest) {
			if (value < least || value > greatest) {
				throw new IllegalArgumentException(
						"'%s' must be from %d to %d, but is %d".formatted(name, least, greatest, value));
			}
			return value;
		}

	}

}
