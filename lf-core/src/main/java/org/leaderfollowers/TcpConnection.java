package org.leaderfollowers;

import java.io.IOException;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.net.InetSocketAddress;
import java.net.StandardSocketOptions;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.channels.SelectionKey;
import java.nio.channels.SocketChannel;
import java.time.Duration;
import java.util.Objects;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentMap;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;

import javax.net.ssl.SSLException;
import javax.net.ssl.SSLSession;

import org.jspecify.annotations.Nullable;
import org.leaderfollowers.internal.buffer.MemoryBudget;
import org.leaderfollowers.internal.buffer.OutboundBuffer;
import org.leaderfollowers.internal.buffer.PartialMessage;
import org.leaderfollowers.internal.demultiplexing.HandleState.Claim;
import org.leaderfollowers.internal.demultiplexing.HandleState.Release;
import org.leaderfollowers.internal.proxy.ProxyHeader;
import org.leaderfollowers.internal.proxy.ProxyHeaderDecoder;
import org.leaderfollowers.internal.transport.Linger;
import org.leaderfollowers.internal.transport.TlsTransport;
import org.leaderfollowers.internal.transport.Transport;

/**
 * The framed connection: the concrete event handler that reads messages, calls the
 * application's {@link MessageHandler} for each, and writes its replies.
 * <p>
 * The road of a message is {@link #handleEvent}: the leader reads into its own buffer
 * while it still leads, then promotes a new leader, runs the handler on what is complete,
 * keeps what is not, and releases the handle.
 * <p>
 * Closing goes through phases, so that nothing accepted is lost: OPEN until there is a
 * {@link Closing}; FLUSHING while replies wait for the socket; LINGERING while the peer,
 * told that nothing more comes, has not closed its side, since closing with unread input
 * would make the kernel reset the connection and destroy replies on their way; CLOSED.
 */
final class TcpConnection implements Connection, EngineEventHandler {

	/** More than a system usually receives for a socket that nobody reads. */
	private static final int LARGEST_RECEIVE_BUFFER = 8 * 1024 * 1024;

	/**
	 * Messages in a row before others get their turn: a few peers that send many must not
	 * keep all threads.
	 */
	private static final int MAX_MESSAGES = 64;

	/** How long messages are taken in a row, if there are more. */
	private static final long TURN_NANOS = TimeUnit.MILLISECONDS.toNanos(5);

	/** Reads in a row before others get their turn. */
	private static final int MAX_READS = 16;

	/** Written for one event, so that one connection does not keep the leader. */
	private static final long FLUSH_BUDGET = 256 * 1024;

	private static final int OPEN = 0;

	private static final int FLUSHING = 1;

	private static final int LINGERING = 2;

	private static final int CLOSED = 3;

	private static final VarHandle CLOSING;

	private static final VarHandle LAST_ACTIVITY;

	private static final VarHandle ATTRIBUTES;

	private static final VarHandle SUSPENSIONS;

	private static final VarHandle RECEIVED_MESSAGES;

	private static final VarHandle RECEIVED_BYTES;

	static {
		try {
			MethodHandles.Lookup lookup = MethodHandles.lookup();
			CLOSING = lookup.findVarHandle(TcpConnection.class, "closing", Closing.class);
			LAST_ACTIVITY = lookup.findVarHandle(TcpConnection.class, "lastActivityNanos", long.class);
			ATTRIBUTES = lookup.findVarHandle(TcpConnection.class, "attributes", ConcurrentMap.class);
			SUSPENSIONS = lookup.findVarHandle(TcpConnection.class, "suspensions", int.class);
			RECEIVED_MESSAGES = lookup.findVarHandle(TcpConnection.class, "receivedMessages", long.class);
			RECEIVED_BYTES = lookup.findVarHandle(TcpConnection.class, "receivedBytes", long.class);
		}
		catch (ReflectiveOperationException ex) {
			throw new ExceptionInInitializerError(ex);
		}
	}

	private final TcpServer server;

	private final Transport transport;

	private final SelectableHandle handle;

	private final long id;

	private final long acceptedNanos;

	private final InetSocketAddress localAddress;

	private final InetSocketAddress transportAddress;

	private final OutboundBuffer outbound;

	/**
	 * The {@link ProxyHeaderDecoder} until the connection is established, and then the
	 * {@link ProxyHeader} that it has decoded, if one was expected.
	 */
	private volatile @Nullable Object proxy;

	private volatile @Nullable ConcurrentMap<String, Object> attributes;

	/** Why the connection closes, from the first moment that this is known. */
	private volatile @Nullable Closing closing;

	/**
	 * When the message that is kept in {@link #partial} has to be complete, or what the
	 * transport holds a part of, or before anything was received of the application's,
	 * when the connection has to be established.
	 */
	private volatile long messageDeadline = NO_DEADLINE;

	/** Opaque: only the idle timeout reads it, and it only moves forward. */
	@SuppressWarnings("FieldMayBeFinal") // by LAST_ACTIVITY
	private long lastActivityNanos;

	private volatile @Nullable Linger linger;

