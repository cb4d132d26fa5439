package org.leaderfollowers.spring.observation;

import io.micrometer.common.KeyValue;
import io.micrometer.common.KeyValues;
import io.micrometer.observation.transport.Propagator;
import io.micrometer.observation.transport.RequestReplyReceiverContext;
import org.jspecify.annotations.Nullable;
import org.leaderfollowers.Connection;
import org.leaderfollowers.spring.observation.MessageObservationDocumentation.HighCardinalityKeyNames;

/**
 * The context of an observed message. It does not contain the message, because the buffer
 * belongs to the handler. For a tracer, the message is a request that a server has
 * received. A trace of the client is not known.
 */
public class MessageObservationContext extends RequestReplyReceiverContext<Connection, Object> {

	/** The protocols have no known headers. */
	private static final Propagator.Getter<Connection> NOTHING_PROPAGATED = (connection, key) -> null;

	private final String server;

	private final String handler;

	private final Connection connection;

	private @Nullable KeyValues connectionKeyValues;

	/**
	 * Creates a new context.
	 * @param server the name of the server that received the message
	 * @param handler the name of the handler bean
	 * @param connection the connection of the message
	 */
	public MessageObservationContext(String server, String handler, Connection connection) {
		super(NOTHING_PROPAGATED);
		this.server = server;
		this.handler = handler;
		this.connection = connection;
		setCarrier(connection);
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

	/** Called at the start and at the end of each message. */
	KeyValues connectionKeyValues() {
		KeyValues keyValues = this.connectionKeyValues;
		if (keyValues == null) {
			keyValues = KeyValues
				.of(KeyValue.of(HighCardinalityKeyNames.CONNECTION, Long.toString(this.connection.id())));
			this.connectionKeyValues = keyValues;
		}
		return keyValues;
	}

}
