package org.leaderfollowers.spring.actuate;

import java.time.Instant;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

import org.jspecify.annotations.Nullable;
import org.leaderfollowers.CloseReason;
import org.leaderfollowers.ServerSnapshot;
import org.leaderfollowers.TransportType;
import org.leaderfollowers.spring.actuate.LeaderFollowersDescriptor.LatencyDescriptor;
import org.leaderfollowers.spring.handler.HandlerBeans;
import org.leaderfollowers.spring.limit.ClientLimiter;

import org.springframework.boot.actuate.endpoint.OperationResponseBody;

/**
 * A server.
 *
 * @param state the state of the server
 * @param startedAt when the server was started, or {@code null} if it was not
 * @param listening {@code false} if clients should be able to reach the server, but its
 * socket has failed
 * @param listeningFailure why the socket has failed, or {@code null} if it has not
 * @param paused whether the server is paused, so that it accepts no new connections or
 * datagrams
 * @param address the address that it is bound to, or {@code null} if it is not
 * @param port the port that it is bound to, or {@code null} if it is not
 * @param transport the transport of the messages
 * @param framing how messages are separated
 * @param handler the name of the handler bean, or the names of all of them
 * @param mappings which methods handle which messages; {@code null} unless a single
 * server is requested
 * @param pool the name of the pool that serves the connections
 * @param connections current and past connections, or {@code null} if the transport has
 * none
 * @param datagrams current and past datagrams, or {@code null} if the transport has none
 * @param bytes how many bytes were received and sent
 * @param messages how many messages were received
 * @param handling how long the handler took for a message
 * @param tls the state of TLS, or {@code null} if the server does not use TLS
 * @param exchanges the requests that the server has sent to its clients, or {@code null}
 * if it cannot send requests
 * @param evacuation the evacuation, or {@code null} if the server is not being evacuated
 * @param clientLimits the limits that apply to each client; {@code null} if there are
 * none, or unless a single server is requested
 */
