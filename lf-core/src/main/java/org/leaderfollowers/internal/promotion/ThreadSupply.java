package org.leaderfollowers.internal.promotion;

import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * Counts the threads of a pool, and limits their number.
 * <p>
 * The count includes the pool's own threads, also those that are being started, but no
 * threads that have joined. A thread is counted before it is started, by a
 * compare-and-set against the current settings. A thread is counted out under the monitor
 * under which the settings are changed. A thread that changes the settings counts the
 * threads afterwards, so either it sees a surplus thread, or that thread sees the new
 * settings.
 * <p>
 * If a thread cannot be started, or cannot join, no other one is started for an event for
 * a while: each attempt costs more than many events, and usually fails as well.
 */
public abstract class ThreadSupply {

	/** How long the supply pauses after a failure. */
	private static final long PAUSE_NANOS = TimeUnit.MILLISECONDS.toNanos(100);

	private final Clock clock;

	private final AtomicInteger count = new AtomicInteger();

	/** Written under the monitor. */
	private volatile PoolSettings settings;

	/**
	 * Whether a thread could not be started, or could not join. If a race clears this,
	 * one more thread is tried.
	 */
	private volatile boolean refused;

	/** Since when. Written before {@link #refused} is set. */
	private volatile long refusedNanos;

	/**
	 * Creates a supply that has not started any thread.
	 * @param settings the initial settings
	 * @param clock the clock of the pool
	 */
	protected ThreadSupply(PoolSettings settings, Clock clock) {
		this.settings = settings;
		this.clock = clock;
	}

	/** The result of an attempt to start a thread. */
	enum Start {

		STARTED, AT_LIMIT, FAILED

	}

	/**
	 * Starts a thread if the limit allows it. The limit is the maximum for a thread that
	 * is under way, and the minimum otherwise. A thread that is under way is not started
	 * while the supply pauses.
	 * @param underWay whether the thread is the one under way among the followers
	 */
	final Start start(boolean underWay) {
		int current;
		do {
			PoolSettings limits = this.settings;
			current = this.count.get();
			if (isStopping()) {
				return Start.FAILED;
			}
			if (current >= (underWay ? limits.maxThreads() : limits.minThreads())) {
				return Start.AT_LIMIT;
			}
			if (underWay && pauses()) {
				return Start.FAILED;
			}
		}
		while (!this.count.compareAndSet(current, current + 1));
		if (isSurplus() && countOut(false)) {
			// The maximum was lowered meanwhile, perhaps by a thread that had counted the
			// threads before.
			notStarted();
			return Start.AT_LIMIT;
		}
		try {
			startThread(underWay);
			return Start.STARTED;
		}
		catch (Throwable ex) {
			// "Unable to create native thread". The existing threads continue.
			failed();
			notStarted();
			startFailed(ex);
			return Start.FAILED;
		}
	}

	private boolean pauses() {
		if (this.refused && this.clock.nanoTime() - this.refusedNanos >= PAUSE_NANOS) {
			this.refused = false;
		}
		return this.refused;
	}

	/**
	 * Starts a thread that participates in the pool.
	 * @param underWay whether it is the one under way among the followers, which
	 * {@linkplain PromotionProtocol#arrive arrives} like a woken follower
	 */
	protected abstract void startThread(boolean underWay);

	/**
	 * Called when a thread that was counted no longer is, because it is not started. If
	 * the pool stops meanwhile, somebody may wait for its end.
	 */
	protected void notStarted() {
	}

	/**
	 * Called when a thread could not be started.
	 * @param failure the reason
	 */
	protected void startFailed(Throwable failure) {
	}

	/**
	 * Whether no thread may be started any more.
	 * @return whether the pool stops
	 */
	protected abstract boolean isStopping();

	/**
	 * Starts as many threads as the minimum lacks now. A new thread that cannot join
	 * counts itself out for a while, perhaps before this method looks again, and is not
	 * replaced here: while memory is short, the caller would start threads without an
	 * end.
	 */
	public final void startMinimum() {
		int missing = this.settings.minThreads() - this.count.get();
		while (missing > 0 && start(false) == Start.STARTED) {
			missing--;
		}
	}

	/**
	 * Whether there are more threads than the maximum, because the maximum was lowered.
	 * Any thread.
	 * @return whether a thread must end
	 */
	public final boolean isSurplus() {
		return this.count.get() > this.settings.maxThreads();
	}

	/** Whether there are fewer threads than the maximum. Any thread. */
	final boolean isBelowMaximum() {
		return this.count.get() < this.settings.maxThreads();
	}

	/**
	 * Whether another thread may be started now. Any thread.
	 * @return whether there are fewer than the maximum, and the supply does not pause
	 */
	public final boolean mayStart() {
		return isBelowMaximum() && !pauses();
	}

	/**
	 * Whether a thread may end after it has waited for the keep-alive time. Any thread.
	 */
	final boolean isAboveMinimum() {
		return this.count.get() > this.settings.minThreads();
	}

	/**
	 * Counts a thread out if there are more than the limit.
	 * @param toMinimum whether the limit is the minimum instead of the maximum
	 * @return whether the thread was counted out
	 */
	final synchronized boolean countOut(boolean toMinimum) {
		int limit = toMinimum ? this.settings.minThreads() : this.settings.maxThreads();
		int current;
		do {
			current = this.count.get();
			if (current <= limit) {
				return false;
			}
		}
		while (!this.count.compareAndSet(current, current - 1));
		return true;
	}

	/**
	 * Counts a thread in again that could not join before, if the minimum lacks it.
	 * @return whether it was counted in
	 */
	protected final boolean countInToMinimum() {
		int current;
		do {
			current = this.count.get();
			if (isStopping() || current >= this.settings.minThreads()) {
				return false;
			}
		}
		while (!this.count.compareAndSet(current, current + 1));
		return true;
	}

	/** Called when a thread that was counted ends. */
	public final void ended() {
		this.count.decrementAndGet();
	}

	/** Called when a thread that was counted could not be started, or could not join. */
	protected final void failed() {
		this.refusedNanos = this.clock.nanoTime();
		this.refused = true;
		this.count.decrementAndGet();
	}

	/**
	 * How many threads there are, including those that are being started. Any thread.
	 * @return a number of threads
	 */
	public final int count() {
		return this.count.get();
	}

	/**
	 * The current settings. Any thread.
	 * @return the settings, to be read once for each decision
	 */
	public final PoolSettings settings() {
		return this.settings;
	}

	/**
	 * Replaces the settings. The caller then
	 * {@linkplain PromotionProtocol#settingsChanged applies them}.
	 * @param change creates the new settings
	 * @param nowNanos the current time, by the clock of the pool
	 * @return the former settings
	 */
	public final synchronized PoolSettings change(PoolSettings.Change change, long nowNanos) {
		PoolSettings former = this.settings;
		this.settings = change.apply(former, nowNanos);
		return former;
	}

}
