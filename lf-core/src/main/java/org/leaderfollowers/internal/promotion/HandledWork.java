package org.leaderfollowers.internal.promotion;

import org.jspecify.annotations.Nullable;

/**
 * The work of a thread, in words that may be kept for long: names, and never a connection
 * or an object that an application attached to it.
 *
 * @param handle the name of the handle; for connections, the text behind their number
 * @param server the name of the server, or {@code null}
 * @param handler the name of the handler, or {@code null} if the engine itself processes
 */
public record HandledWork(String handle, @Nullable String server, @Nullable String handler) {

	/** The number of work that is not one of many connections. */
	public static final long UNNUMBERED = 0;

	/**
	 * The work of all connections of a server.
	 * @param server the name of the server
	 * @param handler the name of its handler
	 * @return the work, whose handles are told apart by a number
	 */
	public static HandledWork ofConnections(String server, String handler) {
		return new HandledWork(" of server '" + server + "'", server, handler);
	}

	/**
	 * The work of all connections of a client.
	 * @param client the name of the client
	 * @param handler the name of its handler
	 * @return the work, whose handles are told apart by a number
	 */
	public static HandledWork ofClient(String client, String handler) {
		return new HandledWork(" of client '" + client + "'", null, handler);
	}

	/**
	 * The name of one of the handles.
	 * @param number the number of the connection, or {@link #UNNUMBERED}
	 * @return a name for people
	 */
	public String handle(long number) {
		return (number != UNNUMBERED) ? "Connection " + number + this.handle : this.handle;
	}

	/**
	 * A handle that a thread works on, as far as the thread that leads in its place has
	 * to know it.
	 */
	public interface Source {

		/**
		 * The work, in words.
		 * @return may be kept longer than the handle
		 */
		HandledWork work();

		/**
		 * Which of many connections it is.
		 * @return its number, or {@link #UNNUMBERED}
		 */
		long workNumber();

		/**
		 * Writes the replies that were kept back to be written together. Any thread.
		 */
		void uncork();

	}

}
