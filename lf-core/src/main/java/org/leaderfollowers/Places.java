package org.leaderfollowers;

import java.util.concurrent.TimeUnit;
import java.util.function.BooleanSupplier;

import org.leaderfollowers.internal.promotion.Clock;

/**
 * Where callers wait for a connection with a free place. A thread that waits counts
 * itself <em>before</em> it looks for a place, and a thread that frees one does that
 * <em>before</em> it looks whether anybody waits: one of the two sees the other.
 */
final class Places {

	private final Clock clock;

	private volatile int waiting;

	Places(Clock clock) {
		this.clock = clock;
	}

	int waiting() {
		return this.waiting;
	}

	/** One more place is free, most likely. Any thread. */
	void freed() {
		if (this.waiting > 0) {
			synchronized (this) {
				notify();
			}
		}
	}

	/** Something has changed that concerns all that wait. Any thread. */
	void changed() {
		if (this.waiting > 0) {
			synchronized (this) {
				notifyAll();
			}
		}
	}

	/**
	 * Waits for a place. An interrupt ends the wait and is kept.
	 * @param isFree whether there is a place, or a reason not to wait
	 * @param deadlineNanos when to give up, by the clock
	 * @return whether there is
	 */
	synchronized boolean await(BooleanSupplier isFree, long deadlineNanos) {
		this.waiting++;
		boolean free = isFree.getAsBoolean();
		try {
			for (long left = 1; !free && left > 0; free = isFree.getAsBoolean()) {
				left = deadlineNanos - this.clock.nanoTime();
				if (left > 0) {
					TimeUnit.NANOSECONDS.timedWait(this, left);
				}
			}
			return free;
		}
		catch (InterruptedException ex) {
			Thread.currentThread().interrupt();
			return false;
		}
		finally {
			this.waiting--;
			if (!free) {
				// It may have been notified of a place that it does not take.
				notify();
			}
		}
	}

}
