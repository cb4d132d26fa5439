package org.leaderfollowers;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.net.InetSocketAddress;
import java.nio.ByteBuffer;
import java.nio.channels.SocketChannel;
import java.time.Duration;
import java.util.Objects;
import java.util.concurrent.CompletableFuture;

import javax.net.ssl.SSLSession;

import org.jspecify.annotations.Nullable;
import org.leaderfollowers.internal.demultiplexing.HandleState.Release;
import org.leaderfollowers.internal.linkage.Linkage;
import org.leaderfollowers.internal.promotion.HandledWork;
import org.leaderfollowers.internal.proxy.ProxyHeader;
import org.leaderfollowers.internal.proxy.ProxyHeaderDecoder;
import org.leaderfollowers.internal.transport.TlsTransport;
import org.leaderfollowers.internal.transport.Transport;

/**
 * The part of a TCP connection that any thread may use at any time: sending, requesting
 * the end, deadlines, and snapshots. {@link TcpConnection} adds the part that only the
 * owner of the handle uses, one thread at a time.
 * <p>
 * Both are one object, so that an idle connection is small.
 */
abstract class StreamConnection extends ReplyingConnection implements EngineEventHandler {

	private static final VarHandle CLOSING;

	private static final VarHandle WATCH;

	private static final VarHandle LAST_ACTIVITY;

	private static final VarHandle RECEIVED_MESSAGES;

	private static final VarHandle RECEIVED_BYTES;

	static {
		try {
			MethodHandles.Lookup lookup = MethodHandles.lookup();
			CLOSING = lookup.findVarHandle(StreamConnection.class, "closing", CloseSequence.class);
			WATCH = lookup.findVarHandle(StreamConnection.class, "watch", ConnectionWatch.class);
			LAST_ACTIVITY = lookup.findVarHandle(StreamConnection.class, "lastActivityNanos", long.class);
			RECEIVED_MESSAGES = lookup.findVarHandle(StreamConnection.class, "receivedMessages", long.class);
			RECEIVED_BYTES = lookup.findVarHandle(StreamConnection.class, "receivedBytes", long.class);
		}
		catch (ReflectiveOperationException ex) {
			throw new ExceptionInInitializerError(ex);
		}
		Linkage.link(() -> CLOSING.compareAndSet((StreamConnection) null, null, (CloseSequence) null), () -> {
			ConnectionWatch ignored = (ConnectionWatch) WATCH.compareAndExchange((StreamConnection) null, null,
					(ConnectionWatch) null);
		}, () -> {
			long ignored = (long) LAST_ACTIVITY.getOpaque((StreamConnection) null);
		}, () -> LAST_ACTIVITY.setOpaque((StreamConnection) null, 0L));
	}

	private static final InetSocketAddress UNBOUND = new InetSocketAddress(0);

	/**
	 * Replaced by the owner when the connection chooses its service class. Immutable, so
	 * other threads may still use the former one.
	 */
	ConnectionContext context;

	final Transport transport;

	final SelectableHandle handle;

	final long acceptedNanos;

	/**
	 * {@code null} until this side has connected. Written before the connection opens.
	 */
	@Nullable InetSocketAddress localAddress;

	private final InetSocketAddress transportAddress;

	final OutboundWriter outbound;

	/** The exchanges of this side. Written before the connection opens. */
	@Nullable Exchanges exchanges;

	/**
	 * The {@link ProxyHeaderDecoder} until the connection is established, and then the
	 * {@link ProxyHeader} that it has decoded, if one was expected; or {@link Permitted},
	 * with this header. One field for both, so that an idle connection is small.
	 */
	volatile @Nullable Object origin;

	/** How the connection closes, as soon as this is known. */
	volatile @Nullable CloseSequence closing;

	/** State that only some connections have; see {@link #watch()}. */
	volatile @Nullable ConnectionWatch watch;

	/**
	 * When the message in {@link #partial} must be complete, or the record that the
	 * transport holds a part of. Before the connection is passed to the application: when
	 * it must be established.
	 */
	volatile long messageDeadline;

	/** Opaque: only the idle timeout reads it, and it only increases. */
	@SuppressWarnings("FieldMayBeFinal") // changed through LAST_ACTIVITY
	private long lastActivityNanos;

