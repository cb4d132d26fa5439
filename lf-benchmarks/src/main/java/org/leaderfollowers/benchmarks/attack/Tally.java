package org.leaderfollowers.benchmarks.attack;

import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.atomic.LongAdder;

import org.HdrHistogram.Histogram;
import org.HdrHistogram.Recorder;
import org.jspecify.annotations.Nullable;

/**
 * What honest clients have seen. Any thread may call all methods.
 */
public final class Tally {

	private static final int MOST_FAILURES = 10;

	private final LongAdder served = new LongAdder();

	private final LongAdder failed = new LongAdder();

	private final LongAdder wrong = new LongAdder();

	private final Queue<String> failures = new ConcurrentLinkedQueue<>();

	private final Recorder latencyNs = new Recorder(3);

	void served(long nanos) {
		this.served.increment();
		this.latencyNs.recordValue(nanos);
	}

	/** Requests were not answered: the connection failed, or the time ran out. */
	void failed(String client, long requests, Exception failure) {
		this.failed.add(requests);
		note(client + ": " + failure);
	}

	/** A reply came that is not the next one: twice, out of order, or foreign. */
	void wrong(String client, String what) {
		this.wrong.increment();
		note(client + ": " + what);
	}

	private void note(String failure) {
		if (this.failures.size() < MOST_FAILURES) {
			this.failures.add(failure);
		}
	}

	/**
	 * How many requests were answered, each once and in order.
	 * @return a number of requests
	 */
	public long served() {
		return this.served.sum();
	}

	/**
	 * How many requests were not answered.
	 * @return a number of requests
	 */
	public long failed() {
		return this.failed.sum();
	}

	/**
	 * How many replies were not the next one.
	 * @return a number of replies
	 */
	public long wrong() {
		return this.wrong.sum();
	}

	/**
	 * Removes the description of a failure. Of many failures, only the first are
	 * described.
	 * @return a line, or {@code null} if there is no other
	 */
	public @Nullable String nextFailure() {
		return this.failures.poll();
	}

	/**
	 * The latencies since the last call.
	 * @return a histogram in nanoseconds
	 */
	public Histogram drainLatencyNs() {
		return this.latencyNs.getIntervalHistogram();
	}

}
