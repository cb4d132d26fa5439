package org.leaderfollowers.benchmarks.load;

/**
 * The measured period, and whether sending is over. It is set when the first requests
 * have been sent, which takes a while with thousands of connections, and before a second
 * thread is started.
 */
final class Period {

	private long startNs = Long.MAX_VALUE;

	private long endNs = Long.MAX_VALUE;

	private volatile boolean stopped;

	void set(long startNs, long endNs) {
		this.startNs = startNs;
		this.endNs = endNs;
	}

	long startNs() {
		return this.startNs;
	}

	long endNs() {
		return this.endNs;
	}

	boolean includes(long timeNs) {
		return timeNs >= this.startNs && timeNs < this.endNs;
	}

	boolean stopped() {
		return this.stopped;
	}

	/** From now on, only requests that were sent in part are completed. */
	void stop() {
		this.stopped = true;
	}

}
