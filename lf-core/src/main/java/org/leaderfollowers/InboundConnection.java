package org.leaderfollowers;

import java.io.IOException;
import java.net.InetSocketAddress;
import java.nio.ByteBuffer;
import java.nio.channels.SelectionKey;
import java.nio.channels.SocketChannel;

import javax.net.ssl.SSLException;

import org.jspecify.annotations.Nullable;
import org.leaderfollowers.internal.buffer.MemoryBudget;
import org.leaderfollowers.internal.buffer.PartialMessage;
import org.leaderfollowers.internal.demultiplexing.HandleState.Release;
import org.leaderfollowers.internal.logging.WireLogWriter;
import org.leaderfollowers.internal.transport.Transport;
import org.leaderfollowers.internal.transport.Transport.Progress;

/**
 * The part of a TCP connection that reads its socket and keeps what is not complete. It
 * belongs to the owner of the handle, one thread at a time. {@link TcpConnection} makes
 * messages of it and has them handled.
 */
abstract class InboundConnection extends StreamConnection {

	/**
	 * Whether no messages are taken now: until the peer has read what waits for it, until
	 * others had their turn, or until the suspensions have been resumed.
	 */
	boolean stalled;

	boolean endOfInput;

	/** Whether anything was received since the handle was claimed or looked at again. */
	boolean active;

	/** The beginning of a message. */
	@Nullable PartialMessage partial;

	InboundConnection(ConnectionContext context, SocketChannel channel, Transport transport,
			@Nullable InetSocketAddress localAddress, InetSocketAddress transportAddress) {
		super(context, channel, transport, localAddress, transportAddress);
	}

	/**
	 * Finishes connecting a socket that this side connects. The owner's.
	 * @return {@code false} if the peer has not answered
	 * @throws IOException if there will be no connection
	 */
	final boolean finishConnect() throws IOException {
		if (!isConnected()) {
			SocketChannel socket = (SocketChannel) this.handle.channel();
			if (!socket.finishConnect()) {
				return false;
			}
			this.localAddress = (InetSocketAddress) socket.getLocalAddress();
			this.handle.operations(SelectionKey.OP_CONNECT, SelectionKey.OP_READ);
			this.handle.request(SelectableHandle.INTEREST);
		}
		return true;
	}

