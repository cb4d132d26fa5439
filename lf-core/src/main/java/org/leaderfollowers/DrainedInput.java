package org.leaderfollowers;

import java.io.IOException;
import java.net.StandardSocketOptions;
import java.nio.channels.SocketChannel;

/**
 * Limits what is read from a socket after its server has begun to drain: the bytes that
 * the socket could hold at that time. A peer that never stops sending must not delay the
 * end. Only the owner of the handle touches it.
 */
final class DrainedInput {

	/** More bytes than a system usually keeps for a socket that is not read. */
	private static final int LARGEST_RECEIVE_BUFFER = 8 * 1024 * 1024;

	private long left;

	private boolean lastMessage;

	/**
	 * Starts with a number of bytes.
	 * @param budget how many bytes may be read
	 */
	DrainedInput(long budget) {
		this.left = budget;
	}

	/** Creates the limit for a connection. */
	static DrainedInput of(SocketChannel socket) {
		try {
			// A system may let the buffer grow beyond the size that it reports.
			return new DrainedInput(
					Math.max(socket.getOption(StandardSocketOptions.SO_RCVBUF), LARGEST_RECEIVE_BUFFER));
		}
		catch (IOException ex) {
			// The channel is closed. The next read detects this as well.
			return new DrainedInput(0);
		}
	}

	/** Counts bytes that were read. */
	void count(int bytes) {
		this.left -= bytes;
	}

	/**
	 * Whether to read again.
	 * @param begun whether a message has begun. It may be completed, and is then the last
	 * one
	 */
	boolean allowsRead(boolean begun) {
		this.lastMessage |= this.left <= 0 && begun;
		return this.left > 0 || begun;
	}

	/** Whether the message that has begun is the last one. */
	boolean isLastMessage() {
		return this.lastMessage;
	}

}
