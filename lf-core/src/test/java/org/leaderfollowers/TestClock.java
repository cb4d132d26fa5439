package org.leaderfollowers;

import java.time.Duration;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.locks.LockSupport;

import org.leaderfollowers.internal.promotion.Clock;

/**
 * A clock that stands still unless the test moves it. It knows who waits until when: as
 * long as nobody waits for the present or the past, and nothing else happens, nothing
 * will.
 */
final class TestClock extends Clock {

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
		// After the publication: whoever moves the clock does that first, and then looks
		// who waits.
		if (until - this.now > 0) {
			LockSupport.park(blocker);
		}
		this.waiting.remove(Thread.currentThread());
	}

	/** Moves the clock, and wakes those that have waited long enough. */
	void advance(Duration duration) {
		this.now += duration.toNanos();
		this.waiting.forEach((thread, until) -> {
			if (until - this.now <= 0) {
				LockSupport.unpark(thread);
			}
		});
	}

	/** For how long a thread waits from now on, or a negative number if it does not. */
	long waits(Thread thread) {
		Long until = this.waiting.get(thread);
		return (until != null) ? until - this.now : -1;
	}

}
