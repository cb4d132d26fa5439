package org.leaderfollowers;

import java.util.EnumMap;
import java.util.Map;
import java.util.concurrent.atomic.LongAdder;

import org.jspecify.annotations.Nullable;

/**
 * How many events were taken from a handle set, by type. Any thread.
 */
final class EventCounters {

	private final Map<EventType, LongAdder> byType = new EnumMap<>(EventType.class);

	EventCounters() {
		for (EventType type : EventType.values()) {
			this.byType.put(type, new LongAdder());
		}
	}

	/** Counts the events of a handle. */
	void add(int operations) {
		for (int rest = operations; rest != 0; rest &= rest - 1) {
			@Nullable LongAdder counter = this.byType.get(EventType.first(Integer.lowestOneBit(rest)));
			if (counter != null) {
				counter.increment();
			}
		}
	}

	Map<EventType, Long> counts() {
		Map<EventType, Long> counts = new EnumMap<>(EventType.class);
		this.byType.forEach((type, counter) -> counts.put(type, counter.sum()));
		return counts;
	}

}