	// Written by the owner; read by any thread

	volatile boolean opened;

	/** Whether this connection drains, even if others do not yet. Any thread sets it. */
	volatile boolean drains;

	@SuppressWarnings("FieldMayBeFinal") // changed through RECEIVED_MESSAGES
	private long receivedMessages;

	@SuppressWarnings("FieldMayBeFinal") // changed through RECEIVED_BYTES
	private long receivedBytes;

	StreamConnection(ConnectionContext context, SocketChannel channel, Transport transport,
			@Nullable InetSocketAddress localAddress, InetSocketAddress transportAddress) {
		super(context.registry().nextId());
		this.context = context;
		this.transport = transport;
		this.localAddress = localAddress;
		this.transportAddress = transportAddress;
		this.acceptedNanos = nanoTime();
		this.lastActivityNanos = this.acceptedNanos;
		this.messageDeadline = context.timeouts().handshakeDeadline(this.acceptedNanos);
		this.outbound = new OutboundWriter(this);
		this.handle = context.pool().newHandle(channel, this);
	}

	/** Expects the PROXY protocol header first. Called before the connection opens. */
	final void expectProxyHeader(@Nullable ConnectionGuard guard) {
		ProxyHeaderDecoder decoder = new ProxyHeaderDecoder();
		this.origin = decoder;
		this.transport.expect((guard != null) ? new GuardedPreamble(decoder, guard, this) : decoder);
	}

	/** Passes the new connection to its handle set, whose leader opens it. */
	final void open() {
		// A look that was requested meanwhile, for example to close the connection,
		// follows.
		while (this.handle.pause() == Release.LOOK_AGAIN) {
			Thread.onSpinWait();
		}
		this.handle.request(SelectableHandle.REGISTER | SelectableHandle.LOOK);
	}

	/** Whether the socket is or was connected. */
	final boolean isConnected() {
		return this.localAddress != null;
	}

	/** The framing of this connection. Any thread. */
	final Framing framing() {
		ConnectionWatch watched = this.watch;
		Framing own = (watched != null) ? watched.framing : null;
		return (own != null) ? own : this.context.framing();
	}

	/** Marks the connection as ready for the application. Called by the owner only. */
	final void established() {
		Framing own = this.context.framing().forConnection(this);
		if (own != this.context.framing()) {
			watch().framing = Objects.requireNonNull(own, "'forConnection' must not return null");
		}
		if (this.context.timeouts().watchAll()) {
			watch();
		}
		Permitted.opened(this);
		messageDeadline(NO_DEADLINE);
		this.context.established(this.transport);
		// Last: if memory is short, the handler is not told of the end of a connection
		// that it has not seen.
		this.opened = true;
	}

	final long nanoTime() {
		return this.context.clock().nanoTime();
	}

	/**
	 * Records why the connection will be closed, unless a reason is recorded already. The
	 * owner of the handle does everything else. Any thread.
	 * @return whether this is the recorded reason now
	 */
	boolean requestClose(CloseReason reason, @Nullable Throwable cause) {
		if (this.closing == null && CLOSING.compareAndSet(this, null, CloseSequence.of(this, reason, cause))) {
			return true;
		}
		CloseSequence earlier = this.closing;
		return earlier != null && earlier.replaceReason(reason, cause, this.outbound.waitingBytes() > 0);
	}

	/** Like {@link #requestClose}, and requests a look of the owner. */
	void requestCloseAndLook(CloseReason reason, @Nullable Throwable cause) {
		if (requestClose(reason, cause) && !isOwner(Participant.current())) {
			this.handle.request(SelectableHandle.LOOK);
		}
	}

	/**
	 * Ends the input and, when all received messages have been answered, closes the
	 * connection. Called by the owner only.
	 */
	abstract void endInput(CloseReason reason, @Nullable Throwable cause);

	/**
	 * The close that follows when all messages have been answered, if the input has
	 * ended.
	 */
	abstract @Nullable CloseSequence ending();

	/** Whether a thread owns the handle because it runs code of the application. */
	boolean isOwner(@Nullable Participant thread) {
		return thread != null && thread.handle() == this.handle;
	}

	// Deadlines

