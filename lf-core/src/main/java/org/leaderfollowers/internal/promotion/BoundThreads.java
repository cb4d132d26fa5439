package org.leaderfollowers.internal.promotion;

import java.util.function.BooleanSupplier;

import org.jspecify.annotations.Nullable;

/**
 * Threads of the pool that wait for something in the middle of a handler, for the reply
 * to a request for example: they are bound to that (the paper, section 10.1), and lead
 * meanwhile if nobody else can.
 * <p>
 * They are the last choice: they can read, but not run the handlers of other events. A
 * vacancy is for a follower, or for a thread that may be started; only if there is
 * neither is one of these woken. The rules are those of {@link Followers}, with a word of
 * their own:
 * <ol>
 * <li>a thread publishes itself as waiting <em>before</em> it looks for a vacancy. It
 * takes one unless a follower is under way, which will find it;</li>
 * <li>a thread that left a vacancy looks for bound threads <em>after</em> it has found
 * neither a follower nor a thread to start, and has cleared the mark of the one under
 * way. So it sees the bound thread, or that sees the vacancy and no mark;</li>
 * <li>a bound thread that was woken and whose wait is over passes the signal on.</li>
 * </ol>
 * A lease that nobody watches ends by a bound thread, too.
 */
public final class BoundThreads {

	/** In a queue nobody is left behind: members come and go with their numbers. */
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
	 * @return whether one is on its way
	 */
	boolean signal() {
		while (this.waiting.signal() == Followers.Signal.NOBODY_WAITS) {
			this.waiting.arrive();
			// A thread may have begun to wait since, and another one may have left a
			// vacancy and woken nobody because of our mark.
			if (this.waiting.isEmpty()) {
				return false;
			}
		}
		return true;
	}

	/**
	 * Waits until the calling thread is to lead, or its wait is over.
	 * @param me the calling thread, which leads nothing
	 * @param over whether it has what it waits for. Whoever brings that unparks the
	 * thread afterwards
	 * @param deadlineNanos when it is over in any case
	 * @return what it leads, or {@code null} if the wait is over
	 */
	public @Nullable Leadership await(Member me, BooleanSupplier over, long deadlineNanos) {
		me.isBound = true;
		try {
			return lead(me, over, deadlineNanos);
		}
		catch (Throwable ex) {
			// A signal for a place in which nobody waits any more would wake nobody.
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
				// There may be another vacancy, or it is not taken by this thread.
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

	/** Of a lease that nobody else watches, the end is looked for. */
	private long nextLook(long deadlineNanos) {
		if (!this.promotion.leases().isAnyUnwatched()) {
			return deadlineNanos;
		}
		long end = this.clock.nanoTime() + this.threads.settings().leaseNanos();
		return (end - deadlineNanos < 0) ? end : deadlineNanos;
	}

}
