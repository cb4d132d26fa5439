package org.leaderfollowers.spring.event;

import org.leaderfollowers.Connection;

/** Published when a connection was accepted and its handler was called. */
@SuppressWarnings("serial")
public final class ConnectionOpenedEvent extends ConnectionEvent {

	/**
	 * Creates a new event.
	 * @param connection the new connection
	 */
	public ConnectionOpenedEvent(Connection connection) {
		super(connection);
	}

}
