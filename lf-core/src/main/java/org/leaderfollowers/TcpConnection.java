package org.leaderfollowers;

import java.io.IOException;
import java.net.InetSocketAddress;
import java.nio.ByteBuffer;
import java.nio.channels.SocketChannel;
import java.util.Objects;
import java.util.concurrent.TimeUnit;

import javax.net.ssl.SSLException;

import org.jspecify.annotations.Nullable;
import org.leaderfollowers.internal.buffer.MemoryBudget;
import org.leaderfollowers.internal.buffer.PartialMessage;
import org.leaderfollowers.internal.demultiplexing.HandleState.Claim;
import org.leaderfollowers.internal.promotion.HandlerProfile;
import org.leaderfollowers.internal.transport.Transport;
import org.leaderfollowers.internal.transport.Transport.Progress;

/**
 * The framed connection: the concrete event handler that reads messages, calls the
 * application's {@link MessageHandler} for each, and writes its replies.
 * <p>
 * The road of a message is {@link #prepare}, where the leader reads into its own buffer
 * and decodes, {@link #dispatch}, where the handler runs on the complete messages, and
 * {@link #release}. Each round has one {@link Step} for the application at the most. The
 * way of a reply is {@link OutboundWriter}, the end is {@link CloseSequence}.
 */
final class TcpConnection extends StreamConnection {

	/**
	 * Messages in a row before others get their turn: a few peers that send many must not
	 * keep all threads.
	 */
	private static final int MAX_MESSAGES = 64;

	/** How long messages are taken in a row, if there are more. */
	private static final long TURN_NANOS = TimeUnit.MILLISECONDS.toNanos(5);

	/** Reads in a row before others get their turn. */
	private static final int MAX_READS = 16;

	// The owner's

	private Step step = Step.NOTHING;

	/**
	 * Whether no messages are taken now: until the peer has read what waits for it, until
	 * others had their turn, or until the suspensions have been resumed.
	 */
	private boolean stalled;

	private boolean endOfInput;

	/** Whether the socket may hold more than was read. */
	private boolean moreToRead;

	/** Whether anything was received since the handle was claimed or looked at again. */
	private boolean active;

	/** The beginning of a message. */
	private @Nullable PartialMessage partial;

	/** What is still read, since the server drains. */
	private @Nullable DrainedInput drained;

	/**
	 * What a round has for {@link #dispatch}.
	 */
	private enum Step {

		/** Nothing. */
		NOTHING,

		/** Tasks of TLS, which may block. */
		TASKS,

		/** The connection is established: onOpen. */
		OPENED,

		/** Messages, the first of which is decoded: onMessage. */
		MESSAGES,

		/** The peer has caught up: onWritable. */
		RELIEVED,

		/** Something failed: onError. */
		FAILED,

		/** The socket is closed: onClose. */
		CLOSED

	}

	TcpConnection(ConnectionContext context, SocketChannel channel, Transport transport, InetSocketAddress localAddress,
			InetSocketAddress transportAddress) {
		super(context, channel, transport, localAddress, transportAddress);
	}

	// The road of a message: reading and decoding, by the leader

	@Override
	public boolean prepare(Participant me) {
		this.step = nextStep(me);
		if (this.step != Step.MESSAGES) {
			me.decoder.forget();
		}
		return this.step != Step.NOTHING;
	}

	private Step nextStep(Participant me) {
		CloseSequence end = this.closing;
		if (end != null) {
			return proceedClosing(me, end);
		}
		if (!this.opened) {
			return establish();
		}
		if (this.outbound.takeRelief()) {
			this.active = true;
			return Step.RELIEVED;
		}
		return receive(me);
	}

	/** Gets on with what comes before the first message. */
	private Step establish() {
		this.active = true;
		this.stalled = false;
		try {
			Progress progress = this.transport.establish();
			if (progress == Progress.DONE) {
				established();
				return Step.OPENED;
			}
			if (progress == Progress.HAS_TASKS) {
				return Step.TASKS;
			}
			this.stalled = progress == Progress.WANTS_WRITE;
			if (progress == Progress.ENDED) {
				this.endOfInput = true;
				requestClose(CloseReason.PEER, null);
			}
		}
		catch (MemoryBudget.ExhaustedException ex) {
			requestClose(CloseReason.OVERLOADED, null);
		}
		catch (IOException ex) {
			requestClose(CloseReason.HANDSHAKE_FAILED, ex);
		}
		return Step.NOTHING;
	}

