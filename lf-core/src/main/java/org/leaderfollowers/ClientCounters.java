package org.leaderfollowers;

import java.util.concurrent.atomic.LongAdder;

/**
 * What a client counts, however often it is started. Any thread.
 */
final class ClientCounters extends ExchangeCounters {

	final LongAdder unexpectedMessages = new LongAdder();

	final LongAdder connects = new LongAdder();

	final LongAdder disconnects = new LongAdder();

	final LongAdder failedConnects = new LongAdder();

	/** What its connections count as those of a server do. */
	final ServerCounters ofConnections;

	ClientCounters(int handleSets) {
		this.ofConnections = new ServerCounters(handleSets);
	}

}
