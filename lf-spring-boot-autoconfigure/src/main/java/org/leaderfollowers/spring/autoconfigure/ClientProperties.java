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
 * @param correlation How the request of a reply is found.
 * @param ssl TLS of the connections.
 * @param charset Charset of text messages.
 * @param requestTimeout Maximum duration of an exchange, from the call to the reply.
 * @param placeTimeout Maximum time that a caller waits for a connection with a free
 * place, within the request timeout. Use 0 to reject at once. The request timeout by
 * default.
 * @param connectTimeout Maximum time to look a name up, and then to establish a
 * connection, including TLS.
 * @param maxInFlight Maximum number of exchanges under way on a connection, from 1 to
 * 1048576.
 * @param backoff Pauses between attempts to connect to an address that failed.
 * @param heartbeat Request for a peer that has been silent.
 * @param idempotent Whether every request may be executed twice. Requests are then
 * repeated if their connection is lost. Use a TcpClientBuilderCustomizer to decide for
 * each request.
 * @param maxMessageSize Maximum size of a message of the peer, framing excluded. If a
 * peer sends a larger one, the connection is closed.
 * @param maxOutboundSize Maximum amount of data that waits for a peer that does not read,
 * for each connection.
 * @param messageTimeout Maximum time for a message of the peer from its first byte to its
 * last. Use 0 for no timeout.
 * @param writeTimeout Maximum time for a peer to accept the next pending byte. Use 0 for
 * no timeout.
 * @param tcpNoDelay Whether small segments are sent at once instead of waiting until the
 * peer has acknowledged earlier ones.
 * @param keepAlive Whether the system probes silent peers.
 * @param receiveBufferSize Size of the buffer that the system keeps received data of a
 * connection in until it is read. Decided by the system if not set.
 * @param sendBufferSize Size of the buffer that the system keeps sent data of a
 * connection in until it is acknowledged. Decided by the system if not set.
 * @param optional Whether the application can work without the client. Its state then
 * affects neither health nor readiness.
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
	 * The TLS of a client.
	 *
	 * @param enabled Whether to use TLS. Enabled automatically if there is a bundle.
	 * Without a bundle, the client trusts the authorities that the JDK trusts.
	 * @param bundle Name of the SSL bundle with the certificates that the client trusts,
	 * and with its keys if the server requests them.
	 * @param verifyHostname Whether the certificate of the server must be for the name or
	 * the address that the client connects to.
	 */
	public record ClientSsl(@Nullable Boolean enabled, @Nullable String bundle,
			@DefaultValue("true") boolean verifyHostname) {
	}

	/**
	 * The pauses between attempts to connect to an address that failed. The pause doubles
	 * with each failure, and half of it is random.
	 *
	 * @param min First pause, at least 1ms.
	 * @param max Longest pause.
	 */
	public record Backoff(@DefaultValue("100ms") Duration min, @DefaultValue("10s") Duration max) {
	}

	/**
	 * The request for a peer that has been silent. If the peer does not reply within the
	 * request timeout, the connection is closed.
	 *
	 * @param interval Time of silence after which the request is sent, at least 1 ms. No
	 * heartbeat if not set.
	 * @param request Payload of the request, with escapes such as '\r\n', or bytes in
	 * hexadecimal such as '0x0100'. Required if there is an interval.
	 */
	public record Heartbeat(@Nullable Duration interval, @Nullable String request) {
	}

}
