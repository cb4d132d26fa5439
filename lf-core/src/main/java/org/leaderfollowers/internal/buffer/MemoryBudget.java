package org.leaderfollowers.internal.buffer;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.concurrent.atomic.AtomicLong;

import org.jspecify.annotations.Nullable;

/**
 * How much memory the connections of a pool may hold together: messages that have begun
 * to arrive, and replies that wait for their peers. Each connection has its own limits,
 * but thousands of them at their limits would exhaust the heap, and then it is not the
 * culprit that fails.
 * <p>
 * Any thread. A reservation is a single atomic addition, taken back if it was too much.
 */
public final class MemoryBudget {

	/**
	 * The budget does not allow something without which a connection cannot go on.
	 */
	@SuppressWarnings("serial")
	public static final class ExhaustedException extends IOException {

		/** Nobody looks at the stack trace. */
		public ExhaustedException() {
			super("No memory is left for the connections of the pool");
		}

	}

	/** Of all pools that have no limit of their own: the heap is theirs together. */
	private static final MemoryBudget OF_HEAP = new MemoryBudget(Runtime.getRuntime().maxMemory() / 4);

	private final long limit;

	/** Limits this budget together with others, or {@code null}. */
	private final @Nullable MemoryBudget shared;

	private final AtomicLong used = new AtomicLong();

	/**
	 * Creates a budget of which nothing is used.
	 * @param limit bytes, at least 0
	 */
	public MemoryBudget(long limit) {
		this.limit = limit;
		this.shared = null;
	}

	/**
	 * Creates a budget that several share: what one of them reserves the others cannot.
	 * @param shared what they may reserve together
	 */
	MemoryBudget(MemoryBudget shared) {
		this.limit = shared.limit;
		this.shared = shared;
	}

	/**
	 * Creates a share of a quarter of the maximum heap.
	 * @return a budget of which nothing is used by itself
	 */
	public static MemoryBudget shareOfHeap() {
		return new MemoryBudget(OF_HEAP);
	}

	/**
	 * Reserves memory.
	 * @param bytes how much
	 * @return whether it may be used; if not, nothing was reserved
	 */
	boolean reserve(long bytes) {
		if (this.used.addAndGet(bytes) <= this.limit && (this.shared == null || this.shared.reserve(bytes))) {
			return true;
		}
		this.used.addAndGet(-bytes);
		return false;
	}

	/**
	 * Reserves memory and allocates it.
	 * @param capacity how much, in bytes
	 * @return a buffer, or {@code null} if the budget does not allow it
	 */
	public @Nullable ByteBuffer allocate(int capacity) {
		if (!reserve(capacity)) {
			return null;
		}
		try {
			return ByteBuffer.allocate(capacity);
		}
		catch (Throwable ex) {
			release(capacity);
			throw ex;
		}
	}

	/**
	 * Gives back what was reserved.
	 * @param bytes how much
	 */
	public void release(long bytes) {
		this.used.addAndGet(-bytes);
		if (this.shared != null) {
			this.shared.release(bytes);
		}
	}

	/**
	 * How much is reserved.
	 * @return bytes
	 */
	public long used() {
		return this.used.get();
	}

	/**
	 * How much is reserved by this budget and by those that share its limit.
	 * @return bytes
	 */
	public long usedTogether() {
		return (this.shared != null) ? this.shared.used() : used();
	}

	/**
	 * How much can be reserved.
	 * @return bytes
	 */
	public long limit() {
		return this.limit;
	}

}
