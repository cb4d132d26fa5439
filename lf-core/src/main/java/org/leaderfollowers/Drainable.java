package org.leaderfollowers;

import java.time.Duration;

/**
 * A server as the pool sees it that serves it: to be drained before the pool ends.
 */
interface Drainable {

	/**
	 * Takes on nothing new, and answers what has been received. Does not wait for that.
	 * @param deadlineNanos when to close the port even though no thread is free to do it
	 */
	void beginDrain(long deadlineNanos);

	/**
	 * Drains and closes.
	 * @param grace how long to drain
	 * @return whether every message received was answered
	 */
	boolean close(Duration grace);

}
