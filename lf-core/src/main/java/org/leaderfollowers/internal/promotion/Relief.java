package org.leaderfollowers.internal.promotion;

import java.util.concurrent.atomic.AtomicInteger;

/**
 * When a further thread is woken to share the handles that are ready.
 * <p>
 * One thread at a time is right while it keeps up: it has the handles in its cache, and
 * nobody needs to be woken. A second one pays as soon as the work that waits is worth
 * several wake-ups. So the measure is the time that the ready handles will take, not
 * their number, and it is compared with what waking a thread has been seen to cost on
 * this machine. The thread that is woken measures again before its own handler runs, and
 * wakes the next one: threads unfold one by one while work waits. If there is no
 * processor for it, nobody is woken; {@link Unfolding} knows. They fold by themselves: a
 * thread that finds no handle ready waits among the followers, and so does one that does
 * not lead if more run than there are processors for them.
 * <p>
 * Any thread.
 */
final class Relief {

	/**
	 * What the engine needs for a handle beside the handler: to take and to read it.
	 */
	private static final long OVERHEAD_NANOS = 1_000;

	/**
	 * The work that waits must take this many times as long as waking a thread: the
	 * thread that wakes sees the smaller part of what it costs, goes on with the work
	 * until the woken one is there, and handles that move to another processor take their
	 * memory with them. With half of it, an echo on two processors beside the generator
	 * of its load served 0.9 of what it serves with this, and a handler of 10 µs as much
	 * (medians of 8 alternating rounds, JDK 25).
	 */
	private static final int WAKE_UPS = 16;

	private final PromotionProtocol promotion;

	private final int parallelism;

	/** Until when no processor is taken to be there for a further thread. */
	private volatile long pausedUntilNanos;

	/** Members that run handlers of which it is known that they block. */
	private final AtomicInteger blocking = new AtomicInteger();

	Relief(PromotionProtocol promotion, int parallelism, long nowNanos) {
		this.promotion = promotion;
		this.parallelism = parallelism;
		this.pausedUntilNanos = nowNanos;
	}

	/**
	 * Wakes or starts a thread, if the handles that are ready are worth it, a processor
	 * is idle, and no thread is on its way.
	 * @param source the leadership of the handle set
	 * @param ready how many handles wait for a thread
	 * @param meanNanos how long the handler runs
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
	 * Whether more threads run than there are processors for them. They become too many
	 * on a busy machine: a leader that is kept from its processor for longer than its
	 * lease is taken over from, and then there is one more. With 50 microseconds a
	 * request, two processors and a generator of the load beside it, eleven threads
	 * shared the handles that way, and leadership changed hands 5,000 times a second.
	 */
	boolean isTooMany() {
		return this.promotion.running() - this.blocking.get() > this.parallelism;
	}

	private static boolean isWorthIt(long workNanos, long wakeUpNanos) {
		return workNanos >= WAKE_UPS * wakeUpNanos;
	}

	/** Wakes nobody for a while, since there is no processor for a further thread. */
	void pause(long untilNanos) {
		this.pausedUntilNanos = untilNanos;
	}

	/** The caller begins to run a handler that is known to block. */
	void beginToBlock(Member me) {
		me.blocks(true);
		this.blocking.incrementAndGet();
	}

	/** That handler has returned. */
	void endToBlock(Member me) {
		me.blocks(false);
		this.blocking.decrementAndGet();
	}

}
