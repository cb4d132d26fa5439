package org.leaderfollowers.spring.autoconfigure;

import java.nio.charset.Charset;
import java.time.Duration;
import java.util.List;

import org.jspecify.annotations.Nullable;
import org.leaderfollowers.spring.autoconfigure.LfProperties.Correlation;

import org.springframework.boot.context.properties.bind.DefaultValue;
import org.springframework.util.unit.DataSize;

/**
 * Configuration properties of a client.
 *
 * @param addresses Addresses to connect to, each a host and a port such as
 * 'localhost:6379'. Required.
 * @param pool Name of the pool that serves the connections.
 * @param connections Number of connections that are kept open, all addresses together,
 * from 1 to 1024.
 * @param framing Framing of the messages.
 * @param correlation Which reply belongs to which request.
 * @param ssl TLS of the connections.
 * @param charset Charset of messages that are text.
 * @param requestTimeout Time that an exchange may take, from the call to the reply.
 * @param placeTimeout Time that a caller waits for a connection with a free place, within
 * the request timeout. Use 0 to reject at once. The request timeout by default.
 * @param connectTimeout Time that it may take until a connection is established, TLS
 * included.
 * @param maxInFlight Maximum number of exchanges under way on a connection, from 1 to
 * 1048576.
 * @param backoff Pauses between attempts to connect to an address that failed.
 * @param heartbeat Request for a peer that has been silent.
 * @param idempotent Whether every request may be executed twice: requests are repeated if
 * their connection is lost. Use a TcpClientBuilderCustomizer to decide for each request.
 * @param maxMessageSize Maximum size of a message of the peer, framing excluded. A
 * connection that carries a larger one is closed.
 * @param maxOutboundSize Maximum amount of data that waits for a peer that does not read,
 * for each connection.
 * @param messageTimeout Time that a message of the peer may take from its first byte to
 * its last. Use 0 for no timeout.
 * @param writeTimeout Time that a peer may take to accept the next byte of what waits for
 * it. Use 0 for no timeout.
 * @param tcpNoDelay Whether small segments are sent at once instead of waiting until the
 * peer has acknowledged earlier ones.
 * @param keepAlive Whether the system probes silent peers.
 * @param receiveBufferSize Size of the buffer that the system keeps received data of a
 * connection in until it is read. Decided by the system if not set.
 * @param sendBufferSize Size of the buffer that the system keeps sent data of a
 * connection in until it is acknowledged. Decided by the system if not set.
 * @param optional Whether the application does without the client: its state counts
 * neither for health nor for readiness.
 */
public record ClientProperties(@DefaultValue List<String> addresses, @DefaultValue("default") String pool,
		@DefaultValue("1") int connections, @DefaultValue FramingProperties framing,
		@DefaultValue Correlation correlation, @DefaultValue ClientSsl ssl, @DefaultValue("UTF-8") Charset charset,
		@DefaultValue("5s") Duration requestTimeout, @Nullable Duration placeTimeout,
		@DefaultValue("5s") Duration connectTimeout, @DefaultValue("1024") int maxInFlight,
		@DefaultValue Backoff backoff, @DefaultValue Heartbeat heartbeat, @DefaultValue("false") boolean idempotent,
		@DefaultValue("64KB") DataSize maxMessageSize, @DefaultValue("1MB") DataSize maxOutboundSize,
		@DefaultValue("30s") Duration messageTimeout, @DefaultValue("30s") Duration writeTimeout,
		@DefaultValue("true") boolean tcpNoDelay, @DefaultValue("true") boolean keepAlive,
		@Nullable DataSize receiveBufferSize, @Nullable DataSize sendBufferSize,
		@DefaultValue("false") boolean optional) {

	/**
	 * How a client speaks TLS.
	 *
	 * @param enabled Whether to speak TLS. Enabled automatically if there is a bundle.
	 * Without a bundle, the authorities that the JDK trusts are trusted.
	 * @param bundle Name of the SSL bundle with the certificates that the client trusts,
	 * and with its keys if the server asks for them.
	 * @param verifyHostname Whether the certificate of the server must be for the name or
	 * the address that the client connects to.
	 */
	public record ClientSsl(@Nullable Boolean enabled, @Nullable String bundle,
			@DefaultValue("true") boolean verifyHostname) {
	}

	/**
	 * The pauses between attempts to connect to an address that failed. A pause is twice
	 * as long after each failure, and half of it is random.
	 *
	 * @param min First pause, at least 1ms.
	 * @param max Longest pause.
	 */
	public record Backoff(@DefaultValue("100ms") Duration min, @DefaultValue("10s") Duration max) {
	}

	/**
	 * The request for a peer that has been silent. The connection is closed if it is not
	 * answered within the request timeout.
	 *
	 * @param interval Time of silence after which the request is sent. No heartbeat if
	 * not set.
	 * @param request Payload of the request, with escapes such as '\r\n', or bytes in
	 * hexadecimal such as '0x0100'. Required if there is an interval.
	 */
	public record Heartbeat(@Nullable Duration interval, @Nullable String request) {
	}

}
