package org.leaderfollowers.benchmarks.servers;

import java.util.Arrays;
import java.util.Optional;
import java.util.concurrent.ThreadLocalRandom;

/**
 * What a handler does before it replies: the kinds of load that tell designs of servers
 * apart.
 */
public enum Work {

	/** Nothing: what is left is the price of the server itself. */
	NONE("none") {

		@Override
		public Runnable prepare(int cpuIterations) {
			return () -> {
			};
		}

	},

	/**
	 * 20 µs of the processor's time. It is a number of iterations, not a spin until the
	 * clock has moved by 20 µs: a thread that loses its processor meanwhile would be let
	 * off the rest, and servers with more runnable threads than processors would seem
	 * faster than they are.
	 */
	CPU_20_US("cpu20us") {

		@Override
		public Runnable prepare(int cpuIterations) {
			int iterations = (cpuIterations > 0) ? cpuIterations : CpuTime.iterations(20_000);
			return () -> CpuTime.burn(iterations);
		}

	},

	/**
	 * One request in twenty waits for 2 ms, as for a database that mostly has it cached.
	 */
	BLOCK_5_PERCENT_2_MS("block5pct2ms") {

		@Override
		public Runnable prepare(int cpuIterations) {
			return () -> {
				if (ThreadLocalRandom.current().nextInt(20) == 0) {
					block(2);
				}
			};
		}

	},

	/** Every request waits for 1 ms, as for a remote call. */
	BLOCK_1_MS("block1ms") {

		@Override
		public Runnable prepare(int cpuIterations) {
			return () -> block(1);
		}

	};

	private final String id;

	Work(String id) {
		this.id = id;
	}

	/**
	 * How it is named on a command line and in reports.
	 * @return lower case
	 */
	public String id() {
		return this.id;
	}

	/**
	 * Makes it ready to be done. To be called before the server is, for it may take a
	 * moment.
	 * @param cpuIterations what {@link #CPU_20_US} is; 0 to calibrate it
	 * @return does it once; for any thread
	 */
	public abstract Runnable prepare(int cpuIterations);

	/**
	 * Finds the kind of work with a name.
	 * @param id its {@link #id()}
	 * @return nothing if there is none
	 */
	public static Optional<Work> of(String id) {
		return Arrays.stream(values()).filter((work) -> work.id.equals(id)).findFirst();
	}

	/**
	 * Finds out what {@link #CPU_20_US} is on this machine, to tell all servers of a
	 * comparison the same.
	 * @return iterations
	 */
	public static int calibrate() {
		return CpuTime.iterations(20_000);
	}

	/**
	 * Not {@code LockSupport.parkNanos}: a server that wakes its threads by permits may
	 * have left one behind, and would be let off.
	 */
	private static void block(long millis) {
		try {
			Thread.sleep(millis);
		}
		catch (InterruptedException ex) {
			// The server is being closed.
			Thread.currentThread().interrupt();
		}
	}

	@Override
	public String toString() {
		return this.id;
	}

}
