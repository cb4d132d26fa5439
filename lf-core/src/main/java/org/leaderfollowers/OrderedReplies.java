package org.leaderfollowers;

import java.nio.ByteBuffer;
import java.util.ArrayDeque;
import java.util.Deque;

import org.jspecify.annotations.Nullable;
import org.leaderfollowers.internal.buffer.GrowingDeque;
import org.leaderfollowers.internal.buffer.MemoryBudget;

/**
 * Makes the replies of one connection leave in the order of its messages. Replies to the
 * oldest message are sent at once; replies to the others are held until all earlier
 * messages have been answered. Any thread. The monitor of this object orders the replies;
 * the monitor of the {@link OutboundWriter} is entered under it.
 */
final class OrderedReplies {

	private final Outlet outlet;

	private final ArrayDeque<WindowedMessage> unanswered;

	/** The number of bytes in held frames. Written under the monitor. */
	private volatile long heldBytes;

	/** Whether held replies will no longer be sent. */
	private boolean over;

	/** Whether somebody has more replies than can be held, and waits. */
	private boolean heldBack;

	/** The connection that the replies are sent on. Called under the monitor. */
	interface Outlet {

		/** Sends a reply. */
		void sendNow(ByteBuffer reply);

		/**
		 * Encodes a reply that will be sent later.
		 * @param heldBytes how many bytes are already held
		 * @param frames gets the frame as the last one, in memory that the budget has
		 * reserved
		 * @return the frame
		 */
		ByteBuffer hold(ByteBuffer reply, long heldBytes, Deque<ByteBuffer> frames);

		/** Sends a held frame and releases its memory. */
		void sendHeld(ByteBuffer frame);

		/** Whether nobody has requested to close the connection. */
		boolean isOpen();

		/** Has the handler called, since replies may be sent or held again. */
		void relieve();

		/**
		 * Closes the connection, after everything was sent that had to be sent before.
		 */
		void closeNow(CloseReason reason);

	}

	OrderedReplies(Outlet outlet) {
		this(outlet, new ArrayDeque<>(0));
	}

	/** For tests: keeps the messages in a deque that may fail. */
	OrderedReplies(Outlet outlet, ArrayDeque<WindowedMessage> unanswered) {
		this.outlet = outlet;
		this.unanswered = unanswered;
	}

	/** The number of held bytes. */
	long heldBytes() {
		return this.heldBytes;
	}

	/** Adds a message that has arrived. Called by the owner, in the order of arrival. */
	synchronized void arrived(WindowedMessage message) {
		GrowingDeque.addLast(this.unanswered, message);
	}

	/**
	 * Whether no further reply to a message should be made now, because too many bytes
	 * are held. If so, the {@linkplain Outlet#relieve outlet is told} when that may have
	 * changed. Replies to the oldest message are not held, so nothing holds them back.
	 */
	static boolean holdsBack(@Nullable WindowedMessage message, long highWaterMark) {
		OrderedReplies replies = (message != null) ? message.window.replies : null;
		return replies != null && replies.isFull(message, highWaterMark);
	}

	private synchronized boolean isFull(WindowedMessage message, long highWaterMark) {
		boolean holds = this.heldBytes >= highWaterMark && !message.ended && this.unanswered.peekFirst() != message;
		this.heldBack |= holds;
		return holds;
	}

	/**
	 * Sends a reply to a message, or holds it.
	 * @param reply from position to limit, which do not change
	 */
	synchronized void send(WindowedMessage message, ByteBuffer reply) {
		try {
			if (message.ended || (this.unanswered.peekFirst() == message && !this.over)) {
				this.outlet.sendNow(reply);
			}
			else {
				// Also if a reply before it is missing, and memory was too short to close
				// the connection at once.
				this.heldBytes += this.outlet.hold(reply, this.heldBytes, message.held).capacity();
			}
		}
		catch (SlowConsumerException ex) {
			this.heldBack = true;
			throw ex;
		}
		catch (ConnectionClosedException ex) {
			// The client must not take a later reply for this one.
			if (ex.isOf(message.connection) || !this.outlet.isOpen()) {
				this.over = true;
			}
			else if (message.closesFor == null) {
				// The framing has failed to use another connection.
				message.closesFor = CloseReason.HANDLER_ERROR;
			}
			throw ex;
		}
		message.replied = true;
	}

	/** Closes the connection when the message has been answered. */
	synchronized void closeBehind(WindowedMessage message, CloseReason reason) {
		if (message.closesFor == null) {
			message.closesFor = reason;
		}
		if (message.ended && !this.unanswered.contains(message)) {
			// Its reply was sent.
			this.over = true;
			this.outlet.closeNow(reason);
		}
	}

	/** Whether a reply to the message was sent or held. */
	synchronized boolean hasReplied(WindowedMessage message) {
		return message.replied;
	}

	/**
	 * Called when a message has been answered: replies to later messages may now be sent.
	 */
	synchronized void ended(WindowedMessage message) {
		message.ended = true;
		// If the connection is being closed, the handler of the message may not have run,
		// or not have replied. If it is open, everything was sent that had to be.
		this.over |= !this.outlet.isOpen();
		WindowedMessage oldest = this.unanswered.peekFirst();
		while (oldest != null && oldest.ended && !this.over) {
			this.unanswered.removeFirst();
			CloseReason reason = oldest.closesFor;
			if (reason != null) {
				// The client must not take a later reply for the missing one.
				this.over = true;
				this.outlet.closeNow(reason);
				return;
			}
			oldest = this.unanswered.peekFirst();
			if (oldest != null) {
				sendHeld(oldest);
			}
			if (this.heldBack) {
				// Whoever waits is the oldest now, or fewer bytes are held.
				this.heldBack = false;
				this.outlet.relieve();
			}
		}
	}

	private void sendHeld(WindowedMessage message) {
		for (ByteBuffer frame = message.held.pollFirst(); frame != null; frame = message.held.pollFirst()) {
			this.heldBytes -= frame.capacity();
			this.outlet.sendHeld(frame);
		}
	}

	/** Discards held replies, because the connection is closed. Allocates nothing. */
	synchronized void discard(MemoryBudget memory) {
		for (@Nullable
		WindowedMessage message = this.unanswered.pollFirst(); message != null; message = this.unanswered.pollFirst()) {
			for (ByteBuffer frame = message.held.pollFirst(); frame != null; frame = message.held.pollFirst()) {
				memory.release(frame.capacity());
			}
		}
		this.heldBytes = 0;
	}

}
