package org.leaderfollowers;

import java.net.InetSocketAddress;

import org.jspecify.annotations.Nullable;
import org.leaderfollowers.internal.proxy.ProxyHeader;
import org.leaderfollowers.internal.proxy.ProxyHeaderDecoder;

/**
 * The permit of a connection, together with the header of its proxy.
 *
 * @param permit the permit of the guard
 * @param header the header, or {@code null} if there is no proxy
 */
record Permitted(ConnectionGuard.Permit permit, @Nullable ProxyHeader header) {

	/**
	 * Asks the guard. One that fails rejects the connection, unless memory is short.
	 * @return the permit, or {@code null} to reject the connection
	 */
	static ConnectionGuard.@Nullable Permit ask(ConnectionGuard guard, InetSocketAddress client,
			ServerWarnings warnings) {
		try {
			return guard.admit(client);
		}
		catch (OutOfMemoryError ex) {
			throw ex;
		}
		catch (Throwable ex) {
			warnings.guardFailed(ex);
			return null;
		}
	}

	/** Tells the permit of a connection, if there is one, that it has opened. */
	static void opened(StreamConnection connection) {
		if (connection.origin instanceof Permitted permitted) {
			permitted.permit().opened(connection);
		}
	}

	/** Replaces the decoder of a header by what it has decoded. */
	static @Nullable Object decoded(@Nullable Object origin) {
		return (origin instanceof ProxyHeaderDecoder decoder) ? decoder.header() : origin;
	}

	/** Finds the header of a connection, which has either only this or a permit too. */
	static @Nullable ProxyHeader header(@Nullable Object origin) {
		if (origin instanceof Permitted permitted) {
			return permitted.header();
		}
		return (origin instanceof ProxyHeader header) ? header : null;
	}

}