	private volatile int phase = OPEN;

	/** Whether the handler is to be told when the peer has read what waits for it. */
	private volatile boolean congested;

	/** Whether the handler may still send although the connection closes: in onError. */
	private volatile boolean lastWords;

	/** How many suspensions have not been resumed. */
	@SuppressWarnings("FieldMayBeFinal") // by SUSPENSIONS
	private volatile int suspensions;

	/** Whether its handler closes the server. Guarded by the monitor of the server. */
	boolean endsServer;

	// The owner's; read by whoever looks at the connection

	private volatile boolean opened;

	@SuppressWarnings("FieldMayBeFinal") // by RECEIVED_MESSAGES
	private long receivedMessages;

	@SuppressWarnings("FieldMayBeFinal") // by RECEIVED_BYTES
	private long receivedBytes;

	// The owner's

	/**
	 * Whether no messages are taken now: until the peer has read what waits for it, until
	 * others had their turn, or until the suspensions have been resumed.
	 */
	private boolean stalled;

	/** Whether there is more input behind the message that is handled. */
	private boolean moreFollows;

	/** Whether replies were held back, to be written together. */
	private boolean corked;

	private boolean endOfInput;

	/** Whether the socket held more than was read when others got their turn. */
	private boolean moreToRead;

	/** Whether the server was draining already before the socket was read last. */
	private boolean readWhileDraining;

	/**
	 * How much is read once the server drains: what the socket could hold then. A peer
	 * that never stops sending must not delay the end.
	 */
	private int drainBudget;

	/** Whether the message that has begun is the last one that is taken. */
	private boolean lastMessage;

	/** Whether anything was received since the handle was claimed or looked at again. */
	private boolean active;

	private @Nullable PartialMessage partial;

	/**
	 * Why a connection closes.
	 */
	private record Closing(CloseReason reason, @Nullable Throwable cause) {
	}

	TcpConnection(TcpServer server, SocketChannel channel, Transport transport, long id, InetSocketAddress localAddress,
			InetSocketAddress transportAddress) {
		this.server = server;
		this.transport = transport;
		this.id = id;
		this.localAddress = localAddress;
		this.transportAddress = transportAddress;
		this.acceptedNanos = server.pool().clock.nanoTime();
		this.lastActivityNanos = this.acceptedNanos;
		this.outbound = new OutboundBuffer(server.pool().memory());
		long timeout = server.timeouts().handshakeNanos();
		this.messageDeadline = (timeout != 0) ? this.lastActivityNanos + timeout : NO_DEADLINE;
		this.handle = server.pool().newHandle(channel, this, SelectionKey.OP_READ, server.profiles());
	}

	/**
	 * Has the header of the PROXY protocol read first. Before the connection is opened.
	 */
	void expectProxyHeader() {
		ProxyHeaderDecoder decoder = new ProxyHeaderDecoder();
		this.proxy = decoder;
		this.transport.expect(decoder);
	}

	/** Gives the new connection to its handle set, whose leader opens it. */
	void open() {
		this.handle.pause();
		this.handle.request(SelectableHandle.REGISTER | SelectableHandle.LOOK);
	}

	// The road of a message

	@Override
	public void handleEvent(Handle handle, EventType type) {
		Participant me = Participant.current();
		if (me == null) {
			throw new IllegalStateException("dispatched outside of the pool");
		}
		me.handledNanos = 0;
		try {
			do {
				if (!this.opened && this.closing == null && establish(me)) {
					this.opened = true;
					this.messageDeadline = NO_DEADLINE;
					this.server.established();
					beginDispatch(me);
					call(() -> this.server.handler().onOpen(this));
				}
				if (this.opened && this.closing == null) {
					relieve(me);
					receive(me);
				}
			}
			while (!settle(me));
		}
		catch (Throwable ex) {
			// Not the application's, whose failures are caught where it is called; out of
			// memory for a buffer, for example. Others must not suffer from it.
			requestClose(CloseReason.IO_ERROR, ex);
			terminate(me);
		}
	}

	/**
	 * Gets on with what comes before the first message.
	 * @return whether the connection is there for the application
	 */
	private boolean establish(Participant me) {
		this.active = true;
		this.stalled = false;
		try {
			for (;;) {
				switch (this.transport.establish()) {
					case DONE -> {
						takeProxyHeader();
						return true;
					}
					case WANTS_READ -> {
						return false;
					}
					case WANTS_WRITE -> {
						this.stalled = true;
						return false;
					}
					case HAS_TASKS -> runTasks();
					case ENDED -> {
						this.endOfInput = true;
						requestClose(CloseReason.PEER, null);
						return false;
					}
				}
			}
		}
		catch (MemoryBudget.ExhaustedException ex) {
			requestClose(CloseReason.OVERLOADED, null);
			return false;
		}
		catch (IOException ex) {
			requestClose(CloseReason.HANDSHAKE_FAILED, ex);
			return false;
		}
	}

	private void takeProxyHeader() {
		if (this.proxy instanceof ProxyHeaderDecoder decoder) {
			this.proxy = decoder.header();
		}
	}

