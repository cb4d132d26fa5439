package org.leaderfollowers.spring.interceptor;

import java.nio.ByteBuffer;

import org.leaderfollowers.CloseReason;
import org.leaderfollowers.Connection;
import org.leaderfollowers.MessageHandler;

/**
 * A handler behind an interceptor.
 */
final class InterceptedMessageHandler implements MessageHandler {

	private final MessageHandlerInterceptor interceptor;

	private final MessageHandler next;

	InterceptedMessageHandler(MessageHandlerInterceptor interceptor, MessageHandler next) {
		this.interceptor = interceptor;
		this.next = next;
	}

	@Override
	public void onOpen(Connection connection) throws Exception {
		this.interceptor.onOpen(connection, this.next);
	}

	@Override
	public void onMessage(Connection connection, ByteBuffer message) throws Exception {
		this.interceptor.onMessage(connection, message, this.next);
	}

	@Override
	public void onWritable(Connection connection) throws Exception {
		this.interceptor.onWritable(connection, this.next);
	}

	@Override
	public void onClose(Connection connection, CloseReason reason) throws Exception {
		this.interceptor.onClose(connection, reason, this.next);
	}

	@Override
	public void onError(Connection connection, Throwable failure) throws Exception {
		this.interceptor.onError(connection, failure, this.next);
	}

}
