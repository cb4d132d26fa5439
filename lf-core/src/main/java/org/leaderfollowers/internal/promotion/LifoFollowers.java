package org.leaderfollowers.internal.promotion;

import java.util.Arrays;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.LockSupport;

import org.jspecify.annotations.Nullable;

/**
 * Followers on a stack.
 * <p>
 * LIFO order keeps the caches warm (the paper, activity 5.2): the thread with the
 * shortest wait is woken first, and the threads at the bottom expire. The stack is a
 * Treiber stack whose top, depth, version and <em>under way</em> mark share one atomic
 * word, so that popping a follower and marking it as under way are one step. The version
 * makes reuse of a slot harmless.
 * <p>
 * The word:
 * <table border="1">
 * <caption>Transitions of the stack word</caption>
 * <tr>
 * <th>step</th>
 * <th>top, depth</th>
 * <th>mark</th>
 * <th>version</th>
 * </tr>
 * <tr>
 * <td>push, by the follower itself</td>
 * <td>its slot, one more</td>
 * <td>unchanged</td>
 * <td>next</td>
 * </tr>
 * <tr>
 * <td>pop, by a thread that left a vacancy</td>
 * <td>the slot below, one less</td>
 * <td>set; refused if another thread has set it</td>
 * <td>next</td>
 * </tr>
 * <tr>
 * <td>pop from the empty stack, by a thread that left a vacancy</td>
 * <td>0, 0</td>
 * <td>set; refused if another thread has set it</td>
 * <td>next</td>
 * </tr>
 * <tr>
 * <td>clear the mark, by the thread that was under way</td>
 * <td>unchanged</td>
 * <td>cleared</td>
 * <td>unchanged</td>
 * </tr>
 * </table>
 */
final class LifoFollowers extends Followers {

	private static final long TOP_MASK = 0xFFFFL;

	private static final long UNDER_WAY = 1L << 16;

	private static final int DEPTH_SHIFT = 17;

	private static final long ONE_DEEP = 1L << DEPTH_SHIFT;

	/** Each slot is on the stack at most once, so the depth cannot overflow. */
	private static final long DEPTH_MASK = (long) Follower.MAX_SLOT << DEPTH_SHIFT;

	private static final int VERSION_SHIFT = 32;

	private static final int INITIAL_LENGTH = 16;

	/** {@code version << 32 | depth << 17 | under way << 16 | top slot, 0 = empty}. */
	private final AtomicLong word = new AtomicLong();

	/**
	 * The followers by slot; index 0 is never used. Replaced by a longer copy if
	 * necessary. A slot is written once, under the lock, before it is pushed. A thread
	 * that has read the slot from the word and reads this field afterwards therefore
	 * finds it.
	 */
	private volatile @Nullable Follower[] slots = new @Nullable Follower[INITIAL_LENGTH];

	private final Object slotsLock = new Object();

	@Override
	public Signal signal() {
		long current = this.word.get();
		if ((current & UNDER_WAY) != 0) {
			return Signal.ALREADY_UNDER_WAY;
		}
		boolean marked = false;
		for (;;) {
			int top = (int) (current & TOP_MASK);
			Follower follower = (top != 0) ? this.slots[top] : null;
			long popped = (follower != null) ? (depth(current) - ONE_DEEP) | follower.below : 0;
			if (this.word.compareAndSet(current, nextVersion(current) | UNDER_WAY | popped)) {
				marked = true;
				if (follower == null) {
					return Signal.NOBODY_WAITS;
				}
				if (follower.popped()) {
					LockSupport.unpark(follower.thread());
					return Signal.WOKEN;
				}
				// The follower has withdrawn meanwhile: take the next one, still under
				// our mark.
			}
			current = this.word.get();
			if (!marked && (current & UNDER_WAY) != 0) {
				return Signal.ALREADY_UNDER_WAY;
			}
		}
	}

	@Override
	public void arrive() {
		long current;
		do {
			current = this.word.get();
		}
		while (!this.word.compareAndSet(current, current & ~UNDER_WAY));
	}

	@Override
	public void enqueue(Follower follower) {
		if (follower.waitAgainInPlace()) {
			return;
		}
		if (!hasSlot(follower)) {
			giveSlot(follower);
		}
		follower.beginWaiting();
		long current;
		long pushed;
		do {
			current = this.word.get();
			follower.below = (int) (current & TOP_MASK);
			pushed = (depth(current) + ONE_DEEP) | follower.slot;
		}
		while (!this.word.compareAndSet(current, nextVersion(current) | (current & UNDER_WAY) | pushed));
	}

	private boolean hasSlot(Follower follower) {
		@Nullable Follower[] current = this.slots;
		return follower.slot < current.length && current[follower.slot] == follower;
	}

	private void giveSlot(Follower follower) {
		synchronized (this.slotsLock) {
			@Nullable Follower[] current = this.slots;
			if (follower.slot >= current.length) {
				current = Arrays.copyOf(current, Math.max(2 * current.length, follower.slot + 1));
			}
			current[follower.slot] = follower;
			this.slots = current;
		}
	}

	@Override
	public boolean leave(Follower follower) {
		if (follower.goAway()) {
			return true;
		}
		follower.consumeSignal();
		arrive();
		return false;
	}

	@Override
	public boolean isUnderWay() {
		return (this.word.get() & UNDER_WAY) != 0;
	}

	@Override
	public boolean isEmpty() {
		return (this.word.get() & TOP_MASK) == 0;
	}

	@Override
	public int waiting() {
		return (int) (depth(this.word.get()) >>> DEPTH_SHIFT);
	}

	/** The depth, shifted to its bits in the word. */
	private static long depth(long word) {
		return word & DEPTH_MASK;
	}

	private static long nextVersion(long word) {
		return ((word >>> VERSION_SHIFT) + 1) << VERSION_SHIFT;
	}

}