	/** Does what may block, and therefore not while leading. */
	private void runTasks() {
		LeaderFollowersPool.promoteBeforeBlocking();
		try {
			this.transport.runTasks();
		}
		finally {
			// They are code of the application, too: a trust manager, for example.
			Thread.interrupted();
		}
	}

	/** Tells the handler that its peer has read what waited for it. */
	private void relieve(Participant me) {
		if (this.congested && this.outbound.waitingBytes() <= this.server.lowWaterMark()) {
			this.congested = false;
			this.active = true;
			beginDispatch(me);
			call(() -> this.server.handler().onWritable(this));
		}
	}

	/** Reads what there is and dispatches the messages that are complete. */
	private void receive(Participant me) {
		boolean keptFirst = false;
		if (isSuspended()) {
			this.stalled = true;
			this.messageDeadline = NO_DEADLINE;
			return;
		}
		if (this.stalled) {
			if (this.outbound.waitingBytes() > this.server.lowWaterMark()) {
				return;
			}
			this.stalled = false;
			if (this.lastMessage) {
				// It was suspended, and has been answered meanwhile.
				requestClose(CloseReason.SHUTDOWN, null);
				return;
			}
			if (this.partial != null) {
				// It waited for its peer to read, not for its rest.
				this.partial.restart(nanoTime());
				keptFirst = true;
			}
		}
		int limit = this.server.frameLimit();
		boolean more = true;
		if (!this.readWhileDraining && this.server.isDraining()) {
			this.readWhileDraining = true;
			this.drainBudget = receiveBufferSize();
		}
		this.moreToRead = false;
		for (int reads = 0; more && reads < MAX_READS && this.closing == null && !this.stalled; reads++) {
			PartialMessage kept = this.partial;
			boolean large = kept != null && kept.size() > Participant.BUFFER_SIZE / 2;
			ByteBuffer input = (kept != null && large)
					? kept.appendable(Participant.BUFFER_SIZE, limit, me.spareBuffers) : me.input();
			if (input == null) {
				requestClose(CloseReason.OVERLOADED, null);
				return;
			}
			if (kept != null && !large) {
				kept.restore(input);
			}
			if (!keptFirst) {
				if (this.readWhileDraining && this.drainBudget <= 0) {
					// All that had been received when the draining began has been read.
					if (kept == null) {
						requestClose(CloseReason.SHUTDOWN, null);
						return;
					}
					this.lastMessage = true;
				}
				int room = Math.min(input.remaining(), Participant.BUFFER_SIZE);
				int count = read(input, room);
				if (count <= 0) {
					return;
				}
				more = count == room || this.transport.hasMoreInput();
			}
			keptFirst = false;
			input.flip();
			int scanned = deliver(me, input, (kept != null) ? kept.scanned() : 0);
			if (this.corked) {
				this.corked = false;
				uncork();
				this.stalled |= isHigh();
			}
			keep(me, kept, large, input, scanned);
		}
		this.moreToRead = more;
		// No event tells of it: others get their turn, then it is looked at again.
		this.stalled |= this.transport.hasMoreInput();
	}

	private boolean isHigh() {
		return this.outbound.waitingBytes() >= this.server.highWaterMark();
	}

	private int receiveBufferSize() {
		try {
			// What the system tells may be less than it lets the buffer grow to.
			SocketChannel channel = (SocketChannel) this.handle.channel();
			return Math.max(channel.getOption(StandardSocketOptions.SO_RCVBUF), LARGEST_RECEIVE_BUFFER);
		}
		catch (IOException ex) {
			// Closed, which the read that follows finds as well.
			return 0;
		}
	}

	/**
	 * Reads once.
	 * @return how many bytes, 0 if there are none, -1 if there will be none
	 */
	private int read(ByteBuffer input, int room) {
		int limit = input.limit();
		input.limit(input.position() + room);
		int count;
		try {
			count = this.transport.read(input);
			if (count == 0) {
				count = readWhatItNeeds(input);
			}
		}
		catch (SSLException ex) {
			requestClose(CloseReason.MALFORMED, ex);
			return -1;
		}
		catch (MemoryBudget.ExhaustedException ex) {
			requestClose(CloseReason.OVERLOADED, null);
			return -1;
		}
		catch (IOException ex) {
			requestClose(CloseReason.IO_ERROR, ex);
			return -1;
		}
		finally {
			input.limit(limit);
		}
		if (count > 0) {
			this.active = true;
			this.drainBudget -= this.readWhileDraining ? count : 0;
			RECEIVED_BYTES.setOpaque(this, this.receivedBytes + count);
			this.server.received(count);
		}
		else if (count < 0) {
			this.endOfInput = true;
			requestClose(this.transport.isTruncated() ? CloseReason.TRUNCATED : CloseReason.PEER, null);
		}
		return count;
	}

