package org.leaderfollowers.internal.promotion;

import java.util.function.BooleanSupplier;

/**
 * The followers of a pool: the threads that wait to be promoted. Each has a private
 * permit, and at most one of them is on its way to a vacancy at a time.
 * <p>
 * The order of promotion is the promotion protocol (the paper, activity 5.2):
 * {@link #lifo}, {@link #fifo} or {@link #byPriority}. The order applies only to waiting
 * threads. A thread that is awake takes a vacancy before any of them, whatever the order.
 * <p>
 * The rules are the same in every order:
 * <table border="1">
 * <caption>Steps, and what each must come before</caption>
 * <tr>
 * <th>step</th>
 * <th>by</th>
 * <th>why</th>
 * </tr>
 * <tr>
 * <td>{@link #enqueue}</td>
 * <td>the follower itself</td>
 * <td>published as waiting <em>before</em> it looks for a vacancy once more: either it
 * sees the vacancy, or the thread that left the vacancy sees it waiting</td>
 * </tr>
 * <tr>
 * <td>{@link #signal}: take a waiting follower and mark it as under way</td>
 * <td>a thread that left a vacancy</td>
 * <td>refused while a thread is under way: that thread will find the vacancy, and a
 * second wake-up would be useless</td>
 * </tr>
 * <tr>
 * <td>{@link #arrive}: clear the mark</td>
 * <td>the thread that was under way</td>
 * <td><em>before</em> it tries to take a vacancy: a vacancy published after the attempt
 * is then signalled by the thread that published it</td>
 * </tr>
 * <tr>
 * <td>{@link #leave}</td>
 * <td>the follower itself</td>
 * <td>it has found a vacancy itself, or its deadline has passed. If it was signalled at
 * the same moment, it has arrived instead, and must clear the mark</td>
 * </tr>
 * </table>
 * {@link Follower} contains the table of the permits.
 */
public abstract sealed class Followers permits LifoFollowers, OrderedFollowers {

	Followers() {
	}

	/**
	 * Creates followers of which the one with the shortest wait is promoted first.
	 * Lock-free, except for the first use of a slot.
	 * @return an object without waiting followers
	 */
	public static Followers lifo() {
		return new LifoFollowers();
	}

	/**
	 * Creates followers of which the one with the longest wait is promoted first.
	 * @return an object without waiting followers
	 */
	public static Followers fifo() {
		return new OrderedFollowers(false);
	}

	/**
	 * Creates followers of which the one with the highest {@link Thread#getPriority()
	 * priority} is promoted first and, among equals, the one with the shortest wait. The
	 * priority is read when a thread begins to wait.
	 * @return an object without waiting followers
	 */
	public static Followers byPriority() {
		return new OrderedFollowers(true);
	}

	/** The result of an attempt to wake a follower. */
	public enum Signal {

		/** A follower was woken and is now under way. */
		WOKEN,

		/** Another thread is already under way and will find the vacancy. */
		ALREADY_UNDER_WAY,

		/**
		 * No follower waits. The caller now holds the under-way mark. It either starts a
		 * thread, which then is under way, or {@link Followers#arrive() clears the mark}
		 * and looks again.
		 */
		NOBODY_WAITS

	}

	/**
	 * Wakes the next follower, unless a thread is under way.
	 * @return the result
	 */
	public abstract Signal signal();

	/**
	 * Clears the under-way mark. Only the thread that is under way may call this method.
	 * It must look for vacancies afterwards, not before.
	 */
	public abstract void arrive();

	/**
	 * Publishes the caller as waiting. The caller must look for a vacancy after this call
	 * and before it {@link #await waits}.
	 * @param follower the place of the caller
	 */
	public abstract void enqueue(Follower follower);

	/**
	 * Withdraws the caller, because it has found a vacancy itself or its deadline has
	 * passed.
	 * @param follower the place of the caller
	 * @return {@code false} if it was signalled at the same moment: the caller has then
	 * arrived, and must look for the vacancy that the signal was for
	 */
	public abstract boolean leave(Follower follower);

	/**
	 * Withdraws the caller in any state, because its thread has failed. If it was
	 * signalled, the thread that finds the vacancy left by its end passes the signal on.
	 * @param follower the place of the caller
	 */
	public final void abandon(Follower follower) {
		if (follower.isWaiting() || follower.isSignalled()) {
			leave(follower);
		}
	}

	/**
	 * Waits for a signal. If it returns {@code true}, the caller has arrived and must
	 * look for a vacancy.
	 * @param follower the place of the caller
	 * @param deadlineNanos when to give up, by the clock of the follower
	 * @param cancelled checked after every wake-up. If an interrupt cancels the wait, its
	 * status stays set for the caller; otherwise it is cleared
	 * @return {@code true} if signalled; {@code false} if the deadline has passed or the
	 * wait was cancelled: the caller is still published and must {@link #leave}
	 */
	public final boolean await(Follower follower, long deadlineNanos, BooleanSupplier cancelled) {
		while (follower.isWaiting()) {
			long left = deadlineNanos - follower.clock.nanoTime();
			if (left <= 0 || cancelled.getAsBoolean()) {
				return false;
			}
			follower.clock.parkNanos(this, left);
			if (Thread.interrupted()) {
				// Whether it cancels the wait is asked with the status set. A later
				// interrupt cannot be lost then: it finds the status set, or sets it.
				Thread.currentThread().interrupt();
				if (cancelled.getAsBoolean()) {
					return false;
				}
				// The interrupt status would turn the wait into a busy loop.
				follower.deferInterrupt();
			}
		}
		follower.consumeSignal();
		arrive();
		return true;
	}

	/**
	 * Whether the under-way mark is set: a follower is under way, or the holder of the
	 * mark is about to start a thread or to look again.
	 * @return whether a thread will look for vacancies after this call
	 */
	public abstract boolean isUnderWay();

	/**
	 * Whether {@link #signal} cannot find any place. The places that it finds may belong
	 * to threads that have withdrawn; see {@link #waiting}.
	 * @return whether there is no place
	 */
	public abstract boolean isEmpty();

	/**
	 * Estimates how many threads wait. The number may be out of date. In LIFO order, it
	 * also counts threads that have withdrawn, until their places are popped: leaders
	 * that were followers, and threads that have ended.
	 * @return from 0 to the number of slots in use
	 */
	public abstract int waiting();

}
