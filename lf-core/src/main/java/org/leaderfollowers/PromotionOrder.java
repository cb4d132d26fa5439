package org.leaderfollowers;

import org.leaderfollowers.internal.promotion.Followers;

/**
 * Which follower is promoted (the paper, activity 5.2).
 * <p>
 * The order is one among threads that wait. A thread that has just processed its event
 * takes a vacant leadership at once, whatever the order: it is awake, and to wake another
 * one costs as much as a whole short request. And a leadership whose lease has run out
 * goes to the follower that watches it.
 */
public enum PromotionOrder {

	/**
	 * The one that waited the shortest: its caches are warm. Under little load few
	 * threads do all the work, and the others expire when they are surplus. For threads
	 * that are equals, which those of a pool are; the default. Waiting and promoting are
	 * lock-free.
	 */
	LIFO,

	/**
	 * The one that waited the longest: the work is spread over all threads, and each of
	 * them gets its turn. For threads that are to be used alike, for example because each
	 * keeps a session or a cache alive by using it, and to find out what is different on
	 * some of them.
	 * <p>
	 * What it costs: the thread with the coldest caches is promoted, which is why the
	 * paper, which has this order for bound associations of handles and threads only
	 * (variants, activity 6), warns of it; waiting and promoting take a short lock; and
	 * surplus threads do not expire as long as promotions reach all of them within the
	 * keep-alive time.
	 */
	FIFO,

	/**
	 * The one whose thread has the highest {@linkplain Thread#getPriority() priority},
	 * and among equals the one that waited the shortest. For pools that threads of the
	 * application {@linkplain LeaderFollowersPool#join join} with priorities other than
	 * {@linkplain LeaderFollowersPool.Builder#threadPriority the pool's own}: it keeps a
	 * less important thread from being promoted in place of a more important one, which
	 * the paper calls priority inversion. What counts is the priority that the thread has
	 * when it begins to wait.
	 * <p>
	 * What it costs: waiting and promoting take a short lock, whose holder is not raised
	 * to the priority of those that wait for it. Threads of low priority may never be
	 * promoted; those that are surplus expire.
	 */
	PRIORITY;

	/**
	 * Followers that are promoted in this order.
	 */
	Followers followers() {
		return switch (this) {
			case LIFO -> Followers.lifo();
			case FIFO -> Followers.fifo();
			case PRIORITY -> Followers.byPriority();
		};
	}

}
