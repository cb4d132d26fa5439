package org.leaderfollowers.spring.event;

import org.leaderfollowers.Connection;

/**
 * Published when a session of this node has lost its name to a later login, here or on
 * another node, and its connection has been closed with the reason
 * {@link org.leaderfollowers.CloseReason#TAKEN_OVER}. A {@link SessionClosedEvent}
 * follows.
 *
 * @serial exclude
 */
@SuppressWarnings("serial")
public final class SessionTakenOverEvent extends SessionEvent {

	private final String successor;

	/**
	 * Creates a new event.
	 * @param connection the connection that has lost the name
	 * @param name the name
	 * @param epoch the fencing number of the session that has lost the name
	 * @param successor identifies the node that holds the name now
	 */
	public SessionTakenOverEvent(Connection connection, String name, long epoch, String successor) {
		super(connection, name, epoch);
		this.successor = successor;
	}

	/**
	 * Returns the node that holds the name now.
	 * @return the identifier of the node, which may be this one
	 */
	public String getSuccessor() {
		return this.successor;
	}

}
