package org.leaderfollowers.internal.promotion;

import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.LongAdder;

import org.jspecify.annotations.Nullable;

/**
 * Figures for monitoring: how often the ready handles of a handle set were shared, and
 * why a thread was last woken to share them. Any thread. Recording allocates nothing.
 * <p>
 * The version is odd while the latest relief is being written. If a thread finds it odd,
 * it does not write its own relief. A reader retries if the version has changed, and
 * gives up after some attempts.
 */
public final class Sharing {

	private static final int ATTEMPTS = 8;

	private final LongAdder events = new LongAdder();

	private final LongAdder reliefs = new LongAdder();

	private final AtomicLong version = new AtomicLong();

	// Guarded by the version

	private volatile long nanoTime;

	private volatile int ready;

	private volatile long workNanos;

	private volatile long wakeUpNanos;

	Sharing() {
	}

	/**
	 * The latest time that a thread was woken or started to share the ready handles.
	 *
	 * @param nanoTime when, by the clock of the pool
	 * @param ready how many handles waited for a thread
	 * @param workNanos how long a single thread would have worked on them, in nanoseconds
	 * @param wakeUpNanos the estimated cost of waking a thread, in nanoseconds
	 */
	public record Latest(long nanoTime, int ready, long workNanos, long wakeUpNanos) {
	}

	/** Counts a handle that was taken by a thread that does not lead. */
	void shared() {
		this.events.increment();
	}

	void relieved(long nowNanos, int readyHandles, long work, long wakeUp) {
		this.reliefs.increment();
		long current = this.version.get();
		if ((current & 1) == 0 && this.version.compareAndSet(current, current + 1)) {
			this.nanoTime = nowNanos;
			this.ready = readyHandles;
			this.workNanos = work;
			this.wakeUpNanos = wakeUp;
			this.version.set(current + 2);
		}
	}

	/**
	 * How many events were processed by threads that did not lead when they took them.
	 * @return a number of events
	 */
	public long events() {
		return this.events.sum();
	}

	/**
	 * How often a thread was woken or started to share the ready handles.
	 * @return a number of threads
	 */
	public long reliefs() {
		return this.reliefs.sum();
	}

	/**
	 * The latest relief.
	 * @return {@code null} if there was none, or if they followed each other too fast to
	 * be read
	 */
	public @Nullable Latest latest() {
		for (int i = 0; i < ATTEMPTS; i++) {
			long before = this.version.get();
			Latest latest = new Latest(this.nanoTime, this.ready, this.workNanos, this.wakeUpNanos);
			if (before != 0 && (before & 1) == 0 && this.version.get() == before) {
				return latest;
			}
		}
		return null;
	}

}
