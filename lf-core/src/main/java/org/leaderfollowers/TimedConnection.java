package org.leaderfollowers;

import java.net.ConnectException;
import java.net.InetSocketAddress;
import java.nio.channels.SocketChannel;
import java.util.concurrent.TimeUnit;

import org.jspecify.annotations.Nullable;
import org.leaderfollowers.internal.buffer.PartialMessage;
import org.leaderfollowers.internal.transport.Transport;

/**
 * The part of a TCP connection that keeps the beginning of a message, and knows until
 * when the rest must have arrived. Only the owner of the handle uses it, one thread at a
 * time.
 */
abstract class TimedConnection extends StreamConnection {

	/**
	 * A thread that looks so long after the deadline of a message could not look earlier,
	 * because every thread was busy.
	 */
	private static final long LATE_NANOS = TimeUnit.MILLISECONDS.toNanos(100);

	/**
	 * Whether no messages are taken now: until the peer has read pending bytes, other
	 * handles have had their turn, or the suspensions have been resumed.
	 */
	boolean stalled;

	/**
	 * Whether no messages are taken because the peer has to read first. Its own message
	 * then gets no more time, except as in {@link #restartIfPeerReads}.
	 */
	boolean stalledByPeer;

	/** Whether messages waited for the peer when it stalled the connection. */
	boolean stalledByOutput;

	/** Whether the socket may hold more than was read. */
	boolean moreToRead;

	/** Whether bytes were received since the handle was claimed or looked at. */
	boolean active;

	/** The beginning of an incomplete message, or {@code null}. */
	@Nullable PartialMessage partial;

	TimedConnection(ConnectionContext context, SocketChannel channel, Transport transport,
			@Nullable InetSocketAddress localAddress, InetSocketAddress transportAddress) {
		super(context, channel, transport, localAddress, transportAddress);
	}

	/**
	 * Whether kept messages are handled now. They were received before the connection
	 * failed, so only the application itself can refuse them.
	 */
	abstract boolean takesPostponed();

	/** The remaining input, if the drain was reported to the handler. */
	final @Nullable DrainedInput drained() {
		ConnectionWatch watched = this.watch;
		return (watched != null) ? watched.drained : null;
	}

	/**
	 * Whether only a part of a message has been received. A part of a TLS record may
	 * contain one.
	 */
	final boolean hasBegun() {
		return this.partial != null || this.transport.holdsPart();
	}

	// Messages that are too large

	/** Whether a message that is too large is being skipped. */
	final boolean isSkipping() {
		ConnectionWatch watched = this.watch;
		return watched != null && watched.skipped != 0;
	}

	/** Begins to skip the rest of a message that is too large. */
	final void beginToSkip(long left) {
		ConnectionWatch watched = watch();
		watched.skipped = left;
		watched.skippedSinceNanos = nanoTime();
	}

	/**
	 * Skips the rest of a message that is too large. Returns whether there is more input.
	 */
	final boolean skip(MessageDecoder decoder) {
		ConnectionWatch watched = this.watch;
		if (watched == null || watched.skipped == 0) {
			return true;
		}
		ConnectionContext.Limits limits = this.context.limits();
		watched.skipped = decoder.skip(watched.skipped, framing(), limits.maxMessageSize(), limits.frameSize());
		return watched.skipped == 0 && !decoder.isEmpty();
	}

	// Time

	/** Keeps the beginning of a message, which must be complete in time. */
	final void keep(@Nullable PartialMessage left) {
		this.partial = left;
		ConnectionWatch watched = this.watch;
		long deadline = NO_DEADLINE;
		if (!this.stalled && watched != null && watched.skipped != 0) {
			deadline = this.context.timeouts().messageDeadline(watched.skippedSinceNanos);
		}
		else if (!this.stalled && left != null) {
			deadline = this.context.timeouts().messageDeadline(left.startedNanos());
			if (deadline != NO_DEADLINE) {
				deadline = EngineEventHandler.earlier(deadline,
						this.context.limits().readDeadline(left.startedNanos(), left.size()));
			}
		}
		messageDeadline(deadline);
	}

