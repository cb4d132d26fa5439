package org.leaderfollowers.internal.promotion;

import java.util.concurrent.atomic.AtomicInteger;

/**
 * Decides when a further thread is woken to share the ready handles.
 * <p>
 * One thread is best while it keeps up, because it has the handles in its cache and no
 * thread has to be woken. A second thread pays as soon as the waiting work takes as long
 * as several wake-ups. The decision therefore depends on the time that the ready handles
 * will take, not on their number. This time is compared with the cost of a wake-up that
 * was measured on this machine. The woken thread decides again before its own handler
 * runs, and may wake the next one. The number of threads thus grows one by one while work
 * waits. If no processor is free, as {@link Unfolding} has measured, no thread is woken.
 * The number shrinks without a decision: a thread that finds no ready handle waits among
 * the followers. So does a thread that does not lead, if more threads run than there are
 * processors for them.
 * <p>
 * Any thread.
 */
final class Relief {

	/**
	 * The time that the engine itself needs for a handle, to take it and to read from it.
	 */
	private static final long OVERHEAD_NANOS = 1_000;

	/**
	 * The waiting work must take this many times as long as a wake-up. The thread that
	 * wakes another one sees only the smaller part of the cost; it continues to work
	 * until the other one has arrived; and the memory of handles has to be transferred to
	 * another processor. With half this value, an echo on two processors, beside the
	 * generator of its load, reached 0.9 of the throughput; with a handler of 10 µs there
	 * was no difference (medians of 8 alternating rounds, JDK 25).
	 */
	private static final int WAKE_UPS = 16;

	private final PromotionProtocol promotion;

	private final int parallelism;

	/** No processor is free for a further thread until this time. */
	private volatile long pausedUntilNanos;

	/** The number of members that run handlers that are known to block. */
	private final AtomicInteger blocking = new AtomicInteger();

	Relief(PromotionProtocol promotion, int parallelism, long nowNanos) {
		this.promotion = promotion;
		this.parallelism = parallelism;
		this.pausedUntilNanos = nowNanos;
	}

	/**
	 * Wakes or starts a thread if the ready handles are worth it, a processor is idle,
	 * and no thread is under way.
	 * @param source the leadership of the handle set
	 * @param ready how many handles wait for a thread
	 * @param meanNanos the mean duration of the handler
	 * @return whether a thread was woken or started
	 */
	boolean relieve(Leadership source, int ready, long meanNanos, long nowNanos) {
		if (ready <= 0) {
			return false;
		}
		long work = ready * (meanNanos + OVERHEAD_NANOS);
		long wakeUp = this.promotion.vacancies().wakeUpNanos();
		if (nowNanos - this.pausedUntilNanos < 0 || !isWorthIt(work, wakeUp)
				|| this.promotion.running() - this.blocking.get() >= this.parallelism
				|| !this.promotion.vacancies().relieve()) {
			return false;
		}
		source.sharing().relieved(nowNanos, ready, work, wakeUp);
		return true;
	}

	/**
	 * Whether more threads run than there are processors for them. This happens on a busy
	 * machine: if a leader does not get a processor for longer than its lease, another
	 * thread takes over, and one more thread runs. With 50 microseconds for each request,
	 * on two processors beside the generator of the load, eleven threads shared the
	 * handles for this reason, and leadership passed from thread to thread 5,000 times a
	 * second.
	 */
	boolean isTooMany() {
		return this.promotion.running() - this.blocking.get() > this.parallelism;
	}

	private static boolean isWorthIt(long workNanos, long wakeUpNanos) {
		return workNanos >= WAKE_UPS * wakeUpNanos;
	}

	/** Wakes no thread until the given time, because no processor is free. */
	void pause(long untilNanos) {
		this.pausedUntilNanos = untilNanos;
	}

	/** Called before the thread runs a handler that is known to block. */
	void beginToBlock(Member me) {
		me.blocks(true);
		this.blocking.incrementAndGet();
	}

	/** Called when that handler has returned. */
	void endToBlock(Member me) {
		me.blocks(false);
		this.blocking.decrementAndGet();
	}

}
