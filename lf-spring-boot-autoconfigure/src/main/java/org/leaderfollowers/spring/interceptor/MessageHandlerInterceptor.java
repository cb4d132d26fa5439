package org.leaderfollowers.spring.interceptor;

import java.nio.ByteBuffer;

import org.leaderfollowers.CloseReason;
import org.leaderfollowers.Connection;
import org.leaderfollowers.EventType;
import org.leaderfollowers.MessageHandler;

/**
 * Surrounds the calls of the handlers of all servers, or of {@linkplain #supports some}.
 * Beans of this type are applied automatically. If there are several, their
 * {@linkplain org.springframework.core.annotation.Order order} counts, and the first one
 * is the outermost.
 * <p>
 * Each method is called instead of the same method of the handler, by the same thread and
 * with the same guarantees. It must pass the call on to {@code next}, which is the next
 * interceptor or the handler. If it does not pass a call on, the handler does not see it.
 * Its exceptions count as thrown by the handler: {@link #onError} is called, and the
 * connection is closed. To reject a client, throw an exception from {@link #onOpen}.
 * <p>
 * An interceptor allocates memory only if a message fails. Methods that it does not
 * override cost a call.
 */
public interface MessageHandlerInterceptor extends MessageHandlerDecorator {

	/**
	 * Whether to intercept the calls of a server. Called once when the server is built.
	 * @param server the name of the server
	 * @return {@code true} unless overridden
	 */
	default boolean supports(String server) {
		return true;
	}

	/**
	 * A connection was accepted.
	 * @param connection the new connection
	 * @param next what to call
	 * @throws Exception if it cannot be served: it is closed
	 * @see MessageHandler#onOpen
	 */
	default void onOpen(Connection connection, MessageHandler next) throws Exception {
		next.onOpen(connection);
	}

	/**
	 * A complete message has arrived.
	 * @param connection the connection of the message
	 * @param message the payload. An interceptor that reads it must leave its position
	 * unchanged, or pass a {@link ByteBuffer#duplicate() duplicate} to the handler
	 * @param next what to call
	 * @throws Exception if it cannot be handled: the connection is closed
	 * @see MessageHandler#onMessage
	 */
	default void onMessage(Connection connection, ByteBuffer message, MessageHandler next) throws Exception {
		next.onMessage(connection, message);
	}

	/**
	 * A peer that had fallen behind has caught up.
	 * @param connection the connection
	 * @param next what to call
	 * @throws Exception if the connection cannot be served any more: it is closed
	 * @see MessageHandler#onWritable
	 */
	default void onWritable(Connection connection, MessageHandler next) throws Exception {
		next.onWritable(connection);
	}

	/**
	 * Nothing was received on the connection, or nothing was sent, for a while.
	 * @param connection the connection
	 * @param type {@link EventType#READ} if nothing was received, {@link EventType#WRITE}
	 * if nothing was sent
	 * @param next what to call
	 * @throws Exception if the connection cannot be served any more: it is closed
	 * @see MessageHandler#onIdle
	 */
	default void onIdle(Connection connection, EventType type, MessageHandler next) throws Exception {
		next.onIdle(connection, type);
	}

	/**
	 * The server of the connection has begun to drain.
	 * @param connection the connection
	 * @param next what to call
	 * @throws Exception if the connection cannot be served any more: it is closed
	 * @see MessageHandler#onDrain
	 */
	default void onDrain(Connection connection, MessageHandler next) throws Exception {
		next.onDrain(connection);
	}

	/**
	 * The connection is closed. Also called if {@link #onOpen} was not passed on.
	 * @param connection the connection
	 * @param reason why it was closed
	 * @param next what to call
	 * @throws Exception exceptions are logged
	 * @see MessageHandler#onClose
	 */
	default void onClose(Connection connection, CloseReason reason, MessageHandler next) throws Exception {
		next.onClose(connection, reason);
	}

	/**
	 * A failure has occurred on the connection, which will be closed.
	 * @param connection the connection
	 * @param failure the exception or error
	 * @param next what to call. If it is not called, the failure is not logged
	 * @throws Exception exceptions are logged
	 * @see MessageHandler#onError
	 */
	default void onError(Connection connection, Throwable failure, MessageHandler next) throws Exception {
		next.onError(connection, failure);
	}

	/**
	 * A message could not be handled, and the connection will be closed. By default,
	 * {@link #onError(Connection, Throwable, MessageHandler)} is called. If it passes the
	 * failure on, {@code next} receives the message as well.
	 * @param connection the connection
	 * @param message the message that failed, lent until this method returns
	 * @param failure the exception or error
	 * @param next what to call. If it is not called, the failure is not logged
	 * @throws Exception exceptions are logged
	 * @see MessageHandler#onError(Connection, ByteBuffer, Throwable)
	 */
	default void onError(Connection connection, ByteBuffer message, Throwable failure, MessageHandler next)
			throws Exception {
		onError(connection, failure, InterceptedMessageHandler.withMessage(next, message));
	}

	@Override
	default MessageHandler decorate(MessageHandler handler, String server, String handlerName) {
		return supports(server) ? new InterceptedMessageHandler(this, handler) : handler;
	}

}
