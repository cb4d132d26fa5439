package org.leaderfollowers.internal.promotion;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.util.concurrent.TimeUnit;

/**
 * What the engine has learned about how long a handler runs, for the choice between
 * running it as leader and promoting another leader first.
 * <p>
 * Running a handler of length d while leading makes everybody else wait for d, or for the
 * lease if that is shorter; promoting costs a wake-up, some microseconds. So what counts
 * is the mean wait that a dispatch inflicts, not how often a handler is long: two moving
 * averages, one of what long dispatches contribute to all, one of the short ones.
 * <p>
 * On a busy machine a thread is kept from its processor now and then, which looks like
 * blocking and is not: another leader would not get the processor either. What is lost
 * that way is in proportion to the time that is used, since the system shares it out in
 * slices; what a handler waits for is not. So the long dispatches have to outweigh the
 * short ones as well.
 * <p>
 * Any thread; a record that is lost to a race does no harm. A handler about which nothing
 * is known is taken for one that blocks.
 */
public final class HandlerProfile {

	/**
	 * A dispatch that ran for longer has blocked, or was kept from its processor. It is
	 * several times what a thread needs to be woken.
	 */
	private static final long LONG_NANOS = TimeUnit.MICROSECONDS.toNanos(250);

	/** What one dispatch counts for at the most: the others wait no longer. */
	private static final long MOST_NANOS = TimeUnit.MILLISECONDS.toNanos(2);

	/**
	 * The mean wait from which promoting is cheaper. More than the share of one long
	 * dispatch, since a garbage collection or a preemption looks like one.
	 */
	private static final long BLOCKS_NANOS = TimeUnit.MICROSECONDS.toNanos(18);

	/**
	 * How many times the mean of the short dispatches that must be. A slice of a
	 * processor is of one to three milliseconds, and a dispatch counts for two at the
	 * most.
	 */
	private static final int BLOCKS_TIMES_SHORT = 3;

	/** Below this mean wait the handler has become short again. */
	private static final long SHORT_NANOS = TimeUnit.MICROSECONDS.toNanos(6);

	/**
	 * From here on a thread that has nothing to do takes the leadership over at once. A
	 * shorter handler has mostly returned when the other thread begins to wait.
	 */
	private static final long WORTH_A_PROCESSOR_NANOS = TimeUnit.MICROSECONDS.toNanos(4);

	/** The latest of the long dispatches count for 1/128. */
	private static final int LONG_SHIFT = 7;

	/** The latest of the short dispatches counts for 1/32. */
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
	}

	/** Of work that is known to block. Nothing is recorded in it. */
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
			// Falls by 1 at least, since the shift rounds down: it reaches 0.
			blocked += ((isLong ? Math.min(nanos, MOST_NANOS) : 0) - blocked) >> LONG_SHIFT;
			BLOCKED.setOpaque(this, Math.max(0, blocked));
			boolean was = this.blocks;
			boolean is = blocked >= (was ? SHORT_NANOS : BLOCKS_NANOS) && blocked >= BLOCKS_TIMES_SHORT * mean;
			if (is != was) {
				this.blocks = is;
			}
		}
	}

	/**
	 * Whether the handler is known to block: another leader is promoted before it runs.
	 * @return whether promoting is cheaper than what its blocking would cost
	 */
	public boolean blocks() {
		return this.blocks;
	}

	/**
	 * Whether the handler runs for so long that another thread, if one is awake and has
	 * nothing to do, is to lead meanwhile.
	 * @return whether taking the leadership over costs less than it gains
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
