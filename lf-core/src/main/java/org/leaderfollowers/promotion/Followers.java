package org.leaderfollowers.promotion;

import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicReferenceArray;
import java.util.concurrent.locks.LockSupport;
import java.util.function.BooleanSupplier;

/**
 * The followers of a pool: a stack of waiting threads, each with a private permit, and
 * the rule that at most one of them is on its way at a time.
 * <p>
 * LIFO order keeps the caches warm (the paper, activity 5.2): the thread that waited the
 * shortest is woken first, and the coldest expire at the bottom. The stack is a Treiber
 * stack whose top, version and <em>under way</em> mark share one atomic word, so that
 * popping a follower and marking it as under way are one step. The version makes reuse of
 * a slot harmless.
 * <p>
 * The word:
 * <table border="1">
 * <caption>Transitions of the stack word</caption>
 * <tr>
 * <th>step</th>
 * <th>by</th>
 * <th>why</th>
 * </tr>
 * <tr>
 * <td>push</td>
 * <td>the follower itself</td>
 * <td>published as waiting <em>before</em> it looks for a vacancy once more: either it
 * sees the vacancy, or the one who vacated sees it on the stack</td>
 * </tr>
 * <tr>
 * <td>pop + mark under way</td>
 * <td>a thread that left a vacancy</td>
 * <td>refused while somebody is under way: that one will find the vacancy, a second
 * wake-up would be for nothing</td>
 * </tr>
 * <tr>
 * <td>clear the mark</td>
 * <td>whoever was under way</td>
 * <td><em>before</em> it tries to take a vacancy: a vacancy published after the attempt
 * is then signalled by whoever published it</td>
 * </tr>
 * </table>
 * The permit of each {@link Follower} has its own table there.
 */
public final class Followers {

	private static final long TOP_MASK = 0xFFFFL;

	private static final long UNDER_WAY = 1L << 16;

	private static final int VERSION_SHIFT = 32;

	/** {@code version << 32 | under way << 16 | top slot, 0 = empty}. */
	private final AtomicLong word = new AtomicLong();

	/** The followers by slot; index 0 is never used. */
	private final AtomicReferenceArray<Follower> slots;

	/**
	 * Creates an empty stack.
	 * @param capacity the highest slot in use, up to {@link Leadership#MAX_PARTICIPANT}
	 */
	public Followers(int capacity) {
		this.slots = new AtomicReferenceArray<>(capacity + 1);
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
	 * Wakes the follower that waited the shortest, unless somebody is under way.
	 * @return what came of it
	 */
	public Signal signal() {
		long current = this.word.get();
		if ((current & UNDER_WAY) != 0) {
			return Signal.ALREADY_UNDER_WAY;
		}
		boolean marked = false;
		for (;;) {
			int top = (int) (current & TOP_MASK);
			Follower follower = (top != 0) ? this.slots.get(top) : null;
			int below = (follower != null) ? follower.below : 0;
			if (this.word.compareAndSet(current, nextVersion(current) | UNDER_WAY | below)) {
				marked = true;
				if (follower == null) {
					return Signal.NOBODY_WAITS;
				}
				if (follower.popped()) {
					LockSupport.unpark(follower.thread());
					return Signal.WOKEN;
				}
				// It left by itself in the meantime: the next one, still under our mark.
			}
			current = this.word.get();
			if (!marked && (current & UNDER_WAY) != 0) {
				return Signal.ALREADY_UNDER_WAY;
			}
		}
	}

	/**
	 * Clears the mark of the one under way. It must look for vacancies afterwards, not
	 * before.
	 */
	public void arrive() {
		long current;
		do {
			current = this.word.get();
		}
		while (!this.word.compareAndSet(current, current & ~UNDER_WAY));
	}

	/**
	 * Publishes the caller as waiting. It must look for a vacancy after this and before
	 * it {@link #await waits}.
	 * @param follower the caller's
	 */
	public void enqueue(Follower follower) {
		if (follower.waitAgainInPlace()) {
			return;
		}
		follower.beginWaiting();
		this.slots.set(follower.slot, follower);
		long current;
		do {
			current = this.word.get();
			follower.below = (int) (current & TOP_MASK);
		}
		while (!this.word.compareAndSet(current, nextVersion(current) | (current & UNDER_WAY) | follower.slot));
	}

	/**
	 * Takes the caller back from the waiting: it found a vacancy by itself, or its time
	 * is up.
	 * @param follower the caller's
	 * @return {@code false} if it was signalled at the same moment: it has arrived, and
	 * what it was signalled for is its to find
	 */
	public boolean leave(Follower follower) {
		if (follower.goAway()) {
			return true;
		}
		follower.consumeSignal();
		arrive();
		return false;
	}

	/**
	 * Takes the caller back whatever state it is in, because its thread has failed. A
	 * signal that it got is passed on by whoever finds the vacancy that its end leaves.
	 * @param follower the caller's
	 */
	public void abandon(Follower follower) {
		if (follower.isWaiting() || follower.isSignalled()) {
			leave(follower);
		}
	}

	/**
	 * Waits for a signal. On return with {@code true} the caller has arrived: it must
	 * look for a vacancy.
	 * @param follower the caller's
	 * @param deadlineNanos when to give up, {@link System#nanoTime()}
	 * @param cancelled looked at after every wake-up
	 * @return {@code true} if signalled, {@code false} if time is up or it was cancelled:
	 * the caller is still published and must {@link #leave}
	 */
	public boolean await(Follower follower, long deadlineNanos, BooleanSupplier cancelled) {
		while (follower.isWaiting()) {
			long left = deadlineNanos - System.nanoTime();
			if (left <= 0 || cancelled.getAsBoolean()) {
				return false;
			}
			LockSupport.parkNanos(this, left);
			// An interrupt must not turn the wait into a spin; it means nothing here.
			Thread.interrupted();
		}
		follower.consumeSignal();
		arrive();
		return true;
	}

	/**
	 * Whether the stack holds anybody, among them perhaps some that left by themselves.
	 * @return whether nobody at all is on the stack
	 */
	public boolean isEmpty() {
		return (this.word.get() & TOP_MASK) == 0;
	}

	public int waiting() {
		return 0;
	}

	private static long nextVersion(long word) {
		return ((word >>> VERSION_SHIFT) + 1) << VERSION_SHIFT;
	}

}
