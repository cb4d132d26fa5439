package org.leaderfollowers;

/**
 * Is told of the hand-offs of a pool, for meters. The methods are called by the new
 * leader before it waits: they must be quick, and never block. What they throw is
 * ignored.
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
	 * A handle set has a leader again that had none because every thread was busy.
	 * @param nanos how long there was none, in nanoseconds
	 */
	default void leaderless(long nanos) {
	}

}
