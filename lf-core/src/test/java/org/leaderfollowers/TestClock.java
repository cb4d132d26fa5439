package org.leaderfollowers;

import java.time.Duration;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.locks.LockSupport;

import org.leaderfollowers.internal.promotion.Clock;

/**
 * A clock that stands still unless the test moves it. It knows which threads wait, and
 * until when. While no thread waits for a time that has come, and nothing else happens,
 * nothing will happen.
 */
class TestClock extends Clock {

	private final Map<Thread, Long> waiting = new ConcurrentHashMap<>();

	private volatile long now = 1_000_000_000;

	@Override
	public long nanoTime() {
		return this.now;
	}

	@Override
	public void parkNanos(Object blocker, long nanos) {
		long until = this.now + nanos;
		this.waiting.put(Thread.currentThread(), until);
		// After the publication: a thread that moves the clock moves it first, and then
		// looks which threads wait.
		if (until - this.now > 0) {
			LockSupport.park(blocker);
		}
		this.waiting.remove(Thread.currentThread());
	}

	/** Moves the clock, and wakes the threads whose time has come. */
	void advance(Duration duration) {
		this.now += duration.toNanos();
		this.waiting.forEach((thread, until) -> {
			if (until - this.now <= 0) {
				LockSupport.unpark(thread);
			}
		});
	}

	/**
	 * Returns how long a thread waits from now on, or a negative number if it does not
	 * wait.
	 */
	long waits(Thread thread) {
		Long until = this.waiting.get(thread);
		return (until != null) ? until - this.now : -1;
	}

}
