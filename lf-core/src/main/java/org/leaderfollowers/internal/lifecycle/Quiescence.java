package org.leaderfollowers.internal.lifecycle;

import java.util.concurrent.TimeUnit;
import java.util.function.BooleanSupplier;

import org.leaderfollowers.internal.promotion.Clock;

/**
 * Waits until a server or a pool is at rest: nothing is running or left to do. A handler
 * may wait for the end of its own server. It waits neither for itself nor for other
 * handlers that wait as well. When one of these handlers has reached the end of its wait,
 * all of them have. Otherwise a second one would wait for the first to return.
 */
public final class Quiescence {

	private final Clock clock;

	private int waitingHandlers;

	/** How many times the waiting handlers have been released together. */
	private int releases;

	/** Determines whether the rest is reached. */
	@FunctionalInterface
	public interface Condition {

		/**
		 * Whether the rest is reached. Called under the monitor, so it must not block.
		 * @param exceptHandlers the number of running handlers that do not count
		 * @return whether nothing else runs
		 */
		boolean isReached(int exceptHandlers);

	}

	/**
	 * Creates an object to wait on.
	 * @param clock the clock of the deadlines
	 */
	public Quiescence(Clock clock) {
		this.clock = clock;
	}

	/** Makes all waiting threads check their condition again. Any thread. */
	public synchronized void changed() {
		notifyAll();
	}

	/**
	 * Waits until the condition holds. An interrupt ends the wait, and the interrupt
	 * status remains set.
	 * @param condition determines whether the rest is reached
	 * @param handler whether the caller is one of the handlers that the condition counts
	 * @param deadlineNanos when to give up, by the clock
	 * @param ended whether waiting no longer makes sense; checked if the rest is not
	 * reached
	 * @return whether the rest was reached
	 */
	public synchronized boolean await(Condition condition, boolean handler, long deadlineNanos, BooleanSupplier ended) {
		int releasesBefore = this.releases;
		if (handler) {
			this.waitingHandlers++;
			notifyAll();
		}
		try {
			while (!condition.isReached(handler ? this.waitingHandlers : 0)) {
				if (handler && this.releases != releasesBefore) {
					return true;
				}
				long left = deadlineNanos - this.clock.nanoTime();
				if (left <= 0 || ended.getAsBoolean()) {
					return false;
				}
				TimeUnit.NANOSECONDS.timedWait(this, left);
			}
			if (handler) {
				this.releases++;
				notifyAll();
			}
			return true;
		}
		catch (InterruptedException ex) {
			Thread.currentThread().interrupt();
			return false;
		}
		finally {
			this.waitingHandlers -= handler ? 1 : 0;
		}
	}

}
