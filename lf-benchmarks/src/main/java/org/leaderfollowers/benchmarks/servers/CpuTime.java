package org.leaderfollowers.benchmarks.servers;

/**
 * Uses processor time in a chain of operations. Each operation needs the result of the
 * previous one, so neither a compiler nor a processor can run them in parallel.
 */
final class CpuTime {

	private static final int WARM_UP_ROUNDS = 2_000;

	private static final int ROUNDS = 200;

	private static final int ITERATIONS_PER_ROUND = 20_000;

	private static volatile long sink;

	private CpuTime() {
	}

	/**
	 * Finds how many iterations take a time. The fastest of many rounds counts: other
	 * work of the machine can only make a round slower.
	 * @param nanos the time
	 * @return iterations, for {@link #burn}
	 */
	static int iterations(long nanos) {
		for (int i = 0; i < WARM_UP_ROUNDS; i++) {
			burn(1_000);
		}
		long fastest = Long.MAX_VALUE;
		for (int i = 0; i < ROUNDS; i++) {
			long start = System.nanoTime();
			burn(ITERATIONS_PER_ROUND);
			fastest = Math.min(fastest, System.nanoTime() - start);
		}
		return (int) Math.max(1, nanos * ITERATIONS_PER_ROUND / fastest);
	}

	static void burn(int iterations) {
		long x = iterations;
		for (int i = 0; i < iterations; i++) {
			x ^= x << 13;
			x ^= x >>> 7;
			x ^= x << 17;
		}
		// Never true, but the compiler cannot know this, so it cannot remove the loop.
		if (x == 0) {
			sink = x;
		}
	}

}