public record ServerDescriptor(ServerSnapshot.State state, @Nullable Instant startedAt, boolean listening,
		@Nullable String listeningFailure, boolean paused, @Nullable String address, @Nullable Integer port,
		TransportType transport, String framing, String handler, @Nullable List<HandlerBeans.Mapping> mappings,
		String pool, @Nullable ConnectionsDescriptor connections, @Nullable DatagramsDescriptor datagrams,
		BytesDescriptor bytes, MessagesDescriptor messages, LatencyDescriptor handling, @Nullable TlsDescriptor tls,
		ServerSnapshot.@Nullable Exchanges exchanges, @Nullable EvacuationDescriptor evacuation,
		@Nullable ClientLimitsDescriptor clientLimits) implements OperationResponseBody {

	static ServerDescriptor of(ServerSnapshot server) {
		return of(server, null, null, false);
	}

	static ServerDescriptor of(ServerSnapshot server, @Nullable List<HandlerBeans.Mapping> mappings,
			@Nullable ClientLimiter limiter, boolean showClients) {
		return new ServerDescriptor(server.state(), server.startedAt(), server.listening(), server.listeningFailure(),
				server.paused(), server.address(), (server.port() > 0) ? server.port() : null, server.transport(),
				server.framing(), server.handler(), mappings, server.pool(),
				(server.transport() == TransportType.TCP) ? ConnectionsDescriptor.of(server) : null,
				DatagramsDescriptor.of(server), new BytesDescriptor(server.receivedBytes(), server.sentBytes()),
				new MessagesDescriptor(server.receivedMessages()), LatencyDescriptor.of(server.handling()),
				TlsDescriptor.of(server.tls()), server.exchanges(), EvacuationDescriptor.of(server.evacuation()),
				ClientLimitsDescriptor.of(limiter, showClients));
	}

	/**
	 * The connections of a server.
	 *
	 * @param open how many are open
	 * @param max how many may be open
	 * @param accepted how many were accepted
	 * @param rejected how many were rejected because the maximum number was open
	 * @param closed how many were closed, by reason
	 * @param acceptingSuspended whether the server accepts none for a while because the
	 * system is out of descriptors or memory
	 */
	public record ConnectionsDescriptor(int open, int max, long accepted, long rejected, Map<CloseReason, Long> closed,
			boolean acceptingSuspended) {

		static ConnectionsDescriptor of(ServerSnapshot server) {
			return new ConnectionsDescriptor(server.openConnections(), server.maxConnections(),
					server.acceptedConnections(), server.rejectedConnections(),
					LeaderFollowersDescriptor.counts(CloseReason.class, server.closedConnections()),
					server.acceptingSuspended());
		}

	}

	/**
	 * An evacuation.
	 *
	 * @param rate how many connections are told to end, at most, such as {@code 50/s}
	 * @param left how many open connections have not been told yet
	 */
	public record EvacuationDescriptor(String rate, int left) {

		static @Nullable EvacuationDescriptor of(ServerSnapshot.@Nullable Evacuation evacuation) {
			return (evacuation != null) ? new EvacuationDescriptor(evacuation.rate().toString(), evacuation.left())
					: null;
		}

	}

	/**
	 * The datagrams of a server.
	 *
	 * @param inFlight how many are being handled or suspended
	 * @param maxInFlight the maximum number that may be handled or suspended
	 * @param limitReached how often the server stopped reading for a while because the
	 * maximum number was being handled or suspended
	 * @param truncated how many were dropped because they were larger than allowed
	 * @param rejected how many were dropped because their sender was forged
	 * @param receiveFailures how often receiving failed
	 * @param receivingSuspended whether the server receives none for a while because
	 * receiving failed
	 * @param replies the replies to the datagrams
	 */
	public record DatagramsDescriptor(int inFlight, int maxInFlight, long limitReached, long truncated, long rejected,
			long receiveFailures, boolean receivingSuspended, RepliesDescriptor replies) {

		static @Nullable DatagramsDescriptor of(ServerSnapshot server) {
			ServerSnapshot.Datagrams datagrams = server.datagrams();
			return (datagrams != null)
					? new DatagramsDescriptor(datagrams.inFlight(), datagrams.maxInFlight(), datagrams.limitReached(),
							datagrams.truncated(), datagrams.rejected(), datagrams.receiveFailures(),
							server.acceptingSuspended(), new RepliesDescriptor(datagrams.sentReplies(),
									datagrams.refusedReplies(), datagrams.droppedReplies(), datagrams.limitedReplies()))
					: null;
		}

	}

	/**
	 * The replies to datagrams.
	 *
	 * @param sent how many the system accepted
	 * @param refused how many were too large in relation to their request
	 * @param dropped how many the system did not accept
	 * @param limited how many were dropped because their sender got too many
	 */
	public record RepliesDescriptor(long sent, long refused, long dropped, long limited) {
	}

	/**
	 * The bytes of a server, framing included.
	 *
	 * @param received how many were received
	 * @param sent how many were sent
	 */
	public record BytesDescriptor(long received, long sent) {
	}

	/**
	 * The messages of a server.
	 *
	 * @param received how many were received
	 */
	public record MessagesDescriptor(long received) {
	}

	/**
	 * The TLS of a server.
	 *
	 * @param generation the number of the configuration of new connections, from 1. It
	 * grows when the SSL bundle is reloaded
	 * @param connections how many connections are open, by the generation of their
	 * configuration
	 * @param handshakes how handshakes ended
	 */
	public record TlsDescriptor(int generation, Map<Integer, Integer> connections, HandshakesDescriptor handshakes) {

		static @Nullable TlsDescriptor of(ServerSnapshot.@Nullable Tls tls) {
			return (tls != null) ? new TlsDescriptor(tls.generation(), new TreeMap<>(tls.openConnections()),
					new HandshakesDescriptor(tls.completedHandshakes(), tls.failedHandshakes(), tls.pendingHandshakes(),
							tls.limitReached()))
					: null;
		}

	}

	/**
	 * The handshakes of a server.
	 *
	 * @param completed how many succeeded
	 * @param failed how many failed or took too long
	 * @param pending how many are under way
	 * @param limitReached how often the server accepted no connections for a while
	 * because of them
	 */
	public record HandshakesDescriptor(long completed, long failed, int pending, long limitReached) {
	}

}
