package org.leaderfollowers.spring.handler;

import java.nio.ByteBuffer;

import org.leaderfollowers.CloseReason;
import org.leaderfollowers.Connection;
import org.leaderfollowers.MessageHandler;

/**
 * The outermost handler of a server: has failures handled, and goes on with replies that
 * its peer had not read.
 */
final class ServerMessageHandler implements MessageHandler {

	private final MessageHandler handler;

	private final Replies replies;

	private final Failures failures;

	ServerMessageHandler(MessageHandler handler, Replies replies, Failures failures) {
		this.handler = handler;
		this.replies = replies;
		this.failures = failures;
	}

	@Override
	public void onOpen(Connection connection) throws Exception {
		// What fails here closes the connection, and is handled by the way.
		this.handler.onOpen(connection);
	}

	@Override
	public void onMessage(Connection connection, ByteBuffer message) throws Exception {
		try {
			this.handler.onMessage(connection, message);
		}
		catch (Throwable ex) {
			if (!handle(connection, ex)) {
				throw ex;
			}
		}
	}

	@Override
	public void onWritable(Connection connection) throws Exception {
		this.replies.writable(connection);
		this.handler.onWritable(connection);
	}

	@Override
	public void onClose(Connection connection, CloseReason reason) throws Exception {
		try {
			this.handler.onClose(connection, reason);
		}
		finally {
			this.replies.closed(connection);
		}
	}

	@Override
	public void onError(Connection connection, Throwable failure) throws Exception {
		if (!handle(connection, failure)) {
			this.handler.onError(connection, failure);
		}
	}

	/**
	 * Has a failure handled after the call in which it happened: that of a reply that
	 * came later.
	 */
	void failed(Connection connection, Throwable failure) {
		if (!handle(connection, failure)) {
			connection.fail(failure);
		}
	}

	private boolean handle(Connection connection, Throwable failure) {
		return this.failures.handle(this.replies, connection, failure);
	}

}
