package org.leaderfollowers.internal.promotion;

/** Measures how the time of the processors is used: by a thread, or by none. */
public interface ProcessorTime {

	/** The result on a system that does not report the time. */
	long UNKNOWN = -1;

	/** The measurements of the JDK and the system. */
	ProcessorTime SYSTEM = new SystemProcessorTime();

	/**
	 * The processor time of a thread.
	 * @param thread a living thread
	 * @return nanoseconds since the thread began, or {@link #UNKNOWN}
	 */
	long nanos(Thread thread);

	/**
	 * How long processors had nothing to do, summed over all processors of the machine.
	 * Any thread.
	 * @return nanoseconds since an arbitrary time in the past, or {@link #UNKNOWN}
	 */
	long idleNanos();

}