	/** Reads, unless no messages are taken now. */
	private Step receive(Participant me) {
		boolean keptFirst = false;
		if (isSuspended()) {
			this.stalled = true;
			messageDeadline(NO_DEADLINE);
			return Step.NOTHING;
		}
		if (this.stalled) {
			if (!this.outbound.isLow()) {
				return Step.NOTHING;
			}
			this.stalled = false;
			if (this.drained != null && this.drained.isLastMessage()) {
				// It was suspended, and has been answered meanwhile.
				requestClose(CloseReason.SHUTDOWN, null);
				return Step.NOTHING;
			}
			if (this.partial != null) {
				// It waited for its peer to read, not for its rest.
				this.partial.restart(nanoTime());
				keptFirst = true;
			}
		}
		if (this.drained == null && this.context.server().isDraining()) {
			this.drained = DrainedInput.of((SocketChannel) this.handle.channel());
		}
		return receive(me, !keptFirst);
	}

	/**
	 * Reads until a message is complete or there is no more.
	 * @param readFirst whether something is read before anything is decoded
	 */
	private Step receive(Participant me, boolean readFirst) {
		boolean reads = readFirst;
		this.moreToRead = false;
		boolean more = true;
		while (more) {
			ByteBuffer input = me.decoder.begin(this.partial, me.input(), this.context.limits().frameSize(),
					me.spareBuffers);
			if (input == null) {
				requestClose(CloseReason.OVERLOADED, null);
				return Step.NOTHING;
			}
			if (reads) {
				int room = Math.min(input.remaining(), Participant.BUFFER_SIZE);
				if (this.drained != null && !this.drained.allowsRead(this.partial != null)) {
					requestClose(CloseReason.SHUTDOWN, null);
					return Step.NOTHING;
				}
				int count = read(input, room);
				me.turn.countRead();
				if (count <= 0) {
					return (count == 0) ? readNeeds() : Step.NOTHING;
				}
				more = count == room || this.transport.hasMoreInput();
			}
			reads = true;
			me.decoder.endRead();
			if (decode(me.decoder)) {
				this.moreToRead = more;
				return Step.MESSAGES;
			}
			if (this.closing != null) {
				return Step.NOTHING;
			}
			keepRest(me);
			if (this.closing != null || me.turn.reads() >= MAX_READS) {
				this.moreToRead = more;
				return Step.NOTHING;
			}
		}
		return Step.NOTHING;
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
			if (count == 0 && this.transport.readNeeds() == Progress.WANTS_FLUSH && this.outbound.waitingBytes() == 0) {
				// All that can be written has been.
				this.transport.endInput();
				count = this.transport.read(input);
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
			if (this.drained != null) {
				this.drained.count(count);
			}
			noteReceived(count);
		}
		else if (count < 0) {
			this.endOfInput = true;
			requestClose(this.transport.isTruncated() ? CloseReason.TRUNCATED : CloseReason.PEER, null);
		}
		return count;
	}

	/** The transport had nothing to return: finds out what it needs in order to. */
	private Step readNeeds() {
		Progress needs = this.transport.readNeeds();
		if (needs == Progress.HAS_TASKS) {
			return Step.TASKS;
		}
		this.stalled |= needs == Progress.WANTS_FLUSH || needs == Progress.WANTS_WRITE || this.transport.hasMoreInput();
		return Step.NOTHING;
	}

	/** Decodes the next message. Returns whether there is one to be handled. */
	private boolean decode(MessageDecoder decoder) {
		ConnectionContext.Limits limits = this.context.limits();
		try {
			MessageDecoder.Decoded decoded = decoder.next(this.context.framing(), limits.maxMessageSize(),
					limits.frameSize());
			if (decoded == MessageDecoder.Decoded.TOO_LARGE) {
				requestClose(CloseReason.MESSAGE_TOO_LARGE,
						new FramingException(
								"A message is larger than the maximum message size of %d bytes (maxMessageSize)"
									.formatted(limits.maxMessageSize())));
			}
			return decoded == MessageDecoder.Decoded.MESSAGE;
		}
		catch (Throwable ex) {
			requestClose(CloseReason.MALFORMED, ex);
			return false;
		}
	}

