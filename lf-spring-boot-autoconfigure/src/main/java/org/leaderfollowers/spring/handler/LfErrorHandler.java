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
 * beans; the first one that returns a reply has handled the failure.
 * <p>
 * Several threads may call it at the same time, but only one at a time for each
 * connection.
 */
@FunctionalInterface
public interface LfErrorHandler {

	/**
	 * Handles a failure, or leaves it to others.
	 * @param connection the connection of the failure
	 * @param failure the exception of a handler or of the conversion of a message; or a
	 * {@link org.leaderfollowers.FramingException} or {@link java.io.IOException}, after
	 * which the connection is closed in any case
	 * @return the reply to the client, or {@code null} to leave the failure to others
	 * @throws Exception if the handling fails; the failure then counts as not handled
	 */
	@Nullable ErrorReply handle(Connection connection, Throwable failure) throws Exception;

	/**
	 * Handles the failure of a message, or leaves it to others. For such failures, this
	 * method is called instead of {@link #handle(Connection, Throwable)}, so that the
	 * reply can identify the message. By default it calls that method.
	 * @param connection the connection of the failure
	 * @param message the message that failed, from position to limit, as the handler got
	 * it. The buffer is lent until this method returns. If a reply that comes later has
	 * failed, the buffer is a copy
	 * @param failure the exception of a handler or of the conversion of the message
	 * @return the reply to the client, or {@code null} to leave the failure to others
	 * @throws Exception if the handling fails; the failure then counts as not handled
	 */
	default @Nullable ErrorReply handle(Connection connection, ByteBuffer message, Throwable failure) throws Exception {
		return handle(connection, failure);
	}

}
