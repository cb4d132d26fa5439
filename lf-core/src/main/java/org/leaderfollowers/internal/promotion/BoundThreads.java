package org.leaderfollowers.internal.promotion;

import java.util.function.BooleanSupplier;

import org.jspecify.annotations.Nullable;

/**
 * Threads of the pool that wait in the middle of a handler, for example for the reply to
 * a request: they are bound to that handler (the paper, section 10.1), and lead meanwhile
 * if no other thread can.
 * <p>
 * They are the last choice, because they can read but not run the handlers of other
 * events. A vacancy is for a follower, or for a thread that may be started. A bound
 * thread is woken only if there is neither. The rules are those of {@link Followers},
 * with a separate state:
 * <ol>
 * <li>a thread publishes itself as waiting <em>before</em> it looks for a vacancy. It
 * takes one unless a follower is under way, because that follower will find it;</li>
 * <li>a thread that left a vacancy looks for bound threads <em>after</em> it has found
 * neither a follower nor a thread to start, and has cleared the under-way mark. Either it
 * therefore sees the bound thread, or the bound thread sees the vacancy and no mark;</li>
 * <li>a bound thread that was woken although its wait is over passes the signal on.</li>
 * </ol>
 * A bound thread also ends leases that no follower watches.
 */
public final class BoundThreads {

	/** A queue, because its places can be removed: members come and go. */
	private final Followers waiting = Followers.fifo();

	private final PromotionProtocol promotion;

	private final Followers followers;

	private final ThreadSupply threads;

	private final Clock clock;

	BoundThreads(PromotionProtocol promotion, Followers followers, ThreadSupply threads, Clock clock) {
		this.promotion = promotion;
		this.followers = followers;
		this.threads = threads;
		this.clock = clock;
	}

	/** Whether any thread waits. */
	boolean isAny() {
		return !this.waiting.isEmpty();
	}

	/**
	 * Wakes a bound thread for a vacancy.
	 * @return whether a bound thread is under way
	 */
	boolean signal() {
		while (this.waiting.signal() == Followers.Signal.NOBODY_WAITS) {
			this.waiting.arrive();
			// Since then, a thread may have begun to wait, and another one may have left
			// a vacancy and woken none because of our mark.
			if (this.waiting.isEmpty()) {
				return false;
			}
		}
		return true;
	}

	/**
	 * Waits until the calling thread must lead or its wait is over.
	 * @param me the calling thread, which does not lead
	 * @param over whether the wait is over. The thread that ends the wait unparks this
	 * one afterwards
	 * @param deadlineNanos when the wait is over in any case
	 * @return the leadership that the thread has now, or {@code null} if the wait is over
	 */
	public @Nullable Leadership await(Member me, BooleanSupplier over, long deadlineNanos) {
		me.isBound = true;
		try {
			return lead(me, over, deadlineNanos);
		}
		catch (Throwable ex) {
			// Otherwise a later signal could go to this place, where no thread waits any
			// more.
			this.waiting.abandon(me.bound);
			throw ex;
		}
		finally {
			me.isBound = false;
		}
	}

	private @Nullable Leadership lead(Member me, BooleanSupplier over, long deadlineNanos) {
		while (!this.promotion.isStopping() && !over.getAsBoolean() && deadlineNanos - this.clock.nanoTime() > 0) {
			this.waiting.enqueue(me.bound);
			Leadership leadership = this.followers.isUnderWay() ? null
					: this.promotion.takeVacancy(me, HandOffKind.RECLAIMED);
			boolean signalled = leadership == null && park(me, over, deadlineNanos);
			if (!signalled) {
				signalled = !this.waiting.leave(me.bound);
			}
			if (leadership == null && signalled && !over.getAsBoolean()) {
				leadership = this.promotion.takeVacancy(me, HandOffKind.EAGER);
			}
			if (signalled) {
				// There may be another vacancy, or this thread may not have taken the one
				// that it was woken for.
				this.promotion.signalIfVacant();
			}
			if (leadership != null) {
				return leadership;
			}
			this.promotion.leases().endUnwatched(me);
		}
		return null;
	}

	private boolean park(Member me, BooleanSupplier over, long deadlineNanos) {
		this.promotion.parked().incrementAndGet();
		try {
			return this.waiting.await(me.bound, nextLook(deadlineNanos), over);
		}
		finally {
			this.promotion.parked().decrementAndGet();
		}
	}

	/** When to look again: if no thread watches a lease, one lease from now. */
	private long nextLook(long deadlineNanos) {
		if (!this.promotion.leases().isAnyUnwatched()) {
			return deadlineNanos;
		}
		long end = this.clock.nanoTime() + this.threads.settings().leaseNanos();
		return (end - deadlineNanos < 0) ? end : deadlineNanos;
	}

}
