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
 * <p>
 * A bound leader may get events that need an unbound thread. If there is a follower, or a
 * thread to start, the bound leader gives its leadership up. If there is neither, perhaps
 * an unbound thread leads elsewhere and waits. Then the two change places. The rules,
 * with the states of {@link BoundLead}:
 * <ol>
 * <li>the bound leader publishes that it holds events and announces its wait
 * <em>before</em> it looks for such threads ({@link #looksAgain}). A follower publishes
 * itself, a leader announces its wait, and a thread because of which another one may be
 * started publishes this, <em>before</em> it looks for events that are held. It then ends
 * the wait of the bound leader ({@link #lookAgain});</li>
 * <li>the bound leader gives up, which ends the wait of the other leader. No bound thread
 * takes this leadership while it is LEFT;</li>
 * <li>a leader that becomes busy instead ends its wait <em>before</em> it looks whether
 * any leadership is LEFT and no leader waits. It changes this state <em>before</em> it
 * looks for bound threads ({@link #leaveToAnybody}); a bound thread publishes itself as
 * waiting <em>before</em> it looks at the state. Either the bound thread therefore takes
 * the leadership again, or the other leader wakes it;</li>
 * <li>the other leader gives up its own leadership, takes the one that was left to it,
 * and signals for its own.</li>
 * </ol>
 */
public final class BoundThreads {

	/** A queue, because its places can be removed: members come and go. */
	private final Followers waiting = Followers.fifo();

	private final PromotionProtocol promotion;

	private final Leadership[] leaderships;

	private final Followers followers;

	private final ThreadSupply threads;

	private final Clock clock;

	BoundThreads(PromotionProtocol promotion, Leadership[] leaderships, Followers followers, ThreadSupply threads,
			Clock clock) {
		this.promotion = promotion;
		this.leaderships = leaderships;
		this.followers = followers;
		this.threads = threads;
		this.clock = clock;
	}

	/** Whether any thread waits. Called by a thread that is or becomes busy. */
	boolean isAny() {
		leaveToAnybody();
		return !this.waiting.isEmpty();
	}

	/**
	 * If there is a vacancy that a bound thread may take, wakes one for it. Called by a
	 * thread that is or becomes busy.
	 * @return whether a bound thread is under way
	 */
	boolean signal() {
		leaveToAnybody();
		if (!isAnyVacant(false)) {
			return false;
		}
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
			// The thread continues with its handler, where it must not lead. An earlier
			// signal may have come to it.
			if (!this.promotion.promoteNewLeader(me)) {
				this.promotion.signalIfVacant();
			}
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

	// Changing places with an unbound leader

	/**
	 * Called by a bound leader before it waits for events.
	 * @param me the calling thread, which leads
	 * @param holds whether it has events that need an unbound thread
	 * @return whether another thread can take these events, so that the caller must give
	 * its leadership up
	 */
	public boolean leavesToOthers(Member me, boolean holds) {
		Leadership leadership = me.leading;
		if (leadership == null) {
			return true;
		}
		// Before the look for other threads
		leadership.boundLead(holds ? BoundLead.HOLDS : BoundLead.LEADS);
		if (!holds) {
			return false;
		}
		if (isAnybodyElse()) {
			return true;
		}
		boolean leaves = isAnyLeaderIdle();
		if (leaves) {
			leadership.boundLead(BoundLead.LEFT);
		}
		return leaves;
	}

	/**
	 * Called by a leader that has announced its wait. If it is unbound, bound leaders
	 * that hold events look again.
	 * @param leadership the leadership of the caller
	 * @return whether the caller holds events that a thread can take now
	 */
	boolean looksAgain(Leadership leadership) {
		BoundLead own = leadership.boundLead();
		if (own == BoundLead.NONE) {
			lookAgain();
		}
		return own == BoundLead.HOLDS && (isAnybodyElse() || isAnyLeaderIdle());
	}

	/**
	 * Makes bound leaders that hold events look again for another thread. Any thread,
	 * after it has published what they will see.
	 */
	public void lookAgain() {
		for (Leadership leadership : this.leaderships) {
			if (leadership.boundLead() == BoundLead.HOLDS) {
				leadership.endWait();
			}
		}
	}

	/**
	 * Whether a bound leader that holds events looks again without being woken: no thread
	 * could be started for them, but one may be soon.
	 * @return whether the pool is below its maximum
	 */
	public boolean mayStartSoon() {
		return this.threads.isBelowMaximum();
	}

	/** Whether a leadership was left to the calling thread, which leads another one. */
	boolean isLeftFor(Member me) {
		Leadership own = me.leading;
		return own != null && own.boundLead() == BoundLead.NONE && isAnyVacant(true);
	}

	/**
	 * Whether there is a vacancy that the calling leader may take in place of its own
	 * leadership.
	 */
	boolean isVacantFor(Member me) {
		Leadership own = me.leading;
		return own != null && (own.boundLead() == BoundLead.NONE || isAnyVacant(false));
	}

	/**
	 * Whether any leadership is vacant.
	 * @param left whether it is one that was left for an unbound thread, or one that a
	 * bound thread may take
	 */
	private boolean isAnyVacant(boolean left) {
		for (Leadership leadership : this.leaderships) {
			if (leadership.isVacant() && (left ? leadership.boundLead() == BoundLead.LEFT : isForBound(leadership))) {
				return true;
			}
		}
		return false;
	}

	/** Whether the calling thread may take the leadership if it is vacant. */
	static boolean mayTake(Member me, Leadership leadership) {
		return !me.isBound || isForBound(leadership);
	}

	private static boolean isForBound(Leadership leadership) {
		return leadership.mayBeLedByBound() && leadership.boundLead() != BoundLead.LEFT;
	}

	/** If no unbound leader waits, lets bound threads take what was left for one. */
	private void leaveToAnybody() {
		for (Leadership leadership : this.leaderships) {
			if (leadership.boundLead() == BoundLead.LEFT && !isAnyLeaderIdle()) {
				leadership.leaveToAnybody();
			}
		}
	}

	/** Whether there is a follower, or a thread may be started now. */
	private boolean isAnybodyElse() {
		return !this.followers.isEmpty() || this.followers.isUnderWay() || this.threads.mayStart();
	}

	/** Whether an unbound leader waits for events. */
	private boolean isAnyLeaderIdle() {
		for (Leadership leadership : this.leaderships) {
			if (leadership.isWaitedOn() && leadership.boundLead() == BoundLead.NONE) {
				return true;
			}
		}
		return false;
	}

}
