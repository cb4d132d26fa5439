package org.leaderfollowers.benchmarks.load;

import java.util.concurrent.TimeUnit;

/**
 * When each request of an open loop is due. It is fixed before the first request is sent,
 * and it is computed, not stored: the connections take turns, so request {@code i} of all
 * requests belongs to connection {@code i mod n}.
 */
final class Schedule {

	private static final long SECOND = TimeUnit.SECONDS.toNanos(1);

	private final long startNs;

	private final long rate;

	private final int connections;

	Schedule(long startNs, int rate, int connections) {
		this.startNs = startNs;
		this.rate = rate;
		this.connections = connections;
	}

	/** When a request is due, by its number among those of all connections. */
	long dueNs(long index) {
		// In two steps: the product of a day's requests and 10^9 does not fit
		return this.startNs + index / this.rate * SECOND + index % this.rate * SECOND / this.rate;
	}

	/** When a request is due, by its number among those of its connection. */
	long dueNs(int connection, long number) {
		return dueNs(number * this.connections + connection);
	}

	/** How many requests of all connections are due until now. */
	long due(long nowNs) {
		long elapsed = nowNs - this.startNs;
		if (elapsed < 0) {
			return 0;
		}
		// The largest index with dueNs(index) <= now; the division of dueNs rounds down
		return elapsed / SECOND * this.rate + ((elapsed % SECOND + 1) * this.rate - 1) / SECOND + 1;
	}

	/** How many of the first {@code count} requests belong to a connection. */
	long of(int connection, long count) {
		return (count - connection + this.connections - 1) / this.connections;
	}

}
