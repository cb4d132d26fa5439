package org.leaderfollowers;

import java.io.IOException;
import java.net.ConnectException;
import java.net.InetSocketAddress;
import java.nio.ByteBuffer;
import java.nio.channels.SelectionKey;
import java.nio.channels.SocketChannel;
import java.util.concurrent.TimeUnit;

import javax.net.ssl.SSLException;

import org.jspecify.annotations.Nullable;
import org.leaderfollowers.internal.buffer.MemoryBudget;
import org.leaderfollowers.internal.buffer.PartialMessage;
import org.leaderfollowers.internal.demultiplexing.HandleState.Release;
import org.leaderfollowers.internal.logging.WireLogWriter;
import org.leaderfollowers.internal.transport.Transport;
import org.leaderfollowers.internal.transport.Transport.Progress;

/**
 * The part of a TCP connection that reads its socket and keeps incomplete messages. Only
 * the owner of the handle uses it, one thread at a time. {@link TcpConnection} decodes
 * the messages and calls the handler.
 */
abstract class InboundConnection extends TimedConnection {

	/** Whether the owner waits in another handler, and completes no futures. */
	boolean waitsElsewhere;

	boolean endOfInput;

	InboundConnection(ConnectionContext context, SocketChannel channel, Transport transport,
			@Nullable InetSocketAddress localAddress, InetSocketAddress transportAddress) {
		super(context, channel, transport, localAddress, transportAddress);
	}

	/**
	 * Completes the connection attempt of this side. Called by the owner only.
	 * @return {@code false} if the peer has not answered yet
	 * @throws IOException if the attempt has failed
	 */
	final boolean finishConnect() throws IOException {
		if (!isConnected()) {
			SocketChannel socket = (SocketChannel) this.handle.channel();
			if (!socket.finishConnect()) {
				return false;
			}
			InetSocketAddress local = (InetSocketAddress) socket.getLocalAddress();
			if (local.equals(socket.getRemoteAddress())) {
				// The system may choose the port of a local peer that does not listen.
				throw new ConnectException("The socket was connected to itself, because no server listens there");
			}
			this.localAddress = local;
			this.handle.operations(SelectionKey.OP_CONNECT, SelectionKey.OP_READ);
			this.handle.request(SelectableHandle.INTEREST);
		}
		return true;
	}

