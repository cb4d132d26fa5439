package org.leaderfollowers.internal.promotion;

import org.jspecify.annotations.Nullable;

/**
 * A description of the work of a thread that can be kept for long: it contains only
 * names, never a connection or an object that an application has attached to it.
 *
 * @param handle the name of the handle; for connections, the text that follows their
 * number
 * @param server the name of the server, or {@code null}
 * @param handler the name of the handler, or {@code null} if the engine itself processes
 */
public record HandledWork(String handle, @Nullable String server, @Nullable String handler) {

	/** The number of work that does not belong to one of many connections. */
	public static final long UNNUMBERED = 0;

	/**
	 * The work of all connections of a server.
	 * @param server the name of the server
	 * @param handler the name of its handler
	 * @return the work; a number identifies the connection
	 */
	public static HandledWork ofConnections(String server, String handler) {
		return new HandledWork(" of server '" + server + "'", server, handler);
	}

	/**
	 * The work of all connections of a client.
	 * @param client the name of the client
	 * @param handler the name of its handler
	 * @return the work; a number identifies the connection
	 */
	public static HandledWork ofClient(String client, String handler) {
		return new HandledWork(" of client '" + client + "'", null, handler);
	}

	/**
	 * The name of one of the handles.
	 * @param number the number of the connection, or {@link #UNNUMBERED}
	 * @return the name, for operators
	 */
	public String handle(long number) {
		return (number != UNNUMBERED) ? "Connection " + number + this.handle : this.handle;
	}

	/**
	 * A handle that a thread works on, from the view of a thread that takes over the
	 * leadership.
	 */
	public interface Source {

		/**
		 * The description of the work.
		 * @return an object that may be kept longer than the handle
		 */
		HandledWork work();

		/**
		 * The number of the connection.
		 * @return the number, or {@link #UNNUMBERED}
		 */
		long workNumber();

		/** Writes the corked replies. Any thread. */
		void uncork();

	}

}
