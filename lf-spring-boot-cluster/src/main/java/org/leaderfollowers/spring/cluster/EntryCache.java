package org.leaderfollowers.spring.cluster;

import java.util.LinkedHashMap;
import java.util.Map;

import org.jspecify.annotations.Nullable;
import org.leaderfollowers.spring.session.SessionEntry;

/**
 * The entries that this node has used lately. They may be out of date: whoever they lead
 * to refuses then.
 */
final class EntryCache {

	private final Map<String, SessionEntry> entries;

	EntryCache(int maxEntries) {
		this.entries = new LinkedHashMap<>(16, 0.75f, true) {

			@Override
			protected boolean removeEldestEntry(Map.Entry<String, SessionEntry> eldest) {
				return size() > maxEntries;
			}

		};
	}

	synchronized @Nullable SessionEntry get(String name) {
		return this.entries.get(name);
	}

	synchronized void put(SessionEntry entry) {
		this.entries.put(entry.name(), entry);
	}

	synchronized void remove(String name) {
		this.entries.remove(name);
	}

	synchronized void clear() {
		this.entries.clear();
	}

}
