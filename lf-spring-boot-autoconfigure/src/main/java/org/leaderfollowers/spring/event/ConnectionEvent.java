package org.leaderfollowers.spring.event;

import org.leaderfollowers.Connection;

/**
 * Something that happened to a connection. Published in the place of the handler, by the
 * thread that calls it, and with the same promises: one at a time and in order for a
 * connection, in parallel for different ones, and a listener may block. What a listener
 * throws counts as thrown by the handler. Nothing is published, and nothing costs
 * anything, unless there is a listener for such events when the server is started.
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
