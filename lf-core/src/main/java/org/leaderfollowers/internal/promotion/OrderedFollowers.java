package org.leaderfollowers.internal.promotion;

import java.util.concurrent.locks.LockSupport;

import org.jspecify.annotations.Nullable;

/**
 * Followers in the order of their arrival, or of the priorities of their threads: the
 * coldest first, or the most important. Neither can be had from a single word, so these
 * are queues under a lock. It is held for a few assignments, without waiting, allocating
 * or calling anything that could; a thread is woken after it was released.
 * <p>
 * There is one queue for each rank, linked through the {@link Follower}s themselves, from
 * the oldest to the newest. By arrival all have the same rank and the oldest is taken; by
 * priority the newest of the highest rank. So every step takes the same time, however
 * many wait; a place is taken out of the middle at once, and a thread that left leaves
 * nothing behind.
 * <p>
 * What the lock does not guard:
 * <table border="1">
 * <caption>Words that are read or written without the lock</caption>
 * <tr>
 * <th>word</th>
 * <th>step</th>
 * <th>why that is right</th>
 * </tr>
 * <tr>
 * <td>mark</td>
 * <td>looked at by a signaller before it locks</td>
 * <td>if somebody is under way then, that one will look for vacancies later. If nobody
 * is, it is looked at again under the lock</td>
 * </tr>
 * <tr>
 * <td>mark</td>
 * <td>cleared by whoever is under way</td>
 * <td>nobody else clears it, and nobody sets it meanwhile. It is set <em>before</em> the
 * permit of the one that is signalled, who may see the permit and arrive while the
 * signaller still holds the lock</td>
 * </tr>
 * <tr>
 * <td>permit</td>
 * <td>looked at by its owner, who awaits a signal</td>
 * <td>SIGNALLED is for the owner to change. What it does when it still sees WAITING it
 * decides again under the lock, when it leaves</td>
 * </tr>
 * <tr>
 * <td>count</td>
 * <td>looked at by anybody</td>
 * <td>a follower counts itself before it looks for a vacancy, as it must</td>
 * </tr>
 * </table>
 * How surplus threads expire: by arrival every promotion goes to the one that waited the
 * longest, so nobody waits for the keep-alive time as long as promotions reach all of
 * them within it; the pool shrinks only when they become rare, and then ends first the
 * one that would have been promoted next. By priority those of the lowest rank expire,
 * among equals those that waited the longest, as on the stack. One whose time is up and
 * that waits again because it is not surplus counts as newly arrived.
 */
final class OrderedFollowers extends Followers {

	private final Object lock = new Object();

	private final boolean byPriority;

	/** The ends of the queues, by rank. Guarded by the lock, as are the links. */
	private final @Nullable Follower[] newest;

	private final @Nullable Follower[] oldest;

	/** How many are in the queues. Written under the lock. */
	private volatile int count;

	/**
	 * Whether somebody is under way. Set under the lock, cleared by the one under way.
	 */
	private volatile boolean underWay;

	OrderedFollowers(boolean byPriority) {
		this.byPriority = byPriority;
		int ranks = byPriority ? Thread.MAX_PRIORITY + 1 : 1;
		this.newest = new @Nullable Follower[ranks];
		this.oldest = new @Nullable Follower[ranks];
	}

	@Override
	public Signal signal() {
		if (this.underWay) {
			return Signal.ALREADY_UNDER_WAY;
		}
		Thread thread;
		synchronized (this.lock) {
			if (this.underWay) {
				return Signal.ALREADY_UNDER_WAY;
			}
			// Before the permit: who sees that it is signalled clears the mark.
			this.underWay = true;
			Follower first = first();
			if (first == null) {
				return Signal.NOBODY_WAITS;
			}
			unlink(first);
			// Afterwards the place may be another thread's already.
			thread = first.thread();
			first.signal();
		}
		LockSupport.unpark(thread);
		return Signal.WOKEN;
	}

	@Override
	public void arrive() {
		this.underWay = false;
	}

	@Override
	public void enqueue(Follower follower) {
		int rank = this.byPriority ? follower.thread().getPriority() : 0;
		synchronized (this.lock) {
			follower.beginWaiting();
			link(follower, rank);
		}
	}

	@Override
	public boolean leave(Follower follower) {
		synchronized (this.lock) {
			if (follower.isWaiting()) {
				unlink(follower);
				follower.endWaiting();
				return true;
			}
		}
		follower.consumeSignal();
		arrive();
		return false;
	}

	@Override
	public boolean isUnderWay() {
		return this.underWay;
	}

	@Override
	public boolean isEmpty() {
		return this.count == 0;
	}

	@Override
	public int waiting() {
		return this.count;
	}

	private @Nullable Follower first() {
		if (!this.byPriority) {
			return this.oldest[0];
		}
		for (int rank = Thread.MAX_PRIORITY; rank >= Thread.MIN_PRIORITY; rank--) {
			Follower candidate = this.newest[rank];
			if (candidate != null) {
				return candidate;
			}
		}
		return null;
	}

	private void link(Follower follower, int rank) {
		Follower older = this.newest[rank];
		follower.rank = rank;
		follower.older = older;
		if (older != null) {
			older.newer = follower;
		}
		else {
			this.oldest[rank] = follower;
		}
		this.newest[rank] = follower;
		this.count = this.count + 1;
	}

	private void unlink(Follower follower) {
		Follower older = follower.older;
		Follower newer = follower.newer;
		if (older != null) {
			older.newer = newer;
		}
		else {
			this.oldest[follower.rank] = newer;
		}
		if (newer != null) {
			newer.older = older;
		}
		else {
			this.newest[follower.rank] = older;
		}
		follower.older = null;
		follower.newer = null;
		this.count = this.count - 1;
	}

}
