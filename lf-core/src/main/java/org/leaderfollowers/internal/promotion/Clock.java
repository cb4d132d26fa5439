package org.leaderfollowers.internal.promotion;

import java.util.concurrent.locks.LockSupport;

/**
 * The clock of leaders and followers, which also parks them. Tests use a clock that they
 * control; everything else uses the clock of the system.
 */
public class Clock {

	/** The clock of the system. */
	public static final Clock SYSTEM = new Clock();

	/** Creates a clock that shows the time of the system. */
	protected Clock() {
	}

	/**
	 * The current time, comparable only with other times of the same clock.
	 * @return {@link System#nanoTime()}, except in tests
	 */
	public long nanoTime() {
		return System.nanoTime();
	}

	/**
	 * Parks the calling thread until it is unparked or the time has passed, or until a
	 * spurious wake-up.
	 * @param blocker the object that the thread waits for
	 * @param nanos the maximum time
	 */
	public void parkNanos(Object blocker, long nanos) {
		LockSupport.parkNanos(blocker, nanos);
	}

}
