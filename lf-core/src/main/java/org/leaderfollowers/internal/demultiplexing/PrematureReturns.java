package org.leaderfollowers.internal.demultiplexing;

import java.util.concurrent.TimeUnit;

/**
 * Distinguishes a selector that no longer waits from one that is sometimes woken without
 * an event. Used by the leader only.
 * <p>
 * While another thread is closing a channel, the kernel reports this channel but the JDK
 * does not. Waits then end without an event until that thread continues. This class
 * therefore yields the processor to that thread. A selector is broken only if it never
 * waits again.
 */
public final class PrematureReturns {

	/**
	 * How many waits in a row may end at once and without an event before the selector
	 * counts as broken. Harmless cases occur one at a time: a late wake-up, a cancelled
	 * key.
	 */
	private static final int MOST = 512;

	/** How long this must last as well. */
	private static final long MOST_NANOS = TimeUnit.MILLISECONDS.toNanos(500);

	private static final int BEFORE_YIELD = 8;

	private int count;

	private long sinceNanos;

	/**
	 * Records a wait that has ended early and without an event.
	 * @param beganNanos when the wait began
	 * @param nowNanos when the wait ended
	 * @return whether the selector counts as broken
	 */
	public boolean add(long beganNanos, long nowNanos) {
		if (this.count++ == 0) {
			this.sinceNanos = beganNanos;
		}
		boolean broken = this.count > MOST && nowNanos - this.sinceNanos >= MOST_NANOS;
		if (!broken && this.count > BEFORE_YIELD) {
			Thread.yield();
		}
		return broken;
	}

	/**
	 * Records a wait without an event that has not ended at once. It may have waited, or
	 * the thread may have lost its processor meanwhile. So it makes up for one return at
	 * once with each millisecond, and not for all of them: on a busy machine, a source
	 * that never waits would otherwise be asked without a pause.
	 * @param waitedNanos how long the wait took
	 * @return whether it makes up for all returns so far
	 */
	public boolean makeUp(long waitedNanos) {
		long left = Math.min(this.count, MOST + 1) - TimeUnit.NANOSECONDS.toMillis(waitedNanos);
		this.count = (int) Math.max(0, left);
		return this.count == 0;
	}

	/** Records that the selector has waited. */
	public void clear() {
		this.count = 0;
	}

	/**
	 * How many such waits occurred in a row.
	 * @return a number of waits
	 */
	public int count() {
		return this.count;
	}

}
