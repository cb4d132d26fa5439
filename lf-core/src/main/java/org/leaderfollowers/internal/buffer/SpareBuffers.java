package org.leaderfollowers.internal.buffer;

import java.nio.ByteBuffer;
import java.util.Arrays;

import org.jspecify.annotations.Nullable;

/**
 * The memory of a thread for messages that arrive in parts. It comes from the budget of
 * the pool and from buffers that earlier messages of the thread have returned. In the
 * long run, messages that are too large for one read therefore allocate nothing. Only its
 * own thread uses it.
 */
public final class SpareBuffers {

	/** Larger buffers are not kept, because there may be many threads. */
	private static final int LARGEST_SPARE = 128 * 1024;

	/** Two, because a large message outgrows one buffer while it needs the next one. */
	private static final int SPARES = 2;

	private final MemoryBudget budget;

	private final @Nullable ByteBuffer[] spares = new @Nullable ByteBuffer[SPARES];

	private int oldest;

	/**
	 * Creates an empty store.
	 * @param budget accounts for buffers that are handed out, but not for spares
	 */
	public SpareBuffers(MemoryBudget budget) {
		this.budget = budget;
	}

	/**
	 * Hands out a buffer.
	 * @param capacity the minimum capacity, in bytes; the buffer may have up to twice as
	 * much
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

	/** Drops all spares. */
	public void discard() {
		Arrays.fill(this.spares, null);
	}

	/**
	 * Takes a buffer back.
	 * @param buffer a buffer of this or another thread's store
	 */
	void giveBack(ByteBuffer buffer) {
		this.budget.release(buffer.capacity());
		if (buffer.capacity() <= LARGEST_SPARE) {
			this.spares[this.oldest] = buffer;
			this.oldest = (this.oldest + 1) % SPARES;
		}
	}

}
