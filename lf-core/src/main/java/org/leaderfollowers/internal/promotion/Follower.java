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
 * <td>the thread that popped or unlinked it</td>
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
 * <td>in a queue: it has found a vacancy itself, or its thread ends; it has unlinked
 * itself</td>
 * </tr>
 * <tr>
 * <td>WAITING</td>
 * <td>AWAY</td>
 * <td>owner</td>
 * <td>on the stack: it has found a vacancy itself, or its thread ends. A place cannot be
 * removed from the middle of the stack, so it stays. If the thread ends, the next thread
 * gets the place</td>
 * </tr>
 * <tr>
 * <td>AWAY</td>
 * <td>WAITING</td>
 * <td>owner</td>
 * <td>on the stack: it waits again, and its place is still there, so nothing is
 * pushed</td>
 * </tr>
 * <tr>
 * <td>AWAY</td>
 * <td>OUT</td>
 * <td>the thread that popped it</td>
 * <td>on the stack: there is no thread to wake, and the place is removed</td>
 * </tr>
 * </table>
 * On the stack, each step is a compare-and-set. A place is popped by one thread only. If
 * this thread comes late, the owner may have gone AWAY and be WAITING again. The owner is
 * then signalled, which is correct because it is no longer on the stack.
 * <p>
 * In a queue, every step from or to WAITING is made under the lock of the queue. For
 * every thread that holds the lock, a place is in the queue if and only if it is WAITING.
 * <p>
 * A new thread gets a slot together with its place, which may still be on the stack: see
 * {@link #handOver(Thread)}.
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

	/**
	 * The slot below on the stack; it does not change while this place is on the stack.
	 */
	volatile int below;

	/**
	 * The queue that it is in, and its neighbours there. Guarded by the lock of the
	 * queue.
	 */
	int rank;

	@Nullable Follower older;

	@Nullable Follower newer;

	/** Whether the owner was interrupted. Used by the owner only. */
	private boolean interrupted;

	/**
	 * Creates a follower that is not waiting.
	 * @param slot its slot, from 1 to {@link #MAX_SLOT}, which no other follower has
	 * @param thread the thread to wake
	 */
	public Follower(int slot, Thread thread) {
		this(slot, thread, Clock.SYSTEM);
	}

	/**
	 * Creates a follower that is not waiting.
	 * @param slot its slot, from 1 to {@link #MAX_SLOT}, which no other follower has
	 * @param thread the thread to wake
	 * @param clock the clock of the waits
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
	 * Passes the place to a new thread when the old one has ended. If the place is still
	 * on the stack, the new thread will wait in it. Otherwise threads that come and go
	 * while the leader only waits would use up all slots.
	 * @param successor the new owner
	 * @return whether the place can be given away
	 */
	public boolean handOver(Thread successor) {
		int current = this.permit.get();
		if (current != OUT && current != AWAY) {
			return false;
		}
		// The thread that pops or unlinks the place reads this field only after the
		// successor has begun to wait.
		this.thread = successor;
		this.interrupted = false;
		return true;
	}

	void deferInterrupt() {
		if (Thread.interrupted()) {
			this.interrupted = true;
		}
	}

	boolean isInterruptDeferred() {
		return this.interrupted;
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
	 * Must be called once by the thread that removed this place from the stack.
	 * @return whether to wake the owner
	 */
	boolean popped() {
		for (;;) {
			if (this.permit.compareAndSet(WAITING, SIGNALLED)) {
				return true;
			}
			if (this.permit.compareAndSet(AWAY, OUT)) {
				return false;
			}
			// The owner went from AWAY to WAITING between the two attempts, so it is
			// signalled now.
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
