package org.leaderfollowers.internal.buffer;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.Deque;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Supplier;
import java.util.stream.Stream;

import org.jspecify.annotations.Nullable;

/**
 * Limits the memory that all connections of a pool may hold together, for messages that
 * have begun to arrive and for replies that wait for their peers. Each connection has its
 * own limits, but thousands of connections at their limits would exhaust the heap, and
 * the failure could then hit any part of the application.
 * <p>
 * Any thread, without locks.
 */
public final class MemoryBudget {

	/** The budget does not allow memory that a connection needs in order to continue. */
	@SuppressWarnings("serial")
	public static final class ExhaustedException extends IOException {

		/** Creates the exception. Its stack trace is not used. */
		public ExhaustedException() {
			super("No memory is left for the connections of the pool");
		}

	}

	/**
	 * Shared by all pools that have no limit of their own, because they share the heap.
	 */
	private static final MemoryBudget OF_HEAP = new MemoryBudget(Runtime.getRuntime().maxMemory() / 4);

	private final long limit;

	/** A second limit, which other budgets share, or {@code null} for none. */
	private final @Nullable MemoryBudget shared;

	private final AtomicLong used = new AtomicLong();

	private final MemoryShedding shedding;

	/**
	 * Creates an unused budget.
	 * @param limit bytes, at least 0
	 */
	public MemoryBudget(long limit) {
		this.limit = limit;
		this.shared = null;
		this.shedding = new MemoryShedding(limit);
	}

	/**
	 * Creates a budget that shares its limit: bytes that one budget reserves are not
	 * available to the others.
	 * @param shared the limit of all budgets together
	 */
	MemoryBudget(MemoryBudget shared) {
		this.limit = shared.limit;
		this.shared = shared;
		this.shedding = shared.shedding;
	}

	/**
	 * Creates a share of a quarter of the maximum heap.
	 * @return an unused budget
	 */
	public static MemoryBudget shareOfHeap() {
		return new MemoryBudget(OF_HEAP);
	}

	/**
	 * Reserves memory.
	 * @param bytes the number of bytes
	 * @return whether the memory may be used; if {@code false}, nothing was reserved
	 */
	public boolean reserve(long bytes) {
		if (this.shared == null) {
			// Before the reservation, which would be lost if this fails.
			this.shedding.relieve(this.used.get() + bytes);
		}
		if (!add(bytes)) {
			return false;
		}
		boolean reserved = false;
		try {
			reserved = this.shared == null || this.shared.reserve(bytes);
		}
		finally {
			// Also if the heap is used up while the shared budget looks for holders.
			if (!reserved) {
				this.used.addAndGet(-bytes);
			}
		}
		return reserved;
	}

	/**
	 * Never exceeds the limit, not even for a moment: that could refuse small amounts.
	 */
	private boolean add(long bytes) {
		long before;
		do {
			before = this.used.get();
			if (before + bytes > this.shedding.ceiling(before, bytes)) {
				return false;
			}
		}
		while (!this.used.compareAndSet(before, before + bytes));
		return true;
	}

	/**
	 * Reserves memory and allocates it.
	 * @param capacity the number of bytes
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
	 * Reserves memory, allocates it and adds it to other memory.
	 * @param capacity the number of bytes
	 * @param buffers gets the buffer as the last one
	 * @return a buffer, or {@code null} if the budget does not allow it
	 */
	public @Nullable ByteBuffer allocateLast(int capacity, Deque<ByteBuffer> buffers) {
		ByteBuffer last = allocate(capacity);
		if (last != null) {
			try {
				GrowingDeque.addLast(buffers, last);
			}
			catch (OutOfMemoryError ex) {
				release(capacity);
				throw ex;
			}
		}
		return last;
	}

	/**
	 * Releases memory that was reserved.
	 * @param bytes the number of bytes
	 */
	public void release(long bytes) {
		this.used.addAndGet(-bytes);
		if (this.shared != null) {
			this.shared.release(bytes);
		}
	}

	/**
	 * Charges another budget with memory that this one has reserved.
	 * @param bytes the number of bytes
	 * @param other the budget to charge
	 * @return {@code false} if the other budget does not allow it; nothing has changed
	 * then
	 */
	public boolean transfer(long bytes, MemoryBudget other) {
		if (this.shared != null && this.shared == other.shared) {
			// The shared budget has been charged, and must not be charged twice for a
			// moment: that could exceed its limit.
			other.used.addAndGet(bytes);
			this.used.addAndGet(-bytes);
			return true;
		}
		if (!other.reserve(bytes)) {
			return false;
		}
		release(bytes);
		return true;
	}

	/**
	 * Adds connections that are closed if memory becomes short.
	 * @param holders the connections at the time of the call, some of which may hold
	 * memory of this budget
	 */
	public void add(Supplier<? extends Stream<? extends MemoryHolder>> holders) {
		this.shedding.add(holders);
	}

	/**
	 * Removes connections.
	 * @param holders what was added
	 */
	public void remove(Supplier<? extends Stream<? extends MemoryHolder>> holders) {
		this.shedding.remove(holders);
	}

	/**
	 * Whether so much is reserved that no further connection should be accepted. If so,
	 * closes connections that hold much.
	 * @return whether memory is scarce
	 */
	public boolean isScarce() {
		long together = usedTogether();
		this.shedding.relieve(together);
		return this.shedding.isScarce(together);
	}

	/**
	 * How much is reserved.
	 * @return bytes
	 */
	public long used() {
		return this.used.get();
	}

	/**
	 * How much is reserved by this budget and by all budgets that share its limit.
	 * @return bytes
	 */
	public long usedTogether() {
		return (this.shared != null) ? this.shared.used() : used();
	}

	/**
	 * The limit of this budget.
	 * @return bytes
	 */
	public long limit() {
		return this.limit;
	}

}
