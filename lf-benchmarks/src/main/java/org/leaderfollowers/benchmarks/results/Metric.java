package org.leaderfollowers.benchmarks.results;

/**
 * What is measured.
 */
public enum Metric {

	/** Replies per second. */
	REQUESTS_PER_SECOND("requests/s", 0),

	/** CPU time of the server. */
	CPU_US("CPU µs/request", 2),

	/** Median latency. */
	P50_US("p50 µs", 0),

	/** The latency that 99% of the requests did not exceed. */
	P99_US("p99 µs", 0),

	/** The latency that 99.9% of the requests did not exceed. */
	P999_US("p99.9 µs", 0),

	/** The longest latency. */
	MAX_US("max µs", 0),

	/**
	 * The latency that 99% of the requests did not exceed, to that without the
	 * neighbour's load just before.
	 */
	P99_TO_ALONE("p99 ÷ p99 alone", 2),

	/** Replies per second of the neighbour. */
	NEIGHBOUR_REQUESTS_PER_SECOND("neighbour's requests/s", 0),

	/** How often a thread of the server gave the processor up to wait. */
	VOLUNTARY_SWITCHES("voluntary switches/request", 3),

	/** How often the processor was taken away from a thread of the server. */
	INVOLUNTARY_SWITCHES("involuntary switches/request", 3),

	/** System calls of the server, from a pass of their own. */
	SYSTEM_CALLS("system calls/request", 2),

	/** Those of them by which threads block on each other, and wake each other. */
	FUTEX_CALLS("futex calls/request", 3),

	/** What the threads of the server allocated. */
	ALLOCATED_BYTES("allocated B/request", 0),

	/** How many threads the server's JVM had at the end. */
	THREADS("threads", 0),

	/** What an idle connection keeps on the heap. */
	IDLE_HEAP_BYTES("heap B/idle connection", 0),

	/** What an idle connection keeps in direct buffers. */
	IDLE_DIRECT_BYTES("direct B/idle connection", 0),

	/**
	 * The share of one processor that the server uses while all connections are idle. A
	 * JVM that does nothing uses up to a tenth of a percent.
	 */
	IDLE_CPU_PERCENT("idle CPU %", 1),

	/** Requests of an open loop that could not be sent until a second after the end. */
	UNSENT("not sent", 0),

	/** CPU time of the load generator. */
	GENERATOR_CPU_US("generator CPU µs/request", 2),

	/** How long after it was due a request of an open loop was sent. */
	GENERATOR_LATENESS_P99_US("sent late p99 µs", 0),

	/** The share of the machine that something else used meanwhile, in percent. */
	OTHERS_PERCENT("used by others %", 1);

	private final String label;

	private final int digits;

	Metric(String label, int digits) {
		this.label = label;
		this.digits = digits;
	}

	/**
	 * The metric with its unit, as the head of a column.
	 * @return the label
	 */
	public String label() {
		return this.label;
	}

	/**
	 * How many digits after the point mean anything.
	 * @return the number of digits
	 */
	public int digits() {
		return this.digits;
	}

}