	@Override
	public long deadline(long nowNanos) {
		ConnectionWatch watched = this.watch;
		if (!this.handle.isOwned()) {
			long silence = (watched != null) ? watched.deadline() : NO_DEADLINE;
			return earliestDeadline((long) LAST_ACTIVITY.getOpaque(this), this.messageDeadline, silence, nowNanos);
		}
		// While a thread works on the connection, it is neither idle nor late. If the
		// owner needs an earlier timer, it sets the deadline and requests the timer
		// before it releases the handle, so a deadline that has not passed counts.
		long message = this.messageDeadline;
		if (ConnectionTimeouts.isPast(message, nowNanos)) {
			ConnectionTimeouts timeouts = this.context.timeouts();
			message = this.opened ? timeouts.messageDeadline(nowNanos) : timeouts.handshakeDeadline(nowNanos);
		}
		long silence = (watched != null) ? watched.deadlineFrom(nowNanos) : NO_DEADLINE;
		return earliestDeadline(nowNanos, message, silence, nowNanos);
	}

	private long earliestDeadline(long idleSinceNanos, long messageDeadline, long silenceDeadline, long nowNanos) {
		CloseSequence end = this.closing;
		ConnectionTimeouts timeouts = this.context.timeouts();
		if (end != null) {
			return timeouts.earliestOfClosing(this.outbound, end.deadlineNanos(), nowNanos);
		}
		Exchanges current = this.exchanges;
		long first = (current != null) ? EngineEventHandler.earlier(silenceDeadline, current.deadlineNanos())
				: silenceDeadline;
		return EngineEventHandler.earlier(first,
				timeouts.earliest(this.outbound, idleSinceNanos, messageDeadline, nowNanos));
	}

	final void requestTimerIfEarlier() {
		long idleSince = (long) LAST_ACTIVITY.getOpaque(this);
		ConnectionWatch watched = this.watch;
		long silence = (watched != null) ? watched.deadline() : NO_DEADLINE;
		long deadline = earliestDeadline(idleSince, this.messageDeadline, silence, idleSince);
		long scheduled = this.handle.timerDeadline;
		if (deadline != NO_DEADLINE && (scheduled == NO_DEADLINE || deadline - scheduled < 0)) {
			this.handle.request(SelectableHandle.TIMER);
		}
	}

	@Override
	public void expire(long nowNanos) {
		// The owner judges idle connections and late messages. It may run a handler for
		// longer than the write timeout or a grace period, which are therefore checked
		// here.
		ConnectionTimeouts timeouts = this.context.timeouts();
		if (timeouts.isWriteLate(this.outbound, nowNanos)) {
			// The peer may have made room while no thread could notice it.
			this.outbound.flush(0);
			if (timeouts.isWriteLate(this.outbound, nowNanos)) {
				requestClose(CloseReason.WRITE_TIMEOUT, null);
				this.outbound.discard();
			}
		}
		ConnectionWatch watched = this.watch;
		if (watched != null && watched.isDrainLate(nowNanos)) {
			requestClose(CloseReason.LOCAL, null);
		}
	}

	final void messageDeadline(long deadline) {
		// The value is nearly always unchanged, so this saves a volatile store.
		if (deadline != this.messageDeadline) {
			this.messageDeadline = deadline;
		}
	}

	/** State that only some connections have, created when it is needed. Any thread. */
	final ConnectionWatch watch() {
		ConnectionWatch current = this.watch;
		if (current == null) {
			ConnectionWatch created = new ConnectionWatch(this.context.timeouts(), nanoTime());
			ConnectionWatch earlier = (ConnectionWatch) WATCH.compareAndExchange(this, null, created);
			current = (earlier != null) ? earlier : created;
		}
		return current;
	}

	@Override
	public void loggedIn() {
		ConnectionWatch watched = this.watch;
		if (watched != null) {
			watched.loggedIn();
		}
	}

	@Override
	public void idleAfter(EventType type, Duration period) {
		StackReserve.require();
		long nanos = Arguments.nanos(Arguments.notNegative("period", period));
		switch (type) {
			case READ -> watch().readIdleAfter(nanos, nanoTime());
			case WRITE -> watch().writeIdleAfter(nanos, nanoTime());
			default -> throw new IllegalArgumentException("'type' must be READ or WRITE, but is " + type);
		}
		if (!isOwner(Participant.current())) {
			this.handle.request(SelectableHandle.TIMER);
		}
	}

