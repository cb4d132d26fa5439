package org.leaderfollowers;

import java.nio.ByteBuffer;

/**
 * A concrete event handler: what the application does with the messages of its clients.
 * <p>
 * One handler serves all connections of a server. For one connection its methods are
 * called one at a time and in order: {@code onOpen} first, {@code onMessage} for each
 * message in the order of arrival, {@code onClose} last and once. For different
 * connections they are called in parallel by the threads of the pool. All of them may
 * block. Only when a server is closed by force and no thread is free is {@code onClose}
 * called by the thread that closes it.
 * <p>
 * Whatever a method throws is given to {@link #onError} and closes the connection after
 * the replies that were accepted have been written; other connections do not notice.
 * <p>
 * The datagrams of a {@link UdpServer} are handled in parallel. Only {@code onMessage}
 * and {@code onError} are called for them.
 */
@FunctionalInterface
public interface MessageHandler {

	/**
	 * A connection was accepted. Nothing has been read from it yet.
	 * @param connection the new connection
	 * @throws Exception if it cannot be served: it is closed
	 */
	default void onOpen(Connection connection) throws Exception {
	}

	/**
	 * A whole message has arrived.
	 * @param connection where it came from
	 * @param message the payload without its framing, from position to limit. The buffer
	 * is lent: it belongs to the calling thread and will hold other bytes after the
	 * return. Its position is not 0 in general; {@link ByteBuffer#reset() reset} leads
	 * back to the start of the message, {@code rewind}, {@code clear} and {@code flip} do
	 * not
	 * @throws Exception if it cannot be handled: the connection is closed
	 */
	void onMessage(Connection connection, ByteBuffer message) throws Exception;

	/**
	 * A peer that had fallen behind has caught up: no more than a quarter of the server's
	 * maximum outbound size waits for it, after half of it or more did.
	 * @param connection the connection, which {@linkplain Connection#isWritable() is
	 * writable} again
	 * @throws Exception if there is no going on: the connection is closed
	 */
	default void onWritable(Connection connection) throws Exception {
	}

	/**
	 * The connection is closed. Nothing can be sent any more.
	 * @param connection the connection
	 * @param reason why
	 * @throws Exception is logged
	 */
	default void onClose(Connection connection, CloseReason reason) throws Exception {
	}

	/**
	 * Something failed on this connection: the handler itself, the framing, or the
	 * socket. The connection is closed afterwards; a last message can be sent unless the
	 * socket failed. By default the failure is logged, without payload and not more than
	 * once a second for a server.
	 * @param connection the connection
	 * @param failure what failed: an exception or error of a handler method, a
	 * {@link FramingException}, or an {@link java.io.IOException}
	 * @throws Exception is logged
	 */
	default void onError(Connection connection, Throwable failure) throws Exception {
		EngineConnection.logUnhandled(connection, failure);
	}

}