	// The application

	@Override
	public boolean isMovable() {
		return true;
	}

	@Override
	public HandlerProfile profile() {
		return (this.step == Step.TASKS) ? HandlerProfile.BLOCKING : this.handle.profile();
	}

	@Override
	public void dispatch(Participant me) {
		try {
			switch (this.step) {
				case TASKS -> this.transport.runTasks();
				case OPENED -> call(MessageHandler::onOpen);
				case MESSAGES -> handleMessages(me);
				case RELIEVED -> call(MessageHandler::onWritable);
				case FAILED -> closing().reportFailure();
				case CLOSED -> closing().reportClose();
				default -> throw new IllegalStateException("nothing was prepared");
			}
		}
		finally {
			// An interrupt meant for the handler must not reach the next one.
			Thread.interrupted();
		}
	}

	/**
	 * Has the messages handled that are complete, until something forbids to go on, and
	 * writes their replies.
	 */
	private void handleMessages(Participant me) {
		MessageDecoder decoder = me.decoder;
		int messages = 0;
		do {
			noteMessage();
			this.active = true;
			try {
				this.context.handler().onMessage(this, decoder.message());
			}
			catch (Throwable ex) {
				handlerFailed(ex);
			}
			Thread.interrupted();
			// A message begins when the one before it has been handled.
			this.context.counters().messageHandled(this.handle.handleSet(), me.handled(nanoTime()));
			messages++;
		}
		while (takesNext(me, messages, decoder.consume()) && decode(decoder));
		this.outbound.uncorkOwn();
		this.stalled |= this.outbound.isHigh();
		if (this.closing == null) {
			keepRest(me);
		}
		decoder.forget();
	}

	/** Whether the next message is taken now. */
	private boolean takesNext(Participant me, int messages, boolean more) {
		if (isSuspended() || this.outbound.isHigh()) {
			this.stalled = true;
		}
		if (this.drained != null && this.drained.isLastMessage() && !isSuspended()) {
			requestClose(CloseReason.SHUTDOWN, null);
		}
		if (more && !this.stalled && (me.turn.isTimeUp(me.handledNanos(), TURN_NANOS) || messages == MAX_MESSAGES)) {
			this.stalled = true;
		}
		return more && !this.stalled && this.closing == null;
	}

	private interface HandlerCall {

		void on(MessageHandler handler, Connection connection) throws Exception;

	}

	private void call(HandlerCall call) {
		try {
			call.on(this.context.handler(), this);
		}
		catch (Throwable ex) {
			handlerFailed(ex);
		}
	}

	private void handlerFailed(Throwable failure) {
		if (!isClosedException(failure)) {
			requestClose(CloseReason.HANDLER_ERROR, failure);
		}
	}

	/** Keeps what was read and not dispatched, in memory of its own. */
	private void keepRest(Participant me) {
		PartialMessage left = null;
		try {
			left = me.decoder.keepRest(this.context.clock(), this.context.limits().frameSize(), me.spareBuffers);
		}
		catch (MemoryBudget.ExhaustedException ex) {
			requestClose(CloseReason.OVERLOADED, null);
		}
		this.partial = left;
		boolean timed = left != null && !this.stalled;
		messageDeadline(timed ? this.context.timeouts().messageDeadline(left.startedNanos()) : NO_DEADLINE);
	}

	private void discardPartial(@Nullable Participant me) {
		PartialMessage kept = this.partial;
		if (kept != null) {
			this.partial = null;
			if (me != null) {
				kept.discard(me.spareBuffers);
			}
			else {
				kept.discard(this.context.memory());
			}
		}
	}

	// Release

	@Override
	public boolean release(Participant me) {
		if (this.closing == null && goesOn(me)) {
			return false;
		}
		// The time that has been taken already, if a message was handled: it need not be
		// more exact.
		long handled = me.takeHandledNanos();
		long now = (handled != 0) ? handled : nanoTime();
		if (this.closing == null) {
			timePart();
			checkTimeouts(now, this.active, this.moreToRead);
			this.active = false;
		}
		CloseSequence end = this.closing;
		if (end != null) {
			return releaseClosing(end);
		}
		if (this.stalled) {
			boolean all = this.transport.readNeeds() == Progress.WANTS_FLUSH;
			return pauseUntil(all ? 0 : this.context.limits().lowWaterMark());
		}
		return releaseUntilInput();
	}

