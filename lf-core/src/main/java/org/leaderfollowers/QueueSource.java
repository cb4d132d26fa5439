package org.leaderfollowers;

import java.time.Duration;
import java.util.Objects;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.TimeUnit;

import org.jspecify.annotations.Nullable;

/**
 * A queue as an event source. Only an element or an interrupt ends a wait at a queue, so
 * {@link #wakeup} interrupts the thread that waits. Under the monitor the interrupt
 * cannot come late and hit a handler.
 *
 * @param <E> the type of the elements
 */
final class QueueSource<E> implements EventSource<E> {

	private final BlockingQueue<E> queue;

	// Guarded by the monitor

	private @Nullable Thread waiting;

	private boolean woken;

	QueueSource(BlockingQueue<E> queue) {
		this.queue = Objects.requireNonNull(queue, "'queue' must not be null");
	}

	@Override
	public @Nullable E await(Duration timeout) throws InterruptedException {
		if (beginWait()) {
			return this.queue.poll();
		}
		try {
			return this.queue.poll(timeout.toNanos(), TimeUnit.NANOSECONDS);
		}
		finally {
			endWait();
		}
	}

	/** Returns whether the wait was ended before it began. */
	private synchronized boolean beginWait() {
		boolean ended = this.woken;
		this.woken = false;
		this.waiting = ended ? null : Thread.currentThread();
		return ended;
	}

	private synchronized void endWait() {
		this.waiting = null;
		if (this.woken) {
			this.woken = false;
			// The queue has thrown, or has found an element at the same time.
			Thread.interrupted();
		}
	}

	@Override
	public synchronized void wakeup() {
		Thread thread = this.waiting;
		if (!this.woken && thread != null) {
			thread.interrupt();
		}
		this.woken = true;
	}

	@Override
	public String toString() {
		return this.queue.getClass().getName();
	}

}
