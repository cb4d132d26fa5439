package org.leaderfollowers;

import java.time.Instant;
import java.util.Map;

import org.jspecify.annotations.Nullable;

/**
 * What a server was doing at a moment.
 *
 * @param name the name of the server
 * @param state the state of the server
 * @param pool the name of the pool that serves it
 * @param address the address it is bound to, or {@code null} if it is not
 * @param port the port it is bound to, or -1 if it is not
 * @param framing a description of the framing; {@code datagram} if there is none
 * @param handler the name of the handler
 * @param openConnections how many connections are open; 0 for datagrams, as all that is
 * said of connections
 * @param acceptedConnections how many were accepted
 * @param rejectedConnections how many were turned away because of the limit
 * @param closedConnections how many were closed, by reason
 * @param receivedBytes how much was read, framing included
 * @param sentBytes how much was written or is about to be, framing included
 * @param receivedMessages how many messages were given to the handler
 * @param acceptingSuspended whether accepting, or receiving datagrams, pauses because it
 * failed: usually the system is out of descriptors or memory
 * @param paused whether it was asked to take on nothing new
 * @param transport what carries the messages
 * @param datagrams more about the datagrams, or {@code null} if the transport is another
 * @param tls what there is to tell of TLS, or {@code null} if the server does not speak
 * it
 * @param maxConnections how many connections may be open, as configured; 0 for datagrams
 * @param startedAt when the server was started, or {@code null} if it was not
 * @param listening {@code false} if the server ought to be heard of by new peers, but its
 * socket has failed for good; it is {@code true} before the start and after the end as
 * well
 * @param listeningFailure why the socket has failed, in printable characters, or
 * {@code null} if it has not
 * @param handling how long the handler took, for each message
 */
public record ServerSnapshot(String name, State state, String pool, @Nullable String address, int port, String framing,
		String handler, int openConnections, long acceptedConnections, long rejectedConnections,
		Map<CloseReason, Long> closedConnections, long receivedBytes, long sentBytes, long receivedMessages,
		boolean acceptingSuspended, boolean paused, TransportType transport, @Nullable Datagrams datagrams,
		@Nullable Tls tls, int maxConnections, @Nullable Instant startedAt, boolean listening,
		@Nullable String listeningFailure, LatencySnapshot handling) {

	/**
	 * What a server that speaks TLS was doing.
	 *
	 * @param generation the number of the configuration that new connections get, from 1;
	 * see {@link TcpServer#tls(ServerTls)}
	 * @param openConnections how many connections are open, by the number of their
	 * configuration; only those that have any
	 * @param completedHandshakes how many handshakes have succeeded
	 * @param failedHandshakes how many have failed or taken too long
	 */
	public record Tls(int generation, Map<Integer, Integer> openConnections, long completedHandshakes,
			long failedHandshakes) {
	}

	/**
	 * The life of a server.
	 */
	public enum State {

		/** Built, not bound. */
		NEW,

		/** Accepts and serves connections. */
		RUNNING,

		/** Accepts no more connections; the messages received are answered. */
		DRAINING,

		/** Has no connections any more. */
		STOPPED

	}

	/**
	 * The datagrams of a server. What the system drops because its receive buffer is full
	 * only the system can tell.
	 *
	 * @param inFlight how many are being handled or suspended
	 * @param limitReached how often no more were read for a while, since as many as
	 * allowed were being handled or suspended
	 * @param truncated how many were dropped because they were larger than the maximum
	 * message size
	 * @param rejected how many were dropped because their sender was forged
	 * @param receiveFailures how often receiving failed
	 * @param sentReplies how many replies were given to the system
	 * @param refusedReplies how many replies were refused because they would have been
	 * too large for what they answer
	 * @param droppedReplies how many replies the system did not take, for want of room in
	 * its send buffer or of a route
	 * @param maxInFlight how many may be handled or suspended at a time, as configured
	 */
	public record Datagrams(int inFlight, long limitReached, long truncated, long rejected, long receiveFailures,
			long sentReplies, long refusedReplies, long droppedReplies, int maxInFlight) {
	}

}
