package org.leaderfollowers;

import java.nio.ByteBuffer;

/**
 * Turns the bytes of a fuzzer into choices, one after the other. When the bytes are used
 * up, all further choices are 0.
 */
public final class FuzzInput {

	private final ByteBuffer bytes;

	public FuzzInput(byte[] bytes) {
		this.bytes = ByteBuffer.wrap(bytes);
	}

	public boolean hasMore() {
		return this.bytes.hasRemaining();
	}

	/** Returns a number from 0 to a bound of at most 256, exclusive. */
	public int below(int bound) {
		return this.bytes.hasRemaining() ? (this.bytes.get() & 0xFF) % bound : 0;
	}

	/** Returns a number from 0 to a bound of at most 65536, exclusive. */
	public int below64k(int bound) {
		return (below(256) << 8 | below(256)) % bound;
	}

	public boolean flip() {
		return below(2) == 1;
	}

	/** Returns the next bytes, or fewer if there are not enough. */
	public byte[] bytes(int count) {
		byte[] next = new byte[Math.min(count, this.bytes.remaining())];
		this.bytes.get(next);
		return next;
	}

	public byte[] rest() {
		return bytes(this.bytes.remaining());
	}

}