	/**
	 * Checks whether the connection is idle or its message late. Called by the owner
	 * after it has read, because bytes may have arrived before a leader that is late
	 * itself.
	 * @param active whether anything was received
	 * @param moreToRead whether the socket may hold the rest of the message
	 */
	final void checkTimeouts(long nowNanos, boolean active, boolean moreToRead) {
		ConnectionWatch watched = this.watch;
		if (watched != null) {
			if (watched.isLoginLate(nowNanos)) {
				if (takesPostponed()) {
					// The login may have been put aside, because no thread was free.
					watched.delayLogin(nowNanos);
				}
				else {
					requestClose(CloseReason.LOGIN_TIMEOUT, null);
				}
			}
			if (active) {
				// The peer could not know that it was waited for while a handler ran.
				watched.received(nowNanos);
			}
		}
		if (active) {
			noteActivity(nowNanos);
		}
		else if (this.context.timeouts().isIdle(this.outbound, lastActivity(), nowNanos)) {
			if (takesPostponed()) {
				// A thread that waited has put a message aside, and was free only now.
				noteActivity(nanoTime());
			}
			else {
				requestClose(CloseReason.IDLE_TIMEOUT, null);
			}
		}
		restartIfPeerReads(nowNanos);
		if (ConnectionTimeouts.isPast(this.messageDeadline, nowNanos) && !moreToRead) {
			if (isConnected()) {
				DrainedInput drained = drained();
				endInput((drained != null && drained.isLate(nowNanos)) ? drainReason()
						: this.opened ? CloseReason.MESSAGE_TIMEOUT : CloseReason.HANDSHAKE_TIMEOUT, null);
			}
			else {
				requestClose(CloseReason.CONNECT_FAILED, new ConnectException("The peer did not answer in time"));
			}
		}
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
	 * Sets the deadlines that depend on what remains after a read: for a partial TLS
	 * record, and for the last message of a connection that drains.
	 */
	final void timeRest() {
		timePart();
		DrainedInput drained = drained();
		if (drained != null && !drained.isLeft() && !this.stalled && !this.moreToRead && hasBegun()) {
			messageDeadline(EngineEventHandler.earlier(this.messageDeadline,
					drained.deadline(nanoTime(), this.context.timeouts().drainNanos())));
		}
	}

	/**
	 * Gives the peer the full time again if the deadline of its message has passed while
	 * no thread was free to read. The socket takes only a part of a large message
	 * meanwhile, and the peer can send the rest only now.
	 */
	final void restartIfReadLate(long nowNanos) {
		long deadline = this.messageDeadline;
		if (!this.active || !this.opened || deadline == NO_DEADLINE || nowNanos - deadline < LATE_NANOS) {
			return;
		}
		restartMessage(nowNanos);
		keep(this.partial);
	}

	/** Restarts the time of a message that was not read while the connection stalled. */
	final void restartAfterStall(long nowNanos) {
		if (this.stalledByPeer) {
			restartIfPeerReads(nowNanos);
		}
		else {
			restartMessage(nowNanos);
			if (isSkipping()) {
				// Unlike the beginning of a message, nothing of it is decoded again.
				keep(this.partial);
			}
		}
		this.stalledByPeer = false;
	}

	/**
	 * Gives a peer that has to read before its own message is read the full time since it
	 * last read, or from now on if it has read everything. The time of a peer that does
	 * not read goes on: it could otherwise keep the beginning of a message without end.
	 */
	private void restartIfPeerReads(long nowNanos) {
		if (!this.stalledByPeer || !this.stalledByOutput || drained() != null || this.messageDeadline == NO_DEADLINE) {
			return;
		}
		// How far the peer has read the last record is not known.
		boolean isKnown = this.outbound.waitingBytes() > 0 || this.transport.pendingBytes() == 0;
		long since = this.outbound.progressNanos(nowNanos);
		long deadline = this.context.timeouts().messageDeadline(since);
		if (isKnown && deadline - this.messageDeadline > 0) {
			messageDeadline(deadline);
			restartMessage(since);
		}
	}

	/**
	 * Gives the peer the full time for the rest of its message, because the server did
	 * not read it.
	 */
	private void restartMessage(long sinceNanos) {
		PartialMessage begun = this.partial;
		if (begun != null && sinceNanos - begun.startedNanos() > 0) {
			begun.restart(sinceNanos);
		}
		ConnectionWatch watched = this.watch;
		if (watched != null && watched.skipped != 0) {
			watched.skippedSinceNanos = sinceNanos;
		}
	}

	/**
	 * Sets a deadline for a partial TLS record. It takes memory like a message that has
	 * begun, and gets as much time. A message that is not read has no deadline: it may
	 * have begun before the connection stalled, while its handler waited.
	 */
	private void timePart() {
		if (!this.opened || this.context.timeouts().messageNanos() == 0) {
			return;
		}
		if (this.stalled && !this.stalledByPeer) {
			messageDeadline(NO_DEADLINE);
		}
		else if (this.partial != null || isSkipping()) {
			return;
		}
		else if (!this.transport.holdsPart()) {
			messageDeadline(NO_DEADLINE);
		}
		else if (this.transport.holdsNewPart() || this.messageDeadline == NO_DEADLINE) {
			// The record has just begun, or was not read for a while.
			messageDeadline(this.context.timeouts().messageDeadline(nanoTime()));
		}
	}

}
