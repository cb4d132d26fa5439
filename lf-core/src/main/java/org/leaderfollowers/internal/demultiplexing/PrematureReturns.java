package org.leaderfollowers.internal.demultiplexing;

import java.util.concurrent.TimeUnit;

/**
 * Tells a selector that does not wait any more from one that is woken now and then for
 * nothing. The leader's.
 * <p>
 * While another thread is in the middle of closing a channel, the kernel reports the
 * channel and the JDK does not: waits end for nothing until that thread gets on. It is
 * given the processor. A selector that never waits again is another thing.
 */
public final class PrematureReturns {

	/**
	 * Waits that end at once and for nothing before the selector is taken for broken.
	 * Real ones come singly: a late wake-up, a cancelled key.
	 */
	private static final int MOST = 512;

	/** And for so long. */
	private static final long MOST_NANOS = TimeUnit.MILLISECONDS.toNanos(500);

	private static final int BEFORE_YIELD = 8;

	private int count;

	private long sinceNanos;

	/**
	 * A wait has ended before its time and for nothing.
	 * @param beganNanos when it began
	 * @param nowNanos when it ended
	 * @return whether the selector is broken
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

	/** The selector has waited. */
	public void clear() {
		this.count = 0;
	}

	/**
	 * How many there were in a row.
	 * @return a number of waits
	 */
	public int count() {
		return this.count;
	}

}
