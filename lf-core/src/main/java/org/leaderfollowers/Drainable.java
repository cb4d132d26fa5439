package org.leaderfollowers;

import java.time.Duration;

/**
 * A server, a client or event sources from the view of the pool, which drains them before
 * it ends.
 */
interface Drainable {

	/**
	 * Stops accepting new work, and answers what has been received. Does not wait.
	 * @param deadlineNanos when to close the port even if no thread is free to do so
	 */
	void beginDrain(long deadlineNanos);

	/**
	 * Whether it is needed until the servers are drained.
	 */
	default boolean isClient() {
		return false;
	}

	/**
	 * Whether it is a server of datagrams.
	 */
	default boolean servesDatagrams() {
		return false;
	}

	/**
	 * Called when handlers of datagrams may occupy more threads than before. Does not
	 * wait. Any thread.
	 */
	default void threadsAdded() {
		// Only servers of datagrams stop reading when their handlers occupy too many.
	}

	/**
	 * Drains and closes.
	 * @param grace how long to drain
	 * @return whether every message received was answered
	 */
	boolean close(Duration grace);

}
