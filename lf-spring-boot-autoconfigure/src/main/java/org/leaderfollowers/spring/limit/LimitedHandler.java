package org.leaderfollowers.spring.limit;

import java.nio.ByteBuffer;

import org.leaderfollowers.CloseReason;
import org.leaderfollowers.Connection;
import org.leaderfollowers.EventType;
import org.leaderfollowers.MessageHandler;

/**
 * A handler whose clients have limits.
 *
 * @param limiter counts what the clients use
 * @param next what to call
 */
record LimitedHandler(ClientLimiter limiter, MessageHandler next) implements MessageHandler {

	@Override
	public void onOpen(Connection connection) throws Exception {
		LimitedConnection limited = LimitedConnection.of(connection);
		if (limited != null) {
			limited.identify(connection);
			if (!connection.isOpen()) {
				return;
			}
		}
		this.next.onOpen(connection);
	}

	@Override
	public void onMessage(Connection connection, ByteBuffer message) throws Exception {
		LimitedConnection limited = LimitedConnection.of(connection);
		if (limited == null) {
			// A datagram, or a connection that a load balancer has opened for itself.
			if (!this.limiter.isForDatagrams() || this.limiter.takes(connection, message.remaining())) {
				this.next.onMessage(connection, message);
			}
		}
		else if (limited.takes(connection, message.remaining())) {
			this.next.onMessage(connection, message);
			limited.identify(connection);
		}
	}

	@Override
	public void onWritable(Connection connection) throws Exception {
		this.next.onWritable(connection);
	}

	@Override
	public void onIdle(Connection connection, EventType type) throws Exception {
		this.next.onIdle(connection, type);
	}

	@Override
	public void onDrain(Connection connection) throws Exception {
		this.next.onDrain(connection);
	}

	@Override
	public void onClose(Connection connection, CloseReason reason) throws Exception {
		LimitedConnection limited = LimitedConnection.of(connection);
		if (limited != null && reason == CloseReason.LOGIN_TIMEOUT) {
			limited.failed();
		}
		this.next.onClose(connection, reason);
	}

	@Override
	public void onError(Connection connection, Throwable failure) throws Exception {
		this.next.onError(connection, failure);
	}

	@Override
	public void onError(Connection connection, ByteBuffer message, Throwable failure) throws Exception {
		this.next.onError(connection, message, failure);
	}

}
