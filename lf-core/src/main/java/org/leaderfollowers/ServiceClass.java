package org.leaderfollowers;

import java.nio.ByteBuffer;

import org.jspecify.annotations.Nullable;

/**
 * Chooses the pool that serves a connection: the paper's multiple Leader/Followers
 * groups, one for each class of service. A class has the threads, the parallelism and the
 * memory of its pool, so a flood of one class does not occupy the threads of another. See
 * {@link TcpServer.Builder#serviceClass}.
 * <p>
 * Each connection begins in the pool of its server, and moves at most once: when it is
 * established, or else before its first message is handled. From then on, threads of the
 * chosen pool call all methods of the handler. No message is lost or overtakes another.
 * <p>
 * A thread of the server's pool calls these methods like a handler: it may block, but
 * other connections that are not classified yet may then have to wait for a thread. The
 * methods must not send on the connection or wait for its input: no thread reads it
 * meanwhile. One object serves all connections of a server and all threads.
 */
@FunctionalInterface
public interface ServiceClass {

	/**
	 * Chooses the pool by the first message. Replies to requests of the server do not
	 * count as messages, nor do messages that are too large or that {@code onOpen}
	 * {@linkplain Connection#receive receives} itself. Not called if the other method has
	 * chosen a pool.
	 * @param connection the connection
	 * @param firstMessage the payload, from position to limit. The buffer is read-only,
	 * and valid only during the call
	 * @return the name of one of the pools of the server, or {@code null} for the
	 * server's own pool
	 * @throws RuntimeException if no pool can be chosen: {@code onError} is called with
	 * the exception, and the connection is closed with the reason
	 * {@link CloseReason#HANDLER_ERROR}
	 */
	@Nullable String poolOf(Connection connection, ByteBuffer firstMessage);

	/**
	 * Chooses the pool of a connection that has just been established, for example by its
	 * address or by the certificate of the client. Called before {@code onOpen}, after
	 * the TLS handshake and the header of the PROXY protocol.
	 * @param connection the connection
	 * @return the name of one of the pools of the server, or {@code null} to choose by
	 * the first message, which is the default
	 * @throws RuntimeException if the connection is not to be served: it is closed with
	 * the reason {@link CloseReason#HANDSHAKE_FAILED}, and the handler is not called
	 */
	default @Nullable String poolOf(Connection connection) {
		return null;
	}

}
