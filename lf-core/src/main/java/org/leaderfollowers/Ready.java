package org.leaderfollowers;

import org.jspecify.annotations.Nullable;
import org.leaderfollowers.internal.demultiplexing.ReadyQueue;

/**
 * An entry of a {@link ReadyQueue}: a handle that the leader has claimed, or the place of
 * one that is released.
 */
sealed interface Ready permits SelectableHandle, Place {

	/**
	 * Makes the calling thread the owner of the handle. Called once, by the thread that
	 * has taken the entry off the queue.
	 * @return {@code null} if there is nothing to do for this thread
	 */
	@Nullable SelectableHandle own();

	/**
	 * Takes the next handle of a queue. Any thread.
	 * @param queue the queue
	 * @return a handle that the calling thread owns, or {@code null} if there is none
	 */
	static @Nullable SelectableHandle take(ReadyQueue<Ready> queue) {
		SelectableHandle handle = null;
		for (Ready next = queue.take(); next != null; next = (handle == null) ? queue.take() : null) {
			handle = next.own();
		}
		return handle;
	}

}
