package org.leaderfollowers.spring.event;

import org.leaderfollowers.Connection;

/**
 * Published when a failure has occurred on a connection and its handler was called. The
 * connection is closed afterwards.
 *
 * @serial exclude
 */
@SuppressWarnings("serial")
public final class ConnectionFailedEvent extends ConnectionEvent {

	private final Throwable failure;

	/**
	 * Creates a new event.
	 * @param connection the connection
	 * @param failure the exception or error
	 */
	public ConnectionFailedEvent(Connection connection, Throwable failure) {
		super(connection);
		this.failure = failure;
	}

	/**
	 * Returns the failure.
	 * @return an exception or error of the handler, the framing or the socket
	 */
	public Throwable getFailure() {
		return this.failure;
	}

}