	/** The transport had nothing to return: does what it needs in order to. */
	private int readWhatItNeeds(ByteBuffer input) throws IOException {
		int count;
		do {
			switch (this.transport.readNeeds()) {
				case HAS_TASKS -> runTasks();
				case WANTS_FLUSH -> {
					if (this.outbound.waitingBytes() > 0) {
						this.stalled = true;
						return 0;
					}
					this.transport.endInput();
				}
				case WANTS_WRITE -> {
					this.stalled = true;
					return 0;
				}
				default -> {
					this.stalled |= this.transport.hasMoreInput();
					return 0;
				}
			}
			count = this.transport.read(input);
		}
		while (count == 0);
		return count;
	}

	/**
	 * Dispatches the complete messages of the input, until there are no more or something
	 * forbids to go on. The position of the input is moved behind what was dispatched.
	 * @return how much of the rest is known not to end a message
	 */
	private int deliver(Participant me, ByteBuffer input, int alreadyScanned) {
		Framing framing = this.server.framing();
		Framing.Frame frame = me.frame;
		int maxMessageSize = this.server.maxMessageSize();
		int scanned = alreadyScanned;
		int messagesLeft = MAX_MESSAGES;
		long turnEnds = 0;
		long handled = 0;
		while (input.hasRemaining() && this.closing == null) {
			int start = input.position();
			int end = input.limit();
			frame.begin(maxMessageSize, scanned);
			input.order(ByteOrder.BIG_ENDIAN);
			boolean complete;
			try {
				complete = framing.decode(input, frame);
				input.limit(end).position(start);
				frame.check(complete, end - start);
			}
			catch (Throwable ex) {
				requestClose(CloseReason.MALFORMED, ex);
				return 0;
			}
			if (frame.payloadLength() > maxMessageSize || (!complete && end - start >= this.server.frameLimit())) {
				requestClose(CloseReason.MESSAGE_TOO_LARGE,
						new FramingException(
								"A message is larger than the maximum message size of %d bytes (maxMessageSize)"
									.formatted(maxMessageSize)));
				return 0;
			}
			if (!complete) {
				return frame.scanned();
			}
			scanned = 0;
			int frameEnd = start + frame.frameLength();
			int payload = start + frame.payloadOffset();
			input.limit(payload + frame.payloadLength()).position(payload).mark().order(ByteOrder.BIG_ENDIAN);
			// A message begins when the one before it has been handled.
			long began = (handled != 0) ? handled : beginDispatch(me);
			this.server.messageReceived();
			RECEIVED_MESSAGES.setOpaque(this, this.receivedMessages + 1);
			this.active = true;
			this.moreFollows = frameEnd < end;
			dispatch(input);
			handled = nanoTime();
			me.handledNanos = handled;
			this.server.handled(this.handle.handleSet(), handled - began);
			this.moreFollows = false;
			input.limit(end).position(frameEnd);
			if (isSuspended()) {
				this.stalled = true;
				return 0;
			}
			if (this.lastMessage) {
				requestClose(CloseReason.SHUTDOWN, null);
			}
			if (isHigh()) {
				this.stalled = true;
				return 0;
			}
			if (input.hasRemaining()) {
				turnEnds = (turnEnds != 0) ? turnEnds : handled + TURN_NANOS;
				if (--messagesLeft == 0 || handled - turnEnds >= 0) {
					this.stalled = true;
					return 0;
				}
			}
		}
		return scanned;
	}

	private void dispatch(ByteBuffer message) {
		try {
			this.server.handler().onMessage(this, message);
		}
		catch (Throwable ex) {
			handlerFailed(ex);
		}
		Thread.interrupted();
	}

	/** Keeps what was read and not dispatched, in memory of its own. */
	private void keep(Participant me, @Nullable PartialMessage kept, boolean large, ByteBuffer rest, int scanned) {
		if (!rest.hasRemaining()) {
			discardPartial(me);
		}
		else if (kept != null && large && rest.position() == 0) {
			kept.keepAll(scanned);
		}
		else {
			boolean sameMessage = kept != null && rest.position() == 0;
			long started = (kept != null && sameMessage) ? kept.startedNanos() : nanoTime();
			PartialMessage left = PartialMessage.keep(sameMessage ? kept : null, rest, scanned, started,
					this.server.frameLimit(), me.spareBuffers);
			if (left == null) {
				requestClose(CloseReason.OVERLOADED, null);
			}
			if (left != kept) {
				// Not before: the rest may lie in its memory.
				discardPartial(me);
			}
			this.partial = left;
		}
		PartialMessage now = this.partial;
		long timeout = this.server.timeouts().messageNanos();
		long deadline = (now != null && !this.stalled && timeout != 0) ? now.startedNanos() + timeout : NO_DEADLINE;
		// Nearly always none, as before: a volatile store less.
		if (deadline != this.messageDeadline) {
			this.messageDeadline = deadline;
		}
	}

	private void discardPartial(@Nullable Participant me) {
		PartialMessage kept = this.partial;
		if (kept != null) {
			this.partial = null;
			if (me != null) {
				kept.discard(me.spareBuffers);
			}
			else {
				kept.discard(this.server.pool().memory());
			}
		}
	}

	/** Code of the application is about to run. */
	private long beginDispatch(Participant me) {
		return this.server.pool().beginDispatch(me, this.handle.profile);
	}

