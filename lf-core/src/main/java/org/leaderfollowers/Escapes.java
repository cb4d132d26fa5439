package org.leaderfollowers;

import java.nio.ByteBuffer;
import java.util.Arrays;
import java.util.Map;

/**
 * Pairs of bytes that stand for single bytes: the escape byte, which is the same in all
 * pairs, and a code.
 */
final class Escapes {

	private static final short NONE = -1;

	private final byte escape;

	/** The code of each byte, or {@link #NONE}. */
	private final short[] codes;

	/** The original byte of each code, or {@link #NONE}. */
	private final short[] originals;

	private Escapes(byte escape, short[] codes, short[] originals) {
		this.escape = escape;
		this.codes = codes;
		this.originals = originals;
	}

	static Escapes of(Map<Byte, byte[]> escapes) {
		if (escapes.isEmpty() || escapes.values().stream().anyMatch((pair) -> pair.length != 2)) {
			throw new IllegalArgumentException("'escapes' must have two bytes for each byte");
		}
		byte escape = escapes.values().iterator().next()[0];
		short[] codes = new short[256];
		short[] originals = new short[256];
		Arrays.fill(codes, NONE);
		Arrays.fill(originals, NONE);
		escapes.forEach((original, pair) -> {
			int code = pair[1] & 0xFF;
			if (pair[0] != escape || originals[code] != NONE) {
				throw new IllegalArgumentException(
						"'escapes' must have the same first byte, and second bytes that differ");
			}
			codes[original & 0xFF] = (short) code;
			originals[code] = (short) (original & 0xFF);
		});
		if (codes[escape & 0xFF] == NONE) {
			throw new IllegalArgumentException(
					"'escapes' must have an escape for 0x%02x, the first byte of all escapes".formatted(escape));
		}
		return new Escapes(escape, codes, originals);
	}

	void write(ByteBuffer payload, ByteBuffer output) {
		while (payload.hasRemaining()) {
			byte b = payload.get();
			short code = this.codes[b & 0xFF];
			if (code == NONE) {
				output.put(b);
			}
			else {
				output.put(this.escape).put((byte) code);
			}
		}
	}

	/**
	 * Removes the escapes in place.
	 * @param from the index of the first byte
	 * @param to the index behind the last byte
	 * @return the index behind the last byte that remains
	 */
	int remove(ByteBuffer input, int from, int to) {
		int target = from;
		for (int i = from; i < to; i++) {
			byte b = input.get(i);
			if (b == this.escape) {
				i++;
				short original = (i < to) ? this.originals[input.get(i) & 0xFF] : NONE;
				if (original == NONE) {
					throw new FramingException("The byte 0x%02x at offset %d of a message does not begin a known escape"
						.formatted(b, i - 1 - from));
				}
				b = (byte) original;
			}
			input.put(target++, b);
		}
		return target;
	}

}
