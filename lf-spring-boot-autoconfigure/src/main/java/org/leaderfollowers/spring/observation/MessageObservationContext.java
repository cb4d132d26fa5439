package org.leaderfollowers.spring.observation;

import io.micrometer.observation.Observation;
import org.leaderfollowers.Connection;

/**
 * What is known of a message that is observed. Its content is not: the buffer belongs to
 * the handler.
 */
public class MessageObservationContext extends Observation.Context {

	private final String server;

	private final String handler;

	private final Connection connection;

	/**
	 * Creates a new context.
	 * @param server the name of the server that received the message
	 * @param handler the name of the handler bean
	 * @param connection where the message came from
	 */
	public MessageObservationContext(String server, String handler, Connection connection) {
		this.server = server;
		this.handler = handler;
		this.connection = connection;
	}

	/**
	 * Returns the server that received the message.
	 * @return the name of the server
	 */
	public String getServer() {
		return this.server;
	}

	/**
	 * Returns the handler that processes the message.
	 * @return the name of the bean
	 */
	public String getHandler() {
		return this.handler;
	}

	/**
	 * Returns the connection that the message came from.
	 * @return the connection
	 */
	public Connection getConnection() {
		return this.connection;
	}

}
