package org.leaderfollowers;

/**
 * When the leader promotes a follower.
 */
public enum PromotionPolicy {

	/** Before every dispatch to a handler, as in the paper. */
	EAGER,

	/**
	 * Before dispatches to handlers that are known to block. A handler that is short is
	 * run without a promotion, as by an event loop; if more work waits than is worth
	 * waking a thread for, one is woken that shares it. The engine learns which is which
	 * for each server. If a handler that was short blocks for once, a follower takes the
	 * leadership over when the lease runs out.
	 * @see LeaderFollowersPool.Builder#promotionLease
	 * @see LeaderFollowersPool.Builder#parallelism
	 */
	ADAPTIVE

}
