package org.leaderfollowers;

import java.util.concurrent.TimeUnit;
import java.util.function.BooleanSupplier;

import org.leaderfollowers.internal.promotion.Clock;

/**
 * Callers wait here for a connection with a free place. No wake-up is lost: a waiting
 * thread counts itself <em>before</em> it looks for a place, and a thread that frees a
 * place does so <em>before</em> it checks whether any thread waits.
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

	/** Wakes one waiting thread, because a place has probably become free. Any thread. */
	void freed() {
		if (this.waiting > 0) {
			synchronized (this) {
				notify();
			}
		}
	}

	/**
	 * Wakes all waiting threads, because something has changed that concerns all of them.
	 * Any thread.
	 */
	void changed() {
		if (this.waiting > 0) {
			synchronized (this) {
				notifyAll();
			}
		}
	}

	/**
	 * Waits for a place. An interrupt ends the wait, and the interrupt status remains
	 * set.
	 * @param isFree whether there is a place, or another reason not to wait
	 * @param deadlineNanos when to give up, by the clock of the pool
	 * @return whether the condition holds
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
				// This thread may have been notified of a place that it does not take, so
				// it notifies another one.
				notify();
			}
		}
	}

}
