package org.leaderfollowers.spring.interceptor;

import java.nio.ByteBuffer;

import org.leaderfollowers.CloseReason;
import org.leaderfollowers.Connection;
import org.leaderfollowers.EventType;
import org.leaderfollowers.MessageHandler;

/** A handler with an interceptor around it. */
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
	public void onIdle(Connection connection, EventType type) throws Exception {
		this.interceptor.onIdle(connection, type, this.next);
	}

	@Override
	public void onDrain(Connection connection) throws Exception {
		this.interceptor.onDrain(connection, this.next);
	}

	@Override
	public void onClose(Connection connection, CloseReason reason) throws Exception {
		this.interceptor.onClose(connection, reason, this.next);
	}

	@Override
	public void onError(Connection connection, Throwable failure) throws Exception {
		this.interceptor.onError(connection, failure, this.next);
	}

	@Override
	public void onError(Connection connection, ByteBuffer message, Throwable failure) throws Exception {
		this.interceptor.onError(connection, message, failure, this.next);
	}

	/**
	 * Remembers the message for interceptors that do not handle it.
	 * @param next the handler behind the interceptors
	 * @param message the message that failed
	 * @return a handler that passes failures on to {@code next} together with the message
	 */
	static MessageHandler withMessage(MessageHandler next, ByteBuffer message) {
		MessageHandlerInterceptor keeper = new MessageHandlerInterceptor() {

			@Override
			public void onError(Connection connection, Throwable failure, MessageHandler handler) throws Exception {
				handler.onError(connection, message, failure);
			}

		};
		return new InterceptedMessageHandler(keeper, next);
	}

}
