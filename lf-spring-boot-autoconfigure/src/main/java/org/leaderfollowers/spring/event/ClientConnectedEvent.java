package org.leaderfollowers.spring.event;

import org.leaderfollowers.Connection;
import org.leaderfollowers.TcpClient;

/**
 * Published when a client has established a connection and its handler was called, before
 * requests are sent on it. A thread of the pool publishes it as part of the handler: an
 * exception of a listener closes the connection.
 *
 * @serial exclude
 */
@SuppressWarnings("serial")
public final class ClientConnectedEvent extends ClientEvent {

	private final Connection connection;

	/**
	 * Creates a new event.
	 * @param client the client
	 * @param connection the new connection
	 */
	public ClientConnectedEvent(TcpClient client, Connection connection) {
		super(client);
		this.connection = connection;
	}

	/**
	 * Returns the connection.
	 * @return the connection
	 */
	public Connection getConnection() {
		return this.connection;
	}

}
