package org.leaderfollowers;

import java.net.InetSocketAddress;
import java.nio.ByteBuffer;

import org.jspecify.annotations.Nullable;

/**
 * Decides which connections a {@link TcpServer} serves, for example so that one client
 * cannot take what belongs to others. It decides as soon as the address of the client is
 * known and before the TLS handshake, so a connection that it rejects costs little. See
 * {@link TcpServer.Builder#connectionGuard}.
 * <p>
 * The methods must not throw exceptions, and should not block. If {@link #admit} fails
 * nevertheless, the connection is rejected, and the failure is logged. An
 * {@link OutOfMemoryError} counts as a failure to accept: no connection is accepted for a
 * while. If {@link #admit} or {@link Permit#opened} blocks, other connections wait only
 * until a follower takes the leadership over, but no new connection is accepted
 * meanwhile.
 */
@FunctionalInterface
public interface ConnectionGuard {

	/**
	 * Decides whether a connection is served. Connections that a load balancer opens for
	 * itself, for example to check the health of the server, are served without a call.
	 * @param client the address of the client: the one that a trusted proxy reports by
	 * the PROXY protocol, or otherwise the other end of the socket
	 * @return the permit of the connection, or {@code null} to reject it. A rejected
	 * connection is closed at once, and the handler is not called. It counts as rejected
	 * or, behind a proxy, as closed with {@link CloseReason#CLIENT_LIMIT}
	 */
	@Nullable Permit admit(InetSocketAddress client);

	/** The permit of one connection. */
	interface Permit {

		/**
		 * The connection is established: the handler is called next. Not called if the
		 * connection ends before.
		 * @param connection the connection of this permit
		 */
		default void opened(Connection connection) {
		}

		/**
		 * {@link Connection#receive} is about to return a message, which no handler sees.
		 * The thread of the conversation calls this method.
		 * @param connection the connection of this permit
		 * @param message the payload, which must not be changed
		 * @throws ClientLimitException if the message is refused: {@code receive} throws
		 * the exception instead of returning the message
		 */
		default void received(Connection connection, ByteBuffer message) {
		}

		/**
		 * The connection is closed, established or not. Called once, as the last method.
		 */
		void closed();

	}

}
