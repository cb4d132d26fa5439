package org.leaderfollowers;

import java.net.InetSocketAddress;
import java.time.Duration;

/**
 * What a connection was doing at a moment. The figures are of about the same moment:
 * nobody is stopped for them.
 *
 * @param id identifies the connection within its server
 * @param server the name of the server
 * @param state how far the connection is
 * @param remoteAddress the address of the client
 * @param age how long ago the connection was accepted
 * @param idle how long ago anything was received from it or sent to it
 * @param receivedMessages how many messages were given to the handler
 * @param receivedBytes how much was read, framing included
 * @param sentBytes how much was accepted for sending, framing included; {@code
 * pendingBytes} of it have not been written
 * @param pendingBytes how much waits for the peer to read, framing included
 * @param tlsGeneration which of the TLS configurations of the server it has, from 1, or 0
 * if it does not speak TLS; see {@link TcpServer#tls(ServerTls)}
 */
public record ConnectionSnapshot(long id, String server, State state, InetSocketAddress remoteAddress, Duration age,
		Duration idle, long receivedMessages, long receivedBytes, long sentBytes, long pendingBytes,
		int tlsGeneration) {

	/**
	 * The life of a connection.
	 */
	public enum State {

		/**
		 * Accepted, and not yet there for the handler: the TLS handshake or the header of
		 * the PROXY protocol is not complete.
		 */
		OPENING,

		/** Serves messages. */
		OPEN,

		/** Takes no messages until {@linkplain Connection#suspend() it is resumed}. */
		SUSPENDED,

		/**
		 * Takes no messages any more: what was accepted for sending is written, and the
		 * peer told that nothing more comes.
		 */
		CLOSING

	}

}
