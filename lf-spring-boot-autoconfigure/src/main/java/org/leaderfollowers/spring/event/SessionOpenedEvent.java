package org.leaderfollowers.spring.event;

import org.leaderfollowers.Connection;

/**
 * Published when a connection of this node has taken a name.
 *
 * @serial exclude
 */
@SuppressWarnings("serial")
public final class SessionOpenedEvent extends SessionEvent {

	/**
	 * Creates a new event.
	 * @param connection the connection
	 * @param name the name
	 * @param epoch the fencing number of the session
	 */
	public SessionOpenedEvent(Connection connection, String name, long epoch) {
		super(connection, name, epoch);
	}

}
