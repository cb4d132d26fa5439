package org.leaderfollowers;

/**
 * Is told of the hand-offs of a pool, for meters. Unless it says otherwise, a method is
 * called by the new leader before it waits: it must be quick, and never block. If it
 * gives the leadership up all the same, as {@link LeaderFollowersPool#resize} does,
 * another thread takes it. What it throws is ignored.
 */
@FunctionalInterface
public interface PoolListener {

	/**
	 * A leadership that had been given up was taken.
	 * @param kind how the new leader came to it
	 * @param vacancyNanos how long there was no leader, in nanoseconds
	 */
	void handedOff(PromotionKind kind, long vacancyNanos);

	/**
	 * A handle set has had no leader for 100 ms, or for the lease if that is longer,
	 * because every thread is busy, and has none yet. Called by a thread that is not of
	 * the pool, once until the starvation has ended.
	 * @param nanos for how long already, in nanoseconds
	 */
	default void starved(long nanos) {
	}

	/**
	 * A handle set has a leader again that had none because every thread was busy.
	 * @param nanos how long there was none, in nanoseconds
	 */
	default void leaderless(long nanos) {
	}

}
