package org.leaderfollowers;

/**
 * When the leader promotes a follower.
 */
public enum PromotionPolicy {

	/** Before every dispatch to a handler, as in the paper. */
	EAGER,

	/**
	 * Before dispatches to handlers that are known to block. The leader runs a short
	 * handler without a promotion, as an event loop does. If so much work waits that
	 * waking a thread pays, a thread is woken to share it. For each server, the engine
	 * learns whether the handler is short. If a short handler blocks unexpectedly, a
	 * follower takes over the leadership when the lease ends.
	 * @see LeaderFollowersPool.Builder#promotionLease
	 * @see LeaderFollowersPool.Builder#parallelism
	 */
	ADAPTIVE

}
