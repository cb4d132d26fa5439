package org.leaderfollowers;

import java.nio.ByteBuffer;
import java.util.List;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentMap;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * Records the calls of a handler for each connection, and whether two calls for one
 * connection ever overlapped. Subclasses define the actions of the methods.
 */
class Recorder implements MessageHandler {

	private final ConcurrentMap<Long, List<String>> calls = new ConcurrentHashMap<>();

	private final ConcurrentMap<Long, AtomicInteger> inside = new ConcurrentHashMap<>();

	final AtomicBoolean overlapped = new AtomicBoolean();

	final ConcurrentMap<Long, Connection> connections = new ConcurrentHashMap<>();

	void open(Connection connection) throws Exception {
	}

	void message(Connection connection, ByteBuffer message) throws Exception {
		connection.send(message);
	}

	void error(Connection connection, Throwable failure) throws Exception {
	}

	void close(Connection connection, CloseReason reason) throws Exception {
	}

	interface Call {

		void run() throws Exception;

	}

	final void record(Connection connection, String what, Call call) throws Exception {
		AtomicInteger counter = this.inside.computeIfAbsent(connection.id(), (id) -> new AtomicInteger());
		if (counter.incrementAndGet() != 1) {
			this.overlapped.set(true);
		}
		try {
			of(connection.id()).add(what);
			call.run();
		}
		finally {
			counter.decrementAndGet();
		}
	}

	@Override
	public final void onOpen(Connection connection) throws Exception {
		this.connections.put(connection.id(), connection);
		record(connection, "open", () -> open(connection));
	}

	@Override
	public final void onMessage(Connection connection, ByteBuffer message) throws Exception {
		record(connection, Engine.text(message), () -> message(connection, message));
	}

	@Override
	public final void onClose(Connection connection, CloseReason reason) throws Exception {
		record(connection, "close " + reason, () -> close(connection, reason));
	}

	@Override
	public final void onError(Connection connection, Throwable failure) throws Exception {
		record(connection, "error " + failure.getClass().getSimpleName(), () -> error(connection, failure));
	}

	/** Returns the calls for a connection so far. */
	final List<String> of(long id) {
		return this.calls.computeIfAbsent(id, (key) -> new CopyOnWriteArrayList<>());
	}

	/** Returns the calls for a connection after it has been closed. */
	final List<String> awaitClose(long id) {
		Engine.eventually().until(() -> of(id).stream().anyMatch((call) -> call.startsWith("close ")));
		return of(id);
	}

	final Connection await(long id) {
		Engine.eventually().until(() -> this.connections.containsKey(id));
		return this.connections.get(id);
	}

}
