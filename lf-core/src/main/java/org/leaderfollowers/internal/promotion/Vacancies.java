package org.leaderfollowers.internal.promotion;

import java.util.concurrent.atomic.LongAdder;

/**
 * The vacancies of a pool, and who is woken for them: a follower that waits, else a
 * thread that is started, else nobody. In the last case every thread there may be is
 * busy; the handle set is {@linkplain Starvation starved}, and leaders of other handle
 * sets take turns with it.
 */
final class Vacancies {

	private final Leadership[] leaderships;

	private final Followers followers;

	private final Leases leases;

	private final ThreadSupply threads;

	private final Starvation starvation;

	private final Clock clock;

	private final LongAdder wakeUps = new LongAdder();

	Vacancies(Leadership[] leaderships, Followers followers, Leases leases, ThreadSupply threads, Starvation starvation,
			Clock clock) {
		this.leaderships = leaderships;
		this.followers = followers;
		this.leases = leases;
		this.threads = threads;
		this.starvation = starvation;
		this.clock = clock;
	}

	/**
	 * Wakes or starts a thread for the vacancies.
	 * @return whether a thread is on its way; otherwise every thread there can be is busy
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
					// A thread may have begun to wait since, and another one may have
					// left a vacancy and woken nobody because of our mark. Or a thread
					// that counted against the limit may have ended, found the vacancy,
					// and started nobody because of our mark. Or the limit was raised.
					boolean anyone = !this.followers.isEmpty()
							|| (start == ThreadSupply.Start.AT_LIMIT && this.threads.isBelowMaximum());
					if (!anyone || !isAnythingWanted()) {
						beginStarvation();
						rotateLeaders();
						return false;
					}
				}
			}
		}
	}

	/** The mark goes to the new thread, which clears it when it arrives. */
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
	 * The leaders that wait for long look after the vacancy, too, since nobody else can.
	 */
	void rotateLeaders() {
		if (this.leaderships.length > 1) {
			for (Leadership leadership : this.leaderships) {
				leadership.endLongWait();
			}
		}
	}

	/** Whether a thread is wanted: to lead, or to watch the lease of one that leads. */
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

	/** How many followers were woken. */
	long wakeUps() {
		return this.wakeUps.sum();
	}

}
