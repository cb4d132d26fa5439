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

	private final long limit;

	private final AtomicLong used = new AtomicLong();

	/**
	 * Creates a budget of which nothing is used.
	 * @param limit bytes, at least 0
	 */
	public MemoryBudget(long limit) {
		this.limit = limit;
	}

	/**
	 * Reserves memory.
	 * @param bytes how much
	 * @return whether it may be used; if not, nothing was reserved
	 */
	boolean reserve(long bytes) {
		if (this.used.addAndGet(bytes) <= this.limit) {
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
	}

	/**
	 * How much is reserved.
	 * @return bytes
	 */
	public long used() {
		return this.used.get();
	}

	/**
	 * How much can be reserved.
	 * @return bytes
	 */
	public long limit() {
		return this.limit;
	}

}