	/** Whether there is more to do at once. */
	private boolean goesOn(Participant me) {
		boolean draining = this.context.server().isDraining();
		if (draining && !this.opened) {
			requestClose(CloseReason.SHUTDOWN, null);
			return true;
		}
		if (this.step == Step.TASKS || this.step == Step.OPENED || this.step == Step.RELIEVED) {
			return true;
		}
		if (!this.opened || this.stalled) {
			return false;
		}
		if (this.moreToRead) {
			if (me.turn.reads() < MAX_READS
					&& (me.handledNanos() == 0 || !me.turn.isTimeUp(me.handledNanos(), TURN_NANOS))) {
				return true;
			}
			if (this.transport.hasMoreInput()) {
				// No event tells of it: others get their turn, then it is looked at
				// again.
				this.stalled = true;
				return false;
			}
		}
		if (draining && !this.outbound.isCongested()) {
			if (this.moreToRead || this.drained == null) {
				// What came while a handler was running is still in the socket.
				return true;
			}
			if (this.partial == null) {
				requestClose(CloseReason.SHUTDOWN, null);
				return true;
			}
		}
		return false;
	}

	// Closing

	private Step proceedClosing(Participant me, CloseSequence end) {
		if (this.opened && end.takeReport()) {
			return Step.FAILED;
		}
		discardPartial(me);
		messageDeadline(NO_DEADLINE);
		return end.proceed(me.input(), this.endOfInput, nanoTime()) ? terminate(me, end) : Step.NOTHING;
	}

	/** Closes the socket. Nothing of the connection is left but to tell its handler. */
	private Step terminate(@Nullable Participant me, CloseSequence end) {
		discardPartial(me);
		end.close();
		if (this.opened) {
			return Step.CLOSED;
		}
		end.noteClosed();
		return Step.NOTHING;
	}

	private CloseSequence closing() {
		return Objects.requireNonNull(this.closing, "nothing closes the connection");
	}

	private boolean releaseClosing(CloseSequence end) {
		Progress needs = end.needs();
		if (needs == null) {
			// It was requested after this round was prepared.
			return false;
		}
		return switch (needs) {
			case WANTS_READ -> {
				requestTimerIfEarlier();
				yield this.handle.releaseOrLookAgain();
			}
			case WANTS_WRITE -> pauseUntil(0);
			default -> true;
		};
	}

	@Override
	public boolean failed(Participant me, Throwable failure) {
		me.decoder.forget();
		requestClose(CloseReason.IO_ERROR, failure);
		CloseSequence end = this.closing;
		if (end != null && !end.isClosed() && end.cutShort()) {
			return true;
		}
		if (!this.handle.isMarkedClosed()) {
			this.handle.closeByOwner();
		}
		this.context.closed(this, CloseReason.IO_ERROR);
		return false;
	}

	/**
	 * The part of a record that the transport holds takes memory like a message that has
	 * begun, and is given as much time.
	 */
	private void timePart() {
		if (!this.opened || this.partial != null || this.context.timeouts().messageNanos() == 0) {
			return;
		}
		if (this.stalled || !this.transport.holdsPart()) {
			messageDeadline(NO_DEADLINE);
		}
		else if (this.transport.holdsNewPart() || this.messageDeadline == NO_DEADLINE) {
			// Begun just now, or not read for a while.
			messageDeadline(this.context.timeouts().messageDeadline(nanoTime()));
		}
	}

	/**
	 * Closes the connection because there is no thread to do it: by the calling thread,
	 * or if its handler still runs, by closing the socket under it.
	 */
	@Override
	public void abandon() {
		CloseSequence end = this.closing;
		if (end == null || !end.isLingering()) {
			requestClose(CloseReason.SHUTDOWN_TIMEOUT, null);
			end = this.closing;
		}
		if (end != null && this.handle.claimForLook() == Claim.CLAIMED) {
			if (terminate(null, end) == Step.CLOSED) {
				end.reportClose();
				Thread.interrupted();
			}
		}
		else {
			this.handle.closeChannel();
		}
	}

}