	private long nanoTime() {
		return this.server.pool().clock.nanoTime();
	}

	// Release

	/**
	 * Releases the handle, or closes the connection, or finds that there is more to do.
	 * @return {@code false} if the caller still owns the handle and has to look again
	 */
	private boolean settle(Participant me) {
		if (this.closing == null && this.server.isDraining() && !this.opened) {
			requestClose(CloseReason.SHUTDOWN, null);
		}
		else if (this.closing == null && this.server.isDraining() && !this.stalled && !this.congested) {
			if (this.moreToRead || !this.readWhileDraining) {
				// What came while a handler was running is still in the socket.
				return false;
			}
			if (this.partial == null) {
				requestClose(CloseReason.SHUTDOWN, null);
			}
		}
		if (this.closing == null) {
			timePart();
			// The time that has been taken already, if a message was handled: it need not
			// be
			// more exact.
			long handled = me.handledNanos;
			me.handledNanos = 0;
			checkTimeouts((handled != 0) ? handled : nanoTime());
		}
		if (this.closing != null) {
			return settleClosing(me);
		}
		if (this.stalled) {
			boolean all = this.transport.readNeeds() == Transport.Progress.WANTS_FLUSH;
			return pauseUntil(all ? 0 : this.server.lowWaterMark());
		}
		requestTimerIfEarlier();
		requestRoomToWrite();
		return this.handle.releaseOrLookAgain();
	}

	/** If the transport has something to write of which the handle set knows nothing. */
	private void requestRoomToWrite() {
		if (this.transport.wantsWrite()) {
			this.handle.request(SelectableHandle.INTEREST);
		}
	}

	/**
	 * What the transport has not got the rest of takes memory like a message that has
	 * begun, and is given as much time.
	 */
	private void timePart() {
		long timeout = this.server.timeouts().messageNanos();
		if (!this.opened || this.partial != null || timeout == 0) {
			return;
		}
		boolean timed = this.messageDeadline != NO_DEADLINE;
		if (this.stalled || !this.transport.holdsPart()) {
			if (timed) {
				this.messageDeadline = NO_DEADLINE;
			}
		}
		else if (this.transport.holdsNewPart() || !timed) {
			// Begun just now, or not read for a while.
			this.messageDeadline = nanoTime() + timeout;
		}
	}

	/**
	 * Whether the connection is idle or its message late. Judged by the owner, after it
	 * has read: a leader that comes late itself, since every thread was busy, does not
	 * know what has arrived in the meantime.
	 */
	private void checkTimeouts(long nowNanos) {
		if (this.active) {
			this.active = false;
			LAST_ACTIVITY.setOpaque(this, nowNanos);
		}
		else if (isIdleTimed()
				&& nowNanos - (long) LAST_ACTIVITY.getOpaque(this) >= this.server.timeouts().idleNanos()) {
			requestClose(CloseReason.IDLE_TIMEOUT, null);
		}
		if (this.messageDeadline != NO_DEADLINE && nowNanos - this.messageDeadline >= 0 && !this.moreToRead) {
			requestClose(this.opened ? CloseReason.MESSAGE_TIMEOUT : CloseReason.HANDSHAKE_TIMEOUT, null);
		}
	}

	/**
	 * Whether silence counts: while something waits for the peer, the write timeout does.
	 */
	private boolean isIdleTimed() {
		TcpServer.Timeouts timeouts = this.server.timeouts();
		return timeouts.idleNanos() != 0 && (timeouts.writeNanos() == 0 || this.outbound.waitingBytes() == 0);
	}

