package org.leaderfollowers.spring.limit;

import java.time.Instant;
import java.util.Collections;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.atomic.AtomicLong;

import org.leaderfollowers.spring.limit.ClientLimiter.Offender;
import org.leaderfollowers.spring.limit.ClientLimits.Limit;

/**
 * The clients that have exceeded a limit lately. Any thread. A client remembers its
 * entry, so that a flood of excesses neither takes the monitor nor allocates memory.
 */
final class Offenders {

	/** The maximum number of entries. The one without news for the longest time goes. */
	static final int MOST = 100;

	/** Guarded by this object. */
	private final Map<Key, Entry> entries = new LinkedHashMap<>();

	private record Key(Object client, Limit limit) {
	}

	/** What one client has exceeded. */
	static final class Entry {

		private final Client client;

		private final Limit limit;

		private final long sinceNanos = System.nanoTime();

		private final AtomicLong count = new AtomicLong();

		private volatile long latestNanos = this.sinceNanos;

		/** Whether another entry has taken the place of this one. */
		private volatile boolean gone;

		private Entry(Client client, Limit limit) {
			this.client = client;
			this.limit = limit;
		}

	}

	/**
	 * Records an excess.
	 * @return whether it is the first one of this client
	 */
	boolean record(Client client, Limit limit) {
		Entry entry = client.offense;
		if (entry == null || entry.limit != limit || entry.gone) {
			entry = find(client, limit);
			client.offense = entry;
		}
		entry.latestNanos = System.nanoTime();
		return entry.count.getAndIncrement() == 0;
	}

	private synchronized Entry find(Client client, Limit limit) {
		Key key = new Key(client.key(), limit);
		Entry known = this.entries.get(key);
		if (known != null) {
			return known;
		}
		if (this.entries.size() == MOST) {
			long now = System.nanoTime();
			Entry eldest = Collections.max(this.entries.values(),
					Comparator.comparingLong((entry) -> now - entry.latestNanos));
			this.entries.values().remove(eldest);
			eldest.gone = true;
		}
		Entry entry = new Entry(client, limit);
		this.entries.put(key, entry);
		return entry;
	}

	/** The offenders, the latest first. */
	synchronized List<Offender> list() {
		long nanos = System.nanoTime();
		Instant now = Instant.now();
		return this.entries.values()
			.stream()
			.map((entry) -> new Offender(entry.client.name(), entry.limit, entry.count.get(),
					now.minusNanos(nanos - entry.sinceNanos), now.minusNanos(nanos - entry.latestNanos)))
			.sorted(Comparator.comparing(Offender::latest).reversed())
			.toList();
	}

}
