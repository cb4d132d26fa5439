package org.leaderfollowers.benchmarks.load;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.SelectionKey;

import org.HdrHistogram.Histogram;
import org.jspecify.annotations.Nullable;

/**
 * Sends the requests that may be sent on a connection. Each sending thread has its own
 * sender, with its own buffer.
 */
final class Sender {

	private final Requests requests;

	private final int pipeline;

	private final @Nullable Schedule schedule;

	private final Period period;

	private final Histogram latenessNs = LoadResult.histogram();

	/**
	 * A sender.
	 * @param load what to send
	 * @param schedule when each request is due, or {@code null} in a closed loop
	 * @param period the measured period
	 */
	Sender(Load load, @Nullable Schedule schedule, Period period) {
		this.requests = new Requests(load.payload());
		this.pipeline = load.pipeline();
		this.schedule = schedule;
		this.period = period;
	}

	Histogram latenessNs() {
		return this.latenessNs;
	}

	/**
	 * Send all requests that may be sent now. The caller holds the connection's monitor.
	 * The clock is read inside the monitor: of two threads, the second one sees every
	 * request that was due when the first one looked, so no request is overlooked by
	 * both.
	 * @param connection the connection
	 * @throws IOException if the connection is broken
	 */
	void send(LoadConnection connection) throws IOException {
		long nowNs = System.nanoTime();
		long limit = limit(connection, nowNs);
		for (long number = connection.begun; number < limit; number++) {
			begin(connection, number, nowNs);
		}
		connection.begun = limit;
		while (connection.sent < limit) {
			ByteBuffer lines = this.requests.lines(connection.id, connection.sent, connection.sentOffset,
					limit - connection.sent);
			connection.channel.write(lines);
			connection.sent += lines.position() / this.requests.length();
			connection.sentOffset = lines.position() % this.requests.length();
			if (lines.hasRemaining()) {
				waitToWrite(connection, true);
				return;
			}
		}
		waitToWrite(connection, false);
	}

	private long limit(LoadConnection connection, long nowNs) {
		if (this.period.stopped()) {
			return connection.begun;
		}
		long limit = connection.replied + this.pipeline;
		if (this.schedule != null) {
			limit = Math.min(limit, this.schedule.of(connection.id, this.schedule.due(nowNs)));
		}
		return Math.max(limit, connection.begun);
	}

	private void begin(LoadConnection connection, long number, long nowNs) {
		if (this.schedule == null) {
			connection.sentNs[(int) (number % this.pipeline)] = nowNs;
			return;
		}
		long dueNs = this.schedule.dueNs(connection.id, number);
		if (this.period.includes(dueNs)) {
			this.latenessNs.recordValue(Math.min(nowNs - dueNs, this.latenessNs.getHighestTrackableValue()));
		}
	}

	private void waitToWrite(LoadConnection connection, boolean wait) {
		if (connection.waitsToWrite != wait) {
			connection.waitsToWrite = wait;
			connection.key.interestOps(wait ? SelectionKey.OP_READ | SelectionKey.OP_WRITE : SelectionKey.OP_READ);
			connection.key.selector().wakeup();
		}
	}

}