	// Recording activity

	/** Counts input. Called by the owner only. */
	final void noteReceived(int bytes) {
		RECEIVED_BYTES.setOpaque(this, this.receivedBytes + bytes);
		this.context.counters().received(bytes);
		noteReading();
	}

	/** Records that bytes were received or reading resumes. The owner only. */
	final void noteReading() {
		ConnectionWatch watched = this.watch;
		if (watched != null) {
			watched.received(nanoTime());
		}
	}

	/** Counts output that was accepted. Any thread. */
	final void noteSent(int bytes) {
		this.context.counters().sent(bytes);
		ConnectionWatch watched = this.watch;
		if (watched != null) {
			watched.sent(nanoTime());
		}
	}

	/** Records that the peer has accepted pending bytes. Any thread. */
	final void noteTaken(long nowNanos) {
		noteActivity(nowNanos);
		ConnectionWatch watched = this.watch;
		if (watched != null) {
			watched.sent(nowNanos);
		}
	}

	/** How many bytes have been received. Any thread. */
	final long receivedBytes() {
		return (long) RECEIVED_BYTES.getOpaque(this);
	}

	/** Counts a message. Called by the owner only. */
	final void noteMessage() {
		RECEIVED_MESSAGES.setOpaque(this, this.receivedMessages + 1);
		this.context.counters().messageReceived();
	}

	/** The time of the latest activity. */
	final long lastActivity() {
		return (long) LAST_ACTIVITY.getOpaque(this);
	}

	/** Records the time of the latest activity. Any thread. */
	void noteActivity(long nowNanos) {
		LAST_ACTIVITY.setOpaque(this, nowNanos);
	}

	// Sending

	@Override
	public void send(ByteBuffer message) {
		StackReserve.require();
		checkSendable();
		Exchanges current = this.exchanges;
		if (current != null && current.isInOrder() && this.context.isClient()) {
			current.sendForHandler(message);
			return;
		}
		this.outbound.send(message);
	}

	final void checkSendable() {
		CloseSequence end = this.closing;
		if (end != null && !end.allowsLastWords()) {
			if (end.reason() == CloseReason.SHUTDOWN && !this.context.isClient()) {
				this.context.warnings().sentTooLate(this);
			}
			throw notSendable();
		}
	}

	ConnectionClosedException notSendable() {
		CloseSequence end = this.closing;
		return closedException("message", (end != null) ? end.reason() : CloseReason.LOCAL,
				(end != null) ? end.cause() : null);
	}

	@Override
	public void uncork() {
		this.outbound.uncork();
	}

	@Override
	public int notifyWritable(int events) {
		int left = this.outbound.flush(events);
		ConnectionWatch watched = this.watch;
		// A handler may wait for input that follows these bytes, so it has to look.
		return (watched != null && watched.reader != null) ? left | SelectableHandle.LOOK : left;
	}

	@Override
	public boolean hasPendingBytes() {
		return this.outbound.waitingBytes() > 0 || this.transport.wantsWrite();
	}

	// Called by the server

	/** Drains this connection: the owner sees the mark or looks. Any thread. */
	void drain() {
		this.drains = true;
		this.handle.request(SelectableHandle.LOOK);
	}

	@Override
	public final boolean isDraining() {
		return this.drains || this.context.server().isDraining();
	}

	/** Why the connection closes when it has drained. */
	final CloseReason drainReason() {
		return this.context.server().isEnding() ? CloseReason.SHUTDOWN : CloseReason.LOCAL;
	}

	@Override
	public void abort() {
		requestClose(CloseReason.SHUTDOWN_TIMEOUT, null);
		this.handle.request(SelectableHandle.LOOK);
	}

	@Override
	void logUnhandled(Throwable failure) {
		CloseSequence end = this.closing;
		if (end != null) {
			this.context.warnings().closedUnhandled(this, end.reasonOf(failure), failure);
		}
		else {
			this.context.warnings().messageUnhandled(this, failure);
		}
	}

	// Methods for the application

	@Override
	public final void close() {
		close(CloseReason.LOCAL);
	}

