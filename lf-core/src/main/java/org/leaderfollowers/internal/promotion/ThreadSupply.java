package org.leaderfollowers.internal.promotion;

import java.util.concurrent.atomic.AtomicInteger;

/**
 * How many threads a pool has, and may have.
 * <p>
 * The count holds the pool's own threads, those included that are being started; threads
 * that have joined do not count. A thread is counted in before it is started, by a
 * compare-and-set against the settings that hold then. A thread is counted out under the
 * monitor, as the settings are changed: a thread that changes the settings counts the
 * threads afterwards, so it either sees a surplus thread, or that thread sees the new
 * settings.
 */
public abstract class ThreadSupply {

	private final AtomicInteger count = new AtomicInteger();

	/** Written under the monitor. */
	private volatile PoolSettings settings;

	/**
	 * Creates a supply that has not started any thread.
	 * @param settings the first settings
	 */
	protected ThreadSupply(PoolSettings settings) {
		this.settings = settings;
	}

	/**
	 * What came of an attempt to start a thread.
	 */
	enum Start {

		STARTED, AT_LIMIT, FAILED

	}

	/**
	 * Starts a thread if there are fewer than the limit: the maximum for one under way,
	 * the minimum otherwise.
	 * @param underWay whether it is the one under way among the followers
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
		}
		while (!this.count.compareAndSet(current, current + 1));
		if (isSurplus() && countOut(false)) {
			// The maximum was lowered meanwhile, perhaps by a thread that had counted the
			// threads before.
			return Start.AT_LIMIT;
		}
		try {
			startThread(underWay);
			return Start.STARTED;
		}
		catch (Throwable ex) {
			// "Unable to create native thread". The threads that are there carry on.
			this.count.decrementAndGet();
			startFailed(ex);
			return Start.FAILED;
		}
	}

	/**
	 * Starts a thread that takes part in the pool.
	 * @param underWay whether it is the one under way among the followers, and
	 * {@linkplain PromotionProtocol#arriveStarted arrives} like one that was woken
	 */
	protected abstract void startThread(boolean underWay);

	/**
	 * A thread could not be started.
	 * @param failure the reason
	 */
	protected void startFailed(Throwable failure) {
	}

	/**
	 * Whether no thread is to be started any more.
	 * @return whether the pool stops
	 */
	protected abstract boolean isStopping();

	/**
	 * Starts the threads that are missing to the minimum.
	 */
	public final void startMinimum() {
		while (this.count.get() < this.settings.minThreads() && start(false) == Start.STARTED) {
			// until there are enough
		}
	}

	/**
	 * Whether there are more threads than the maximum, which was lowered. Any thread.
	 * @return whether one of them is to end
	 */
	public final boolean isSurplus() {
		return this.count.get() > this.settings.maxThreads();
	}

	/** Whether a further thread may be started. Any thread. */
	final boolean isBelowMaximum() {
		return this.count.get() < this.settings.maxThreads();
	}

	/** Whether a thread that waits long enough may end. Any thread. */
	final boolean isAboveMinimum() {
		return this.count.get() > this.settings.minThreads();
	}

	/**
	 * Counts a thread out, if it is one too many.
	 * @param toMinimum whether the minimum is the limit, not the maximum
	 * @return whether it counts no more
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

	/** A thread that was counted in ends, or has failed to take part. */
	public final void ended() {
		this.count.decrementAndGet();
	}

	/**
	 * How many threads there are, those included that are being started. Any thread.
	 * @return a number of threads
	 */
	public final int count() {
		return this.count.get();
	}

	/**
	 * The settings that hold now. Any thread.
	 * @return to be read once for each decision
	 */
	public final PoolSettings settings() {
		return this.settings;
	}

	/**
	 * Replaces the settings. The caller then has the threads
	 * {@linkplain PromotionProtocol#settingsChanged go by them}.
	 * @param change makes the new ones
	 * @param nowNanos the time, by the clock of the pool
	 * @return the former settings
	 */
	public final synchronized PoolSettings change(PoolSettings.Change change, long nowNanos) {
		PoolSettings former = this.settings;
		this.settings = change.apply(former, nowNanos);
		return former;
	}

}
