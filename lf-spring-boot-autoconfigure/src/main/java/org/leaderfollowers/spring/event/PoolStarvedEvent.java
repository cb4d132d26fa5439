package org.leaderfollowers.spring.event;

import java.time.Duration;

import org.leaderfollowers.LeaderFollowersPool;

/**
 * Published when a pool has had no thread left to wait for events for 100 ms, or for its
 * lease if that is longer, and still has none. A thread that does not belong to the pool
 * publishes it, once for each starvation.
 *
 * @serial exclude
 */
@SuppressWarnings("serial")
public final class PoolStarvedEvent extends LfEvent {

	private final Duration duration;

	/**
	 * Creates a new event.
	 * @param pool the pool
	 * @param duration how long it has been starved
	 */
	public PoolStarvedEvent(LeaderFollowersPool pool, Duration duration) {
		super(pool);
		this.duration = duration;
	}

	/**
	 * Returns the pool.
	 * @return the pool
	 */
	public LeaderFollowersPool getPool() {
		return (LeaderFollowersPool) getSource();
	}

	/**
	 * Returns how long the pool has been starved.
	 * @return the time so far
	 */
	public Duration getDuration() {
		return this.duration;
	}

	@Override
	public String toString() {
		return "PoolStarvedEvent[pool=%s, duration=%s]".formatted(getPool().name(), this.duration);
	}

}
