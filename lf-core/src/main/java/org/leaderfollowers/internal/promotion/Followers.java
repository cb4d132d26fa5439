package org.leaderfollowers.internal.promotion;

import java.util.function.BooleanSupplier;

/**
 * The followers of a pool: the threads that wait to be promoted, each with a private
 * permit, and the rule that at most one of them is on its way at a time.
 * <p>
 * Which of them is promoted is the promotion protocol (the paper, activity 5.2):
 * {@link #lifo}, {@link #fifo} or {@link #byPriority}. It is a choice among those that
 * wait. A thread that is awake takes a vacancy before any of them, whatever the order.
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
 * sees the vacancy, or the one who vacated sees it waiting</td>
 * </tr>
 * <tr>
 * <td>{@link #signal}: take one that waits and mark it as under way</td>
 * <td>a thread that left a vacancy</td>
 * <td>refused while somebody is under way: that one will find the vacancy, a second
 * wake-up would be for nothing</td>
 * </tr>
 * <tr>
 * <td>{@link #arrive}: clear the mark</td>
 * <td>whoever was under way</td>
 * <td><em>before</em> it tries to take a vacancy: a vacancy published after the attempt
 * is then signalled by whoever published it</td>
 * </tr>
 * <tr>
 * <td>{@link #leave}</td>
 * <td>the follower itself</td>
 * <td>it found a vacancy by itself, or its time is up. If it was signalled at the same
 * moment it has arrived instead: the mark is its to clear</td>
 * </tr>
 * </table>
 * The permit of each {@link Follower} has its own table there.
 */
public abstract sealed class Followers permits LifoFollowers, OrderedFollowers {

	Followers() {
	}

	/**
	 * Followers of which the one that waited the shortest is promoted first. Lock-free
	 * but for the first time that a slot is used.
	 * @return nobody waits yet
	 */
	public static Followers lifo() {
		return new LifoFollowers();
	}

	/**
	 * Followers of which the one that waited the longest is promoted first.
	 * @return nobody waits yet
	 */
	public static Followers fifo() {
		return new OrderedFollowers(false);
	}

	/**
	 * Followers of which the one with the highest {@link Thread#getPriority() priority}
	 * is promoted first, and among equals the one that waited the shortest. The priority
	 * is the one that a thread has when it begins to wait.
	 * @return nobody waits yet
	 */
	public static Followers byPriority() {
		return new OrderedFollowers(true);
	}

	/**
	 * What came of an attempt to wake somebody.
	 */
	public enum Signal {

		/** A follower was woken; it is under way. */
		WOKEN,

		/** Somebody is under way already and will find the vacancy. */
		ALREADY_UNDER_WAY,

		/**
		 * Nobody waits. The caller holds the mark: it starts a thread, which then is the
		 * one under way, or {@link Followers#arrive() clears the mark} and looks again.
		 */
		NOBODY_WAITS

	}

	/**
	 * Wakes the follower whose turn it is, unless somebody is under way.
	 * @return what came of it
	 */
	public abstract Signal signal();

	/**
	 * Clears the mark of the one under way, who is the only one to call this. It must
	 * look for vacancies afterwards, not before.
	 */
	public abstract void arrive();

	/**
	 * Publishes the caller as waiting. It must look for a vacancy after this and before
	 * it {@link #await waits}.
	 * @param follower the caller's
	 */
	public abstract void enqueue(Follower follower);

	/**
	 * Takes the caller back from the waiting: it found a vacancy by itself, or its time
	 * is up.
	 * @param follower the caller's
	 * @return {@code false} if it was signalled at the same moment: it has arrived, and
	 * what it was signalled for is its to find
	 */
	public abstract boolean leave(Follower follower);

	/**
	 * Takes the caller back whatever state it is in, because its thread has failed. A
	 * signal that it got is passed on by whoever finds the vacancy that its end leaves.
	 * @param follower the caller's
	 */
	public final void abandon(Follower follower) {
		if (follower.isWaiting() || follower.isSignalled()) {
			leave(follower);
		}
	}

	/**
	 * Waits for a signal. On return with {@code true} the caller has arrived: it must
	 * look for a vacancy.
	 * @param follower the caller's
	 * @param deadlineNanos when to give up, by the clock of the follower
	 * @param cancelled looked at after every wake-up. An interrupt that cancels the wait
	 * stays set for the caller; any other is cleared
	 * @return {@code true} if signalled, {@code false} if time is up or it was cancelled:
	 * the caller is still published and must {@link #leave}
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
				// It would turn the wait into a spin.
				Thread.interrupted();
			}
		}
		follower.consumeSignal();
		arrive();
		return true;
	}

	/**
	 * Whether the mark is set: a follower is under way, or whoever holds the mark starts
	 * a thread or looks again.
	 * @return whether somebody will look for vacancies after this
	 */
	public abstract boolean isUnderWay();

	/**
	 * Whether there is nobody to be found by {@link #signal}. If not, those who are there
	 * may be some that left by themselves; see {@link #waiting}.
	 * @return whether nobody at all waits
	 */
	public abstract boolean isEmpty();

	/**
	 * How many threads wait: an estimate. It may be out of date when it is returned; and
	 * in LIFO order it counts, beside those that wait, each one that left by itself until
	 * somebody comes upon its place: a leader that was a follower, or a thread that has
	 * ended.
	 * @return from 0 to the number of slots in use
	 */
	public abstract int waiting();

}
