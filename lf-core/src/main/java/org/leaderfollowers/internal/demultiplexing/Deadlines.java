package org.leaderfollowers.internal.demultiplexing;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;

import org.jspecify.annotations.Nullable;

/**
 * The deadlines of the handles of one handle set: a binary heap with at most one entry
 * for each handle. Only the leader uses it.
 * <p>
 * If a deadline moves later, as each message does with the idle timeout, nothing changes
 * here. When the entry is due, the handle is asked for its next deadline, and the entry
 * is moved there. Only a deadline that moves earlier has to be scheduled again.
 * <p>
 * Each handle knows its index in the heap, so its entry is removed as soon as the
 * connection closes. Connections that are opened and closed at a high rate leave no
 * entries behind. The leader knows the next deadline exactly, and wakes up for no other
 * reason. A hashed wheel (we tried Agrona's) schedules in constant time instead of a
 * dozen comparisons. But it must be turned even if nothing is due, and each slot reserves
 * room for as many entries as the fullest one: 10,000 connections opened in one burst
 * made it hold 134 MB.
 *
 * @param <H> the type of the handles
 */
public final class Deadlines<H extends HandleState> {

	/** When a handle is called again that has failed. */
	static final long RETRY_NANOS = TimeUnit.MILLISECONDS.toNanos(100);

	private static final int INITIAL_CAPACITY = 64;

	private @Nullable HandleState[] heap = new HandleState[INITIAL_CAPACITY];

	private int size;

	/**
	 * Due handles are collected before they are called, because a call may schedule
	 * again.
	 */
	private final ArrayList<H> due;

	/** Creates an empty heap. */
	public Deadlines() {
		// With a capacity: the list would otherwise ignore ensureCapacity, and allocate
		// when the first handle is added.
		this(new ArrayList<>(INITIAL_CAPACITY));
	}

	/** For tests: collects due handles in a list that may fail. */
	Deadlines(ArrayList<H> due) {
		this.due = due;
	}

	/**
	 * Schedules a handle, and replaces its earlier entry.
	 * @param handle the handle
	 * @param deadlineNanos the deadline, {@link System#nanoTime()}
	 */
	public void schedule(H handle, long deadlineNanos) {
		cancel(handle);
		if (this.size == this.heap.length) {
			this.heap = Arrays.copyOf(this.heap, this.size * 2);
		}
		handle.deadlineNanos = deadlineNanos;
		siftUp(this.size++, handle);
	}

	/**
	 * Removes the entry of a handle, if there is one.
	 * @param handle the handle
	 */
	public void cancel(H handle) {
		int index = handle.deadlineIndex;
		if (index < 0) {
			return;
		}
		handle.deadlineIndex = -1;
		if (index >= this.size || at(index) != handle) {
			// The entry is in the heap of another set: the handle has moved there, and
			// has returned because that set was closed. Nobody uses that heap any more.
			return;
		}
		HandleState last = at(--this.size);
		this.heap[this.size] = null;
		if (last != handle) {
			siftDown(index, last);
			if (last.deadlineIndex == index) {
				siftUp(index, last);
			}
		}
	}

	/**
	 * How long the leader may wait before it must {@link #poll} again.
	 * @param nowNanos the current time, {@link System#nanoTime()}
	 * @return nanoseconds, at least 0; {@link Long#MAX_VALUE} if there are no deadlines
	 */
	public long maxWaitNanos(long nowNanos) {
		return (this.size == 0) ? Long.MAX_VALUE : Math.max(0, at(0).deadlineNanos - nowNanos);
	}

	/**
	 * Removes the entries that are due. If memory is short, some entries may stay until
	 * the next call. If a handle fails, the others are called nevertheless, and the
	 * handle keeps an entry that is due soon. No failure loses an entry.
	 * @param nowNanos the current time, {@link System#nanoTime()}
	 * @param expired called with each handle whose deadline has passed; it may schedule
	 * this handle again
	 */
	public void poll(long nowNanos, Consumer<H> expired) {
		try {
			collectDue(nowNanos);
		}
		finally {
			callDue(nowNanos, expired);
		}
	}

	@SuppressWarnings("unchecked") // only schedule adds handles
	private void collectDue(long nowNanos) {
		while (this.size > 0 && at(0).deadlineNanos - nowNanos <= 0) {
			H handle = (H) at(0);
			// Allocates before the entry is removed, so that nothing fails in between.
			this.due.ensureCapacity(this.due.size() + 1);
			cancel(handle);
			this.due.add(handle);
		}
	}

	private void callDue(long nowNanos, Consumer<H> expired) {
		Throwable failure = null;
		for (int i = 0; i < this.due.size(); i++) {
			H handle = this.due.get(i);
			try {
				expired.accept(handle);
			}
			catch (RuntimeException | Error ex) {
				failure = (failure != null) ? failure : ex;
				if (handle.deadlineIndex < 0) {
					// Allocates nothing, because the heap has had room for this entry.
					schedule(handle, nowNanos + RETRY_NANOS);
				}
			}
		}
		this.due.clear();
		if (failure instanceof Error error) {
			throw error;
		}
		if (failure instanceof RuntimeException exception) {
			throw exception;
		}
	}

	/**
	 * How many deadlines are scheduled.
	 * @return the number of handles on the heap
	 */
	public int size() {
		return this.size;
	}

	private void siftUp(int from, HandleState handle) {
		int index = from;
		while (index > 0) {
			int parent = (index - 1) >>> 1;
			HandleState above = at(parent);
			if (handle.deadlineNanos - above.deadlineNanos >= 0) {
				break;
			}
			place(index, above);
			index = parent;
		}
		place(index, handle);
	}

	private void siftDown(int from, HandleState handle) {
		int index = from;
		for (int child = 2 * index + 1; child < this.size; child = 2 * index + 1) {
			if (child + 1 < this.size && at(child + 1).deadlineNanos - at(child).deadlineNanos < 0) {
				child++;
			}
			HandleState below = at(child);
			if (handle.deadlineNanos - below.deadlineNanos <= 0) {
				break;
			}
			place(index, below);
			index = child;
		}
		place(index, handle);
	}

	private HandleState at(int index) {
		HandleState handle = this.heap[index];
		if (handle == null) {
			throw new IllegalStateException("no deadline at " + index);
		}
		return handle;
	}

	private void place(int index, HandleState handle) {
		this.heap[index] = handle;
		handle.deadlineIndex = index;
	}

}