	/** Takes no more events until no more than the mark waits for the peer. */
	private boolean pauseUntil(long mark) {
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

	private boolean settleClosing(Participant me) {
		if (this.phase == OPEN) {
			reportFailure(me);
			discardPartial(me);
			this.messageDeadline = NO_DEADLINE;
			this.outbound.close();
			this.phase = FLUSHING;
		}
		Closing why = this.closing;
		if (why == null || !why.reason().isGraceful()) {
			terminate(me);
			return true;
		}
		if (this.phase == FLUSHING) {
			if (this.outbound.waitingBytes() > 0) {
				return pauseUntil(0);
			}
			this.linger = new Linger(this.transport, nanoTime());
			this.phase = LINGERING;
		}
		return linger(me);
	}

	private boolean linger(Participant me) {
		Linger current = this.linger;
		if (current == null) {
			throw new IllegalStateException("nothing to wait for");
		}
		switch (current.proceed(me.input(), this.endOfInput, nanoTime())) {
			case WANTS_READ -> {
				requestTimerIfEarlier();
				return this.handle.releaseOrLookAgain();
			}
			case WANTS_WRITE -> {
				return pauseUntil(0);
			}
			default -> {
				terminate(me);
				return true;
			}
		}
	}

	private void terminate(@Nullable Participant me) {
		if (this.phase == CLOSED) {
			return;
		}
		this.phase = CLOSED;
		discardPartial(me);
		Closing why = this.closing;
		CloseReason reason = (why != null) ? why.reason() : CloseReason.IO_ERROR;
		this.outbound.discard();
		this.transport.release();
		this.handle.closeByOwner();
		try {
			if (this.opened) {
				if (me != null) {
					beginDispatch(me);
				}
				this.server.handler().onClose(this, reason);
			}
			else if (why != null) {
				this.server.logNotEstablished(this, reason, why.cause());
			}
		}
		catch (Throwable ex) {
			logUnhandled(this, ex);
		}
		finally {
			Thread.interrupted();
			HandleSet.logger.debug("{} is closed: {}", this, reason);
			if (reason == CloseReason.OVERLOADED) {
				this.server.logOverloaded(this);
			}
			this.server.closed(this, reason);
		}
	}

	// Failures

	private interface HandlerCall {

		void run() throws Exception;

	}

	private void call(HandlerCall call) {
		try {
			call.run();
		}
		catch (Throwable ex) {
			handlerFailed(ex);
		}
		Thread.interrupted();
	}

	private void handlerFailed(Throwable failure) {
		if (failure instanceof ConnectionClosedException closed && closed.isOf(this)) {
			// It sent to a peer that had gone: the close tells it all.
			return;
		}
		requestClose(CloseReason.HANDLER_ERROR, failure);
	}

	/** Tells the handler what closes the connection, while it can still send. */
	private void reportFailure(Participant me) {
		Closing why = this.closing;
		if (why == null || why.cause() == null || !this.opened) {
			return;
		}
		beginDispatch(me);
		this.lastWords = true;
		try {
			this.server.handler().onError(this, why.cause());
		}
		catch (Throwable ex) {
			if (!(ex instanceof ConnectionClosedException closed && closed.isOf(this))) {
				logUnhandled(this, ex);
			}
		}
		finally {
			this.lastWords = false;
			Thread.interrupted();
		}
	}

	static void logUnhandled(Connection connection, Throwable failure) {
		if (connection instanceof TcpConnection tcp) {
			tcp.server.logUnhandled(tcp, failure);
		}
		else if (connection instanceof Datagram datagram) {
			datagram.logUnhandled(failure);
		}
		else {
			HandleSet.logger.warn("{} failed and is closed", connection, failure);
		}
	}

	/**
	 * Notes why the connection is to be closed, if nothing else closes it already. What
	 * has to be done for it is done by the owner of the handle.
	 * @return whether this is the reason now
	 */
	private boolean requestClose(CloseReason reason, @Nullable Throwable cause) {
		Closing why = new Closing(reason, cause);
		if (CLOSING.compareAndSet(this, null, why)) {
			return true;
		}
		Closing earlier = this.closing;
		// A graceful close that turns out to lose replies says so.
		return earlier != null && earlier.reason().isGraceful() && !reason.isGraceful()
				&& (this.outbound.waitingBytes() > 0 || reason == CloseReason.SHUTDOWN_TIMEOUT)
				&& CLOSING.compareAndSet(this, earlier, why);
	}

	private void requestCloseByOwner(CloseReason reason, @Nullable Throwable cause) {
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
			return earliestDeadline((long) LAST_ACTIVITY.getOpaque(this), this.messageDeadline);
		}
		// While a thread works on it, the connection is neither idle nor late. The owner
		// requests a timer before it releases, if it needs one before this.
		boolean begun = this.messageDeadline != NO_DEADLINE;
		TcpServer.Timeouts timeouts = this.server.timeouts();
		long timeout = this.opened ? timeouts.messageNanos() : timeouts.handshakeNanos();
		return earliestDeadline(nowNanos, begun ? nowNanos + timeout : NO_DEADLINE);
	}

	private long earliestDeadline(long idleSinceNanos, long messageDeadline) {
		TcpServer.Timeouts timeouts = this.server.timeouts();
		Linger lingering = this.linger;
		long deadline = (lingering != null) ? lingering.deadlineNanos() : NO_DEADLINE;
		if (timeouts.writeNanos() != 0 && this.outbound.waitingBytes() > 0) {
			deadline = EngineEventHandler.earlier(deadline,
					this.outbound.progressNanos(nanoTime()) + timeouts.writeNanos());
		}
		if (this.closing == null) {
			if (isIdleTimed()) {
				deadline = EngineEventHandler.earlier(deadline, idleSinceNanos + timeouts.idleNanos());
			}
			if (messageDeadline != NO_DEADLINE) {
				deadline = EngineEventHandler.earlier(deadline, messageDeadline);
			}
		}
		return deadline;
	}

	@Override
	public void expire(long nowNanos) {
		// Whether the connection is idle or its message late is for the owner to judge,
		// who may run a handler for longer than a peer that does not read is borne
		// with.
		if (isWriteLate(nowNanos)) {
			// The peer may have made room while nobody was there to see it.
			flush(0);
			if (isWriteLate(nowNanos)) {
				requestClose(CloseReason.WRITE_TIMEOUT, null);
				this.outbound.discard();
			}
		}
	}

