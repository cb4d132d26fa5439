package org.leaderfollowers;

import java.util.List;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.LongAdder;

import org.jspecify.annotations.Nullable;
import org.leaderfollowers.internal.buffer.MemoryBudget;
import org.leaderfollowers.internal.logging.EngineLog;
import org.leaderfollowers.internal.logging.FailureLog;
import org.leaderfollowers.internal.logging.RateLimit;
import org.leaderfollowers.internal.promotion.Clock;
import org.leaderfollowers.internal.promotion.Members;
import org.leaderfollowers.internal.promotion.PoolSettings;
import org.leaderfollowers.internal.promotion.PromotionProtocol;
import org.leaderfollowers.internal.promotion.ThreadSupply;

/**
 * Starts the threads of a pool, and lets threads join and leave. The pool's own threads
 * do nothing else; threads of the application join for a limited time.
 */
final class PoolThreads extends ThreadSupply {

	/**
	 * The maximum number of threads of the application that may join, in addition to the
	 * pool's own.
	 */
	private static final int JOINERS = 64;

	private static final long FAILURE_PAUSE_NANOS = TimeUnit.MILLISECONDS.toNanos(10);

	/** A thread that has waited for a reply for so long may go on waiting. */
	private static final long LONG_WAIT_NANOS = TimeUnit.MILLISECONDS.toNanos(100);

	private final String poolName;

	private final int priority;

	/** Whether threads that wait for replies may run other handlers. */
	private final boolean nests;

	private final @Nullable ClassLoader contextClassLoader = Thread.currentThread().getContextClassLoader();

	private final Clock clock;

	private final MemoryBudget memory;

	private final FailureLog failureLog;

	private final Members<Participant> members;

	private final AtomicInteger threadNumbers = new AtomicInteger();

	private final Queue<Thread> own = new ConcurrentLinkedQueue<>();

	private final LongAdder started = new LongAdder();

	private final LongAdder startFailures = new LongAdder();

	/** Set once, before any thread joins. */
	private @Nullable Pool pool;

	/** The part of the pool that its threads need to know. */
	interface Pool {

		/** The promotion protocol of the pool. */
		PromotionProtocol promotion();

		/** How threads of the pool wait for replies. */
		Participant.ReplyWait replyWait();

		/** Runs the loop of a thread, until the pool stops or the thread retires. */
		void participate(Participant me);

		/**
		 * Called when a thread no longer participates, could not begin to, or was not
		 * started.
		 */
		void threadEnded();

	}

	PoolThreads(PoolOptions options, MemoryBudget memory, FailureLog failureLog) {
		super(options.settings(), options.clock());
		this.poolName = options.name();
		this.priority = options.threadPriority();
		this.nests = options.nesting().policy() != NestedDispatch.NEVER;
		this.clock = options.clock();
		this.memory = memory;
		this.failureLog = failureLog;
		this.members = new Members<>(this.clock);
	}

	void of(Pool pool) {
		this.pool = pool;
	}

	private Pool pool() {
		Pool current = this.pool;
		if (current == null) {
			throw new IllegalStateException("the threads have no pool");
		}
		return current;
	}

	Members<Participant> members() {
		return this.members;
	}

	List<Participant> living() {
		return this.members.living();
	}

	/** The calling thread if it belongs to the pool, or {@code null}. */
	@Nullable Participant self() {
		Participant current = Participant.current();
		return (current != null && current.isOf(pool().promotion())) ? current : null;
	}

	/**
	 * Whether a thread that waits for a place on a connection of the pool has to give up,
	 * because no thread is left that could make a place free: all others wait for a place
	 * as well, or have waited for a reply for a while, which does not let them connect.
	 * No further thread is being started or may be. A thread that gives up counts as free
	 * from then on, so the others go on waiting.
	 * @param me the calling thread
	 * @param connects whether a place needs a new connection
	 */
	synchronized boolean mustGiveUp(Participant me, boolean connects) {
		List<Participant> living = living();
		long longSince = this.clock.nanoTime() - LONG_WAIT_NANOS;
		boolean all = !mayStart() && count() <= living.stream().filter(Participant::isOwned).count() && living.stream()
			.allMatch((each) -> each.waitsForPlace || (connects && !this.nests && each.hasAwaitedSince(longSince)));
		me.waitsForPlace = !all;
		return all;
	}

	@Override
	protected boolean isStopping() {
		return pool().promotion().isStopping();
	}

	@Override
	protected void startThread(boolean underWay) {
		String name = "lf-" + RateLimit.printable(this.poolName) + "-" + this.threadNumbers.incrementAndGet();
		// The new thread inherits no thread locals, because the starting thread may carry
		// those of its own request.
		Thread thread = new Thread(null, () -> run(underWay), name, 0, false);
		thread.setContextClassLoader(this.contextClassLoader);
		thread.setDaemon(false);
		thread.setPriority(this.priority);
		this.own.removeIf((former) -> former.getState() == Thread.State.TERMINATED);
		this.own.add(thread);
		boolean started = false;
		try {
			thread.start();
			started = true;
		}
		finally {
			if (!started) {
				this.own.remove(thread);
			}
		}
	}

	/**
	 * The pool's own threads that may not have ended yet. Some no longer participate, and
	 * others may have got their numbers. Any thread.
	 */
	Iterable<Thread> own() {
		return this.own;
	}

	@Override
	protected void notStarted() {
		pool().threadEnded();
	}

	@Override
	protected void startFailed(Throwable failure) {
		this.startFailures.increment();
		// Meanwhile, this thread may have counted as one that could take their events.
		pool().promotion().bound().lookAgain();
		this.failureLog.error("A thread could not be started; the pool '%s' continues with the threads that it has",
				this.poolName, failure);
	}

