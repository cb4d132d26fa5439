package org.leaderfollowers.internal.buffer;

/**
 * The memory that pools without a limit of their own share in a simulated run, where it
 * replaces the share of the heap. Each run has a budget of its own.
 */
public final class SharedMemory {

	private static MemoryBudget shared = new MemoryBudget(0);

	private SharedMemory() {
	}

	/**
	 * Begins a run.
	 * @param limit of all pools together, in bytes
	 * @param taken what pools that are not simulated have reserved, in bytes
	 */
	public static void begin(long limit, long taken) {
		shared = new MemoryBudget(limit);
		shared.reserve(taken);
	}

	/** Replaces the method of {@link MemoryBudget}. */
	public static MemoryBudget shareOfHeap() {
		return new MemoryBudget(shared);
	}

	/** How much is reserved, in bytes. */
	public static long used() {
		return shared.used();
	}

}
