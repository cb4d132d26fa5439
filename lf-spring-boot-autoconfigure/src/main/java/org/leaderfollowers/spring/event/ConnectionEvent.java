package org.leaderfollowers.spring.event;

import org.leaderfollowers.Connection;

/**
 * An event of a connection of a server. The thread that calls the handler publishes it,
 * with the same guarantees: one at a time and in order for a connection, in parallel for
 * different connections, and a listener may block. An exception of a listener counts as
 * thrown by the handler. If there is no listener for such events when the server is
 * started, none is published, and they cost nothing.
 */
@SuppressWarnings("serial")
public abstract class ConnectionEvent extends LfEvent {

	ConnectionEvent(Connection connection) {
		super(connection);
	}

	/**
	 * Returns the connection.
	 * @return the connection, which may be closed
	 */
	public final Connection getConnection() {
		return (Connection) getSource();
	}

	/**
	 * Returns the server of the connection.
	 * @return the name of the server
	 */
	public final String getServerName() {
		return getConnection().server();
	}

	@Override
	public String toString() {
		return "%s[server=%s, connection=%d]".formatted(getClass().getSimpleName(), getServerName(),
				getConnection().id());
	}

}
