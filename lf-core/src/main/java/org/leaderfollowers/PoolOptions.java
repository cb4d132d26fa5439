package org.leaderfollowers;

import java.nio.channels.spi.SelectorProvider;
import java.time.Duration;
import java.util.List;

import org.leaderfollowers.internal.promotion.Clock;
import org.leaderfollowers.internal.promotion.PoolSettings;
import org.leaderfollowers.internal.promotion.ProcessorTime;

/**
 * The options that a pool is built with. The settings among them can be changed later.
 *
 * @param name the name of the pool
 * @param settings the first settings
 * @param keepAlive how long a surplus thread waits before it ends
 * @param threadPriority the priority of the pool's own threads
 * @param handleSets how many handle sets there are
 * @param unfolds whether no more of them are in use than needed
 * @param eventSources the names of the event sources
 * @param parallelism how many threads share the handles that are ready, at the most
 * @param promotionOrder which follower is promoted
 * @param maxBufferedBytes how much memory the connections may hold together; 0 to share
 * the default limit with other pools
 * @param nesting whether handlers are run on top of one that waits
 * @param listeners are told of hand-offs
 * @param clock the clock of the pool
 * @param selectorProvider makes the selectors of the handle sets
 * @param processorTime what threads have used of the processors
 */
record PoolOptions(String name, PoolSettings settings, Duration keepAlive, int threadPriority, int handleSets,
		boolean unfolds, List<String> eventSources, int parallelism, PromotionOrder promotionOrder,
		long maxBufferedBytes, NestedUpcalls.Options nesting, List<PoolListener> listeners, Clock clock,
		SelectorProvider selectorProvider, ProcessorTime processorTime) {

	PoolOptions {
		eventSources = List.copyOf(eventSources);
		listeners = List.copyOf(listeners);
	}

	static PromotionPolicy policyOf(PoolSettings settings) {
		return settings.eager() ? PromotionPolicy.EAGER : PromotionPolicy.ADAPTIVE;
	}

	/** Requires a thread for each handle set to lead it. */
	static void checkHandleSets(int handleSets, int minThreads) {
		if (handleSets > minThreads) {
			throw new IllegalArgumentException(
					"'handleSets' (%d) must not exceed the minimum of threads (%d): a set without a leader is not served"
						.formatted(handleSets, minThreads));
		}
	}

	/**
	 * Requires a thread for each handle set that is always in use, and for each source.
	 */
	static void checkLeaders(String minName, int minThreads, int handleSets, int eventSources) {
		if (minThreads >= handleSets + eventSources) {
			return;
		}
		throw new IllegalArgumentException((eventSources == 0)
				? "'%s' must be at least the number of handle sets (%d), but is %d: a set without a leader is not served"
					.formatted(minName, handleSets, minThreads)
				: "'%s' must be at least the number of handle sets (%d) and event sources (%d) together, but is %d: each needs a thread to lead it"
					.formatted(minName, handleSets, eventSources, minThreads));
	}

}
