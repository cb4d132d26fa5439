package org.leaderfollowers;

import java.time.Duration;
import java.util.Objects;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.TimeUnit;

import org.jspecify.annotations.Nullable;

/**
 * A queue as an event source. Only an element or an interrupt ends a wait on a queue, so
 * {@link #wakeup} interrupts the waiting thread. The monitor makes sure that the
 * interrupt does not come late and reach a handler.
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
			// Clears an interrupt that came when the queue threw an exception or returned
			// an element.
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
