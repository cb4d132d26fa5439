package org.leaderfollowers;

import java.util.concurrent.atomic.LongAdder;

/** The counters of a client, which survive restarts. Any thread. */
final class ClientCounters extends ExchangeCounters {

	final LongAdder unexpectedMessages = new LongAdder();

	final LongAdder connects = new LongAdder();

	final LongAdder disconnects = new LongAdder();

	final LongAdder failedConnects = new LongAdder();

	/** The counters that connections of clients and of servers share. */
	final ServerCounters ofConnections;

	ClientCounters(int handleSets) {
		this.ofConnections = new ServerCounters(handleSets);
	}

}
