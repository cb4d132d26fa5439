package org.leaderfollowers.spring.limit;

import java.nio.ByteBuffer;

import org.leaderfollowers.CloseReason;
import org.leaderfollowers.Connection;
import org.leaderfollowers.MessageHandler;
import org.leaderfollowers.spring.interceptor.MessageHandlerInterceptor;

/**
 * Applies limits to the clients of a server.
 *
 * @param limiter counts what the clients use
 */
record LimitInterceptor(ClientLimiter limiter) implements MessageHandlerInterceptor {

	@Override
	public void onOpen(Connection connection, MessageHandler next) throws Exception {
		LimitedConnection limited = LimitedConnection.of(connection);
		if (limited == null || limited.begins(connection)) {
			next.onOpen(connection);
		}
	}

	@Override
	public void onMessage(Connection connection, ByteBuffer message, MessageHandler next) throws Exception {
		LimitedConnection limited = LimitedConnection.of(connection);
		if (limited == null) {
			// A datagram, or a connection that a load balancer has opened for itself.
			if (!this.limiter.isForDatagrams() || this.limiter.takes(connection, message.remaining())) {
				next.onMessage(connection, message);
			}
		}
		else if (limited.takes(connection, message.remaining())) {
			next.onMessage(connection, message);
			limited.identify(connection);
		}
	}

	@Override
	public void onClose(Connection connection, CloseReason reason, MessageHandler next) throws Exception {
		LimitedConnection limited = LimitedConnection.of(connection);
		if (limited == null || limited.ends(reason)) {
			next.onClose(connection, reason);
		}
	}

}
