package org.leaderfollowers;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.ArrayDeque;

import org.jspecify.annotations.Nullable;
import org.leaderfollowers.internal.buffer.MemoryBudget;
import org.leaderfollowers.internal.window.MessageWindow;

/**
 * One message of a {@link WindowedConnection}, from its arrival in the window until it is
 * answered. Messages sent by a thread that {@linkplain #answer answers} it are its
 * replies.
 */
final class WindowedMessage extends MessageWindow.Place {

	final WindowedConnection connection;

	final InFlight window;

	/** The payload in memory of the budget, if the message waits for another one. */
	private @Nullable ByteBuffer copy;

	private int length;

	// Guarded by the monitor of OrderedReplies

	/** Frames that wait for the replies to earlier messages. */
	final ArrayDeque<ByteBuffer> held = new ArrayDeque<>(0);

	boolean replied;

	boolean ended;

	/**
	 * Why the connection will be closed after the reply to this message, or {@code null}.
	 */
	@Nullable CloseReason closesFor;

	WindowedMessage(WindowedConnection connection, InFlight window) {
		this.connection = connection;
		this.window = window;
	}

	/**
	 * The message that the calling thread is answering.
	 * @return {@code null} if it is not a message of this connection
	 */
	static @Nullable WindowedMessage current(WindowedConnection connection) {
		return (answered() instanceof WindowedMessage message && message.connection == connection) ? message : null;
	}

	/**
	 * Copies the message, because it is not handled at once. Called by the owner before
	 * the message enters the window.
	 * @return {@code false} if the budget does not allow it
	 */
	boolean copy(ByteBuffer message, MemoryBudget memory) {
		this.length = message.remaining();
		ByteBuffer target = memory.allocate(Math.max(1, this.length));
		if (target != null) {
			this.copy = target.put(0, message, message.position(), this.length);
			this.window.copiedBytes.addAndGet(target.capacity());
		}
		return target != null;
	}

	/** The payload if it was copied, with position and limit restored. */
	@Nullable ByteBuffer payload() {
		ByteBuffer kept = this.copy;
		return (kept != null) ? kept.limit(this.length).position(0).mark().order(ByteOrder.BIG_ENDIAN) : null;
	}

	/** Releases the memory of the copy. */
	void discardCopy(MemoryBudget memory) {
		ByteBuffer kept = this.copy;
		if (kept != null) {
			this.copy = null;
			this.window.copiedBytes.addAndGet(-kept.capacity());
			memory.release(kept.capacity());
		}
	}

}
