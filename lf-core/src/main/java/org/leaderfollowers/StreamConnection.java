package org.leaderfollowers;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.net.InetSocketAddress;
import java.nio.ByteBuffer;
import java.nio.channels.SocketChannel;
import java.time.Duration;
import java.util.Objects;
import java.util.concurrent.atomic.AtomicBoolean;

import javax.net.ssl.SSLSession;

import org.jspecify.annotations.Nullable;
import org.leaderfollowers.internal.demultiplexing.HandleState.Release;
import org.leaderfollowers.internal.promotion.HandledWork;
import org.leaderfollowers.internal.proxy.ProxyHeader;
import org.leaderfollowers.internal.proxy.ProxyHeaderDecoder;
import org.leaderfollowers.internal.transport.TlsTransport;
import org.leaderfollowers.internal.transport.Transport;

/**
 * The part of a TCP connection that any thread may use, at any time: sending, asking for
 * its end, its deadlines, and what it looks like. {@link TcpConnection} adds the part
 * that belongs to the owner of the handle, one thread at a time.
 * <p>
 * It is one object with that, rather than another one beside it, so that an idle
 * connection is small.
 */
abstract class StreamConnection extends EngineConnection implements EngineEventHandler {

	private static final VarHandle CLOSING;

	private static final VarHandle LAST_ACTIVITY;

	private static final VarHandle SUSPENSIONS;

	private static final VarHandle RECEIVED_MESSAGES;

	private static final VarHandle RECEIVED_BYTES;

	static {
		try {
			MethodHandles.Lookup lookup = MethodHandles.lookup();
			CLOSING = lookup.findVarHandle(StreamConnection.class, "closing", CloseSequence.class);
			LAST_ACTIVITY = lookup.findVarHandle(StreamConnection.class, "lastActivityNanos", long.class);
			SUSPENSIONS = lookup.findVarHandle(StreamConnection.class, "suspensions", int.class);
			RECEIVED_MESSAGES = lookup.findVarHandle(StreamConnection.class, "receivedMessages", long.class);
			RECEIVED_BYTES = lookup.findVarHandle(StreamConnection.class, "receivedBytes", long.class);
		}
		catch (ReflectiveOperationException ex) {
			throw new ExceptionInInitializerError(ex);
		}
	}

	final ConnectionContext context;

	final Transport transport;

	final SelectableHandle handle;

	private final long acceptedNanos;

	private final InetSocketAddress localAddress;

	private final InetSocketAddress transportAddress;

	final OutboundWriter outbound;

	/**
	 * The {@link ProxyHeaderDecoder} until the connection is established, and then the
	 * {@link ProxyHeader} that it has decoded, if one was expected.
	 */
	private volatile @Nullable Object proxy;

	/** How the connection closes, from the first moment that this is known. */
	volatile @Nullable CloseSequence closing;

	/**
	 * When the message that is kept in {@link #partial} has to be complete, or the record
	 * that the transport holds a part of, or before anything was received of the
	 * application's, when the connection has to be established.
	 */
	volatile long messageDeadline;

	/** Opaque: only the idle timeout reads it, and it only moves forward. */
	@SuppressWarnings("FieldMayBeFinal") // by LAST_ACTIVITY
	private long lastActivityNanos;

	/** How many suspensions have not been resumed. */
	@SuppressWarnings("FieldMayBeFinal") // by SUSPENSIONS
	private volatile int suspensions;

	// The owner's; read by any thread that looks at the connection

	volatile boolean opened;

	@SuppressWarnings("FieldMayBeFinal") // by RECEIVED_MESSAGES
	private long receivedMessages;

	@SuppressWarnings("FieldMayBeFinal") // by RECEIVED_BYTES
	private long receivedBytes;

	StreamConnection(ConnectionContext context, SocketChannel channel, Transport transport,
			InetSocketAddress localAddress, InetSocketAddress transportAddress) {
		super(context.registry().nextId());
		this.context = context;
		this.transport = transport;
		this.localAddress = localAddress;
		this.transportAddress = transportAddress;
		this.acceptedNanos = nanoTime();
		this.lastActivityNanos = this.acceptedNanos;
		this.messageDeadline = context.timeouts().handshakeDeadline(this.acceptedNanos);
		this.outbound = new OutboundWriter(this);
		this.handle = context.handles().newHandle(channel, this);
	}

	/**
	 * Has the header of the PROXY protocol read first. Before the connection is opened.
	 */
	final void expectProxyHeader() {
		ProxyHeaderDecoder decoder = new ProxyHeaderDecoder();
		this.proxy = decoder;
		this.transport.expect(decoder);
	}

	/** Gives the new connection to its handle set, whose leader opens it. */
	final void open() {
		this.handle.pause();
		this.handle.request(SelectableHandle.REGISTER | SelectableHandle.LOOK);
	}

