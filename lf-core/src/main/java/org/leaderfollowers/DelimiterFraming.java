package org.leaderfollowers;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.HexFormat;

/** Messages that end with a delimiter, such as lines. */
final class DelimiterFraming implements EngineFraming {

	private static final long SEVEN_BITS = 0x7F7F7F7F7F7F7F7FL;

	private final String name;

	private final byte[] delimiter;

	private final boolean dropCarriageReturn;

	private final long firstEightTimes;

	DelimiterFraming(String name, byte[] delimiter, boolean dropCarriageReturn) {
		if (delimiter.length == 0) {
			throw new IllegalArgumentException("'delimiter' must have at least one byte");
		}
		this.name = name;
		this.delimiter = delimiter;
		this.dropCarriageReturn = dropCarriageReturn;
		this.firstEightTimes = (delimiter[0] & 0xFFL) * 0x0101010101010101L;
	}

	@Override
	public boolean decode(ByteBuffer input, Frame frame) {
		int start = input.position();
		int found = find(input, start + frame.scanned(), input.limit());
		if (found < 0) {
			// The last bytes may be the beginning of a delimiter.
			int scanned = Math.max(0, input.remaining() - (this.delimiter.length - 1));
			boolean isTooLarge = scanned > (long) frame.maxMessageSize() + (this.dropCarriageReturn ? 1 : 0);
			return isTooLarge ? frame.tooLarge(0, scanned, Frame.UNKNOWN) : frame.incomplete(scanned);
		}
		int end = found - start;
		int payload = end;
		if (this.dropCarriageReturn && end > 0 && input.get(found - 1) == '\r') {
			payload--;
		}
		return frame.complete(0, payload, end + this.delimiter.length);
	}

	@Override
	public void encode(ByteBuffer payload, ByteBuffer output) {
		int start = output.position();
		output.put(payload).put(this.delimiter);
		// The whole frame is searched, not only the payload: the end of the payload and
		// the beginning of the delimiter can form a delimiter as well.
		int found = find(output, start, output.position() - 1);
		if (found >= 0) {
			throw new IllegalArgumentException(
					"The payload contains the delimiter %s of the framing '%s' at offset %d, or forms one there together with the delimiter that follows. The peer would read a different message. Encode the payload, or use another framing"
						.formatted(hex(), this.name, found - start));
		}
	}

	/** The index of the first delimiter in the range, or -1. */
	int find(ByteBuffer buffer, int from, int to) {
		int last = to - this.delimiter.length;
		int i = from;
		while (i <= last) {
			i = findFirst(buffer, i, to);
			if (i > last) {
				return -1;
			}
			if (restMatches(buffer, i)) {
				return i;
			}
			i++;
		}
		return -1;
	}

	/**
	 * The index of the first byte in the range that may begin a delimiter, or the end of
	 * the range. Compares eight bytes at a time. A byte of the exclusive or is 0 where
	 * the delimiter begins. Adding 0x7F to its lower bits sets the highest bit of every
	 * other byte, without a carry into the next byte.
	 */
	private int findFirst(ByteBuffer buffer, int from, int to) {
		long pattern = this.firstEightTimes;
		int i = from;
		for (int lastEight = to - Long.BYTES; i <= lastEight; i += Long.BYTES) {
			long bytes = buffer.getLong(i) ^ pattern;
			long zeros = ~(((bytes & SEVEN_BITS) + SEVEN_BITS) | bytes | SEVEN_BITS);
			if (zeros != 0) {
				int bits = (buffer.order() == ByteOrder.BIG_ENDIAN) ? Long.numberOfLeadingZeros(zeros)
						: Long.numberOfTrailingZeros(zeros);
				return i + bits / Byte.SIZE;
			}
		}
		while (i < to && buffer.get(i) != this.delimiter[0]) {
			i++;
		}
		return i;
	}

	private boolean restMatches(ByteBuffer buffer, int at) {
		for (int i = 1; i < this.delimiter.length; i++) {
			if (buffer.get(at + i) != this.delimiter[i]) {
				return false;
			}
		}
		return true;
	}

	@Override
	public int maxFrameLength(int payloadLength) {
		// Decoding drops a carriage return before the delimiter, and that byte does not
		// count as payload.
		return Math.addExact(payloadLength, this.delimiter.length + (this.dropCarriageReturn ? 1 : 0));
	}

	private String hex() {
		return "0x" + HexFormat.of().formatHex(this.delimiter);
	}

	@Override
	public String toString() {
		return this.dropCarriageReturn ? this.name : this.name + "(" + hex() + ")";
	}

}
