package org.leaderfollowers;

import org.leaderfollowers.internal.promotion.Followers;

/**
 * Which follower is promoted (the paper, activity 5.2).
 * <p>
 * The order applies to threads that wait. Regardless of the order, a thread that has just
 * processed its event takes a vacant leadership at once: it is awake, and waking another
 * thread costs as much as a short request. If a lease has ended, the follower that
 * watches it takes over the leadership.
 */
public enum PromotionOrder {

	/**
	 * The follower that has waited for the shortest time: its caches are warm. At a low
	 * load, few threads do all the work, and the others end when they are surplus. This
	 * is the default, for threads that are equal, like those of a pool. Waiting and
	 * promoting are lock-free.
	 */
	LIFO,

	/**
	 * The follower that has waited for the longest time: the work is distributed over all
	 * threads, and each of them gets its turn. For threads that should be used equally,
	 * for example because each keeps a session or a cache alive by using it. This order
	 * also helps to find differences between threads.
	 * <p>
	 * This order has costs. The thread with the coldest caches is promoted; the paper
	 * warns of this, and has this order for bound associations of handles and threads
	 * only (variants, activity 6). Waiting and promoting take a short lock. Surplus
	 * threads do not end as long as promotions reach all of them within the keep-alive
	 * time.
	 */
	FIFO,

	/**
	 * The follower whose thread has the highest {@linkplain Thread#getPriority()
	 * priority}, and among equals the one that has waited for the shortest time. For
	 * pools that threads of the application {@linkplain LeaderFollowersPool#join join}
	 * with priorities other than {@linkplain LeaderFollowersPool.Builder#threadPriority
	 * the pool's own}. This order avoids the promotion of a less important thread before
	 * a more important one, which the paper calls priority inversion. The priority is
	 * read when the thread begins to wait.
	 * <p>
	 * This order has costs. Waiting and promoting take a short lock, and the holder of
	 * the lock does not inherit the priority of threads that wait for it. Threads of low
	 * priority may never be promoted; surplus ones end.
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
