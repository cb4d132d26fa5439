package org.leaderfollowers.benchmarks.load;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;

/**
 * The requests of all connections, computed and never stored: a line is eight letters for
 * its connection, eight for its number, a filler and the newline. Since any part of any
 * line can be computed again, a connection needs no buffer for a partly written request,
 * and every byte of every reply can be compared.
 */
final class Requests {

	private static final int HEADER = 16;

	/** A header and the newline. */
	static final int SHORTEST = HEADER + 1;

	/** Requests are written together up to this many bytes. */
	private static final int BATCH_SIZE = 64 * 1024;

	private final int length;

	private final int batch;

	/** A full batch; only the headers differ from one use to the next. */
	private final ByteBuffer lines;

	/** One line to compare replies with. */
	private final ByteBuffer expected;

	Requests(int length) {
		this.length = length;
		this.batch = Math.max(1, BATCH_SIZE / length);
		this.lines = template(length, this.batch);
		this.expected = template(length, 1);
	}

	private static ByteBuffer template(int length, int count) {
		ByteBuffer template = ByteBuffer.allocateDirect(length * count).order(ByteOrder.BIG_ENDIAN);
		for (int i = 0; i < count; i++) {
			for (int j = 0; j < length - 1; j++) {
				template.put((byte) ('A' + j % 23));
			}
			template.put((byte) '\n');
		}
		return template;
	}

	int length() {
		return this.length;
	}

	/**
	 * Consecutive requests of a connection, ready to be written.
	 * @param connection the number of the connection
	 * @param first the number of the first request
	 * @param offset how many bytes of the first are written already
	 * @param count how many are wanted; there may be fewer
	 * @return a buffer that is valid until the next call
	 */
	ByteBuffer lines(int connection, long first, int offset, long count) {
		int n = (int) Math.min(count, this.batch);
		long connectionName = letters(connection);
		this.lines.clear();
		for (int i = 0; i < n; i++) {
			int start = i * this.length;
			this.lines.putLong(start, connectionName);
			this.lines.putLong(start + Long.BYTES, letters((int) (first + i)));
		}
		return this.lines.limit(n * this.length).position(offset);
	}

	/**
	 * Compare the next bytes of {@code in}, and skip them, with a part of a request.
	 * @param in the received bytes
	 * @param connection the number of the connection
	 * @param number the number of the request
	 * @param offset where the part starts
	 * @param count the length of the part
	 * @return whether all bytes are equal
	 */
	boolean matches(ByteBuffer in, int connection, long number, int offset, int count) {
		this.expected.clear();
		this.expected.putLong(0, letters(connection));
		this.expected.putLong(Long.BYTES, letters((int) number));
		this.expected.limit(offset + count).position(offset);
		int limit = in.limit();
		int end = in.position() + count;
		in.limit(end);
		boolean equal = in.mismatch(this.expected) < 0;
		in.limit(limit).position(end);
		return equal;
	}

	/** The eight half-bytes of a number as letters from {@code a} to {@code p}. */
	private static long letters(int number) {
		long spread = Integer.toUnsignedLong(number);
		spread = (spread | spread << 16) & 0x0000_FFFF_0000_FFFFL;
		spread = (spread | spread << 8) & 0x00FF_00FF_00FF_00FFL;
		spread = (spread | spread << 4) & 0x0F0F_0F0F_0F0F_0F0FL;
		return spread + 0x6161_6161_6161_6161L;
	}

}
