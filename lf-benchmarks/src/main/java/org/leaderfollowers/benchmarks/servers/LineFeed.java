package org.leaderfollowers.benchmarks.servers;

import java.nio.ByteBuffer;

/**
 * Finds the ends of lines, eight bytes at a time: byte by byte, a line of some kilobytes
 * would take microseconds, as long as a whole short request.
 */
final class LineFeed {

	private static final long LINE_FEEDS = '\n' * 0x0101010101010101L;

	private static final long LOW_BITS = 0x7F7F7F7F7F7F7F7FL;

	private LineFeed() {
	}

	/**
	 * Finds the first line feed in a range.
	 * @param buffer big-endian, as buffers are by default
	 * @param from where the range begins
	 * @param to where it ends; the limit of the buffer may be behind it
	 * @return its index, or -1
	 */
	static int find(ByteBuffer buffer, int from, int to) {
		int i = from;
		for (; i <= to - Long.BYTES; i += Long.BYTES) {
			// Bytes that are line feeds become 0; then the high bits are set where a byte
			// is 0, without a carry that could reach another byte.
			long bytes = buffer.getLong(i) ^ LINE_FEEDS;
			long found = ~(((bytes & LOW_BITS) + LOW_BITS) | bytes | LOW_BITS);
			if (found != 0) {
				return i + Long.numberOfLeadingZeros(found) / Byte.SIZE;
			}
		}
		for (; i < to; i++) {
			if (buffer.get(i) == '\n') {
				return i;
			}
		}
		return -1;
	}

}
