package org.leaderfollowers;

import java.nio.channels.spi.SelectorProvider;
import java.time.Duration;
import java.util.List;

import org.leaderfollowers.internal.promotion.Clock;
import org.leaderfollowers.internal.promotion.PoolSettings;
import org.leaderfollowers.internal.promotion.ProcessorTime;

/**
 * The options that a pool is built with. Its settings can be changed later.
 *
 * @param name the name of the pool
 * @param settings the initial settings
 * @param keepAlive how long a surplus thread waits before it ends
 * @param threadPriority the priority of the pool's own threads
 * @param handleSets the number of handle sets
 * @param unfolds whether only as many handle sets are in use as needed
 * @param eventSources the names of the event sources
 * @param parallelism the maximum number of threads that share the ready handles
 * @param promotionOrder determines which follower is promoted
 * @param maxBufferedBytes how much memory the connections may hold together, in bytes; 0
 * for a share of the default limit
 * @param nesting the options of handlers that run on top of a waiting handler
 * @param listeners the listeners for hand-offs
 * @param clock the clock of the pool
 * @param selectorProvider provides the selectors of the handle sets
 * @param processorTime measures the processor time that threads have used
 * @param watchdog when the watchdog raises an alarm
 */
record PoolOptions(String name, PoolSettings settings, Duration keepAlive, int threadPriority, int handleSets,
		boolean unfolds, List<String> eventSources, int parallelism, PromotionOrder promotionOrder,
		long maxBufferedBytes, NestedUpcalls.Options nesting, List<PoolListener> listeners, Clock clock,
		SelectorProvider selectorProvider, ProcessorTime processorTime, PoolWatchdog.Options watchdog) {

	PoolOptions {
		eventSources = List.copyOf(eventSources);
		listeners = List.copyOf(listeners);
	}

	static PromotionPolicy policyOf(PoolSettings settings) {
		return settings.eager() ? PromotionPolicy.EAGER : PromotionPolicy.ADAPTIVE;
	}

	/** Checks that there is a thread to lead each handle set. */
	static void checkHandleSets(int handleSets, int minThreads) {
		if (handleSets > minThreads) {
			throw new IllegalArgumentException(
					"'handleSets' (%d) must not exceed the minimum number of threads (%d): each handle set needs a thread to lead it"
						.formatted(handleSets, minThreads));
		}
	}

	/**
	 * Checks that there is a thread for each handle set that is always in use, and for
	 * each event source.
	 */
	static void checkLeaders(String minName, int minThreads, int handleSets, int eventSources) {
		if (minThreads >= handleSets + eventSources) {
			return;
		}
		throw new IllegalArgumentException((eventSources == 0)
				? "'%s' must be at least the number of handle sets (%d), but is %d: each handle set needs a thread to lead it"
					.formatted(minName, handleSets, minThreads)
				: "'%s' must be at least the number of handle sets (%d) and event sources (%d) together, but is %d: each needs a thread to lead it"
					.formatted(minName, handleSets, eventSources, minThreads));
	}

}