	@Override
	public void close(CloseReason reason) {
		StackReserve.require();
		requestCloseAndLook(reason.requireOfApplication(), null);
	}

	@Override
	public void close(Duration grace) {
		StackReserve.require();
		long nanos = Arguments.nanos(Arguments.notNegative("grace", grace));
		if (nanos == 0 || this.context.isClient()) {
			close();
			return;
		}
		watch().drainsUntil(nanoTime() + nanos);
		this.drains = true;
		this.handle.request(SelectableHandle.LOOK | SelectableHandle.TIMER);
	}

	@Override
	public final CompletableFuture<CloseReason> whenClosed() {
		return watch().end(this).copy();
	}

	@Override
	public void fail(Throwable failure) {
		StackReserve.require();
		Objects.requireNonNull(failure, "'failure' must not be null");
		if (!isClosedException(failure)) {
			requestCloseAndLook(CloseReason.of(failure), failure);
		}
	}

	@Override
	final void resumed() {
		this.handle.request(SelectableHandle.LOOK);
	}

	@Override
	final void settled() {
		// The owner pauses and then checks what is owed. A drain changes the state of the
		// server, or marks the connection, and then requests looks. Nothing is missed.
		if (this.handle.isPaused() || isDraining()) {
			this.handle.request(SelectableHandle.LOOK);
			this.context.server().changed();
		}
	}

	@Override
	public boolean isOpen() {
		return this.closing == null && !this.handle.isFailurePending();
	}

	/** Whether only pending bytes remain to be written. Any thread. */
	boolean isFlushing() {
		CloseSequence end = this.closing;
		return end != null && !end.isRequested();
	}

	@Override
	public long pendingBytes() {
		return this.outbound.waitingBytes();
	}

	@Override
	public boolean isWritable() {
		return this.closing == null && !this.outbound.isCongested();
	}

	@Override
	public InetSocketAddress remoteAddress() {
		ProxyHeader header = Permitted.header(this.origin);
		InetSocketAddress source = (header != null) ? header.source() : null;
		return (source != null) ? source : this.transportAddress;
	}

	@Override
	public InetSocketAddress transportAddress() {
		return this.transportAddress;
	}

	@Override
	public @Nullable SSLSession sslSession() {
		return this.transport.session();
	}

	@Override
	public InetSocketAddress localAddress() {
		ProxyHeader header = Permitted.header(this.origin);
		InetSocketAddress destination = (header != null) ? header.destination() : null;
		InetSocketAddress local = this.localAddress;
		return (destination != null) ? destination : (local != null) ? local : UNBOUND;
	}

	@Override
	public String server() {
		return this.context.server().name();
	}

	/**
	 * Takes a snapshot. Any thread.
	 * @param now the current time, which may be before the connection was accepted
	 */
	ConnectionSnapshot snapshot(long now) {
		ConnectionSnapshot.State state = (this.closing != null) ? ConnectionSnapshot.State.CLOSING
				: !this.opened ? ConnectionSnapshot.State.OPENING
						: isSuspended() ? ConnectionSnapshot.State.SUSPENDED : ConnectionSnapshot.State.OPEN;
		long lastActivity = (long) LAST_ACTIVITY.getOpaque(this);
		return new ConnectionSnapshot(id(), name(), server(), state, remoteAddress(),
				Duration.ofNanos(Math.max(0, now - this.acceptedNanos)),
				Duration.ofNanos(Math.max(0, now - lastActivity)), (long) RECEIVED_MESSAGES.getOpaque(this),
				(long) RECEIVED_BYTES.getOpaque(this), this.outbound.acceptedBytes(), this.outbound.waitingBytes(),
				(this.transport instanceof TlsTransport tls) ? tls.generation() : 0, unanswered(),
				this.context.pool().name());
	}

	@Override
	public HandledWork work() {
		return this.context.work();
	}

	@Override
	public long workNumber() {
		return id();
	}

	/** See {@link ConnectionRegistry#get}. */
	@Override
	public boolean equals(@Nullable Object other) {
		return this == other;
	}

	@Override
	public int hashCode() {
		return Long.hashCode(id());
	}

	@Override
	public String toString() {
		return this.context.work().handle(id());
	}

}
