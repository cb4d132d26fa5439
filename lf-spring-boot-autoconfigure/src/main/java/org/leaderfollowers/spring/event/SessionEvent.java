package org.leaderfollowers.spring.event;

import org.leaderfollowers.Connection;

/**
 * An event of a session of this node. The thread that binds the session, or has closed
 * its connection, publishes it. A listener may block, as a handler may.
 */
@SuppressWarnings("serial")
public abstract class SessionEvent extends LfEvent {

	/** The name of the session. */
	private final String name;

	/** The fencing number of the session. */
	private final long epoch;

	SessionEvent(Connection connection, String name, long epoch) {
		super(connection);
		this.name = name;
		this.epoch = epoch;
	}

	/**
	 * Returns the connection of the session.
	 * @return the connection, which may be closed
	 */
	public final Connection getConnection() {
		return (Connection) getSource();
	}

	/**
	 * Returns the name of the session.
	 * @return the name
	 */
	public final String getName() {
		return this.name;
	}

	/**
	 * Returns the fencing number of the session, which tells it from earlier and later
	 * ones of the same name.
	 * @return the epoch
	 */
	public final long getEpoch() {
		return this.epoch;
	}

	@Override
	public String toString() {
		return "%s[name=%s, epoch=%d, server=%s, connection=%d]".formatted(getClass().getSimpleName(), this.name,
				this.epoch, getConnection().server(), getConnection().id());
	}

}
