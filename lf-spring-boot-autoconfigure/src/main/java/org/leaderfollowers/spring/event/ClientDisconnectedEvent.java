package org.leaderfollowers.spring.event;

import org.leaderfollowers.CloseReason;
import org.leaderfollowers.Connection;
import org.leaderfollowers.TcpClient;

/**
 * Published when an established connection of a client has ended and its handler was
 * called. Attempts to connect that fail are not published; they are logged and counted.
 *
 * @serial exclude
 */
@SuppressWarnings("serial")
public final class ClientDisconnectedEvent extends ClientEvent {

	private final Connection connection;

	private final CloseReason reason;

	/**
	 * Creates a new event.
	 * @param client the client
	 * @param connection the connection
	 * @param reason why it has ended
	 */
	public ClientDisconnectedEvent(TcpClient client, Connection connection, CloseReason reason) {
		super(client);
		this.connection = connection;
		this.reason = reason;
	}

	/**
	 * Returns the connection.
	 * @return the connection, which is closed
	 */
	public Connection getConnection() {
		return this.connection;
	}

	/**
	 * Returns why the connection has ended.
	 * @return the reason
	 */
	public CloseReason getReason() {
		return this.reason;
	}

}
