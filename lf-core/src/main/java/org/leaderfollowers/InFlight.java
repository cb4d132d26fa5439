package org.leaderfollowers;

import java.util.concurrent.atomic.AtomicLong;

import org.jspecify.annotations.Nullable;
import org.leaderfollowers.internal.buffer.MemoryBudget;
import org.leaderfollowers.internal.window.MessageWindow;

/**
 * The messages of a {@link WindowedConnection} that are in flight, and their replies. A
 * connection has this object only while messages are in flight, so that an idle
 * connection is small.
 */
final class InFlight extends MessageWindow<WindowedMessage> {

	/** The held replies if replies leave in the order of arrival, or {@code null}. */
	final @Nullable OrderedReplies replies;

	/** The memory of the messages that wait for others. Any thread. */
	final AtomicLong copiedBytes = new AtomicLong();

	/** Whether the connection closes after the reply to one of the messages in flight. */
	volatile boolean endsBehindReply;

	InFlight(OrderedReplies.Outlet outlet, WindowOptions options) {
		super(options.maxInFlight());
		this.replies = (options.replyOrder() == ReplyOrder.ARRIVAL) ? new OrderedReplies(outlet) : null;
	}

	/** The number of bytes held until earlier messages have been answered. */
	long heldBytes() {
		return (this.replies != null) ? this.replies.heldBytes() : 0;
	}

	/**
	 * Releases a message, because its handler has returned or its owed reply was sent.
	 * Any thread.
	 * @param goesOn whether the calling thread continues to run handlers
	 * @return the next message for the calling thread to handle, or {@code null}
	 */
	@Nullable WindowedMessage letGo(WindowedMessage message, boolean goesOn) {
		if (!letGo(message)) {
			return null;
		}
		// While the message is still in flight, so that the connection is not closed
		// before.
		ended(message);
		return end(message, goesOn);
	}

	private void ended(WindowedMessage message) {
		try {
			if (this.replies != null) {
				this.replies.ended(message);
			}
		}
		catch (OutOfMemoryError ex) {
			end(message, false);
			throw ex;
		}
	}

	/**
	 * Discards held replies that can no longer be sent because an earlier one is missing.
	 */
	void discardReplies(MemoryBudget memory) {
		if (this.replies != null) {
			this.replies.discard(memory);
		}
	}

	/**
	 * Whether the failure of a message that nothing has handled closes the connection. If
	 * the order of replies is their only identification, the client would take the next
	 * reply for the one that is missing.
	 */
	boolean closesFor(WindowedMessage message, CloseReason reason) {
		return (this.replies != null) ? !this.replies.hasReplied(message) : reason == CloseReason.CLIENT_LIMIT;
	}

	/**
	 * Closes the connection after the reply to a message.
	 * @return {@code false} if replies have no order
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