	/** Gets on with what comes before the first message. */
	final Step establish() {
		this.active = true;
		this.stalled = false;
		try {
			if (!finishConnect()) {
				return Step.NOTHING;
			}
			Progress progress = this.transport.establish();
			if (progress == Progress.DONE) {
				return opens() ? Step.OPENED : Step.NOTHING;
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
			requestClose(isConnected() ? CloseReason.HANDSHAKE_FAILED : CloseReason.CONNECT_FAILED, ex);
		}
		return Step.NOTHING;
	}

	/** Returns whether the connection is there for the application. */
	private boolean opens() {
		try {
			established();
			return true;
		}
		catch (RuntimeException ex) {
			// There is no framing for it.
			requestClose(CloseReason.HANDSHAKE_FAILED, ex);
			return false;
		}
	}

	/**
	 * Whether the handler is to be told now that the server drains: not while a reply is
	 * still to come, which its last words must not overtake, and not while the peer is so
	 * far behind that they might be refused.
	 */
	final boolean beginsToDrain() {
		if (!mayBeginToDrain()) {
			return false;
		}
		watch().drained = DrainedInput.of((SocketChannel) this.handle.channel());
		return true;
	}

	/** Whether the handler can be told now that the server drains, and has not been. */
	final boolean mayBeginToDrain() {
		return isDraining() && drained() == null && !isSuspended() && unanswered() == 0 && !this.outbound.isCongested();
	}

	/** The rest of the input, if the handler was told that the server drains. */
	final @Nullable DrainedInput drained() {
		ConnectionWatch watched = this.watch;
		return (watched != null) ? watched.drained : null;
	}

	@Override
	final void endInput(CloseReason reason, @Nullable Throwable cause) {
		if (unanswered() == 0) {
			requestClose(reason, cause);
		}
		else if (ending() == null) {
			watch().ending = new CloseSequence(this, reason, cause);
			this.stalled = true;
			messageDeadline(NO_DEADLINE);
			if (this.exchanges != null) {
				this.exchanges.close();
			}
		}
	}

	/** What closes the connection when all is answered, if its input has ended. */
	final @Nullable CloseSequence ending() {
		ConnectionWatch watched = this.watch;
		return (watched != null) ? watched.ending : null;
	}

	/** Whether the input has ended, or the connection closes. */
	final boolean takesNothingMore() {
		return this.closing != null || ending() != null;
	}

	/** Why no message will come any more. */
	final ConnectionClosedException inputOver() {
		CloseSequence end = ending();
		return (end != null && this.closing == null) ? closedException("message", end.reason(), end.cause())
				: notSendable();
	}

	/** Closes the connection if its input has ended, and all is answered. */
	final void closeIfAnswered() {
		CloseSequence end = ending();
		if (end != null && this.closing == null && unanswered() == 0) {
			requestClose(end.reason(), end.cause());
		}
	}

	/**
	 * Whether no further message is taken now, until the application has answered. The
	 * owner, or who was it just before.
	 */
	boolean isHeldUp() {
		return isSuspended()
				|| (unanswered() > 0 && (ending() != null || (isDraining() && drained() == null && !awaitsReplies())));
	}

	/**
	 * Whether replies are read though the connection is suspended. The owner, or who was
	 * it just before.
	 */
	abstract boolean readsReplies();

	/** Whether this side has asked its peer and is not answered, as a server. */
	final boolean awaitsReplies() {
		return this.exchanges != null && !this.context.isClient() && this.exchanges.pending() > 0;
	}

	/** Whether the message that has begun is the last one, since the server drains. */
	final boolean isLastMessage() {
		DrainedInput drained = drained();
		return drained != null && drained.isLastMessage();
	}

	/**
	 * Whether the handler is to be told of a silence. Judged after reading: a leader that
	 * comes late does not know what has arrived in the meantime.
	 */
	final boolean isSilent() {
		ConnectionWatch watched = this.watch;
		return watched != null && watched.isSilent(nanoTime(), waitsForPeer(), isSending());
	}

	/** Takes a silence that the handler is to be told of. */
	final @Nullable EventType takeSilence(long nowNanos) {
		return watch().takeSilence(nowNanos, waitsForPeer(), isSending());
	}

	private boolean waitsForPeer() {
		return !this.stalled && unanswered() == 0;
	}

	private boolean isSending() {
		return this.outbound.waitingBytes() > 0 || isWorkedOn();
	}

	/** Whether a handler may run for the connection although nobody owns its handle. */
	boolean isWorkedOn() {
		return false;
	}

	/**
	 * Reads once.
	 * @return how many bytes, 0 if there are none, -1 if there will be none
	 */
	final int read(ByteBuffer input, int room) {
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
			endInput(CloseReason.MALFORMED, ex);
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
			WireLogWriter log = this.context.wire().writer();
			if (log != null) {
				log.received(id(), input, count);
			}
			this.active = true;
			DrainedInput drained = drained();
			if (drained != null) {
				drained.count(count);
			}
			noteReceived(count);
		}
		else if (count < 0) {
			this.endOfInput = true;
			endInput(this.transport.isTruncated() ? CloseReason.TRUNCATED : CloseReason.PEER, null);
		}
		return count;
	}

	/** The transport had nothing to return: finds out what it needs in order to. */
	final Step readNeeds() {
		Progress needs = this.transport.readNeeds();
		if (needs == Progress.HAS_TASKS) {
			return Step.TASKS;
		}
		this.stalled |= needs == Progress.WANTS_FLUSH || needs == Progress.WANTS_WRITE || this.transport.hasMoreInput();
		return Step.NOTHING;
	}

