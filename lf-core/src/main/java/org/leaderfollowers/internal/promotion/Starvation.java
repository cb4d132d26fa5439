package org.leaderfollowers.internal.promotion;

import java.util.concurrent.atomic.AtomicLongArray;
import java.util.concurrent.atomic.LongAdder;

/**
 * The only class that decides whether a handle set is <em>starved</em>: it records since
 * when no thread has been left to lead it, because every possible thread runs a handler.
 * <p>
 * A period begins when no thread is found to lead, or to watch a lease, and ends with the
 * next leader. It may begin in the future: a leader without a watcher leads until its
 * lease expires. The thread that begins a period checks the leadership
 * <em>afterwards</em>, and {@linkplain #cancel cancels} the period if there is a leader
 * already. The leader first takes the leadership and then ends the period. At least one
 * of the two therefore sees the other.
 */
public final class Starvation {

	private static final long NOT_STARVED = 0;

	/** The beginnings of the periods, by index of the leadership. */
	private final AtomicLongArray sinceNanos;

	private final LongAdder periods = new LongAdder();

	private final LongAdder totalNanos = new LongAdder();

	private final Listener listener;

	/** A listener for starvation. */
	public interface Listener {

		/**
		 * A period begins, now or soon. Any thread. Implementations must not block or
		 * throw.
		 */
		void began();

		/**
		 * A period has ended. Called by the new leader. Implementations must not block or
		 * throw.
		 * @param nanos how long it was, in nanoseconds
		 */
		void ended(long nanos);

	}

	/**
	 * Creates the records of a pool.
	 * @param leaderships how many handle sets there are
	 * @param listener called for each period
	 */
	public Starvation(int leaderships, Listener listener) {
		this.sinceNanos = new AtomicLongArray(leaderships);
		this.listener = listener;
	}

	/** Begins a period, now or in the future. Any thread. */
	void begin(Leadership leadership, long nanos) {
		this.sinceNanos.compareAndSet(leadership.index(), NOT_STARVED, since(nanos));
		this.listener.began();
	}

	/**
	 * Moves the beginning of a period that is still to come. Any thread.
	 * @return whether there is such a period
	 */
	boolean move(Leadership leadership, long nanos, long nowNanos) {
		long since = this.sinceNanos.get(leadership.index());
		return since != NOT_STARVED && since - nowNanos > 0
				&& this.sinceNanos.compareAndSet(leadership.index(), since, since(nanos));
	}

	/** Cancels a period, because there was a leader already when it began. Any thread. */
	void cancel(Leadership leadership) {
		this.sinceNanos.set(leadership.index(), NOT_STARVED);
	}

	/** Ends the period, because there is a leader. Called by that leader. */
	void end(Leadership leadership, long nowNanos) {
		long since = this.sinceNanos.get(leadership.index());
		if (since == NOT_STARVED) {
			return;
		}
		this.sinceNanos.set(leadership.index(), NOT_STARVED);
		if (nowNanos - since > 0) {
			this.periods.increment();
			this.totalNanos.add(nowNanos - since);
			this.listener.ended(nowNanos - since);
		}
	}

	private static long since(long nanos) {
		return (nanos != NOT_STARVED) ? nanos : 1;
	}

	/**
	 * How long a handle set has been starved. Any thread.
	 * @param leadership the leadership of the handle set
	 * @param nowNanos the time, by the clock of the pool
	 * @return nanoseconds, or 0 if it is not starved
	 */
	public long nanos(Leadership leadership, long nowNanos) {
		long since = this.sinceNanos.get(leadership.index());
		return (since == NOT_STARVED) ? 0 : Math.max(0, nowNanos - since);
	}

	/**
	 * How long the handle set that has been starved for the longest time has been
	 * starved. Any thread.
	 * @param nowNanos the time, by the clock of the pool
	 * @return nanoseconds, or 0 if none is starved
	 */
	public long longestNanos(long nowNanos) {
		long longest = 0;
		for (int i = 0; i < this.sinceNanos.length(); i++) {
			long since = this.sinceNanos.get(i);
			longest = (since == NOT_STARVED) ? longest : Math.max(longest, nowNanos - since);
		}
		return longest;
	}

	/**
	 * How many periods have ended. Any thread.
	 * @return a number
	 */
	public long periods() {
		return this.periods.sum();
	}

	/**
	 * The total length of the periods that have ended. Any thread.
	 * @return nanoseconds
	 */
	public long totalNanos() {
		return this.totalNanos.sum();
	}

}
