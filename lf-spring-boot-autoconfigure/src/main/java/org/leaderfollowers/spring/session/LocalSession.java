package org.leaderfollowers.spring.session;

import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicReference;

import org.jspecify.annotations.Nullable;
import org.leaderfollowers.Connection;

/**
 * A session of this node: a connection that took a name.
 *
 * @param entry what the directory knows of it
 * @param connection the connection
 * @param groups the groups that the session has joined
 * @param successor who has taken over its name, if somebody has
 * @param announced completed when it was announced that the session is open
 * @param ended whether its end has been noted, which happens once
 */
record LocalSession(SessionEntry entry, Connection connection, Set<String> groups,
		AtomicReference<@Nullable SessionEntry> successor, CompletableFuture<Void> announced, AtomicBoolean ended) {

	LocalSession(SessionEntry entry, Connection connection) {
		this(entry, connection, ConcurrentHashMap.newKeySet(), new AtomicReference<>(), new CompletableFuture<>(),
				new AtomicBoolean());
	}

	String name() {
		return this.entry.name();
	}

	/** Identity: a connection takes a name once. */
	@Override
	public boolean equals(Object other) {
		return this == other;
	}

	@Override
	public int hashCode() {
		return System.identityHashCode(this);
	}

}