	/** Continues the steps that precede the first message, such as the TLS handshake. */
	final Step establish() {
		this.active = true;
		this.stalled = false;
		try {
			if (!finishConnect()) {
				return Step.NOTHING;
			}
			Progress progress = this.transport.establish();
			if (progress == Progress.DONE) {
				this.origin = Permitted.decoded(this.origin);
				ServiceClasses classes = this.context.classes();
				if (classes != null && classes.beforeOpening()) {
					this.context.handshakeEnded(this.transport);
					return Step.CLASSIFY;
				}
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
		catch (GuardedPreamble.RejectedException ex) {
			requestClose(CloseReason.CLIENT_LIMIT, null);
			CloseSequence end = this.closing;
			if (end != null) {
				end.cutShort();
			}
		}
		catch (IOException ex) {
			requestClose(isConnected() ? CloseReason.HANDSHAKE_FAILED : CloseReason.CONNECT_FAILED, ex);
		}
		return Step.NOTHING;
	}

	/** Returns whether the connection can be passed to the application. */
	private boolean opens() {
		try {
			established();
			return true;
		}
		catch (VirtualMachineError ex) {
			throw ex;
		}
		catch (Throwable ex) {
			// The framing has failed to create an object for this connection.
			requestClose(CloseReason.HANDSHAKE_FAILED, ex);
			return false;
		}
	}

	/**
	 * Whether to report the drain to the handler now. The report waits while a reply is
	 * still owed, because the last messages must not overtake it, and while the peer is
	 * so far behind that they might be rejected.
	 */
	final boolean beginsToDrain() {
		if (!mayBeginToDrain()) {
			return false;
		}
		watch().drained = new DrainedInput();
		return true;
	}

	/** Whether to report the drain to the handler, which was not done before. */
	final boolean mayBeginToDrain() {
		return isDraining() && drained() == null && isAnswered() && !this.outbound.isCongested();
	}

	/**
	 * Whether the handler has owed a reply since it was called for the drain: it waits
	 * for the peer's answer to its sign-off.
	 */
	final boolean awaitsAnswer(DrainedInput drained) {
		return !drained.isMeasured() && owes();
	}

	/**
	 * Whether no reply can come any more. While the connection is suspended, another
	 * thread is about to send one; a handler that has yielded its turn sends the rest.
	 */
	private boolean isAnswered() {
		return unanswered() == 0 && !isSuspended() && !this.outbound.hasYielded();
	}

	@Override
	final void endInput(CloseReason reason, @Nullable Throwable cause) {
		if (isAnswered()) {
			requestClose(reason, cause);
		}
		else if (ending() == null) {
			watch().ending = CloseSequence.of(this, reason, cause);
			this.stalled = true;
			messageDeadline(NO_DEADLINE);
			if (this.exchanges != null) {
				this.exchanges.close();
			}
		}
	}

	@Override
	public final @Nullable CloseReason closeReason() {
		CloseSequence end = this.closing;
		return (end != null) ? end.reason() : null;
	}

	@Override
	final @Nullable CloseSequence ending() {
		ConnectionWatch watched = this.watch;
		return (watched != null) ? watched.ending : null;
	}

	/**
	 * Whether no further message is taken, because the input has ended or the connection
	 * closes, perhaps after a failure that is still to be handled.
	 */
	final boolean takesNothingMore() {
		return this.closing != null || ending() != null || this.handle.isFailurePending();
	}

	/** Creates the exception that says why no further message will come. */
	final ConnectionClosedException inputOver() {
		CloseSequence end = ending();
		return (end != null && this.closing == null) ? closedException("message", end.reason(), end.cause())
				: notSendable();
	}

	/**
	 * Closes the connection if its input has ended and all messages have been answered.
	 */
	final void closeIfAnswered() {
		CloseSequence end = ending();
		if (end != null && this.closing == null && isAnswered()) {
			requestClose(end.reason(), end.cause());
		}
	}

	/**
	 * Whether no further message is taken until the application has answered. Called by
	 * the owner, or by a thread that has just released the handle.
	 */
	boolean isHeldUp() {
		return isSuspended() || (ending() != null && !isAnswered())
				|| (unanswered() > 0 && isDraining() && drained() == null && !awaitsReplies());
	}

	/**
	 * Whether replies are read even though the connection is suspended. Called by the
	 * owner, or by a thread that has just released the handle.
	 */
	abstract boolean readsReplies();

	/** Whether a request of this server waits for the reply of the peer. */
	final boolean awaitsReplies() {
		return this.exchanges != null && !this.context.isClient() && this.exchanges.pending() > 0;
	}

	/** Whether the message that has begun is the last one, because the server drains. */
	final boolean isLastMessage() {
		DrainedInput drained = drained();
		return drained != null && drained.isLastMessage();
	}

	/**
	 * Whether to report a silence to the handler. Checked after reading, because bytes
	 * may have arrived before a leader that is late.
	 */
	final boolean isSilent() {
		ConnectionWatch watched = this.watch;
		return watched != null && watched.isSilent(nanoTime(), waitsForPeer(), isSending());
	}

	/** Takes a silence that is to be reported to the handler. */
	final @Nullable EventType takeSilence(long nowNanos) {
		return watch().takeSilence(nowNanos, waitsForPeer(), isSending());
	}

	private boolean waitsForPeer() {
		return !this.stalled && unanswered() == 0;
	}

	private boolean isSending() {
		return this.outbound.waitingBytes() > 0 || isWorkedOn();
	}

	/**
	 * Whether a handler may run for the connection although no thread owns its handle.
	 */
	boolean isWorkedOn() {
		return false;
	}

	/**
	 * Reads once.
	 * @return the number of bytes, 0 if there are none now, or -1 at the end of the input
	 */
	final int read(ByteBuffer input, int room) {
		int limit = input.limit();
		input.limit(input.position() + room);
		int undecoded = this.transport.undecodedBytes();
		int count;
		try {
			count = this.transport.read(input);
			if (count == 0 && this.transport.readNeeds() == Progress.WANTS_FLUSH && this.outbound.waitingBytes() == 0) {
				// Everything that could be written has been written.
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
		else if (count == 0) {
			// A peer that sends a part of a TLS record is not silent.
			this.active |= this.transport.undecodedBytes() > undecoded;
		}
		else {
			this.endOfInput = true;
			endInput(this.transport.isTruncated() ? CloseReason.TRUNCATED : CloseReason.PEER, null);
		}
		return count;
	}

	/** Determines what the transport needs before it can return more input. */
	final Step readNeeds() {
		Progress needs = this.transport.readNeeds();
		if (needs == Progress.HAS_TASKS) {
			return Step.TASKS;
		}
		this.stalledByPeer = needs == Progress.WANTS_FLUSH || needs == Progress.WANTS_WRITE;
		this.stalledByOutput = this.stalledByPeer && this.outbound.waitingBytes() > 0;
		this.stalled |= this.stalledByPeer || this.transport.hasMoreInput();
		return Step.NOTHING;
	}

	/** Reports to the handler that a message could not be handled. */
	abstract void messageFailed(Throwable failure, ByteBuffer message);

	/**
	 * Reports a skipped message to the handler. An exception of the handler ends nothing,
	 * but an error does. Usually memory was short, and perhaps the handler was not even
	 * called: the client would take the next reply for the missing one.
	 */
	final void tellOfOversized(MessageDecoder decoder) {
		try {
			this.context.handler().onError(this, decoder.message(), this.context.limits().oversized());
		}
		catch (Exception ex) {
			if (!isClosedException(ex)) {
				logUnhandled(ex);
			}
		}
		catch (Throwable ex) {
			messageFailed(ex, decoder.messageAgain());
		}
	}

	/**
	 * Ends the exchanges immediately, without waiting for another round. Called by the
	 * owner only.
	 */
	final void endExchanges() {
		Exchanges current = this.exchanges;
		if (current != null) {
			current.close();
			current.completeEnded();
			current.discardPostponed();
		}
	}

	@Override
	final boolean takesPostponed() {
		Exchanges current = this.exchanges;
		if (current == null || !current.hasPostponed() || isSuspended() || this.handle.isFailurePending()) {
			return false;
		}
		CloseSequence end = this.closing;
		if (end != null) {
			return end.isRequested() && !end.reason().isOfApplication() && end.reason() != CloseReason.HANDLER_ERROR;
		}
		return this.context.isClient() || (this.stalled ? this.outbound.isLow() : !this.outbound.isHigh());
	}

	// Releasing the handle; called by the owner only

	/** Pauses the handle until there is input. */
	final boolean releaseUntilInput() {
		requestTimerIfEarlier();
		requestRoomToWrite();
		return this.handle.releaseOrLookAgain() && requestLookIf(yields());
	}

	/** Whether the handler is called after other handles have had their turn. */
	private boolean yields() {
		return this.opened && this.closing == null && !this.waitsElsewhere && this.outbound.isRelieved();
	}

	/**
	 * Pauses the handle until no more than the given number of bytes wait for the peer.
	 */
	final boolean pauseUntil(long mark) {
		requestTimerIfEarlier();
		requestRoomToWrite();
		if (this.handle.pause() == Release.LOOK_AGAIN) {
			return false;
		}
		// Between the last check and the pause, bytes may have been written, the
		// connection may have been resumed, or a thread may have begun to wait for a
		// reply; see Exchanges.send.
		boolean isOver = this.outbound.waitingBytes() <= mark && !this.transport.wantsWrite()
				&& (this.closing != null || !isHeldUp() || takesPostponed());
		return requestLookIf(isOver || readsReplies() || yields());
	}

	private boolean requestLookIf(boolean isNeeded) {
		if (isNeeded) {
			this.handle.request(SelectableHandle.LOOK);
		}
		return true;
	}

	/**
	 * Requests a write event if the transport has bytes to write that the handle set does
	 * not know of.
	 */
	private void requestRoomToWrite() {
		if (this.transport.wantsWrite()) {
			this.handle.request(SelectableHandle.INTEREST);
		}
	}

}
