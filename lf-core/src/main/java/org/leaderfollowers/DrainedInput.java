package org.leaderfollowers;

import java.io.IOException;
import java.net.StandardSocketOptions;
import java.nio.channels.SocketChannel;

/**
 * What is still read from a connection once its server drains: the bytes that the socket
 * could hold then. A peer that never stops sending must not delay the end. Only the owner
 * of the connection touches it.
 */
final class DrainedInput {

	/** More than a system usually receives for a socket that nobody reads. */
	private static final int LARGEST_RECEIVE_BUFFER = 8 * 1024 * 1024;

	private int left;

	private boolean lastMessage;

	DrainedInput(SocketChannel socket) {
		int size = 0;
		try {
			// What the system tells may be less than it lets the buffer grow to.
			size = Math.max(socket.getOption(StandardSocketOptions.SO_RCVBUF), LARGEST_RECEIVE_BUFFER);
		}
		catch (IOException ex) {
			// Closed, which the read that follows finds as well.
		}
		this.left = size;
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
