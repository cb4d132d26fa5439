package org.leaderfollowers;

/**
 * How a leader came to lead.
 */
public enum PromotionKind {

	/** A follower was woken because the leader gave the leadership up to process. */
	EAGER,

	/**
	 * A follower took the leadership over from a leader that was still processing when
	 * its lease ran out. Does not occur with {@link PromotionPolicy#EAGER}, where no
	 * leader processes.
	 */
	TAKEOVER,

	/**
	 * A thread that had finished processing found the leadership vacant and took it
	 * without waiting (the paper, section 7: it can become the leader immediately if
	 * there is no current leader). With {@link PromotionPolicy#ADAPTIVE} also from a
	 * leader that runs a handler: a thread that shares the ready events and finds no more
	 * of them waits for the next ones itself.
	 */
	RECLAIMED

}
