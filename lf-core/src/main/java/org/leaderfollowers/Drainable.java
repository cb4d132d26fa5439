package org.leaderfollowers;

import java.time.Duration;

/**
 * A server, a client or event sources as the pool sees them: to be drained before it
 * ends.
 */
interface Drainable {

	/**
	 * Takes on nothing new, and answers what has been received. Does not wait for that.
	 * @param deadlineNanos when to close the port even though no thread is free to do it
	 */
	void beginDrain(long deadlineNanos);

	/**
	 * Whether it is needed until the servers are drained.
	 */
	default boolean isClient() {
		return false;
	}

	/**
	 * Drains and closes.
	 * @param grace how long to drain
	 * @return whether every message received was answered
	 */
	boolean close(Duration grace);

}
