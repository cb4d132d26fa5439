package org.leaderfollowers.benchmarks.servers;

import java.io.IOException;
import java.nio.ByteBuffer;

/**
 * Answers lines in place: a reply is never longer than its request. Servers that use
 * sockets directly therefore need one buffer, and write all replies to one read at once.
 * No echo can do less work.
 */
final class LineEcho {

	/** How many bytes are read at a time when no line is incomplete. */
	private static final int READ_SIZE = 64 * 1024;

	private final Runnable work;

	private final int maxMessage;

	LineEcho(Runnable work, int maxMessage) {
		this.work = work;
		this.maxMessage = maxMessage;
	}

	/**
	 * Returns the maximum length of a line.
	 * @return bytes, with carriage return and line feed
	 */
	int maxLine() {
		return this.maxMessage + 2;
	}

	/**
	 * Creates a buffer for one thread that has room for further bytes after any
	 * incomplete line.
	 * @return an empty buffer
	 */
	ByteBuffer newBuffer() {
		return ByteBuffer.allocateDirect(maxLine() + READ_SIZE);
	}

	/**
	 * Answers the lines from the start of a buffer to its position. Afterwards the
	 * replies are what remains in the buffer, from its start to its limit.
	 * @param buffer what was received
	 * @param scanned how many bytes are known not to hold a line feed
	 * @return where the line begins that is not complete; it is untouched
	 * @throws IOException if a line is too long
	 */
	int answer(ByteBuffer buffer, int scanned) throws IOException {
		int end = buffer.position();
		int line = 0;
		int reply = 0;
		for (int i = LineFeed.find(buffer, scanned, end); i >= 0; i = LineFeed.find(buffer, line, end)) {
			int length = i - line;
			if (length > 0 && buffer.get(i - 1) == '\r') {
				length--;
			}
			if (length > this.maxMessage) {
				throw new IOException("A line of " + length + " bytes is too long");
			}
			this.work.run();
			if (reply != line) {
				buffer.put(reply, buffer, line, length);
			}
			reply += length;
			buffer.put(reply++, (byte) '\n');
			line = i + 1;
		}
		if (end - line >= maxLine()) {
			throw new IOException("A line of more than " + this.maxMessage + " bytes is too long");
		}
		buffer.position(0).limit(reply);
		return line;
	}

}
