package org.leaderfollowers;

import java.net.InetSocketAddress;
import java.time.Duration;

import org.jspecify.annotations.Nullable;

/**
 * The state of a connection at one moment. The figures are only of about the same moment,
 * because no thread is stopped for them.
 *
 * @param id identifies the connection within its server
 * @param name the {@linkplain Connection#name(String) name} of the connection, or
 * {@code null}
 * @param server the name of the server
 * @param state the state of the connection
 * @param remoteAddress the address of the client
 * @param age how long ago the connection was accepted
 * @param idle how long ago anything was received from it or sent to it
 * @param receivedMessages how many messages were given to the handler
 * @param receivedBytes how many bytes were read, framing included
 * @param sentBytes how many bytes were accepted for sending, framing included; the
 * pending bytes are part of them
 * @param pendingBytes how many bytes wait for the peer to read, framing included
 * @param tlsGeneration the number of the server's TLS configuration that it uses, from 1,
 * or 0 without TLS; see {@link TcpServer#tls(ServerTls)}
 * @param inFlight how many messages are
 * {@linkplain TcpServer.Builder#maxInFlightPerConnection in flight}, if they are handled
 * in parallel, and replies {@linkplain Connection#owe() owed}
 * @param pool the name of the pool that serves it, see {@link ServiceClass}
 */
public record ConnectionSnapshot(long id, @Nullable String name, String server, State state,
		InetSocketAddress remoteAddress, Duration age, Duration idle, long receivedMessages, long receivedBytes,
		long sentBytes, long pendingBytes, int tlsGeneration, int inFlight, String pool) {

	/**
	 * The life of a connection.
	 */
	public enum State {

		/**
		 * Accepted, but not yet passed to the handler: the TLS handshake or the header of
		 * the PROXY protocol is not complete.
		 */
		OPENING,

		/** Serves messages. */
		OPEN,

		/** Takes no messages until {@linkplain Connection#suspend() it is resumed}. */
		SUSPENDED,

		/**
		 * Takes no more messages: the accepted output is written, and the peer is
		 * informed that no more bytes follow.
		 */
		CLOSING

	}

}
