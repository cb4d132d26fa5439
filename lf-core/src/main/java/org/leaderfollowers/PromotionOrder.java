package org.leaderfollowers;

/**
 * Which follower is promoted (the paper, activity 5.2).
 */
public enum PromotionOrder {

	/** The one that waited the shortest: its caches are warm. */
	LIFO

}
