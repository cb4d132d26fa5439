package org.leaderfollowers;

import java.io.IOException;
import java.net.StandardSocketOptions;
import java.nio.channels.SocketChannel;

/**
 * What is still read from a socket once its server drains: the bytes that it could hold
 * then. A peer that never stops sending must not delay the end. Only the owner of the
 * handle touches it.
 */
final class DrainedInput {

	/** More than a system usually receives for a socket that nobody reads. */
	private static final int LARGEST_RECEIVE_BUFFER = 8 * 1024 * 1024;

	private long left;

	private boolean lastMessage;

	/**
	 * Begins to count.
	 * @param budget how much is read, in bytes
	 */
	DrainedInput(long budget) {
		this.left = budget;
	}

	/** What a connection could hold. */
	static DrainedInput of(SocketChannel socket) {
		try {
			// What the system tells may be less than it lets the buffer grow to.
			return new DrainedInput(
					Math.max(socket.getOption(StandardSocketOptions.SO_RCVBUF), LARGEST_RECEIVE_BUFFER));
		}
		catch (IOException ex) {
			// Closed, which the read that follows finds as well.
			return new DrainedInput(0);
		}
	}

	/** Counts what was read. */
	void count(int bytes) {
		this.left -= bytes;
	}

	/**
	 * Whether to read once more.
	 * @param begun whether a message has begun, which may be completed: it becomes the
	 * last one
	 */
	boolean allowsRead(boolean begun) {
		this.lastMessage |= this.left <= 0 && begun;
		return this.left > 0 || begun;
	}

	/** Whether the message that has begun is the last one that is taken. */
	boolean isLastMessage() {
		return this.lastMessage;
	}

}
