package org.leaderfollowers.spring.cluster;

import java.time.Duration;
import java.util.Comparator;
import java.util.stream.Stream;

/**
 * Limits of the directory.
 *
 * @param nodeName the readable name of this node
 * @param lease after how long without a sign of life a node counts as gone
 * @param verifyInterval how often the entries of the sessions of this node are checked
 * @param timeout how long to wait for the engine
 * @param maxCachedNames how many names of other nodes are remembered
 * @param maxOutboundSize how many bytes may wait for each other node
 */
record ClusterOptions(String nodeName, Duration lease, Duration verifyInterval, Duration timeout, int maxCachedNames,
		long maxOutboundSize) {

	/**
	 * How long an entry is kept although its node does not confirm it. Entries of nodes
	 * that are gone count for nothing, so this only limits what the engine stores.
	 */
	Duration entryTimeToLive() {
		return this.verifyInterval.multipliedBy(10);
	}

	/**
	 * How long the renewal of a lease waits for the answers of other nodes, which may be
	 * suspended: one second, but only a small part of the lease and of the time that this
	 * node waits for the renewal.
	 */
	Duration answerTimeout() {
		return Stream.of(Duration.ofSeconds(1), this.lease.dividedBy(10), this.timeout.dividedBy(2))
			.min(Comparator.naturalOrder())
			.orElseThrow();
	}

}
