package org.leaderfollowers.internal.buffer;

import java.nio.ByteBuffer;
import java.util.Arrays;

import org.jspecify.annotations.Nullable;

/**
 * The memory for messages that arrive in parts, as a thread gets it: from the budget of
 * its pool, and from the buffers that its latest messages gave back when they were
 * complete. So messages that are too large for one read allocate nothing in the long run.
 * Only its own thread touches it.
 */
public final class SpareBuffers {

	/** Larger buffers are not kept: there may be many threads. */
	private static final int LARGEST_SPARE = 128 * 1024;

	/** A large message outgrows one buffer before it fits into the next. */
	private static final int SPARES = 2;

	private final MemoryBudget budget;

	private final @Nullable ByteBuffer[] spares = new @Nullable ByteBuffer[SPARES];

	private int oldest;

	/**
	 * Creates an empty store.
	 * @param budget where what is handed out is accounted for; spares are not
	 */
	public SpareBuffers(MemoryBudget budget) {
		this.budget = budget;
	}

	/**
	 * Hands out a buffer.
	 * @param capacity how large, in bytes; it may have up to twice of that
	 * @return a cleared heap buffer, or {@code null} if the budget does not allow it
	 */
	@Nullable ByteBuffer take(int capacity) {
		for (int i = 0; i < SPARES; i++) {
			ByteBuffer spare = this.spares[i];
			if (spare != null && spare.capacity() >= capacity && spare.capacity() <= 2L * capacity) {
				if (!this.budget.reserve(spare.capacity())) {
					return null;
				}
				this.spares[i] = null;
				return spare.clear();
			}
		}
		return this.budget.allocate(capacity);
	}

	/** Keeps none of the spares any longer, which are not accounted for. */
	public void discard() {
		Arrays.fill(this.spares, null);
	}

	/**
	 * Takes a buffer back.
	 * @param buffer was handed out by this or by that of another thread
	 */
	void giveBack(ByteBuffer buffer) {
		this.budget.release(buffer.capacity());
		if (buffer.capacity() <= LARGEST_SPARE) {
			this.spares[this.oldest] = buffer;
			this.oldest = (this.oldest + 1) % SPARES;
		}
	}

}
