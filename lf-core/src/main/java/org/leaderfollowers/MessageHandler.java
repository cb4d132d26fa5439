package org.leaderfollowers;

import java.nio.ByteBuffer;

/**
 * A concrete event handler: handles the messages of the clients of an application.
 * <p>
 * One handler serves all connections of a server. For one connection, its methods are
 * called one at a time and in order: {@code onOpen} first, {@code onMessage} for each
 * message in the order of arrival, {@code onClose} last and once. For different
 * connections, the threads of the pool call them in parallel. All of them may block. If a
 * server is closed by force and no thread of the pool is free, the thread that closes the
 * server calls {@code onClose}.
 * <p>
 * If a method throws an exception or an error, {@code onError} is called, and the
 * connection is closed after the accepted replies have been written. Other connections
 * are not affected.
 * <p>
 * If {@linkplain TcpServer.Builder#maxInFlightPerConnection(int) messages of one
 * connection are handled in parallel}, there are three differences:
 * <ul>
 * <li>{@code onMessage} runs in parallel, except for messages that a {@link MessageOrder}
 * keeps in order. Two methods may run at the same time as {@code onMessage}:
 * {@code onWritable}, and {@code onError} for a failure of the socket or by
 * {@link Connection#fail}. {@code onOpen}, {@code onIdle} for {@link EventType#READ},
 * {@code onDrain} and {@code onClose} run alone. {@code onIdle} for
 * {@link EventType#WRITE} never runs at the same time as {@code onMessage}, but it may
 * run while replies are owed.</li>
 * <li>An exception of {@code onMessage} affects only its message: {@code onError} is
 * called, which can send the reply, and the connection stays open unless {@code onError}
 * closes it, or the exception is a {@link ClientLimitException}. If
 * {@linkplain ReplyOrder#ARRIVAL replies leave in the order of arrival} and neither
 * method has sent anything, the connection is closed behind the replies to earlier
 * messages. Otherwise the client would take the next reply for the missing one.</li>
 * <li>When the peer has shut down its side, or has sent input that the framing does not
 * allow, the connection is closed after the messages in flight have been answered.</li>
 * </ul>
 * <p>
 * The datagrams of a {@link UdpServer} are handled in parallel. Only {@code onMessage}
 * and {@code onError} are called for them.
 */
@FunctionalInterface
public interface MessageHandler {

	/**
	 * A connection was accepted. Nothing has been read from it yet.
	 * @param connection the new connection
	 * @throws Exception if the connection cannot be served: it is closed
	 */
	default void onOpen(Connection connection) throws Exception {
	}

	/**
	 * A complete message has arrived.
	 * @param connection the connection of the message
	 * @param message the payload without its framing, from position to limit. The buffer
	 * is valid only during the call: it belongs to the calling thread and holds other
	 * bytes afterwards. Its position is usually not 0. {@link ByteBuffer#reset() reset}
	 * returns to the start of the message; {@code rewind}, {@code clear} and {@code flip}
	 * do not
	 * @throws Exception if the message cannot be handled: the connection is closed
	 */
	void onMessage(Connection connection, ByteBuffer message) throws Exception;

	/**
	 * A slow peer has caught up: half or more of the server's maximum outbound size was
	 * waiting for it, and now no more than a quarter waits. Also called if the handler
	 * has {@linkplain Connection#requestWritable() requested} it.
	 * @param connection the connection, which {@linkplain Connection#isWritable() is
	 * writable} again
	 * @throws Exception if the connection cannot be served any more: it is closed
	 */
	default void onWritable(Connection connection) throws Exception {
	}

	/**
	 * Nothing was received on the connection, or nothing was sent, for a configured
	 * period. The period is set for all connections of a server
	 * ({@link TcpServer.Builder#readIdle}, {@link TcpServer.Builder#writeIdle}) or for
	 * this one ({@link Connection#idleAfter}). This method is called again after each
	 * further period, until something is received or sent. The handler can send a
	 * heartbeat, or close the connection.
	 * <p>
	 * It is not called for {@link EventType#READ} while the connection is not read,
	 * because it is {@linkplain Connection#suspend() suspended} or its peer does not
	 * read. It is not called for {@link EventType#WRITE} while bytes wait for the peer.
	 * While another method of the handler runs for the connection, no time counts.
	 * @param connection the connection
	 * @param type {@link EventType#READ} if nothing was received, {@link EventType#WRITE}
	 * if nothing was sent
	 * @throws Exception if the connection cannot be served any more: it is closed
	 */
	default void onIdle(Connection connection, EventType type) throws Exception {
	}

	/**
	 * The connection has begun to drain: with all others when its server drains, when its
	 * turn comes while the server is {@linkplain TcpServer#evacuate evacuated}, or alone
	 * when it is {@linkplain Connection#close(java.time.Duration) closed with a grace
	 * period}. This method is called once for every open connection, before further
	 * messages are read from it. If the connection is {@linkplain Connection#suspend()
	 * suspended}, the call comes after it was resumed; if the peer is slow, the call
	 * comes after the peer has caught up. The handler can sign off:
	 * {@link Connection#send} accepts messages, and they are written before the
	 * connection is closed.
	 * <p>
	 * Messages that have been received are still handled, after this call. When there are
	 * none left, the connection is closed with the reason {@link CloseReason#SHUTDOWN},
	 * or {@link CloseReason#LOCAL} if it drains alone. This method is not called if the
	 * server is closed at once, without a grace period.
	 * @param connection the connection, which {@linkplain Connection#isDraining() drains}
	 * @throws Exception if the connection cannot be served any more: it is closed
	 */
	default void onDrain(Connection connection) throws Exception {
	}

	/**
	 * The connection is closed. Nothing can be sent any more.
	 * @param connection the connection
	 * @param reason why it was closed
	 * @throws Exception if the handler fails; the exception is logged
	 */
	default void onClose(Connection connection, CloseReason reason) throws Exception {
	}

	/**
	 * The handler itself, the framing, or the socket has failed on this connection. The
	 * connection is closed afterwards; a last message can be sent unless the socket
	 * failed. By default, the failure is logged, without payload and at most once a
	 * second for a server; a failure of the socket only at the level debug.
	 * @param connection the connection
	 * @param failure what failed: an exception or error of a handler method, a
	 * {@link FramingException}, or an {@link java.io.IOException}
	 * @throws Exception if the handler fails; the exception is logged
	 */
	default void onError(Connection connection, Throwable failure) throws Exception {
		EngineConnection.logUnhandled(connection, failure);
	}

	/**
	 * {@link #onMessage} has failed. This method is called instead of
	 * {@link #onError(Connection, Throwable)}, which it calls by default. With the
	 * message that failed, it can send an error reply that names this message.
	 * @param connection the connection
	 * @param message the message that failed, from position to limit, as
	 * {@code onMessage} received it. Its position is reset, but bytes that
	 * {@code onMessage} has overwritten stay so. The buffer is valid only during the call
	 * @param failure the exception or error that {@code onMessage} has thrown
	 * @throws Exception if the handler fails; the exception is logged
	 */
	default void onError(Connection connection, ByteBuffer message, Throwable failure) throws Exception {
		onError(connection, failure);
	}

}
