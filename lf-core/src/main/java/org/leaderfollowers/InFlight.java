package org.leaderfollowers;

import org.jspecify.annotations.Nullable;
import org.leaderfollowers.internal.buffer.MemoryBudget;
import org.leaderfollowers.internal.window.MessageWindow;

/**
 * The messages of a {@link WindowedConnection} that are in flight, and their replies. A
 * connection has it only while there are any, so that an idle connection is small.
 */
final class InFlight extends MessageWindow<WindowedMessage> {

	/** If replies leave in the order of arrival. */
	final @Nullable OrderedReplies replies;

	/** Whether the reply to some message in flight is the last one. */
	volatile boolean endsBehindReply;

	InFlight(OrderedReplies.Outlet outlet, WindowOptions options) {
		super(options.maxInFlight());
		this.replies = (options.replyOrder() == ReplyOrder.ARRIVAL) ? new OrderedReplies(outlet) : null;
	}

	/** How much is held until earlier messages have been answered, in bytes. */
	long heldBytes() {
		return (this.replies != null) ? this.replies.heldBytes() : 0;
	}

	/**
	 * Lets go of a message: its handler has returned, or a reply that it owed is there.
	 * Any thread.
	 * @param goesOn whether the calling thread runs handlers
	 * @return the next message that the calling thread is to handle
	 */
	@Nullable WindowedMessage letGo(WindowedMessage message, boolean goesOn) {
		if (!letGo(message)) {
			return null;
		}
		if (this.replies != null) {
			// While it is in flight: the connection must not be closed before.
			this.replies.ended(message);
		}
		return end(message, goesOn);
	}

	/** Forgets replies that will not be sent, behind one that is missing. */
	void discardReplies(MemoryBudget memory) {
		if (this.replies != null) {
			this.replies.discard(memory);
		}
	}

	/**
	 * Has the connection closed behind the reply to a message.
	 * @return {@code false} if replies are in no order
	 */
	boolean closeBehind(WindowedMessage message, CloseReason reason) {
		if (this.replies == null) {
			return false;
		}
		this.replies.closeBehind(message, reason);
		this.endsBehindReply = true;
		return true;
	}

}
