package org.leaderfollowers.internal.promotion;

/**
 * What has become of the processors' time: how much a thread has used, and how much
 * nobody.
 */
public interface ProcessorTime {

	/** What a system that cannot tell returns. */
	long UNKNOWN = -1;

	/** As the JDK and the system tell. */
	ProcessorTime SYSTEM = new SystemProcessorTime();

	/**
	 * What a thread has used.
	 * @param thread a thread that lives
	 * @return nanoseconds since the thread began, or {@link #UNKNOWN}
	 */
	long nanos(Thread thread);

	/**
	 * For how long processors had nothing to do, all of the machine together. Any thread.
	 * @return nanoseconds since some time in the past, or {@link #UNKNOWN}
	 */
	long idleNanos();

}
