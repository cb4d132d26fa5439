package org.leaderfollowers.internal.promotion;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.LongAdder;

import org.leaderfollowers.internal.linkage.Linkage;

/**
 * Finds threads for the vacancies of a pool: a waiting follower is woken; otherwise a
 * thread is started; otherwise one of the {@link BoundThreads} is woken. If none of these
 * is possible, every thread is busy: the handle set is {@linkplain Starvation starved},
 * and leaders of other handle sets take turns with it.
 */
final class Vacancies {

	/** The bounds of the estimated cost of a wake-up. */
	private static final long LEAST_WAKE_UP_NANOS = TimeUnit.MICROSECONDS.toNanos(3);

	private static final long MOST_WAKE_UP_NANOS = TimeUnit.MICROSECONDS.toNanos(25);

	/** The weight of the latest wake-up is 1/16. */
	private static final int MEAN_SHIFT = 4;

	private static final VarHandle WAKE_UP;

	static {
		try {
			WAKE_UP = MethodHandles.lookup().findVarHandle(Vacancies.class, "wakeUpNanos", long.class);
		}
		catch (ReflectiveOperationException ex) {
			throw new ExceptionInInitializerError(ex);
		}
		Linkage.link(() -> {
			long ignored = (long) WAKE_UP.getOpaque((Vacancies) null);
		}, () -> WAKE_UP.setOpaque((Vacancies) null, 0L));
	}

	private final Leadership[] leaderships;

	private final Followers followers;

	private final BoundThreads bound;

	private final Leases leases;

	private final ThreadSupply threads;

	private final Starvation starvation;

	private final Clock clock;

	private final LongAdder wakeUps = new LongAdder();

	/** A moving average; a recording that is lost in a race does no harm. */
	@SuppressWarnings("FieldMayBeFinal") // changed through WAKE_UP
	private long wakeUpNanos = LEAST_WAKE_UP_NANOS;

	Vacancies(Leadership[] leaderships, Followers followers, BoundThreads bound, Leases leases, ThreadSupply threads,
			Starvation starvation, Clock clock) {
		this.leaderships = leaderships;
		this.followers = followers;
		this.bound = bound;
		this.leases = leases;
		this.threads = threads;
		this.starvation = starvation;
		this.clock = clock;
	}

	/**
	 * Wakes or starts a thread for the vacancies.
	 * @return whether a thread is under way; otherwise every possible thread is busy
	 */
	boolean signalFollower() {
		for (;;) {
			switch (this.followers.signal()) {
				case WOKEN -> {
					this.wakeUps.increment();
					return true;
				}
				case ALREADY_UNDER_WAY -> {
					return true;
				}
				case NOBODY_WAITS -> {
					ThreadSupply.Start start = startUnderWay();
					if (start == ThreadSupply.Start.STARTED) {
						return true;
					}
					// Since then, a thread may have begun to wait, and another one may
					// have left a vacancy and woken none because of our mark. Or a thread
					// that counted against the limit may have ended, found the vacancy,
					// and started none because of our mark. Or the limit may have been
					// raised.
					boolean anyone = !this.followers.isEmpty()
							|| (start == ThreadSupply.Start.AT_LIMIT && this.threads.isBelowMaximum());
					boolean wanted = isAnythingWanted();
					if (!anyone && this.bound.signal()) {
						return true;
					}
					if (!anyone || !wanted) {
						beginStarvation();
						rotateLeaders();
						return false;
					}
				}
			}
		}
	}

	/**
	 * Wakes or starts a thread to share the ready handles. Like any thread under way, it
	 * looks for a vacancy first, because a thread that left one may rely on it.
	 * @return whether a thread was woken or started
	 */
	boolean relieve() {
		long began = this.clock.nanoTime();
		switch (this.followers.signal()) {
			case WOKEN -> {
				this.wakeUps.increment();
				recordWakeUp(this.clock.nanoTime() - began);
				return true;
			}
			case ALREADY_UNDER_WAY -> {
				return false;
			}
			case NOBODY_WAITS -> {
				if (startUnderWay() == ThreadSupply.Start.STARTED) {
					return true;
				}
				// A thread may have left a vacancy and woken none because of our mark.
				if (isAnythingWanted()) {
					signalFollower();
				}
			}
		}
		return false;
	}

	/**
	 * Starts a thread and passes the under-way mark to it. The thread clears the mark
	 * when it arrives.
	 */
	private ThreadSupply.Start startUnderWay() {
		ThreadSupply.Start start = ThreadSupply.Start.FAILED;
		try {
			start = this.threads.start(true);
			return start;
		}
		finally {
			if (start != ThreadSupply.Start.STARTED) {
				this.followers.arrive();
			}
		}
	}

	private void beginStarvation() {
		long now = this.clock.nanoTime();
		for (Leadership leadership : this.leaderships) {
			if (leadership.isVacant()) {
				this.starvation.begin(leadership, now);
				if (!leadership.isVacant()) {
					this.starvation.cancel(leadership);
				}
			}
		}
	}

	/**
	 * Makes leaders that wait for long take turns with the vacancy, because no other
	 * thread can.
	 */
	void rotateLeaders() {
		if (this.leaderships.length > 1) {
			for (Leadership leadership : this.leaderships) {
				leadership.endLongWait();
			}
		}
	}

	/** Whether a thread is needed, to lead or to watch a lease. */
	boolean isAnythingWanted() {
		return isAny() || this.leases.isAnyUnwatched();
	}

	/** Whether any leadership is vacant. */
	boolean isAny() {
		for (Leadership leadership : this.leaderships) {
			if (leadership.isVacant()) {
				return true;
			}
		}
		return false;
	}

	/** Whether any handle is ready and waits for a thread. */
	boolean isAnyReady() {
		for (Leadership leadership : this.leaderships) {
			if (leadership.readyHandles() > 0) {
				return true;
			}
		}
		return false;
	}

	private void recordWakeUp(long nanos) {
		long bounded = Math.max(LEAST_WAKE_UP_NANOS, Math.min(nanos, MOST_WAKE_UP_NANOS));
		long mean = (long) WAKE_UP.getOpaque(this);
		WAKE_UP.setOpaque(this, mean + ((bounded - mean) >> MEAN_SHIFT));
	}

	/**
	 * The measured cost of waking a follower for the thread that wakes it, in
	 * nanoseconds.
	 */
	long wakeUpNanos() {
		return (long) WAKE_UP.getOpaque(this);
	}

	/** How many followers were woken. */
	long wakeUps() {
		return this.wakeUps.sum();
	}

}
