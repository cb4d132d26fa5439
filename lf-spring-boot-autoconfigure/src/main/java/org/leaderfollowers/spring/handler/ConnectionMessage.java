package org.leaderfollowers.spring.handler;

import java.io.Serial;
import java.nio.ByteBuffer;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Set;
import java.util.function.Function;

import javax.net.ssl.SSLPeerUnverifiedException;
import javax.net.ssl.SSLSession;

import org.jspecify.annotations.Nullable;
import org.leaderfollowers.Connection;

import org.springframework.messaging.Message;
import org.springframework.messaging.MessageHeaders;

/**
 * The message of one call as the argument resolvers, return value handlers and converters
 * of Spring see it: its payload is the bytes of the message, and its headers are those of
 * {@link LfHeaders} and the attributes of the connection. Payload and headers are created
 * on first use, since most handlers need neither.
 */
final class ConnectionMessage implements Message<byte[]> {

	private static final Map<String, Function<Connection, @Nullable Object>> KNOWN = known();

	private final @Nullable Connection connection;

	/** A duplicate, because the handler may move the position of its own buffer. */
	private final @Nullable ByteBuffer message;

	private byte @Nullable [] payload;

	private @Nullable MessageHeaders headers;

	/**
	 * Creates a message.
	 * @param connection the connection that received the message or sends it;
	 * {@code null} for a message of an exchange, which any connection of a client may
	 * carry
	 * @param message the payload, or {@code null} for an empty payload
	 */
	ConnectionMessage(@Nullable Connection connection, @Nullable ByteBuffer message) {
		this.connection = connection;
		this.message = (message != null) ? message.duplicate() : null;
	}

	private static Map<String, Function<Connection, @Nullable Object>> known() {
		Map<String, Function<Connection, @Nullable Object>> known = new LinkedHashMap<>();
		known.put(LfHeaders.CONNECTION, (connection) -> connection);
		known.put(LfHeaders.CONNECTION_ID, Connection::id);
		known.put(LfHeaders.CONNECTION_NAME, Connection::name);
		known.put(LfHeaders.SERVER, Connection::server);
		known.put(LfHeaders.REMOTE_ADDRESS, Connection::remoteAddress);
		known.put(LfHeaders.LOCAL_ADDRESS, Connection::localAddress);
		known.put(LfHeaders.TRANSPORT_ADDRESS, Connection::transportAddress);
		known.put(LfHeaders.PRINCIPAL, ConnectionMessage::principal);
		return known;
	}

	/** Returns the principal of the client, or {@code null} if it is not of the type. */
	static @Nullable Object principal(Connection connection, Class<?> type) {
		Object principal = principal(connection);
		return type.isInstance(principal) ? principal : null;
	}

	/**
	 * Returns the principal of the client: the attribute of the connection, or else the
	 * principal of the TLS session.
	 */
	static @Nullable Object principal(Connection connection) {
		Object principal = connection.attributes().get(LfHeaders.PRINCIPAL);
		SSLSession session = (principal == null) ? connection.sslSession() : null;
		if (session == null) {
			return principal;
		}
		try {
			return session.getPeerPrincipal();
		}
		catch (SSLPeerUnverifiedException ex) {
			// The client has no certificate.
			return null;
		}
	}

	/** The names of {@link LfHeaders}. */
	static Set<String> knownHeaders() {
		return KNOWN.keySet();
	}

	/** Returns one header without creating a map of all headers. */
	@Nullable Object header(String name) {
		if (this.connection == null) {
			return null;
		}
		Function<Connection, @Nullable Object> known = KNOWN.get(name);
		return (known != null) ? known.apply(this.connection) : this.connection.attributes().get(name);
	}

	@Override
	public byte[] getPayload() {
		if (this.payload == null) {
			this.payload = (this.message != null) ? Text.bytes(this.message) : new byte[0];
		}
		return this.payload;
	}

	@Override
	public MessageHeaders getHeaders() {
		if (this.headers == null) {
			this.headers = new Headers(values());
		}
		return this.headers;
	}

	private Map<String, Object> values() {
		if (this.connection == null) {
			return Map.of();
		}
		Map<String, Object> values = new HashMap<>(this.connection.attributes());
		KNOWN.forEach((name, source) -> {
			Object value = header(name);
			if (value != null) {
				values.put(name, value);
			}
		});
		return values;
	}

	/**
	 * Headers without ID and timestamp, which a message does not have.
	 */
	private static final class Headers extends MessageHeaders {

		@Serial
		private static final long serialVersionUID = 1L;

		private Headers(Map<String, Object> values) {
			super(values, ID_VALUE_NONE, -1L);
		}

	}

}
