package org.leaderfollowers;

/**
 * When the leader promotes a follower.
 */
public enum PromotionPolicy {

	/** Before every dispatch to a handler, as in the paper. */
	EAGER

}
