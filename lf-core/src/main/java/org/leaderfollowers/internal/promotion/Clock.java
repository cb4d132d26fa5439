package org.leaderfollowers.internal.promotion;

import java.util.concurrent.locks.LockSupport;

/**
 * The time that leaders and followers go by, and how they wait for it to pass. Tests stop
 * it and step through hand-offs; everybody else has the system's.
 */
public class Clock {

	/** The clock of the system. */
	public static final Clock SYSTEM = new Clock();

	/** Creates a clock that shows the system's time. */
	protected Clock() {
	}

	/**
	 * The time, meaningful in comparison with others of the same clock.
	 * @return {@link System#nanoTime()}, unless it is a test's
	 */
	public long nanoTime() {
		return System.nanoTime();
	}

	/**
	 * Parks the calling thread until it is unparked or the time has passed, or for no
	 * reason.
	 * @param blocker what it waits for
	 * @param nanos for how long at the most
	 */
	public void parkNanos(Object blocker, long nanos) {
		LockSupport.parkNanos(blocker, nanos);
	}

}
