package org.leaderfollowers.internal.promotion;

import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;

/**
 * How much of the processors' time a thread has used.
 */
@FunctionalInterface
public interface ProcessorTime {

	/** What a system that cannot tell returns. */
	long UNKNOWN = -1;

	/** As the JDK tells. On Linux it costs a system call, of a microsecond or less. */
	ProcessorTime SYSTEM = (thread) -> {
		try {
			return Management.THREADS.getThreadCpuTime(thread.getId());
		}
		catch (UnsupportedOperationException ex) {
			return UNKNOWN;
		}
	};

	/**
	 * Tells the time.
	 * @param thread a thread that lives
	 * @return nanoseconds since the thread began, or {@link #UNKNOWN}
	 */
	long nanos(Thread thread);

	/** Loaded when it is needed first: a pool that is never busy does without. */
	final class Management {

		private static final ThreadMXBean THREADS = ManagementFactory.getThreadMXBean();

		private Management() {
		}

	}

}
