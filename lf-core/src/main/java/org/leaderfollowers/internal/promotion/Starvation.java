package org.leaderfollowers.internal.promotion;

import java.util.concurrent.atomic.AtomicLongArray;
import java.util.concurrent.atomic.LongAdder;

/**
 * The sole owner of the word <em>starved</em>: since when no thread is left to lead a
 * handle set, because every thread there may be runs a handler.
 * <p>
 * A period begins when a thread finds nobody to lead (or nobody to watch its lease), and
 * ends with the next leader. It may begin in the future: a leader that nobody watches is
 * one until its lease runs out. The thread that begins a period looks at the leadership
 * once more <em>afterwards</em> and {@linkplain #cancel cancels} the period if a leader
 * is there already; the leader takes the leadership first and ends the period then. One
 * of the two sees the other.
 */
public final class Starvation {

	private static final long NOT_STARVED = 0;

	/** By the index of the leadership. */
	private final AtomicLongArray sinceNanos;

	private final LongAdder periods = new LongAdder();

	private final LongAdder totalNanos = new LongAdder();

	private final Listener listener;

	/**
	 * Told of starvation.
	 */
	public interface Listener {

		/** A period begins, now or soon. Any thread. Must not block or throw. */
		void began();

		/**
		 * A period has ended. Called by the new leader. Must not block or throw.
		 * @param nanos how long it was, in nanoseconds
		 */
		void ended(long nanos);

	}

	/**
	 * Creates the words of a pool.
	 * @param leaderships how many handle sets there are
	 * @param listener is told
	 */
	public Starvation(int leaderships, Listener listener) {
		this.sinceNanos = new AtomicLongArray(leaderships);
		this.listener = listener;
	}

	/** No thread is left, or will be from a time on. Any thread. */
	void begin(Leadership leadership, long nanos) {
		this.sinceNanos.compareAndSet(leadership.index(), NOT_STARVED, since(nanos));
		this.listener.began();
	}

	/**
	 * Moves the beginning of a period that is still to come. Any thread.
	 * @return whether there is one
	 */
	boolean move(Leadership leadership, long nanos, long nowNanos) {
		long since = this.sinceNanos.get(leadership.index());
		return since != NOT_STARVED && since - nowNanos > 0
				&& this.sinceNanos.compareAndSet(leadership.index(), since, since(nanos));
	}

	/** There was a leader already when the period began. Any thread. */
	void cancel(Leadership leadership) {
		this.sinceNanos.set(leadership.index(), NOT_STARVED);
	}

	/** There is a leader. Called by that leader. */
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
	 * For how long a handle set has been starved. Any thread.
	 * @param leadership the leadership of the handle set
	 * @param nowNanos the time, by the clock of the pool
	 * @return nanoseconds, 0 if it is not
	 */
	public long nanos(Leadership leadership, long nowNanos) {
		long since = this.sinceNanos.get(leadership.index());
		return (since == NOT_STARVED) ? 0 : Math.max(0, nowNanos - since);
	}

	/**
	 * For how long any handle set has been starved at the most. Any thread.
	 * @param nowNanos the time, by the clock of the pool
	 * @return nanoseconds, 0 if none is
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
	 * How long the periods were that have ended, all together. Any thread.
	 * @return nanoseconds
	 */
	public long totalNanos() {
		return this.totalNanos.sum();
	}

}
