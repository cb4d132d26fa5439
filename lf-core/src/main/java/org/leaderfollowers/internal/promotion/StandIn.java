package org.leaderfollowers.internal.promotion;

/**
 * Does for a moment what only a leader may do, if there is none because every thread is
 * busy. Any thread.
 */
public final class StandIn {

	private final PromotionProtocol promotion;

	private final Clock clock;

	StandIn(PromotionProtocol promotion, Clock clock) {
		this.promotion = promotion;
		this.clock = clock;
	}

	/**
	 * Does something in place of a leader. Runs no code of the application.
	 * @param me the calling thread, which leads nothing
	 * @param leadership the leadership
	 * @param action what to do
	 */
	public void lead(Member me, Leadership leadership, Runnable action) {
		long now = this.clock.nanoTime();
		if (this.promotion.isStopping() || me.leading != null) {
			return;
		}
		long vacantSinceNanos = now;
		if (leadership.take(me.number)) {
			// For the next leader the leadership has been vacant all the time.
			vacantSinceNanos -= Math.max(0, leadership.vacancyNanos(now));
		}
		else if (!this.promotion.leases().seizeIfRunOut(me, leadership, now)) {
			return;
		}
		try {
			action.run();
		}
		finally {
			leadership.giveUp(me.number, vacantSinceNanos);
			this.promotion.vacancies().signalFollower();
		}
	}

	/**
	 * Whether a handle set has no leader, or one whose lease has run out.
	 * @param leadership the leadership of the handle set
	 * @return whether {@link #lead} is of use
	 */
	public boolean isWanted(Leadership leadership) {
		return leadership.isVacant() || this.promotion.leases().hasRunOut(leadership, this.clock.nanoTime());
	}

}