	// Messages that are too large

	/** What the handler is told of a message that is left out. */
	final FramingException oversized() {
		return new FramingException(
				"A message is larger than the maximum message size of %d bytes (maxMessageSize), and is left out"
					.formatted(this.context.limits().maxMessageSize()));
	}

	/** Tells the handler of a message that is left out. */
	final void tellOfOversized(ByteBuffer beginning) {
		try {
			this.context.handler().onError(this, beginning, oversized());
		}
		catch (Throwable ex) {
			if (!isClosedException(ex)) {
				logUnhandled(ex);
			}
		}
	}

	/** Whether a message is being left out that is too large. */
	final boolean isSkipping() {
		ConnectionWatch watched = this.watch;
		return watched != null && watched.skipped != 0;
	}

	/** What was decoded is too large: the rest of it is left out. */
	final void beginToSkip(long left) {
		ConnectionWatch watched = watch();
		watched.skipped = left;
		watched.skippedSinceNanos = nanoTime();
	}

	/** Leaves out what has to be. Returns whether there is more input. */
	final boolean skip(MessageDecoder decoder) {
		ConnectionWatch watched = this.watch;
		if (watched == null || watched.skipped == 0) {
			return true;
		}
		ConnectionContext.Limits limits = this.context.limits();
		watched.skipped = decoder.skip(watched.skipped, framing(), limits.maxMessageSize(), limits.frameSize());
		return watched.skipped == 0 && !decoder.isEmpty();
	}

	/** Keeps the beginning of a message, which is to be complete in time. */
	final void keep(@Nullable PartialMessage left) {
		this.partial = left;
		ConnectionWatch watched = this.watch;
		long deadline = NO_DEADLINE;
		if (!this.stalled && watched != null && watched.skipped != 0) {
			deadline = this.context.timeouts().messageDeadline(watched.skippedSinceNanos);
		}
		else if (!this.stalled && left != null) {
			deadline = this.context.timeouts().messageDeadline(left.startedNanos());
		}
		messageDeadline(deadline);
	}

	final void discardPartial(@Nullable Participant me) {
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

	/**
	 * The part of a record that the transport holds takes memory like a message that has
	 * begun, and is given as much time.
	 */
	final void timePart() {
		if (!this.opened || this.partial != null || isSkipping() || this.context.timeouts().messageNanos() == 0) {
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

	/** Ends what waits for a reply, without a round for that. The owner's. */
	final void endExchanges() {
		Exchanges current = this.exchanges;
		if (current != null) {
			current.close();
			current.completeEnded();
			current.discardPostponed();
		}
	}

	/**
	 * Whether messages that were put aside are handled now. They were received before the
	 * connection broke; only the application itself can want no more of them.
	 */
	final boolean takesPostponed() {
		Exchanges current = this.exchanges;
		if (current == null || !current.hasPostponed() || isSuspended()) {
			return false;
		}
		CloseSequence end = this.closing;
		if (end != null) {
			return end.isRequested() && end.reason() != CloseReason.LOCAL && end.reason() != CloseReason.HANDLER_ERROR;
		}
		return this.context.isClient() || (this.stalled ? this.outbound.isLow() : !this.outbound.isHigh());
	}

	final void handlerFailed(Throwable failure) {
		if (!isClosedException(failure)) {
			requestClose(CloseReason.HANDLER_ERROR, failure);
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
		// Between the last check and the pause, it may have been written or resumed, or a
		// thread may have begun to wait for a reply; see Exchanges.send.
		boolean isOver = this.outbound.waitingBytes() <= mark && !this.transport.wantsWrite()
				&& (this.closing != null || !isHeldUp() || takesPostponed());
		if (isOver || readsReplies()) {
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

}
