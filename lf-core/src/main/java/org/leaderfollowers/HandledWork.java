package org.leaderfollowers;

import org.jspecify.annotations.Nullable;

/**
 * What a thread processes, in words that may be kept for long: names, and never a
 * connection or what an application attached to it.
 *
 * @param handle what it is called; for connections, what follows their number
 * @param server the name of the server, or {@code null}
 * @param handler who processes it, or {@code null} if it is the engine itself
 */
record HandledWork(String handle, @Nullable String server, @Nullable String handler) {

	/** The number of work that is not one of many connections. */
	static final long UNNUMBERED = 0;

	/** What the connections of a server are called. */
	static HandledWork ofConnections(String server, String handler) {
		return new HandledWork(" of server '" + server + "'", server, handler);
	}

	String handle(long number) {
		return (number != UNNUMBERED) ? "Connection " + number + this.handle : this.handle;
	}

}
