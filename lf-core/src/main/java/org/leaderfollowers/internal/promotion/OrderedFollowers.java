package org.leaderfollowers.internal.promotion;

import java.util.concurrent.locks.LockSupport;

import org.jspecify.annotations.Nullable;

/**
 * Followers in the order of their arrival, the oldest first, or of the priorities of
 * their threads, the highest first. A single atomic word cannot express these orders, so
 * there are queues under a lock. The lock is held for a few assignments, during which
 * nothing waits or allocates; threads are woken after it was released.
 * <p>
 * There is one queue for each rank, linked through the {@link Follower}s themselves, from
 * the oldest to the newest. In order of arrival, all have the same rank, and the oldest
 * is taken; in order of priority, the newest of the highest rank is taken. Every step
 * therefore takes the same time, whatever the number of waiting threads. A place can be
 * removed from the middle, so a thread that has withdrawn leaves no place behind.
 * <p>
 * Words that the lock does not guard:
 * <table border="1">
 * <caption>Words that are read or written without the lock</caption>
 * <tr>
 * <th>word</th>
 * <th>step</th>
 * <th>why this is correct</th>
 * </tr>
 * <tr>
 * <td>mark</td>
 * <td>read by a signalling thread before it takes the lock</td>
 * <td>if a thread is under way, it will look for vacancies later. If none is, the mark is
 * read again under the lock</td>
 * </tr>
 * <tr>
 * <td>mark</td>
 * <td>cleared by the thread that is under way</td>
 * <td>no other thread clears or sets it meanwhile. It is set <em>before</em> the permit
 * of the signalled follower, which may see the permit and arrive while the signalling
 * thread still holds the lock</td>
 * </tr>
 * <tr>
 * <td>permit</td>
 * <td>read by its owner, which waits for a signal</td>
 * <td>only the owner changes SIGNALLED. If it still sees WAITING, it decides again under
 * the lock when it withdraws</td>
 * </tr>
 * <tr>
 * <td>count</td>
 * <td>read by any thread</td>
 * <td>a follower counts itself before it looks for a vacancy, as it must</td>
 * </tr>
 * </table>
 * How surplus threads expire: in order of arrival, every promotion goes to the thread
 * with the longest wait. As long as promotions reach all threads within the keep-alive
 * time, none expires. If promotions become rare, the thread that would have been promoted
 * next expires first. In order of priority, threads of the lowest rank expire and, among
 * equals, those with the longest wait, as on the stack. A thread whose keep-alive time
 * has passed, but which is not surplus, waits again and counts as newly arrived.
 */
final class OrderedFollowers extends Followers {

	private final Object lock = new Object();

	private final boolean byPriority;

	/** The ends of the queues, by rank. Guarded by the lock, as are the links. */
	private final @Nullable Follower[] newest;

	private final @Nullable Follower[] oldest;

	/** The number of places in the queues. Written under the lock. */
	private volatile int count;

	/**
	 * The under-way mark. Set under the lock; cleared by the thread that is under way.
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
			// Before the permit: a thread that sees that it is signalled clears the mark.
			this.underWay = true;
			Follower first = first();
			if (first == null) {
				return Signal.NOBODY_WAITS;
			}
			unlink(first);
			// Read now, because the place may belong to another thread afterwards.
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
