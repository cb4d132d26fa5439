package org.leaderfollowers.spring.event;

import org.leaderfollowers.CloseReason;
import org.leaderfollowers.Connection;

/**
 * Published when a connection is closed and its handler was called, whether or not a
 * {@link ConnectionOpenedEvent} was published before.
 *
 * @serial exclude
 */
@SuppressWarnings("serial")
public final class ConnectionClosedEvent extends ConnectionEvent {

	private final CloseReason reason;

	/**
	 * Creates a new event.
	 * @param connection the connection
	 * @param reason why it is closed
	 */
	public ConnectionClosedEvent(Connection connection, CloseReason reason) {
		super(connection);
		this.reason = reason;
	}

	/**
	 * Returns why the connection is closed.
	 * @return the reason
	 */
	public CloseReason getReason() {
		return this.reason;
	}

}
