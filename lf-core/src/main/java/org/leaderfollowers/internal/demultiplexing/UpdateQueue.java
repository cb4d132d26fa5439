package org.leaderfollowers.internal.demultiplexing;

import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicReference;

import org.jspecify.annotations.Nullable;

/**
 * The requests of other threads to the leader of a handle set. Many requests share one
 * wake-up.
 * <p>
 * This is a lock-free list that is linked through the handles: a request allocates
 * nothing, and a handle is on the list at most once, whatever is requested. The leader
 * always takes the whole list, so no node returns to a list from which another thread is
 * removing it: there is no ABA problem.
 * <p>
 * No request is overlooked: the leader announces that it is about to wait and
 * <em>then</em> checks the list again; a requester adds its handle to the list and
 * <em>then</em> checks whether the leader has announced a wait. At least one of the two
 * sees the other. Only the first request after an announcement causes a wake-up.
 */
public final class UpdateQueue {

	private final AtomicReference<@Nullable HandleState> head = new AtomicReference<>();

	private final AtomicBoolean waiting = new AtomicBoolean();

	private final Runnable wakeUp;

	/**
	 * Creates an empty queue.
	 * @param wakeUp ends the current wait of the leader, or the next one if it does not
	 * wait yet
	 */
	public UpdateQueue(Runnable wakeUp) {
		this.wakeUp = wakeUp;
	}

	/**
	 * Requests something of the leader. Any thread.
	 * @param handle the handle that the request concerns
	 * @param requests the requests, a set of bits other than 0
	 */
	public void request(HandleState handle, int requests) {
		if (handle.addRequests(requests)) {
			HandleState first;
			do {
				first = this.head.get();
				handle.nextRequested = first;
			}
			while (!this.head.compareAndSet(first, handle));
			wakeLeader();
		}
	}

	/**
	 * Wakes the leader if it waits, at most once for one wait.
	 */
	public void wakeLeader() {
		if (this.waiting.get() && this.waiting.compareAndSet(true, false)) {
			this.wakeUp.run();
		}
	}

	/**
	 * Announces that the leader is about to wait.
	 * @return {@code false} if there are requests, so that the leader must not wait
	 */
	public boolean beginWait() {
		this.waiting.set(true);
		return this.head.get() == null;
	}

	/**
	 * Announces that the leader no longer waits. A wake-up that is under way now ends the
	 * next wait early.
	 * @return whether a requester has ended the wait
	 */
	public boolean endWait() {
		return !this.waiting.getAndSet(false);
	}

	/**
	 * Whether there are no requests. Any thread.
	 * @return whether the list is empty
	 */
	public boolean isEmpty() {
		return this.head.get() == null;
	}

	/**
	 * Whether the leader waits, or is about to. Any thread.
	 * @return whether the leader has announced a wait
	 */
	public boolean isWaitedFor() {
		return this.waiting.get();
	}

	/**
	 * Takes all requests. Called by the leader. An exception of the consumer is thrown
	 * only after all requests have been consumed. Otherwise a handle that was taken off
	 * the list but not consumed would never be queued again.
	 * @param <H> the type of the handles
	 * @param type the type of the handles
	 * @param consumer called for each handle
	 */
	public <H extends HandleState> void applyUpdates(Class<H> type, Consumer<H> consumer) {
		if (this.head.get() == null) {
			return;
		}
		HandleState handle = this.head.getAndSet(null);
		RuntimeException failure = null;
		Error error = null;
		while (handle != null) {
			HandleState next = handle.nextRequested;
			handle.nextRequested = null;
			try {
				consumer.accept(type.cast(handle), handle.takeRequests());
			}
			catch (RuntimeException ex) {
				failure = ex;
			}
			catch (Error ex) {
				error = ex;
			}
			handle = next;
		}
		if (error != null) {
			throw error;
		}
		if (failure != null) {
			throw failure;
		}
	}

	/**
	 * Processes the requests for one handle.
	 *
	 * @param <H> the type of the handle
	 */
	@FunctionalInterface
	public interface Consumer<H extends HandleState> {

		/**
		 * Called by the leader.
		 * @param handle the handle that the requests concern
		 * @param requests the requests
		 */
		void accept(H handle, int requests);

	}

}
