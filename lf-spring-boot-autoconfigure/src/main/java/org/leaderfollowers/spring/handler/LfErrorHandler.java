package org.leaderfollowers.spring.handler;

import java.nio.ByteBuffer;

import org.jspecify.annotations.Nullable;
import org.leaderfollowers.Connection;

/**
 * Handles failures of all servers that are auto-configured, whether their handlers are
 * annotated methods or {@link org.leaderfollowers.MessageHandler}s. Beans of this type
 * are asked in their {@linkplain org.springframework.core.annotation.Order order}, after
 * the {@link org.leaderfollowers.spring.annotation.OnError @OnError} methods of the
 * handlers and of the {@link org.leaderfollowers.spring.annotation.LfAdvice @LfAdvice}
 * beans; the first one that returns something has handled the failure.
 * <p>
 * It is called by several threads at a time, but by one at a time for each connection.
 */
@FunctionalInterface
public interface LfErrorHandler {

	/**
	 * Handles a failure, if it can.
	 * @param connection where it happened
	 * @param failure what a handler threw, or why a message could not be converted; or a
	 * {@link org.leaderfollowers.FramingException} or {@link java.io.IOException}, after
	 * which the connection is closed in any case
	 * @return what to answer, or {@code null} to leave the failure to others
	 * @throws Exception if it cannot: the failure counts as not handled
	 */
	@Nullable ErrorReply handle(Connection connection, Throwable failure) throws Exception;

	/**
	 * Handles the failure of a message, if it can. Called instead of
	 * {@link #handle(Connection, Throwable)}, which it calls by default, so that the
	 * reply can tell which message failed.
	 * @param connection where it happened
	 * @param message the message that failed, from position to limit, as the handler got
	 * it. The buffer is lent until this method returns. If the reply was to come later,
	 * it is a copy
	 * @param failure what a handler threw, or why the message could not be converted
	 * @return what to answer, or {@code null} to leave the failure to others
	 * @throws Exception if it cannot: the failure counts as not handled
	 */
	default @Nullable ErrorReply handle(Connection connection, ByteBuffer message, Throwable failure) throws Exception {
		return handle(connection, failure);
	}

}
