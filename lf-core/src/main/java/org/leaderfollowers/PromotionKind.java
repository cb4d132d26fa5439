package org.leaderfollowers;

/**
 * How a leader came to lead.
 */
public enum PromotionKind {

	/**
	 * A follower was woken because the leader gave up the leadership to process an event.
	 */
	EAGER,

	/**
	 * A follower took over the leadership from a leader that was still processing when
	 * its lease ended. Does not occur with {@link PromotionPolicy#EAGER}, because no
	 * leader processes events then.
	 */
	TAKEOVER,

	/**
	 * A thread that had finished processing found the leadership vacant and took it
	 * without waiting (the paper, section 7: it can become the leader immediately if
	 * there is no current leader). With {@link PromotionPolicy#ADAPTIVE}, such a thread
	 * also takes the leadership from a leader that runs a handler: a thread that shares
	 * the ready events and finds no more of them waits for the next events itself.
	 */
	RECLAIMED

}
