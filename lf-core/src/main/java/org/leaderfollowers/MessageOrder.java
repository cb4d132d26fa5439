package org.leaderfollowers;

import java.nio.ByteBuffer;

import org.jspecify.annotations.Nullable;

/**
 * Selects the messages of a connection that are handled one after the other, while others
 * are handled in parallel. Messages with equal keys, for example with the same account
 * number, are handled in order. See {@link TcpServer.Builder#messageOrder}.
 * <p>
 * One object serves all connections of a server and all threads.
 */
@FunctionalInterface
public interface MessageOrder {

	/**
	 * Returns the key of a message. It is called for each message in the order of
	 * arrival, before the message is handled. If it blocks, the connection waits.
	 * @param message the payload, from position to limit. Read it by index: position and
	 * limit must not change. The buffer is valid only during the call
	 * @return the key, which is compared by {@code equals} with the keys of the messages
	 * of the connection that are in flight; {@code null} if the message need not wait for
	 * any other
	 * @throws RuntimeException if the key of the message is missing or invalid: the
	 * connection is closed with the reason {@link CloseReason#MALFORMED}
	 */
	@Nullable Object keyOf(ByteBuffer message);

}
