package org.leaderfollowers.spring.cluster;

import java.time.Duration;

/**
 * Limits of the directory.
 *
 * @param nodeName the readable name of this node
 * @param lease after how long without a sign of life a node counts as gone
 * @param verifyInterval how often the entries of the sessions of this node are checked
 * @param timeout how long to wait for the engine
 * @param maxCachedNames how many names of other nodes are remembered
 */
record ClusterOptions(String nodeName, Duration lease, Duration verifyInterval, Duration timeout, int maxCachedNames) {

	/**
	 * How long an entry is kept although its node does not confirm it. Entries of nodes
	 * that are gone count for nothing, so this only limits what the engine stores.
	 */
	Duration entryTimeToLive() {
		return this.verifyInterval.multipliedBy(10);
	}

}
