package org.leaderfollowers.spring.event;

import org.leaderfollowers.CloseReason;
import org.leaderfollowers.Connection;

/**
 * Published once for each session of this node that has ended: its connection was closed,
 * or gave the name up.
 *
 * @serial exclude
 */
@SuppressWarnings("serial")
public final class SessionClosedEvent extends SessionEvent {

	private final CloseReason reason;

	/**
	 * Creates a new event.
	 * @param connection the connection
	 * @param name the name
	 * @param epoch the fencing number of the session
	 * @param reason why it has ended
	 */
	public SessionClosedEvent(Connection connection, String name, long epoch, CloseReason reason) {
		super(connection, name, epoch);
		this.reason = reason;
	}

	/**
	 * Returns why the session has ended.
	 * @return the reason why the connection was closed; {@link CloseReason#LOCAL} if the
	 * connection gave the name up
	 */
	public CloseReason getReason() {
		return this.reason;
	}

}
