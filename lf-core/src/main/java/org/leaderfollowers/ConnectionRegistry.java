package org.leaderfollowers;

import java.util.Collection;
import java.util.EnumMap;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Function;
import java.util.stream.Stream;

import org.jspecify.annotations.Nullable;

/**
 * The open connections of a TCP server. Any thread.
 */
final class ConnectionRegistry {

	/**
	 * Closed connections are removed last, so the map is empty only when all handlers
	 * have returned. Each connection is its own key and is found by a
	 * {@link ConnectionId}, which saves one object for each connection.
	 */
	private final Map<Object, TcpConnection> connections;

	/**
	 * Changed only with its monitor held, but read without. Contains only open
	 * connections.
	 */
	private final Map<String, TcpConnection> named = new ConcurrentHashMap<>();

	private final AtomicInteger open = new AtomicInteger();

	private final AtomicLong latestId = new AtomicLong();

	// No LongAdder: it allocates at times, and a count would be lost

	private final AtomicLong accepted = new AtomicLong();

	private final AtomicLong rejected = new AtomicLong();

	private final Map<CloseReason, AtomicLong> closed = new EnumMap<>(CloseReason.class);

	private final Runnable onClose;

	/**
	 * A key that finds a connection by its id: a map calls the {@code equals} method of
	 * the object that is looked up.
	 */
	private record ConnectionId(long id) {

		@Override
		public boolean equals(@Nullable Object other) {
			return other instanceof TcpConnection connection && connection.id() == this.id;
		}

		@Override
		public int hashCode() {
			return Long.hashCode(this.id);
		}

	}

	/**
	 * Creates a registry.
	 * @param onClose runs when a connection has been closed
	 */
	ConnectionRegistry(Runnable onClose) {
		this(onClose, new ConcurrentHashMap<>());
	}

	/** For tests: keeps the connections in a map that may fail. */
	ConnectionRegistry(Runnable onClose, Map<Object, TcpConnection> connections) {
		this.onClose = onClose;
		this.connections = connections;
		for (CloseReason reason : CloseReason.values()) {
			this.closed.put(reason, new AtomicLong());
		}
	}

	long nextId() {
		return this.latestId.incrementAndGet();
	}

	/**
	 * Adds a connection.
	 * @throws Error if memory is short. The connection is not registered then
	 */
	void add(TcpConnection connection) {
		try {
			this.connections.put(connection, connection);
		}
		catch (Error ex) {
			// A map may fail after it has added the connection.
			this.connections.remove(connection);
			throw ex;
		}
		this.accepted.incrementAndGet();
		this.open.incrementAndGet();
	}

	/**
	 * Removes a connection. The caller then counts it as closed.
	 * @return {@code false} if it was removed before
	 * @throws Error if memory is short. The connection is still registered then
	 */
	boolean remove(StreamConnection connection) {
		TcpConnection registered = this.connections.get(connection);
		if (registered == null || !take(registered)) {
			return false;
		}
		// After the removal: a name that is set concurrently is either removed here, or
		// not set because the connection is not found any more.
		synchronized (this.named) {
			unname(registered);
		}
		return true;
	}

	private boolean take(TcpConnection registered) {
		try {
			return this.connections.remove(registered) != null;
		}
		catch (Error ex) {
			if (this.connections.containsKey(registered)) {
				throw ex;
			}
			// A map counts after it has removed the connection, which needs memory at
			// times.
			return true;
		}
	}

	/** See {@link Connection#name(String)}. */
	@Nullable TcpConnection name(TcpConnection connection, String name) {
		synchronized (this.named) {
			if (name.equals(connection.name) || !this.connections.containsKey(connection)) {
				return null;
			}
			unname(connection);
			TcpConnection earlier = this.named.put(name, connection);
			if (earlier != null) {
				earlier.name = null;
			}
			connection.name = name;
			return earlier;
		}
	}

	/** See {@link Connection#unname(String)}. */
	boolean unname(TcpConnection connection, String name) {
		synchronized (this.named) {
			boolean had = name.equals(connection.name);
			if (had) {
				unname(connection);
			}
			return had;
		}
	}

	private void unname(TcpConnection connection) {
		String name = connection.name;
		if (name != null) {
			this.named.remove(name);
			connection.name = null;
		}
	}

	@Nullable TcpConnection get(String name) {
		return this.named.get(name);
	}

	/** Counts a connection that has been removed. */
	void closed(CloseReason reason) {
		// Before the number of open connections, which a drain and its observers await.
		AtomicLong counter = this.closed.get(reason);
		if (counter != null) {
			counter.incrementAndGet();
		}
		this.open.decrementAndGet();
		this.onClose.run();
	}

	void rejected() {
		this.rejected.incrementAndGet();
	}

	int open() {
		return this.open.get();
	}

	Collection<TcpConnection> all() {
		return this.connections.values();
	}

	/** The connections that the handler has seen. */
	Stream<Connection> opened() {
		return all().stream().filter((connection) -> connection.opened).map(Function.identity());
	}

	@Nullable TcpConnection get(long id) {
		return this.connections.get(new ConnectionId(id));
	}

	long acceptedConnections() {
		return this.accepted.get();
	}

	long rejectedConnections() {
		return this.rejected.get();
	}

	Map<CloseReason, Long> closedConnections() {
		Map<CloseReason, Long> counts = new EnumMap<>(CloseReason.class);
		this.closed.forEach((reason, counter) -> counts.put(reason, counter.get()));
		return Map.copyOf(counts);
	}

}
