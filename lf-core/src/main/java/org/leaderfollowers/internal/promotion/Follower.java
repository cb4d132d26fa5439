package org.leaderfollowers.internal.promotion;

import java.util.concurrent.atomic.AtomicInteger;

import org.jspecify.annotations.Nullable;

/**
 * The place of one thread among the {@link Followers}, and its private permit.
 * <table border="1">
 * <caption>Transitions of the permit</caption>
 * <tr>
 * <th>from</th>
 * <th>to</th>
 * <th>by</th>
 * <th>why</th>
 * </tr>
 * <tr>
 * <td>OUT</td>
 * <td>WAITING</td>
 * <td>owner</td>
 * <td>it is about to push itself onto the stack, or to link itself into a queue</td>
 * </tr>
 * <tr>
 * <td>WAITING</td>
 * <td>SIGNALLED</td>
 * <td>who popped or unlinked it</td>
 * <td>it is under way now</td>
 * </tr>
 * <tr>
 * <td>SIGNALLED</td>
 * <td>OUT</td>
 * <td>owner</td>
 * <td>it has arrived</td>
 * </tr>
 * <tr>
 * <td>WAITING</td>
 * <td>OUT</td>
 * <td>owner</td>
 * <td>in a queue: it found a vacancy by itself, or its thread ends; it has unlinked
 * itself</td>
 * </tr>
 * <tr>
 * <td>WAITING</td>
 * <td>AWAY</td>
 * <td>owner</td>
 * <td>on the stack: it found a vacancy by itself, or its thread ends; its place cannot be
 * cut out of the middle and stays, for the next thread if this one ends</td>
 * </tr>
 * <tr>
 * <td>AWAY</td>
 * <td>WAITING</td>
 * <td>owner</td>
 * <td>on the stack: it waits again and is still there: nothing to push</td>
 * </tr>
 * <tr>
 * <td>AWAY</td>
 * <td>OUT</td>
 * <td>who popped it</td>
 * <td>on the stack: nobody is there to be woken; the place is gone</td>
 * </tr>
 * </table>
 * On the stack a step is a compare-and-set. "Who popped it" is one thread only: a place
 * is popped once. It may come late, when the owner has gone AWAY and is WAITING again;
 * then the owner is signalled, which is right, for it is no longer on the stack.
 * <p>
 * In a queue every step from or to WAITING is made under the lock of the queue. A place
 * is in it if and only if it is WAITING, for all who hold the lock.
 * <p>
 * A slot is given to a new thread together with its place, which may be on the stack
 * still: see {@link #handOver(Thread)}.
 */
public final class Follower {

	/** The highest slot. */
	public static final int MAX_SLOT = (1 << 15) - 1;

	private static final int OUT = 0;

	private static final int WAITING = 1;

	private static final int SIGNALLED = 2;

	private static final int AWAY = 3;

	private final AtomicInteger permit = new AtomicInteger(OUT);

	final int slot;

	private volatile Thread thread;

	final Clock clock;

	/** The slot below on the stack; fixed while this one is on it. */
	volatile int below;

	/**
	 * Which queue it is in, and its neighbours there. Guarded by the lock of the queue.
	 */
	int rank;

	@Nullable Follower older;

	@Nullable Follower newer;

	/**
	 * Creates a follower that is not waiting.
	 * @param slot its slot, from 1 to {@link #MAX_SLOT}; the only follower with this slot
	 * @param thread the thread to wake
	 */
	public Follower(int slot, Thread thread) {
		this(slot, thread, Clock.SYSTEM);
	}

	/**
	 * Creates a follower that is not waiting.
	 * @param slot its slot, from 1 to {@link #MAX_SLOT}; the only follower with this slot
	 * @param thread the thread to wake
	 * @param clock tells it for how long it has waited
	 */
	public Follower(int slot, Thread thread, Clock clock) {
		if (slot < 1 || slot > MAX_SLOT) {
			throw new IllegalArgumentException("'slot' must be from 1 to %d, but is %d".formatted(MAX_SLOT, slot));
		}
		this.slot = slot;
		this.thread = thread;
		this.clock = clock;
	}

	/**
	 * Gives the place to a new thread, when the old one has ended. If the place is on the
	 * stack still, the new thread will wait in it; were the place not to be reused until
	 * it is popped, threads that come and go while the leader just waits would use up all
	 * slots.
	 * @param successor the new owner
	 * @return whether the place can be given away
	 */
	public boolean handOver(Thread successor) {
		int current = this.permit.get();
		if (current != OUT && current != AWAY) {
			return false;
		}
		// Who pops or unlinks it reads this only after the successor has begun to wait.
		this.thread = successor;
		return true;
	}

	Thread thread() {
		return this.thread;
	}

	boolean isWaiting() {
		return this.permit.get() == WAITING;
	}

	boolean isSignalled() {
		return this.permit.get() == SIGNALLED;
	}

	void beginWaiting() {
		this.permit.set(WAITING);
	}

	void consumeSignal() {
		this.permit.set(OUT);
	}

	// On the stack

	boolean waitAgainInPlace() {
		return this.permit.compareAndSet(AWAY, WAITING);
	}

	boolean goAway() {
		return this.permit.compareAndSet(WAITING, AWAY);
	}

	/**
	 * To be called once by the thread that took this place off the stack.
	 * @return whether the owner is to be woken
	 */
	boolean popped() {
		for (;;) {
			if (this.permit.compareAndSet(WAITING, SIGNALLED)) {
				return true;
			}
			if (this.permit.compareAndSet(AWAY, OUT)) {
				return false;
			}
			// The owner went from AWAY to WAITING between the two attempts.
		}
	}

	// In a queue, under its lock

	void signal() {
		this.permit.set(SIGNALLED);
	}

	void endWaiting() {
		this.permit.set(OUT);
	}

}