	private boolean isWriteLate(long nowNanos) {
		long timeout = this.server.timeouts().writeNanos();
		return timeout != 0 && this.outbound.waitingBytes() > 0
				&& nowNanos - this.outbound.progressNanos(nowNanos) - timeout >= 0;
	}

	private void requestTimerIfEarlier() {
		long deadline = earliestDeadline((long) LAST_ACTIVITY.getOpaque(this), this.messageDeadline);
		long scheduled = this.handle.timerDeadline;
		if (deadline != NO_DEADLINE && (scheduled == NO_DEADLINE || deadline - scheduled < 0)) {
			this.handle.request(SelectableHandle.TIMER);
		}
	}

	// Sending

	@Override
	public void send(ByteBuffer message) {
		Closing why = this.closing;
		if (why != null && !this.lastWords) {
			throw closedException(why);
		}
		Framing framing = this.server.framing();
		Participant me = Participant.current();
		boolean own = me != null && me.handle() == this.handle;
		int bound = framing.maxFrameLength(message.remaining());
		boolean fits = me != null && bound <= Participant.BUFFER_SIZE;
		ByteBuffer frame;
		int length;
		OutboundBuffer.Sent sent;
		if (me != null && fits && own && (this.moreFollows || this.corked) && me.isOnLease()) {
			ByteBuffer gathered = gatheredWithRoom(me, bound);
			int start = gathered.position();
			try {
				encode(framing, message, gathered);
			}
			catch (Throwable ex) {
				gathered.position(start);
				throw ex;
			}
			length = gathered.position() - start;
			frame = me.gatheredView();
			sent = this.outbound.cork(frame, start, start + length);
			if (sent == OutboundBuffer.Sent.WAITS) {
				this.corked = true;
				this.server.sent(length);
				if (!me.isOnLease()) {
					// Who took over may have looked before there was anything to write.
					uncork();
				}
				return;
			}
			// Nothing is held, so this is the only one who touches the view.
			frame.limit(start + length).position(start);
		}
		else {
			frame = (me != null && fits) ? me.output() : ByteBuffer.allocate(bound);
			encode(framing, message, frame);
			frame.flip();
			length = frame.remaining();
		}
		try {
			sent = this.outbound.send(this.transport, frame, this.server.maxOutboundSize());
		}
		catch (IOException ex) {
			requestCloseByOwner(CloseReason.IO_ERROR, ex);
			throw new ConnectionClosedException("%s failed while a message was sent".formatted(this),
					CloseReason.IO_ERROR, ex)
				.of(this);
		}
		catch (Error ex) {
			requestCloseByOwner(CloseReason.IO_ERROR, ex);
			throw ex;
		}
		switch (sent) {
			case WRITTEN -> {
				if (!own) {
					LAST_ACTIVITY.setOpaque(this, nanoTime());
				}
			}
			case BEGAN_TO_WAIT -> {
				this.handle.request(SelectableHandle.INTEREST | SelectableHandle.TIMER);
				noteCongestion();
			}
			case WAITS -> noteCongestion();
			case REFUSED -> {
				// What was held back until now may have begun to wait.
				this.handle.request(SelectableHandle.INTEREST | SelectableHandle.TIMER);
				noteCongestion();
				throw new SlowConsumerException(
						"%s does not read: %d bytes wait for it, and no more than %d may. Send less, wait until it is writable again, or raise the maximum outbound size"
							.formatted(this, this.outbound.waitingBytes(), this.server.maxOutboundSize()));
			}
			case OVERLOADED -> {
				overloaded();
				throw closedException(new Closing(CloseReason.OVERLOADED, null));
			}
			case CLOSED -> {
				Closing now = this.closing;
				throw closedException((now != null) ? now : new Closing(CloseReason.LOCAL, null));
			}
		}
		this.server.sent(length);
	}

	/** Leaves the payload as it was. */
	private static void encode(Framing framing, ByteBuffer message, ByteBuffer frame) {
		int position = message.position();
		int limit = message.limit();
		try {
			framing.encode(message, frame);
		}
		finally {
			message.limit(limit).position(position);
		}
	}

	/** Where to put the next reply of several that are written together. */
	private ByteBuffer gatheredWithRoom(Participant me, int room) {
		ByteBuffer gathered = me.gathered();
		if (this.corked && gathered.capacity() - gathered.position() < room) {
			this.corked = false;
			uncork();
		}
		return this.corked ? gathered : gathered.clear().order(ByteOrder.BIG_ENDIAN);
	}

	/**
	 * Writes the replies that were held back. By the owner, or by whoever has taken over
	 * the leadership from it, since its handler does not return.
	 */
	@Override
	public void uncork() {
		try {
			OutboundBuffer.Sent sent = this.outbound.uncork(this.transport);
			if (sent == OutboundBuffer.Sent.BEGAN_TO_WAIT) {
				this.handle.request(SelectableHandle.INTEREST | SelectableHandle.TIMER);
				noteCongestion();
			}
			else if (sent == OutboundBuffer.Sent.OVERLOADED) {
				overloaded();
			}
		}
		catch (IOException ex) {
			requestCloseByOwner(CloseReason.IO_ERROR, ex);
		}
	}

