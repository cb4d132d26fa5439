package org.leaderfollowers;

import org.jspecify.annotations.Nullable;

/**
 * Identifies the client of a connection by something better than its address, so that
 * limits for each client apply to it: for example by its certificate, or by the
 * {@linkplain Connection#name() name} that it has logged in with. Many clients may share
 * an address, and one client may have many.
 */
@FunctionalInterface
public interface ClientKey {

	/**
	 * Returns the key of the client. Called when the connection is opened, and then after
	 * each message until there is a key, which is kept for the rest of the connection.
	 * For a datagram, called for each. Any thread of the pool may call this method, which
	 * should not block.
	 * @param connection an open connection, or a datagram
	 * @return a key with {@code equals}, {@code hashCode}, and a {@code toString} that
	 * operators recognize and that contains no secret; or {@code null} as long as the
	 * client is unknown: its address is the key then
	 */
	@Nullable Object keyOf(Connection connection);

}
