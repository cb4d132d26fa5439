package org.leaderfollowers.internal.demultiplexing;

import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicReference;

import org.jspecify.annotations.Nullable;

/**
 * What other threads want of the leader of a handle set, and the one wake-up that many of
 * them share.
 * <p>
 * A lock-free list, linked through the handles themselves: a request allocates nothing,
 * and a handle is on the list at most once however much is wanted of it. The leader takes
 * the whole list at a time, so that a node never returns to a list that somebody is
 * popping: no ABA.
 * <p>
 * Nobody sleeps on a request: the leader announces that it is about to wait and
 * <em>then</em> looks at the list once more; a requester puts its handle on the list and
 * <em>then</em> looks whether the leader announced. One of the two sees the other. Only
 * the first requester after an announcement pays for a wake-up.
 */
public final class UpdateQueue {

	private final AtomicReference<@Nullable HandleState> head = new AtomicReference<>();

	private final AtomicBoolean waiting = new AtomicBoolean();

	private final Runnable wakeUp;

	/**
	 * Creates an empty queue.
	 * @param wakeUp ends the leader's wait, or its next wait if it does not wait yet
	 */
	public UpdateQueue(Runnable wakeUp) {
		this.wakeUp = wakeUp;
	}

	/**
	 * Asks the leader for attention. Any thread.
	 * @param handle what it is about
	 * @param requests what is wanted, a set of bits other than 0
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
	 * @return {@code false} if there are requests: it must not wait
	 */
	public boolean beginWait() {
		this.waiting.set(true);
		return this.head.get() == null;
	}

	/**
	 * The leader does not wait any more. A wake-up that is on its way now is left over
	 * for the next wait, which it ends early.
	 * @return whether the wait was ended by a requester
	 */
	public boolean endWait() {
		return !this.waiting.getAndSet(false);
	}

	/**
	 * Whether nothing is requested. Any thread.
	 * @return whether the list is empty
	 */
	public boolean isEmpty() {
		return this.head.get() == null;
	}

	/**
	 * Whether the leader waits, or is about to. Any thread.
	 * @return whether it has announced that it does
	 */
	public boolean isWaitedFor() {
		return this.waiting.get();
	}

	/**
	 * Takes all requests. Called by the leader. A failure of the consumer is thrown when
	 * all have been consumed: a handle that was taken off the list and not consumed would
	 * never be queued again.
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
	 * Takes one handle and what is wanted of it.
	 *
	 * @param <H> the type of the handle
	 */
	@FunctionalInterface
	public interface Consumer<H extends HandleState> {

		/**
		 * Called by the leader.
		 * @param handle what it is about
		 * @param requests what is wanted
		 */
		void accept(H handle, int requests);

	}

}
