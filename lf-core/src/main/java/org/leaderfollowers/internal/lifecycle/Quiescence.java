package org.leaderfollowers.internal.lifecycle;

import java.util.concurrent.TimeUnit;
import java.util.function.BooleanSupplier;

import org.leaderfollowers.internal.promotion.Clock;

/**
 * Waits until a server or a pool has come to rest. A handler may wait for the end of its
 * own server: it waits neither for itself nor for the other handlers that wait. When the
 * rest is reached for one of them, it is reached for all of them, since otherwise the
 * second would wait for the first to return.
 */
public final class Quiescence {

	private final Clock clock;

	private int waitingHandlers;

	/** How often the handlers that waited have been let go together. */
	private int releases;

	/**
	 * Tells whether the rest is reached.
	 */
	@FunctionalInterface
	public interface Condition {

		/**
		 * Whether the rest is reached. Called under the monitor: it must not block.
		 * @param exceptHandlers how many running handlers do not count
		 * @return whether nothing else runs
		 */
		boolean isReached(int exceptHandlers);

	}

	/**
	 * Creates a place to wait.
	 * @param clock tells when the time is up
	 */
	public Quiescence(Clock clock) {
		this.clock = clock;
	}

	/**
	 * Has all that wait look at their condition again. Any thread.
	 */
	public synchronized void changed() {
		notifyAll();
	}

	/**
	 * Waits for the rest. An interrupt ends the wait and is kept.
	 * @param condition when the rest is reached
	 * @param handler whether the caller is one of the handlers that are waited for
	 * @param deadlineNanos when to give up, by the clock
	 * @param ended whether there is nothing to wait for any more; looked at if the rest
	 * is not reached
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
