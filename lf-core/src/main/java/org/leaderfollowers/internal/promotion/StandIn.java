package org.leaderfollowers.internal.promotion;

/**
 * Performs an action that only a leader may perform, if there is no leader because every
 * thread is busy. Any thread.
 */
public final class StandIn {

	private final PromotionProtocol promotion;

	private final Clock clock;

	StandIn(PromotionProtocol promotion, Clock clock) {
		this.promotion = promotion;
		this.clock = clock;
	}

	/**
	 * Performs an action in place of a leader. Runs no code of the application.
	 * @param me the calling thread, which does not lead
	 * @param leadership the leadership
	 * @param action the action
	 */
	public void lead(Member me, Leadership leadership, Runnable action) {
		long now = this.clock.nanoTime();
		if (this.promotion.isStopping() || me.leading != null) {
			return;
		}
		long vacantSinceNanos = now;
		if (leadership.take(me.number)) {
			// The next leader must see the whole time of the vacancy.
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
	 * Whether a handle set has no leader, or one whose lease has expired.
	 * @param leadership the leadership of the handle set
	 * @return whether {@link #lead} would have an effect
	 */
	public boolean isWanted(Leadership leadership) {
		return leadership.isVacant() || this.promotion.leases().hasRunOut(leadership, this.clock.nanoTime());
	}

}
