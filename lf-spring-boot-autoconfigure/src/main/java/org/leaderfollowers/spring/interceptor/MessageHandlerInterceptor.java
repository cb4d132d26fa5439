package org.leaderfollowers.spring.interceptor;

import java.nio.ByteBuffer;

import org.leaderfollowers.CloseReason;
import org.leaderfollowers.Connection;
import org.leaderfollowers.EventType;
import org.leaderfollowers.MessageHandler;

/**
 * Surrounds the calls of the handlers of all servers, or of {@linkplain #supports some}.
 * A bean of this type is found and applied; with several, the
 * {@linkplain org.springframework.core.annotation.Order order} counts, and the first one
 * is the outermost.
 * <p>
 * Each method is called in the place of the one of the handler, by the same thread and
 * with the same promises, and is to pass the call on to {@code next}: the next
 * interceptor, or the handler. One that does not pass a call on keeps it from the
 * handler. What it throws counts as thrown by the handler: it is given to
 * {@link #onError}, and the connection is closed. So, to turn a client away, throw from
 * {@link #onOpen}.
 * <p>
 * Nothing is allocated for an interceptor, except when a message fails, and what it does
 * not override costs a call.
 */
public interface MessageHandlerInterceptor extends MessageHandlerDecorator {

	/**
	 * Whether to intercept the calls of a server. Asked once, when the server is built.
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
	 * A whole message has arrived.
	 * @param connection where it came from
	 * @param message the payload. Whoever reads it before the handler does is to leave
	 * its position as it was, or to give the handler a {@link ByteBuffer#duplicate()
	 * duplicate}
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
	 * @throws Exception if there is no going on: the connection is closed
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
	 * @throws Exception if there is no going on: the connection is closed
	 * @see MessageHandler#onIdle
	 */
	default void onIdle(Connection connection, EventType type, MessageHandler next) throws Exception {
		next.onIdle(connection, type);
	}

	/**
	 * The server of the connection has begun to drain.
	 * @param connection the connection
	 * @param next what to call
	 * @throws Exception if there is no going on: the connection is closed
	 * @see MessageHandler#onDrain
	 */
	default void onDrain(Connection connection, MessageHandler next) throws Exception {
		next.onDrain(connection);
	}

	/**
	 * The connection is closed. Called as well if {@link #onOpen} was not passed on.
	 * @param connection the connection
	 * @param reason why
	 * @param next what to call
	 * @throws Exception is logged
	 * @see MessageHandler#onClose
	 */
	default void onClose(Connection connection, CloseReason reason, MessageHandler next) throws Exception {
		next.onClose(connection, reason);
	}

	/**
	 * Something failed on the connection, which will be closed.
	 * @param connection the connection
	 * @param failure what failed
	 * @param next what to call. If it is not called, the failure is not logged
	 * @throws Exception is logged
	 * @see MessageHandler#onError
	 */
	default void onError(Connection connection, Throwable failure, MessageHandler next) throws Exception {
		next.onError(connection, failure);
	}

	/**
	 * A message could not be handled by anybody, and the connection will be closed. By
	 * default {@link #onError(Connection, Throwable, MessageHandler)} is called, and what
	 * that passes on reaches {@code next} with the message.
	 * @param connection the connection
	 * @param message the message that failed, lent until this method returns
	 * @param failure what failed
	 * @param next what to call. If it is not called, the failure is not logged
	 * @throws Exception is logged
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
