package org.leaderfollowers;

import java.time.Instant;
import java.util.Map;

import org.jspecify.annotations.Nullable;

/**
 * The state of a server at one moment.
 *
 * @param name the name of the server
 * @param state the state of the server
 * @param pool the name of the pool that serves it
 * @param address the address it is bound to, or {@code null} if it is not
 * @param port the port it is bound to, also after it has stopped, or -1 if it was never
 * bound
 * @param framing a description of the framing; {@code datagram} if there is none
 * @param handler the name of the handler
 * @param openConnections how many connections are open; 0 for datagrams, like all figures
 * about connections
 * @param acceptedConnections how many were accepted
 * @param rejectedConnections how many were rejected because of the limit
 * @param closedConnections how many were closed, by reason
 * @param receivedBytes how many bytes were read, framing included
 * @param sentBytes how many bytes were written or will be written, framing included
 * @param receivedMessages how many messages were given to the handler
 * @param acceptingSuspended whether accepting, or receiving datagrams, is interrupted
 * because it failed: usually the system is out of descriptors or memory
 * @param paused whether the server is {@linkplain Server#pause() paused}
 * @param transport the transport of the messages
 * @param datagrams figures about datagrams, or {@code null} for another transport
 * @param tls figures about TLS, or {@code null} if the server does not use TLS
 * @param maxConnections how many connections may be open, as configured; 0 for datagrams
 * @param startedAt when the server was started, or {@code null} if it was not
 * @param listening {@code false} if new peers cannot reach the running server because its
 * socket has failed for good; it is also {@code true} before the start and after the end
 * @param listeningFailure why the socket has failed, in printable characters, or
 * {@code null} if it has not failed
 * @param handling how long the handler took, for each message
 * @param exchanges the requests that the server has sent to its clients, or {@code null}
 * if it has no correlation
 * @param evacuation the evacuation of the server, or {@code null} if it is not being
 * evacuated, or all of its connections have been told to end
 */
public record ServerSnapshot(String name, State state, String pool, @Nullable String address, int port, String framing,
		String handler, int openConnections, long acceptedConnections, long rejectedConnections,
		Map<CloseReason, Long> closedConnections, long receivedBytes, long sentBytes, long receivedMessages,
		boolean acceptingSuspended, boolean paused, TransportType transport, @Nullable Datagrams datagrams,
		@Nullable Tls tls, int maxConnections, @Nullable Instant startedAt, boolean listening,
		@Nullable String listeningFailure, LatencySnapshot handling, @Nullable Exchanges exchanges,
		@Nullable Evacuation evacuation) {

	/**
	 * An evacuation: the connections drain one after the other.
	 *
	 * @param rate how many connections are told to end, at most
	 * @param left how many open connections have not been told yet
	 * @see TcpServer#evacuate(CloseRate)
	 */
	public record Evacuation(CloseRate rate, int left) {
	}

	/**
	 * The requests that a server has sent to its clients.
	 *
	 * @param outcomes how many have ended, by outcome
	 * @param lateReplies how many replies came too late
	 */
	public record Exchanges(Map<ClientSnapshot.Outcome, Long> outcomes, long lateReplies) {
	}

	/**
	 * The figures of a server that uses TLS.
	 *
	 * @param generation the number of the configuration that new connections get, from 1;
	 * see {@link TcpServer#tls(ServerTls)}
	 * @param openConnections how many connections are open, by the number of their
	 * configuration; configurations without connections are omitted
	 * @param completedHandshakes how many handshakes have succeeded
	 * @param failedHandshakes how many have failed or taken too long
	 * @param pendingHandshakes how many are under way
	 * @param limitReached how often the server accepted no connections for a while,
	 * because too many handshakes were under way or had begun
	 * @param maxHandshakes how many may be under way, as configured; 0 for no limit
	 */
	public record Tls(int generation, Map<Integer, Integer> openConnections, long completedHandshakes,
			long failedHandshakes, int pendingHandshakes, long limitReached, int maxHandshakes) {
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
	 * The datagrams of a server. Datagrams that the system drops because its receive
	 * buffer is full are not counted; only the system can report them.
	 *
	 * @param inFlight how many are being handled or suspended
	 * @param limitReached how often reading stopped for a while because the maximum
	 * number of datagrams was being handled or suspended, or the handlers occupied all
	 * threads that they may
	 * @param truncated how many were dropped because they were larger than the maximum
	 * message size
	 * @param rejected how many were dropped because their sender was forged
	 * @param receiveFailures how often receiving failed
	 * @param sentReplies how many replies were passed to the system
	 * @param refusedReplies how many replies were rejected because they exceeded the
	 * maximum reply ratio
	 * @param droppedReplies how many replies the system did not accept, because its send
	 * buffer was full or there was no route
	 * @param maxInFlight how many may be handled or suspended at a time, as configured
	 * @param limitedReplies how many replies were dropped because their sender got too
	 * many; see {@link UdpServer.Builder#maxReplyRate}
	 */
	public record Datagrams(int inFlight, long limitReached, long truncated, long rejected, long receiveFailures,
			long sentReplies, long refusedReplies, long droppedReplies, int maxInFlight, long limitedReplies) {
	}

}
