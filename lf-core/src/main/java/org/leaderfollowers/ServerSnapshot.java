package org.leaderfollowers;

import java.util.Map;

import org.jspecify.annotations.Nullable;

/**
 * What a server was doing at a moment.
 *
 * @param name the name of the server
 * @param state the state of the server
 * @param pool the name of the pool that serves it
 * @param address the address it is bound to, or {@code null} if it is not
 * @param port the port it is bound to, or -1 if it is not
 * @param framing a description of the framing
 * @param handler the name of the handler
 * @param openConnections how many connections are open
 * @param acceptedConnections how many were accepted
 * @param rejectedConnections how many were turned away because of the limit
 * @param closedConnections how many were closed, by reason
 * @param receivedBytes how much was read, framing included
 * @param sentBytes how much was written or is about to be, framing included
 * @param receivedMessages how many messages were given to the handler
 * @param acceptingSuspended whether accepting pauses because the system is out of
 * descriptors or memory
 * @param paused whether it was asked to take on nothing new
 */
public record ServerSnapshot(String name, State state, String pool, @Nullable String address, int port, String framing,
		String handler, int openConnections, long acceptedConnections, long rejectedConnections,
		Map<CloseReason, Long> closedConnections, long receivedBytes, long sentBytes, long receivedMessages,
		boolean acceptingSuspended, boolean paused) {

	/**
	 * The life of a server.
	 */
	public enum State {

		/** Built, not bound. */
		NEW,

		/** Accepts and serves connections. */
		RUNNING,

		/** Accepts no more connections; the messages received are answered. */
		DRAINING,

		/** Has no connections any more. */
		STOPPED

	}

}
