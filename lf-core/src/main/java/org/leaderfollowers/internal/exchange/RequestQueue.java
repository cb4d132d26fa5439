package org.leaderfollowers.internal.exchange;

import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.Consumer;

import org.jspecify.annotations.Nullable;

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
	 * thread at a time, until the queue is empty, and takes at least one request, also if
	 * it throws
	 */
	public RequestQueue(Consumer<Queue<R>> writer) {
		this.writer = writer;
	}

	/**
	 * Adds a request, and makes sure that it is written. Any thread. If the writer
	 * throws, this method does so too, after it has written the other requests: their
	 * threads rely on it.
	 * @param request the request
	 */
	public void add(R request) {
		this.requests.add(request);
		flush(null);
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
	 * Throws like {@link #add}.
	 */
	public void letGo() {
		Throwable failure = write();
		this.held.set(false);
		flush(failure);
	}

	private void flush(@Nullable Throwable earlier) {
		Throwable failure = earlier;
		while (!this.requests.isEmpty() && hold()) {
			Throwable latest = write();
			this.held.set(false);
			failure = (latest != null) ? latest : failure;
		}
		if (failure instanceof Error error) {
			throw error;
		}
		if (failure instanceof RuntimeException exception) {
			throw exception;
		}
	}

	/** Returns what the writer has thrown last, or {@code null}. */
	private @Nullable Throwable write() {
		Throwable failure = null;
		for (R first = this.requests.peek(); first != null; first = this.requests.peek()) {
			try {
				this.writer.accept(this.requests);
			}
			catch (RuntimeException | Error ex) {
				failure = ex;
				// Otherwise, a writer that takes none would be called for ever.
				this.requests.remove(first);
			}
		}
		return failure;
	}

}
