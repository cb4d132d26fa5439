package org.leaderfollowers;

import java.util.concurrent.atomic.LongAdder;

/**
 * The counters of a server that only datagrams need, in addition to
 * {@link ServerCounters}. Any thread.
 */
final class DatagramCounters {

	final LongAdder limitReached = new LongAdder();

	final LongAdder truncated = new LongAdder();

	final LongAdder rejected = new LongAdder();

	final LongAdder receiveFailures = new LongAdder();

	final LongAdder sentReplies = new LongAdder();

	final LongAdder refusedReplies = new LongAdder();

	final LongAdder droppedReplies = new LongAdder();

	final LongAdder limitedReplies = new LongAdder();

	ServerSnapshot.Datagrams snapshot(int inFlight, int maxInFlight) {
		return new ServerSnapshot.Datagrams(inFlight, this.limitReached.sum(), this.truncated.sum(),
				this.rejected.sum(), this.receiveFailures.sum(), this.sentReplies.sum(), this.refusedReplies.sum(),
				this.droppedReplies.sum(), maxInFlight, this.limitedReplies.sum());
	}

}
