package org.leaderfollowers.internal.exchange;

import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.Consumer;

/**
 * Requests of many threads on their way to one connection: one thread at a time writes
 * what all of them have added, and nobody waits for it. A thread that finds the queue
 * held leaves its request to the holder.
 * <p>
 * The rules:
 * <ol>
 * <li>a thread adds its request <em>before</em> it tries to hold the queue;</li>
 * <li>a holder looks at the queue once more <em>after</em> it has let it go. So either
 * the holder sees the request, or the thread that added it gets hold of the queue.</li>
 * </ol>
 * The thread that reads replies holds the queue while it wakes the threads that wait for
 * them: what these send next is written at once, when it is done.
 *
 * @param <R> a request
 */
public final class RequestQueue<R> {

	private final Queue<R> requests = new ConcurrentLinkedQueue<>();

	private final AtomicBoolean held = new AtomicBoolean();

	private final Consumer<Queue<R>> writer;

	/**
	 * Creates an empty queue.
	 * @param writer takes requests off the queue and writes them. Called by one thread at
	 * a time, until the queue is empty; takes at least one. Must not throw
	 */
	public RequestQueue(Consumer<Queue<R>> writer) {
		this.writer = writer;
	}

	/**
	 * Adds a request, and has it written. Any thread.
	 * @param request the request
	 */
	public void add(R request) {
		this.requests.add(request);
		flush();
	}

	/**
	 * Has requests that are added from now on wait until {@link #letGo}. Any thread, for
	 * moments only.
	 * @return {@code false} if another thread holds the queue
	 */
	public boolean hold() {
		return this.held.compareAndSet(false, true);
	}

	/**
	 * Writes what was added meanwhile. The thread that holds the queue.
	 */
	public void letGo() {
		try {
			write();
		}
		finally {
			this.held.set(false);
		}
		flush();
	}

	private void flush() {
		while (!this.requests.isEmpty() && hold()) {
			try {
				write();
			}
			finally {
				this.held.set(false);
			}
		}
	}

	private void write() {
		while (!this.requests.isEmpty()) {
			this.writer.accept(this.requests);
		}
	}

}
