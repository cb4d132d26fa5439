package org.leaderfollowers.internal.promotion;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.util.concurrent.TimeUnit;

import org.leaderfollowers.internal.linkage.Linkage;

/**
 * The learned duration of a handler, which decides whether a leader runs it itself or
 * promotes another leader first.
 * <p>
 * If a leader runs a handler of duration d, all other handles wait for d, or for the
 * lease if that is shorter. A promotion costs a wake-up, which takes some microseconds.
 * Not the frequency of long dispatches counts, but the mean wait that a dispatch causes.
 * There are therefore two moving averages: what long dispatches contribute to all
 * dispatches, and the short dispatches.
 * <p>
 * On a busy machine, a thread sometimes does not get a processor. This looks like
 * blocking but is not: another leader would not get a processor either. The time lost in
 * this way is proportional to the processor time that is used, because the system divides
 * processors into time slices. The time that a handler waits is not proportional to it.
 * Long dispatches must therefore also outweigh the short ones.
 * <p>
 * Any thread; a recording that is lost in a race does no harm. A handler without
 * recordings counts as one that blocks.
 */
public final class HandlerProfile {

	/**
	 * A longer dispatch has blocked or did not get a processor. The value is several
	 * times the duration of a wake-up.
	 */
	private static final long LONG_NANOS = TimeUnit.MICROSECONDS.toNanos(250);

	/**
	 * The maximum that one dispatch contributes, because others do not wait longer than
	 * that.
	 */
	private static final long MOST_NANOS = TimeUnit.MILLISECONDS.toNanos(2);

	/**
	 * If the mean wait is at least this, promoting is cheaper. One long dispatch
	 * contributes less than this, because a garbage collection or a preemption looks like
	 * one.
	 */
	private static final long BLOCKS_NANOS = TimeUnit.MICROSECONDS.toNanos(18);

	/**
	 * How many times the mean of the short dispatches the mean wait must also be. A time
	 * slice takes one to three milliseconds, and a dispatch counts for at most two.
	 */
	private static final int BLOCKS_TIMES_SHORT = 3;

	/** Below this mean wait, the handler counts as short again. */
	private static final long SHORT_NANOS = TimeUnit.MICROSECONDS.toNanos(6);

	/**
	 * From this duration on, an idle thread takes the leadership over at once. A shorter
	 * handler has usually returned before the other thread begins to wait.
	 */
	private static final long WORTH_A_PROCESSOR_NANOS = TimeUnit.MICROSECONDS.toNanos(4);

	/** The weight of the latest long dispatch is 1/128. */
	private static final int LONG_SHIFT = 7;

	/** The weight of the latest short dispatch is 1/32. */
	private static final int MEAN_SHIFT = 5;

	private static final VarHandle BLOCKED;

	private static final VarHandle MEAN;

	static {
		try {
			MethodHandles.Lookup lookup = MethodHandles.lookup();
			BLOCKED = lookup.findVarHandle(HandlerProfile.class, "blockedNanos", long.class);
			MEAN = lookup.findVarHandle(HandlerProfile.class, "meanNanos", long.class);
		}
		catch (ReflectiveOperationException ex) {
			throw new ExceptionInInitializerError(ex);
		}
		Linkage.link(() -> {
			long ignored = (long) MEAN.getOpaque((HandlerProfile) null);
		}, () -> MEAN.setOpaque((HandlerProfile) null, 0L));
	}

	/** The profile of work that is known to block. Nothing is recorded in it. */
	public static final HandlerProfile BLOCKING = new HandlerProfile();

	private long blockedNanos = 2 * BLOCKS_NANOS;

	private long meanNanos;

	private volatile boolean blocks = true;

	/**
	 * Learns from a dispatch.
	 * @param nanos how long it ran, in nanoseconds
	 */
	public void record(long nanos) {
		long blocked = (long) BLOCKED.getOpaque(this);
		long mean = (long) MEAN.getOpaque(this);
		boolean isLong = nanos >= LONG_NANOS;
		if (!isLong) {
			mean += (nanos - mean) >> MEAN_SHIFT;
			MEAN.setOpaque(this, mean);
		}
		if (isLong || blocked != 0) {
			// Decreases by at least 1, because the shift rounds down, but not below 0.
			blocked += ((isLong ? Math.min(nanos, MOST_NANOS) : 0) - blocked) >> LONG_SHIFT;
			BLOCKED.setOpaque(this, blocked);
			boolean was = this.blocks;
			boolean is = blocked >= (was ? SHORT_NANOS : BLOCKS_NANOS) && blocked >= BLOCKS_TIMES_SHORT * mean;
			if (is != was) {
				this.blocks = is;
			}
		}
	}

	/**
	 * Whether the handler is known to block, so that another leader must be promoted
	 * before it runs.
	 * @return whether a promotion is cheaper than the waits that the handler causes
	 */
	public boolean blocks() {
		return this.blocks;
	}

	/**
	 * Whether the handler takes so long that an idle thread that is awake should lead
	 * meanwhile.
	 * @return whether the takeover gains more than it costs
	 */
	public boolean isWorthAProcessor() {
		return (long) MEAN.getOpaque(this) >= WORTH_A_PROCESSOR_NANOS;
	}

	/**
	 * The moving average of the short dispatches. Any thread.
	 * @return nanoseconds
	 */
	public long meanNanos() {
		return (long) MEAN.getOpaque(this);
	}

}
