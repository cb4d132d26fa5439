package org.leaderfollowers;

import java.util.Arrays;
import java.util.concurrent.atomic.LongAdder;

import org.leaderfollowers.internal.latency.LatencyHistogram;

/** The counters that servers of all transports share. Any thread. */
final class ServerCounters {

	private final LongAdder receivedBytes = new LongAdder();

	private final LongAdder sentBytes = new LongAdder();

	private final LongAdder receivedMessages;

	/** The durations of the handler, for each handle set. */
	private final LatencyHistogram[] durations;

	ServerCounters(int handleSets) {
		this(handleSets, new LongAdder());
	}

	/** For tests: counts messages by an adder that may fail. */
	ServerCounters(int handleSets, LongAdder receivedMessages) {
		this.receivedMessages = receivedMessages;
		this.durations = new LatencyHistogram[handleSets];
		Arrays.setAll(this.durations, (index) -> new LatencyHistogram());
	}

	void received(int bytes) {
		this.receivedBytes.add(bytes);
	}

	void sent(int bytes) {
		this.sentBytes.add(bytes);
	}

	void messageReceived() {
		this.receivedMessages.increment();
	}

	void messageHandled(HandleSet set, long nanos) {
		this.durations[set.leadership.index()].record(nanos);
	}

	long receivedBytes() {
		return this.receivedBytes.sum();
	}

	long sentBytes() {
		return this.sentBytes.sum();
	}

	long receivedMessages() {
		return this.receivedMessages.sum();
	}

	LatencySnapshot handling() {
		LatencyHistogram.Sum sum = new LatencyHistogram.Sum();
		for (LatencyHistogram histogram : this.durations) {
			histogram.addTo(sum);
		}
		return LatencySnapshot.of(sum);
	}

}