	/** The connection is there for the application. The owner's. */
	final void established() {
		if (this.proxy instanceof ProxyHeaderDecoder decoder) {
			this.proxy = decoder.header();
		}
		this.opened = true;
		messageDeadline(NO_DEADLINE);
		this.context.established();
	}

	final long nanoTime() {
		return this.context.clock().nanoTime();
	}

	/**
	 * Notes why the connection is to be closed, if nothing else closes it already. The
	 * owner of the handle does the rest. Any thread.
	 * @return whether this is the reason now
	 */
	boolean requestClose(CloseReason reason, @Nullable Throwable cause) {
		if (this.closing == null && CLOSING.compareAndSet(this, null, new CloseSequence(this, reason, cause))) {
			return true;
		}
		CloseSequence earlier = this.closing;
		return earlier != null && earlier.replaceReason(reason, cause, this.outbound.waitingBytes() > 0);
	}

	/** The same, and has the owner look at it. */
	void requestCloseAndLook(CloseReason reason, @Nullable Throwable cause) {
		if (requestClose(reason, cause)) {
			Participant me = Participant.current();
			if (me == null || me.handle() != this.handle) {
				this.handle.request(SelectableHandle.LOOK);
			}
		}
	}

	// Deadlines

	@Override
	public long deadline(long nowNanos) {
		if (!this.handle.isOwned()) {
			return earliestDeadline((long) LAST_ACTIVITY.getOpaque(this), this.messageDeadline, nowNanos);
		}
		// While a thread works on it, the connection is neither idle nor late. The owner
		// requests a timer before it releases, if it needs one before this.
		long message = NO_DEADLINE;
		if (this.messageDeadline != NO_DEADLINE) {
			ConnectionTimeouts timeouts = this.context.timeouts();
			message = this.opened ? timeouts.messageDeadline(nowNanos) : timeouts.handshakeDeadline(nowNanos);
		}
		return earliestDeadline(nowNanos, message, nowNanos);
	}

	private long earliestDeadline(long idleSinceNanos, long messageDeadline, long nowNanos) {
		CloseSequence end = this.closing;
		ConnectionTimeouts timeouts = this.context.timeouts();
		return (end != null) ? timeouts.earliestOfClosing(this.outbound, end.deadlineNanos(), nowNanos)
				: timeouts.earliest(this.outbound, idleSinceNanos, messageDeadline, nowNanos);
	}

	final void requestTimerIfEarlier() {
		long idleSince = (long) LAST_ACTIVITY.getOpaque(this);
		long deadline = earliestDeadline(idleSince, this.messageDeadline, idleSince);
		long scheduled = this.handle.timerDeadline;
		if (deadline != NO_DEADLINE && (scheduled == NO_DEADLINE || deadline - scheduled < 0)) {
			this.handle.request(SelectableHandle.TIMER);
		}
	}

	@Override
	public void expire(long nowNanos) {
		// Whether the connection is idle or its message late is for the owner to judge,
		// who may run a handler for longer than a peer that does not read is borne with.
		ConnectionTimeouts timeouts = this.context.timeouts();
		if (timeouts.isWriteLate(this.outbound, nowNanos)) {
			// The peer may have made room while nobody was there to see it.
			this.outbound.flush(0);
			if (timeouts.isWriteLate(this.outbound, nowNanos)) {
				requestClose(CloseReason.WRITE_TIMEOUT, null);
				this.outbound.discard();
			}
		}
	}

	final void messageDeadline(long deadline) {
		// Nearly always none, as before: a volatile store less.
		if (deadline != this.messageDeadline) {
			this.messageDeadline = deadline;
		}
	}

	/**
	 * Whether the connection is idle or its message late. Judged by the owner, after it
	 * has read: a leader that comes late itself, since every thread was busy, does not
	 * know what has arrived in the meantime.
	 * @param active whether anything was received
	 * @param moreToRead whether the socket may hold the rest of the message
	 */
	final void checkTimeouts(long nowNanos, boolean active, boolean moreToRead) {
		if (active) {
			noteActivity(nowNanos);
		}
		else if (this.context.timeouts().isIdle(this.outbound, (long) LAST_ACTIVITY.getOpaque(this), nowNanos)) {
			requestClose(CloseReason.IDLE_TIMEOUT, null);
		}
		if (ConnectionTimeouts.isPast(this.messageDeadline, nowNanos) && !moreToRead) {
			requestClose(this.opened ? CloseReason.MESSAGE_TIMEOUT : CloseReason.HANDSHAKE_TIMEOUT, null);
		}
	}

	// Release, by the owner

	/** Takes no more events until there is input. */
	final boolean releaseUntilInput() {
		requestTimerIfEarlier();
		requestRoomToWrite();
		return this.handle.releaseOrLookAgain();
	}