	private void run(boolean startedUnderWay) {
		boolean underWay = startedUnderWay;
		Participant me = enroll(underWay);
		while (me == null) {
			this.clock.parkNanos(this, FAILURE_PAUSE_NANOS);
			if (!countInToMinimum()) {
				return;
			}
			underWay = false;
			me = enroll(underWay);
		}
		try {
			if (underWay) {
				pool().promotion().started();
			}
			arrive(me, underWay);
			pool().participate(me);
		}
		finally {
			leave(me);
		}
	}

	/**
	 * Lets the calling thread join, and returns {@code null} if it cannot, usually
	 * because memory is short. If the pool lacks threads then, it tries again: perhaps no
	 * other thread is left, not even the watchdog, and nothing would start one.
	 */
	private @Nullable Participant enroll(boolean underWay) {
		try {
			Participant me = enroll(Thread.currentThread(), true);
			enter(me);
			return me;
		}
		catch (Throwable ex) {
			enrollingFailed(underWay);
			this.failureLog.error("A new thread of pool '%s' could not join it", this.poolName, ex);
			return null;
		}
	}

	/** Never fails, because the thread can work nevertheless. */
	private void arrive(Participant me, boolean underWay) {
		try {
			this.started.increment();
			if (underWay) {
				pool().promotion().arrive(me);
			}
		}
		catch (Throwable ex) {
			logFailure(ex);
		}
	}

	private void logFailure(Throwable failure) {
		try {
			this.failureLog.error("A thread of pool '%s' failed", this.poolName, failure);
		}
		catch (Throwable ex) {
			// Even the constant above needs memory when it is used for the first time.
		}
	}

	/**
	 * Binds the participant to its thread. A thread without one would lead, but could not
	 * process any event.
	 */
	private void enter(Participant me) {
		try {
			me.enter();
		}
		catch (Throwable ex) {
			this.members.withdraw(me);
			throw ex;
		}
	}

	/**
	 * Undoes the start of a thread: it no longer counts, and other threads no longer
	 * expect it.
	 */
	private void enrollingFailed(boolean underWay) {
		failed();
		if (underWay) {
			pool().promotion().started();
			pool().promotion().startedInVain();
		}
		pool().promotion().bound().lookAgain();
		pool().threadEnded();
	}

	/**
	 * Makes a thread of the application participate until it {@linkplain #leave leaves}.
	 * @throws IllegalStateException if the pool is closed, or too many threads have
	 * joined
	 */
	Participant join(Thread thread) {
		return enroll(thread, false);
	}

	private synchronized Participant enroll(Thread thread, boolean owned) {
		if (isStopping() && !owned) {
			throw new IllegalStateException("Pool '%s' is closed".formatted(this.poolName));
		}
		if (!owned && living().stream().filter((member) -> !member.isOwned()).count() >= JOINERS) {
			throw new IllegalStateException("No more than %d threads can join pool '%s' in addition to its own"
				.formatted(JOINERS, this.poolName));
		}
		return this.members.enroll(thread, (number, follower) -> new Participant(number, follower, thread, owned,
				pool().promotion(), pool().replyWait(), this.memory, this.clock.nanoTime()));
	}

	/** Ends the participation of the calling thread. */
	void leave(Participant me) {
		// Read first, because another thread may get the place of this one.
		boolean interrupted = me.isInterruptDeferred() && !me.isOwned();
		try {
			pool().promotion().leave(me);
		}
		finally {
			// The steps that must not be omitted come first; waking other threads may
			// fail and comes last.
			this.members.withdraw(me);
			if (me.isOwned() && !me.isRetired()) {
				ended();
			}
		}
		if (interrupted) {
			me.thread().interrupt();
		}
		pool().threadEnded();
		// Another thread may have left a vacancy because it relied on this thread, or
		// because the maximum number of threads was reached; or this thread itself has
		// left the vacancy.
		startIfWanted();
	}

	/**
	 * Applies the updates of a handle set that has no leader because every thread is
	 * busy. Runs no code of the application. Any thread. If it does not participate in
	 * the pool, it joins for the duration of the call.
	 */
	void applyUpdatesIfVacant(HandleSet set) {
		PromotionProtocol promotion = pool().promotion();
		if (promotion.isStopping() || !promotion.standIn().isWanted(set.leadership)) {
			return;
		}
		Participant current = Participant.current();
		boolean joins = current == null || !current.isOf(promotion);
		Participant me;
		try {
			me = (current == null || joins) ? join(Thread.currentThread()) : current;
		}
		catch (IllegalStateException ex) {
			EngineLog.INSTANCE.debug("The updates of handle set '{}' were not applied", set, ex);
			return;
		}
		try {
			if (joins) {
				// Handlers of the engine that fail need the participant.
				me.enter();
			}
			promotion.standIn().lead(me, set.leadership, set::applyUpdates);
		}
		finally {
			if (joins) {
				if (current != null) {
					// Allocates nothing, because the thread still participates.
					current.enter();
				}
				leave(me);
			}
		}
	}

	/** Starts threads if there are fewer than the minimum. Any thread. */
	void startMissing() {
		if (!isStopping()) {
			startMinimum();
		}
	}

	/** Starts or wakes a thread if one is needed. Any thread. */
	void startIfWanted() {
		if (!isStopping()) {
			pool().promotion().startIfWanted();
		}
	}

	/** How many threads have been started. */
	long started() {
		return this.started.sum();
	}

	/** How many threads could not be started. */
	long startFailures() {
		return this.startFailures.sum();
	}

}
