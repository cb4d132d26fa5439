package org.leaderfollowers;

import java.nio.ByteBuffer;
import java.util.ArrayDeque;

import org.jspecify.annotations.Nullable;
import org.leaderfollowers.internal.buffer.MemoryBudget;

/**
 * Has the replies of one connection leave in the order of its messages: those to the
 * oldest message at once, those to the others when all earlier messages have been
 * answered. Any thread; the monitor of this object orders them, and that of the
 * {@link OutboundWriter} is entered under it.
 */
final class OrderedReplies {

	private final Outlet outlet;

	private final ArrayDeque<WindowedMessage> unanswered = new ArrayDeque<>(0);

	/** What the held frames take. Written under the monitor. */
	private volatile long heldBytes;

	/** Whether nothing that is held will be sent. */
	private boolean over;

	/**
	 * The connection, by which replies leave. Called under the monitor.
	 */
	interface Outlet {

		/** Sends a reply. */
		void sendNow(ByteBuffer reply);

		/**
		 * Makes a frame of a reply that is to be sent later.
		 * @param held how many bytes are held already
		 * @return the frame, in memory of the budget
		 */
		ByteBuffer hold(ByteBuffer reply, long held);

		/** Sends a frame that was held, and gives its memory back. */
		void sendHeld(ByteBuffer frame);

		/** Has the connection closed: all that was to be sent before has been. */
		void closeNow(CloseReason reason);

	}

	OrderedReplies(Outlet outlet) {
		this.outlet = outlet;
	}

	/** How much is held, in bytes. */
	long heldBytes() {
		return this.heldBytes;
	}

	/** A message is let in. The owner's, in the order of arrival. */
	synchronized void arrived(WindowedMessage message) {
		this.unanswered.addLast(message);
	}

	/**
	 * Sends a reply to a message, or holds it.
	 * @param reply from position to limit, which are the same afterwards
	 */
	synchronized void send(WindowedMessage message, ByteBuffer reply) {
		try {
			if (message.ended || this.unanswered.peekFirst() == message) {
				this.outlet.sendNow(reply);
			}
			else {
				ByteBuffer frame = this.outlet.hold(reply, this.heldBytes);
				message.held.addLast(frame);
				this.heldBytes += frame.capacity();
			}
		}
		catch (ConnectionClosedException ex) {
			// No later reply may be taken for this one.
			this.over = true;
			throw ex;
		}
		message.replied = true;
	}

	/** Has the connection closed when the message has been answered. */
	synchronized void closeBehind(WindowedMessage message, CloseReason reason) {
		if (message.closesFor == null) {
			message.closesFor = reason;
		}
		if (message.ended && !this.unanswered.contains(message)) {
			// Its reply has left.
			this.over = true;
			this.outlet.closeNow(reason);
		}
	}

	/** Whether anything was sent as a reply to the message. */
	synchronized boolean hasReplied(WindowedMessage message) {
		return message.replied;
	}

	/** A message has been answered: later ones may have their turn. */
	synchronized void ended(WindowedMessage message) {
		message.ended = true;
		WindowedMessage oldest = this.unanswered.peekFirst();
		while (oldest != null && oldest.ended && !this.over) {
			this.unanswered.removeFirst();
			CloseReason reason = oldest.closesFor;
			if (reason != null) {
				// No later reply may be taken for the one that is missing.
				this.over = true;
				this.outlet.closeNow(reason);
				return;
			}
			oldest = this.unanswered.peekFirst();
			if (oldest != null) {
				sendHeld(oldest);
			}
		}
	}

	private void sendHeld(WindowedMessage message) {
		for (ByteBuffer frame = message.held.pollFirst(); frame != null; frame = message.held.pollFirst()) {
			this.heldBytes -= frame.capacity();
			this.outlet.sendHeld(frame);
		}
	}

	/** The connection is closed: forgets what is held. */
	synchronized void discard(MemoryBudget memory) {
		this.over = true;
		for (@Nullable
		WindowedMessage message = this.unanswered.pollFirst(); message != null; message = this.unanswered.pollFirst()) {
			message.held.forEach((frame) -> memory.release(frame.capacity()));
			message.held.clear();
		}
		this.heldBytes = 0;
	}

}
