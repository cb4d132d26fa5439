package org.leaderfollowers;

/**
 * A listener for the hand-offs and alarms of a pool, for meters. Unless a method says
 * otherwise, the new leader calls it before it waits for events, so the method must be
 * quick and must not block. If the method gives up the leadership, as
 * {@link LeaderFollowersPool#resize} does, another thread takes it. Exceptions of the
 * method are ignored.
 */
@FunctionalInterface
public interface PoolListener {

	/**
	 * A vacant leadership was taken, or a leadership was taken over.
	 * @param kind how the new leader came to lead
	 * @param vacancyNanos how long there was no leader, in nanoseconds
	 */
	void handedOff(PromotionKind kind, long vacancyNanos);

	/**
	 * A handle set or event source has had no leader for 100 ms, or for the lease if that
	 * is longer, because every thread is busy, and still has none. A thread that does not
	 * belong to the pool calls this method, once for each starvation.
	 * @param nanos for how long there has been no leader, in nanoseconds
	 */
	default void starved(long nanos) {
	}

	/**
	 * A handle set or event source that had no leader, because every thread was busy, has
	 * a leader again.
	 * @param nanos how long there was no leader, in nanoseconds
	 */
	default void leaderless(long nanos) {
	}

	/**
	 * A thread of the pool has not come back for long. The watchdog of the pool calls
	 * this method, once for each such thread. It cannot watch meanwhile.
	 * @param alarm describes the thread
	 */
	default void alarmed(PoolAlarm alarm) {
	}

}
