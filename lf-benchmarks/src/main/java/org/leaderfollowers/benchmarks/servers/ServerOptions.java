package org.leaderfollowers.benchmarks.servers;

/**
 * The options that are the same for every kind of server, so that only the kind makes a
 * difference.
 *
 * @param work what the handler does before it replies
 * @param threads how many threads may handle messages at a time, where the kind has a
 * limit
 * @param loops how many handle sets the Leader/Followers engine has, or event loops
 * Netty; 0 leaves it to them
 * @param maxMessage the longest payload of a line, in bytes
 * @param cpuIterations what 20 µs of the processor's time is; 0 to calibrate it. Servers
 * that are compared should get the same number
 */
public record ServerOptions(Work work, int threads, int loops, int maxMessage, int cpuIterations) {

	/**
	 * The default of our engine: enough threads to block in many requests at a time;
	 * waiting threads cost nothing.
	 */
	public static final int DEFAULT_THREADS = 64;

	/** Larger than any message of the comparisons. */
	public static final int DEFAULT_MAX_MESSAGE = 128 * 1024;

	public ServerOptions {
		if (threads < 1 || loops < 0 || maxMessage < 1 || cpuIterations < 0) {
			throw new IllegalArgumentException(
					"'threads' and 'maxMessage' must be positive, 'loops' and 'cpuIterations' not negative");
		}
	}

}
