package org.leaderfollowers;

import java.io.Serial;

import org.jspecify.annotations.Nullable;

/**
 * A message was not accepted because its connection is closed.
 */
public class ConnectionClosedException extends IllegalStateException {

	@Serial
	private static final long serialVersionUID = 1L;

	private final CloseReason reason;

	private transient @Nullable Connection connection;

	/**
	 * Creates the exception.
	 * @param message what was refused
	 * @param reason why the connection was closed
	 * @param cause the failure of the socket, if there was one
	 */
	public ConnectionClosedException(String message, CloseReason reason, @Nullable Throwable cause) {
		super(message, cause);
		this.reason = reason;
	}

	ConnectionClosedException of(Connection connection) {
		this.connection = connection;
		return this;
	}

	boolean isOf(Connection candidate) {
		return this.connection == candidate;
	}

	/**
	 * Why the connection was closed.
	 * @return the reason
	 */
	public CloseReason reason() {
		return this.reason;
	}

}
