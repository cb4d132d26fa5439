package org.leaderfollowers;

import java.nio.ByteBuffer;

/**
 * Receives the events of the connections of a client: it first notifies the threads that
 * wait, and then calls the application.
 */
final class ClientHandler implements MessageHandler {

	private final MessageHandler application;

	private final ClientCounters counters;

	private final ClientConnections connections;

	ClientHandler(MessageHandler application, ClientCounters counters, ClientConnections connections) {
		this.application = application;
		this.counters = counters;
		this.connections = connections;
	}

	/** A connection takes requests as soon as the application has seen it. */
	@Override
	public void onOpen(Connection connection) throws Exception {
		this.application.onOpen(connection);
		this.connections.opened(connection);
	}

	@Override
	public void onMessage(Connection connection, ByteBuffer message) throws Exception {
		this.counters.unexpectedMessages.increment();
		this.application.onMessage(connection, message);
	}

	@Override
	public void onWritable(Connection connection) throws Exception {
		this.application.onWritable(connection);
	}

	@Override
	public void onIdle(Connection connection, EventType type) throws Exception {
		this.application.onIdle(connection, type);
	}

	@Override
	public void onDrain(Connection connection) throws Exception {
		this.application.onDrain(connection);
	}

	@Override
	public void onClose(Connection connection, CloseReason reason) throws Exception {
		this.application.onClose(connection, reason);
	}

	@Override
	public void onError(Connection connection, Throwable failure) throws Exception {
		this.application.onError(connection, failure);
	}

	@Override
	public void onError(Connection connection, ByteBuffer message, Throwable failure) throws Exception {
		this.application.onError(connection, message, failure);
	}

}