	private void overloaded() {
		requestCloseByOwner(CloseReason.OVERLOADED, null);
	}

	/** Promises the handler a call when the peer has caught up, if it is far behind. */
	private void noteCongestion() {
		if (!this.congested && isHigh()) {
			this.congested = true;
			if (this.outbound.waitingBytes() <= this.server.lowWaterMark()) {
				// It was written between the two looks, by somebody who saw no promise.
				this.handle.request(SelectableHandle.LOOK);
			}
		}
	}

	private ConnectionClosedException closedException(Closing why) {
		return new ConnectionClosedException(
				"%s is closed (%s): the message was not sent".formatted(this, why.reason()), why.reason(), why.cause())
			.of(this);
	}

	/**
	 * Writes what waits, when the socket has room. Called by the leader, whoever owns the
	 * handle.
	 * @param events what the handle is ready for
	 * @return what is left to dispatch: not the room to write any more, but a look, if
	 * somebody waited for the writing
	 */
	@Override
	public int flush(int events) {
		int left = events & ~SelectionKey.OP_WRITE;
		long mark;
		try {
			long before = this.outbound.progressNanos(0);
			long waiting = this.outbound.flush(this.transport, FLUSH_BUDGET);
			if (this.transport.wantsWrite()) {
				this.transport.flush();
			}
			if (this.outbound.progressNanos(0) != before) {
				LAST_ACTIVITY.setOpaque(this, this.handle.handleSet().nowNanos());
			}
			mark = (this.phase == OPEN) ? this.server.lowWaterMark() : 0;
			return (waiting <= mark && (this.handle.isPaused() || this.congested)) ? left | SelectableHandle.LOOK
					: left;
		}
		catch (IOException ex) {
			requestClose(CloseReason.IO_ERROR, ex);
			// Or the selector would report the failed socket until the owner, whose
			// handler may run for long, has closed it.
			this.outbound.discard();
			return left | SelectableHandle.LOOK;
		}
	}

	@Override
	public boolean hasPendingBytes() {
		return this.outbound.waitingBytes() > 0 || this.transport.wantsWrite();
	}

	// What the application sees

	@Override
	public long id() {
		return this.id;
	}

	@Override
	public void close() {
		requestCloseByOwner(CloseReason.LOCAL, null);
	}

	@Override
	public void fail(Throwable failure) {
		Objects.requireNonNull(failure, "'failure' must not be null");
		if (!(failure instanceof ConnectionClosedException closed && closed.isOf(this))) {
			requestCloseByOwner(CloseReason.HANDLER_ERROR, failure);
		}
	}

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
	public void abandon(SelectableHandle handle) {
		abandon();
	}

	/**
	 * Closes the connection because there is no thread to do it: by the calling thread,
	 * or if its handler still runs, by closing the socket under it.
	 */
	void abandon() {
		if (this.phase != LINGERING) {
			requestClose(CloseReason.SHUTDOWN_TIMEOUT, null);
		}
		if (this.handle.claimForLook() == Claim.CLAIMED) {
			terminate(null);
		}
		else {
			this.handle.closeChannel();
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

	private boolean isSuspended() {
		return this.suspensions != 0;
	}

	@Override
	public boolean isOpen() {
		return this.closing == null;
	}

	@Override
	public long pendingBytes() {
		return this.outbound.waitingBytes();
	}

	@Override
	public boolean isWritable() {
		return this.closing == null && !this.congested;
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
	public ConcurrentMap<String, Object> attributes() {
		ConcurrentMap<String, Object> current = this.attributes;
		if (current == null) {
			current = new ConcurrentHashMap<>(4);
			if (!ATTRIBUTES.compareAndSet(this, null, current)) {
				current = this.attributes;
			}
		}
		return (current != null) ? current : new ConcurrentHashMap<>();
	}

	@Override
	public String server() {
		return this.server.name();
	}

	Transport transport() {
		return this.transport;
	}

	boolean isOf(TcpServer candidate) {
		return this.server == candidate;
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
		return new ConnectionSnapshot(this.id, this.server.name(), state, remoteAddress(),
				Duration.ofNanos(Math.max(0, now - this.acceptedNanos)),
				Duration.ofNanos(Math.max(0, now - lastActivity)), (long) RECEIVED_MESSAGES.getOpaque(this),
				(long) RECEIVED_BYTES.getOpaque(this), this.outbound.acceptedBytes(), this.outbound.waitingBytes(),
				(this.transport instanceof TlsTransport tls) ? tls.generation() : 0);
	}

	@Override
	public HandledWork work() {
		return this.server.connectionWork();
	}

	@Override
	public long workNumber() {
		return this.id;
	}

	/** See {@link TcpServer#connection}. */
	@Override
	public boolean equals(@Nullable Object other) {
		return this == other;
	}

	@Override
	public int hashCode() {
		return Long.hashCode(this.id);
	}

	@Override
	public String toString() {
		return "Connection " + this.id + " of server '" + this.server.name() + "'";
	}

}