	/** Takes no more events until no more than the mark waits for the peer. */
	final boolean pauseUntil(long mark) {
		requestTimerIfEarlier();
		requestRoomToWrite();
		if (this.handle.pause() == Release.LOOK_AGAIN) {
			return false;
		}
		// It may have been written, or resumed, between the last check and the pause.
		if (this.outbound.waitingBytes() <= mark && !this.transport.wantsWrite()
				&& (this.closing != null || !isSuspended())) {
			this.handle.request(SelectableHandle.LOOK);
		}
		return true;
	}

	/** If the transport has something to write of which the handle set knows nothing. */
	private void requestRoomToWrite() {
		if (this.transport.wantsWrite()) {
			this.handle.request(SelectableHandle.INTEREST);
		}
	}

	// What is noted of the past

	/** Counts input. The owner's. */
	final void noteReceived(int bytes) {
		RECEIVED_BYTES.setOpaque(this, this.receivedBytes + bytes);
		this.context.counters().received(bytes);
	}

	/** Counts a message. The owner's. */
	final void noteMessage() {
		RECEIVED_MESSAGES.setOpaque(this, this.receivedMessages + 1);
		this.context.counters().messageReceived();
	}

	/** Any thread. */
	void noteActivity(long nowNanos) {
		LAST_ACTIVITY.setOpaque(this, nowNanos);
	}

	// Sending

	@Override
	public void send(ByteBuffer message) {
		CloseSequence end = this.closing;
		if (end != null && !end.allowsLastWords()) {
			throw notSendable();
		}
		this.outbound.send(message);
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
		return this.outbound.flush(events);
	}

	@Override
	public boolean hasPendingBytes() {
		return this.outbound.waitingBytes() > 0 || this.transport.wantsWrite();
	}

	// The server

	/** Has the owner look at it because the server drains. */
	void drain() {
		this.handle.request(SelectableHandle.LOOK);
	}

	/** Closes the connection although replies may wait. */
	void abort() {
		requestClose(CloseReason.SHUTDOWN_TIMEOUT, null);
		this.handle.request(SelectableHandle.LOOK);
	}

	@Override
	void logUnhandled(Throwable failure) {
		this.context.warnings().closedUnhandled(this, failure);
	}

	// What the application sees

	@Override
	public void close() {
		requestCloseAndLook(CloseReason.LOCAL, null);
	}

	@Override
	public void fail(Throwable failure) {
		Objects.requireNonNull(failure, "'failure' must not be null");
		if (!isClosedException(failure)) {
			requestCloseAndLook(CloseReason.HANDLER_ERROR, failure);
		}
	}

	@Override
	public Suspension suspend() {
		SUSPENSIONS.getAndAdd(this, 1);
		AtomicBoolean resumed = new AtomicBoolean();
		return () -> {
			if (resumed.compareAndSet(false, true) && (int) SUSPENSIONS.getAndAdd(this, -1) == 1) {
				this.handle.request(SelectableHandle.LOOK);
			}
		};
	}

	final boolean isSuspended() {
		return this.suspensions != 0;
	}

	@Override
	public boolean isOpen() {
		return this.closing == null;
	}

	/** Whether all that counts now is to write what waits. Any thread. */
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
		InetSocketAddress source = (this.proxy instanceof ProxyHeader header) ? header.source() : null;
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
		InetSocketAddress destination = (this.proxy instanceof ProxyHeader header) ? header.destination() : null;
		return (destination != null) ? destination : this.localAddress;
	}

	@Override
	public String server() {
		return this.context.server().name();
	}

	/**
	 * What it looks like to others. Any thread.
	 * @param now the time, which may be before it was accepted
	 */
	ConnectionSnapshot snapshot(long now) {
		ConnectionSnapshot.State state;
		if (this.closing != null) {
			state = ConnectionSnapshot.State.CLOSING;
		}
		else if (!this.opened) {
			state = ConnectionSnapshot.State.OPENING;
		}
		else {
			state = isSuspended() ? ConnectionSnapshot.State.SUSPENDED : ConnectionSnapshot.State.OPEN;
		}
		long lastActivity = (long) LAST_ACTIVITY.getOpaque(this);
		return new ConnectionSnapshot(id(), server(), state, remoteAddress(),
				Duration.ofNanos(Math.max(0, now - this.acceptedNanos)),
				Duration.ofNanos(Math.max(0, now - lastActivity)), (long) RECEIVED_MESSAGES.getOpaque(this),
				(long) RECEIVED_BYTES.getOpaque(this), this.outbound.acceptedBytes(), this.outbound.waitingBytes(),
				(this.transport instanceof TlsTransport tls) ? tls.generation() : 0);
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
		return "Connection " + id() + " of server '" + server() + "'";
	}

}
