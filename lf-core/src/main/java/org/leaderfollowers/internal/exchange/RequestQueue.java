package org.leaderfollowers.internal.exchange;

import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.Consumer;

/**
 * The requests of many threads for one connection. One thread at a time writes the
 * requests of all of them, and no other thread waits for it. If a thread finds that
 * another one holds the queue, it leaves its request to the holder.
 * <p>
 * The rules:
 * <ol>
 * <li>a thread adds its request <em>before</em> it tries to hold the queue;</li>
 * <li>a holder checks the queue again <em>after</em> it has released it. Either the
 * holder therefore sees the request, or the thread that added it can hold the queue.</li>
 * </ol>
 * The thread that reads replies holds the queue while it wakes the waiting threads. The
 * next requests of these threads are then written together when it has finished.
 *
 * @param <R> the type of the requests
 */
public final class RequestQueue<R> {

	private final Queue<R> requests = new ConcurrentLinkedQueue<>();

	private final AtomicBoolean held = new AtomicBoolean();

	private final Consumer<Queue<R>> writer;

	/**
	 * Creates an empty queue.
	 * @param writer takes requests off the queue and writes them. It is called by one
	 * thread at a time, until the queue is empty, and takes at least one request. It must
	 * not throw
	 */
	public RequestQueue(Consumer<Queue<R>> writer) {
		this.writer = writer;
	}

	/**
	 * Adds a request, and makes sure that it is written. Any thread.
	 * @param request the request
	 */
	public void add(R request) {
		this.requests.add(request);
		flush();
	}

	/**
	 * Holds back requests that are added from now on, until {@link #letGo}. Any thread,
	 * for a moment only.
	 * @return {@code false} if another thread holds the queue
	 */
	public boolean hold() {
		return this.held.compareAndSet(false, true);
	}

	/**
	 * Writes the requests that were held back. Called by the thread that holds the queue.
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
