package org.leaderfollowers.spring.actuate;

import java.time.Duration;
import java.time.Instant;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.function.Function;

import org.jspecify.annotations.Nullable;
import org.leaderfollowers.CloseReason;
import org.leaderfollowers.EventType;
import org.leaderfollowers.LatencySnapshot;
import org.leaderfollowers.PoolSnapshot;
import org.leaderfollowers.PoolSnapshot.HandleSetSnapshot;
import org.leaderfollowers.PoolSnapshot.ThreadSnapshot;
import org.leaderfollowers.PromotionKind;
import org.leaderfollowers.PromotionOrder;
import org.leaderfollowers.PromotionPolicy;
import org.leaderfollowers.ServerSnapshot;
import org.leaderfollowers.ServerSnapshot.Tls;
import org.leaderfollowers.ThreadRole;
import org.leaderfollowers.TransportType;

import org.springframework.boot.actuate.endpoint.OperationResponseBody;

/**
 * What the {@link LeaderFollowersEndpoint} shows: the pools and servers of the
 * application. Each is looked at once, one right after the other.
 *
 * @param time when this was
 * @param pools the pools, by name
 * @param servers the servers, by name
 */
public record LeaderFollowersDescriptor(Instant time, Map<String, PoolDescriptor> pools,
		Map<String, ServerDescriptor> servers) implements OperationResponseBody {

	/**
	 * A pool.
	 *
	 * @param time when this was
	 * @param state whether the pool runs
	 * @param configuration how it is configured
	 * @param roles how many threads play each role
	 * @param threads the threads of the pool
	 * @param threadsStarted how many threads were started since the pool was built
	 * @param threadStartFailures how many threads could not be started
	 * @param handleSets the handle sets of the pool
	 * @param promotions how many leaders there have been, by how they came to lead
	 * @param handOffs how leadership was handed over
	 * @param leaderless how long nobody could lead because every thread was busy
	 * @param bufferedBytes how much memory its connections hold together
	 */
	public record PoolDescriptor(Instant time, PoolSnapshot.State state, PoolConfigurationDescriptor configuration,
			Map<ThreadRole, Integer> roles, List<ThreadDescriptor> threads, long threadsStarted,
			long threadStartFailures, List<HandleSetDescriptor> handleSets, Map<PromotionKind, Long> promotions,
			HandOffsDescriptor handOffs, LeaderlessDescriptor leaderless,
			long bufferedBytes) implements OperationResponseBody {

		static PoolDescriptor of(PoolSnapshot pool) {
			return new PoolDescriptor(pool.time(), pool.state(), PoolConfigurationDescriptor.of(pool),
					inOrder(ThreadRole.class, pool::count),
					pool.threads().stream().map((thread) -> ThreadDescriptor.of(thread, pool.time())).toList(),
					pool.threadsStarted(), pool.threadStartFailures(),
					pool.handleSets().stream().map(HandleSetDescriptor::of).toList(),
					counts(PromotionKind.class, pool.promotions()), HandOffsDescriptor.of(pool),
					new LeaderlessDescriptor(pool.leaderlessPeriods(), Duration.ofNanos(pool.leaderlessNanos()),
							pool.starvations(), pool.starvedFor()),
					pool.bufferedBytes());
		}

	}

	/**
	 * How a pool is configured.
	 *
	 * @param threads how many threads it may have
	 * @param handleSets how many handle sets it has
	 * @param maxBufferedBytes how much memory its connections may hold together
	 * @param promotion how followers are promoted
	 */
	public record PoolConfigurationDescriptor(ThreadLimitsDescriptor threads, int handleSets, long maxBufferedBytes,
			PromotionDescriptor promotion) {

		static PoolConfigurationDescriptor of(PoolSnapshot pool) {
			return new PoolConfigurationDescriptor(
					new ThreadLimitsDescriptor(pool.minThreads(), pool.maxThreads(), pool.keepAlive()),
					pool.handleSets().size(), pool.maxBufferedBytes(),
					new PromotionDescriptor(pool.promotionPolicy(), pool.promotionOrder(), pool.promotionLease()));
		}

	}

	/**
	 * How many threads a pool may have.
	 *
	 * @param min the least number of threads
	 * @param max the greatest number of threads
	 * @param keepAlive how long a surplus thread waits before it ends
	 */
	public record ThreadLimitsDescriptor(int min, int max, Duration keepAlive) {
	}

	/**
	 * How followers are promoted.
	 *
	 * @param policy when the leader promotes a follower
	 * @param order which follower is promoted
	 * @param lease how long a leader may run a handler before a follower takes over
	 */
	public record PromotionDescriptor(PromotionPolicy policy, PromotionOrder order, Duration lease) {

	}

	/**
	 * A thread of a pool.
	 *
	 * @param name the name of the thread
	 * @param role what it does
	 * @param since when it began to do so
	 * @param server the name of the server that it works for, if it works on a handle of
	 * one
	 * @param handle what it works on, if it is processing or runs a handler while it
	 * leads
	 * @param handler who processes, if somebody does
	 */
	public record ThreadDescriptor(String name, ThreadRole role, Instant since, @Nullable String server,
			@Nullable String handle, @Nullable String handler) {

		static ThreadDescriptor of(ThreadSnapshot thread, Instant now) {
			return new ThreadDescriptor(thread.name(), thread.role(), now.minus(thread.since()), thread.server(),
					thread.handle(), thread.handler());
		}

	}

	/**
	 * A handle set of a pool.
	 *
	 * @param name the name of the handle set
	 * @param leader the name of the thread that leads it, or {@code null} if none does:
	 * for a moment between two leaders, or because every thread is busy
	 * @param vacantFor for how long it has had no leader now; zero if it has one
	 * @param ready how many handles have fired and wait for a thread to take them
	 * @param handles how many handles there are
	 * @param events how many events there have been, by type
	 */
	public record HandleSetDescriptor(String name, @Nullable String leader, Duration vacantFor, int ready,
			HandlesDescriptor handles, Map<EventType, Long> events) {

		static HandleSetDescriptor of(HandleSetSnapshot set) {
			return new HandleSetDescriptor(set.name(), set.leader(), set.vacantFor(), set.ready(),
					new HandlesDescriptor(set.handles(), set.active(), set.deactivated()),
					counts(EventType.class, set.events()));
		}

	}

	/**
	 * How many handles a handle set has.
	 *
	 * @param registered all of them
	 * @param active those that wait for their next event
	 * @param deactivated those that are worked on, or wait for something other than an
	 * event
	 */
	public record HandlesDescriptor(int registered, int active, int deactivated) {
	}

	/**
	 * How leadership was handed over.
	 *
	 * @param count how often
	 * @param totalTime how long it took until the next leader was in place, all together
	 * @param wakeUps how many followers were woken for it
	 * @param wastedWakeUps how many of them found another leader in place already
	 * @param latency how long it took until the next leader was in place, each time
	 */
	public record HandOffsDescriptor(long count, Duration totalTime, long wakeUps, long wastedWakeUps,
			LatencyDescriptor latency) {

		static HandOffsDescriptor of(PoolSnapshot pool) {
			return new HandOffsDescriptor(pool.promotions().values().stream().mapToLong(Long::longValue).sum(),
					Duration.ofNanos(pool.handOffNanos()), pool.wakeUps(), pool.wastedWakeUps(),
					LatencyDescriptor.of(pool.vacancies()));
		}

	}

	/**
	 * How long something took, each time since the start.
	 *
	 * @param count how many times
	 * @param total all durations together
	 * @param p50 what half of them did not exceed, as the other percentiles at the most
	 * an eighth too much
	 * @param p90 what nine of ten did not exceed
	 * @param p99 what 99 of 100 did not exceed
	 * @param p999 what 999 of 1000 did not exceed
	 * @param max the longest of them
	 * @param buckets how many took how long, in ascending order, without empty ones. The
	 * difference of two looks is what happened in between
	 */
	public record LatencyDescriptor(long count, Duration total, Duration p50, Duration p90, Duration p99, Duration p999,
			Duration max, List<BucketDescriptor> buckets) {

		static LatencyDescriptor of(LatencySnapshot latency) {
			return new LatencyDescriptor(latency.count(), latency.total(), latency.percentile(50),
					latency.percentile(90), latency.percentile(99), latency.percentile(99.9), latency.max(),
					latency.buckets()
						.stream()
						.map((bucket) -> new BucketDescriptor(bucket.upTo(), bucket.count()))
						.toList());
		}

	}

	/**
	 * What took about as long.
	 *
	 * @param upTo the longest duration that belongs here
	 * @param count how many times, without those of other buckets
	 */
	public record BucketDescriptor(Duration upTo, long count) {
	}

	/**
	 * How long handle sets had no leader because every thread was busy.
	 *
	 * @param periods how often that was so and has ended
	 * @param totalTime how long those periods lasted, all together
	 * @param starvations how many of them were longer than the lease
	 * @param starvedFor for how long it has been so now, or zero if it is not
	 */
	public record LeaderlessDescriptor(long periods, Duration totalTime, long starvations, Duration starvedFor) {
	}

	/**
	 * A server.
	 *
	 * @param state whether the server runs
	 * @param startedAt when it was started, or {@code null} if it was not
	 * @param listening {@code false} if clients ought to reach it, but its socket has
	 * failed
	 * @param listeningFailure why it has failed, or {@code null} if it has not
	 * @param paused whether it was asked to take on nothing new
	 * @param address the address that it is bound to, or {@code null} if it is not
	 * @param port the port that it is bound to, or {@code null} if it is not
	 * @param transport what carries the messages
	 * @param framing how messages are told apart
	 * @param handler the name of the handler bean
	 * @param pool the name of the pool that serves the connections
	 * @param connections how many connections there are and have been, or {@code null} if
	 * the transport has none
	 * @param datagrams how many datagrams there are and have been, or {@code null} if the
	 * transport has none
	 * @param bytes how much was received and sent
	 * @param messages how many messages were received
	 * @param handling how long the handler took for a message
	 * @param tls what there is to tell of TLS, or {@code null} if the server does not
	 * speak it
	 */
	public record ServerDescriptor(ServerSnapshot.State state, @Nullable Instant startedAt, boolean listening,
			@Nullable String listeningFailure, boolean paused, @Nullable String address, @Nullable Integer port,
			TransportType transport, String framing, String handler, String pool,
			@Nullable ConnectionsDescriptor connections, @Nullable DatagramsDescriptor datagrams, BytesDescriptor bytes,
			MessagesDescriptor messages, LatencyDescriptor handling,
			@Nullable TlsDescriptor tls) implements OperationResponseBody {

		static ServerDescriptor of(ServerSnapshot server) {
			return new ServerDescriptor(server.state(), server.startedAt(), server.listening(),
					server.listeningFailure(), server.paused(), server.address(),
					(server.port() > 0) ? server.port() : null, server.transport(), server.framing(), server.handler(),
					server.pool(), (server.transport() == TransportType.TCP) ? ConnectionsDescriptor.of(server) : null,
					DatagramsDescriptor.of(server), new BytesDescriptor(server.receivedBytes(), server.sentBytes()),
					new MessagesDescriptor(server.receivedMessages()), LatencyDescriptor.of(server.handling()),
					TlsDescriptor.of(server.tls()));
		}

	}

	/**
	 * The connections of a server.
	 *
	 * @param open how many are open
	 * @param max how many may be open
	 * @param accepted how many were accepted
	 * @param rejected how many were turned away because as many as allowed were open
	 * @param closed how many were closed, by reason
	 * @param acceptingSuspended whether accepting pauses because the system is out of
	 * descriptors or memory
	 */
	public record ConnectionsDescriptor(int open, int max, long accepted, long rejected, Map<CloseReason, Long> closed,
			boolean acceptingSuspended) {

		static ConnectionsDescriptor of(ServerSnapshot server) {
			return new ConnectionsDescriptor(server.openConnections(), server.maxConnections(),
					server.acceptedConnections(), server.rejectedConnections(),
					counts(CloseReason.class, server.closedConnections()), server.acceptingSuspended());
		}

	}

	/**
	 * The datagrams of a server.
	 *
	 * @param inFlight how many are being handled or suspended
	 * @param maxInFlight how many may be
	 * @param limitReached how often no more were read for a while, since as many as
	 * allowed were being handled or suspended
	 * @param truncated how many were dropped because they were larger than allowed
	 * @param rejected how many were dropped because their sender was forged
	 * @param receiveFailures how often receiving failed
	 * @param receivingSuspended whether receiving pauses because it failed
	 * @param replies how many replies there have been
	 */
	public record DatagramsDescriptor(int inFlight, int maxInFlight, long limitReached, long truncated, long rejected,
			long receiveFailures, boolean receivingSuspended, RepliesDescriptor replies) {

		static @Nullable DatagramsDescriptor of(ServerSnapshot server) {
			ServerSnapshot.Datagrams datagrams = server.datagrams();
			return (datagrams != null) ? new DatagramsDescriptor(datagrams.inFlight(), datagrams.maxInFlight(),
					datagrams.limitReached(), datagrams.truncated(), datagrams.rejected(), datagrams.receiveFailures(),
					server.acceptingSuspended(), new RepliesDescriptor(datagrams.sentReplies(),
							datagrams.refusedReplies(), datagrams.droppedReplies()))
					: null;
		}

	}

	/**
	 * The replies to datagrams.
	 *
	 * @param sent how many the system took
	 * @param refused how many were too large for what they answered
	 * @param dropped how many the system did not take
	 */
	public record RepliesDescriptor(long sent, long refused, long dropped) {
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
	 * @param generation the number of the configuration that new connections get, from 1.
	 * It grows when the SSL bundle is reloaded
	 * @param connections how many connections are open, by the generation of their
	 * configuration
	 * @param handshakes how handshakes ended
	 */
	public record TlsDescriptor(int generation, Map<Integer, Integer> connections, HandshakesDescriptor handshakes) {

		static @Nullable TlsDescriptor of(ServerSnapshot.@Nullable Tls tls) {
			return (tls != null) ? new TlsDescriptor(tls.generation(), new TreeMap<>(tls.openConnections()),
					new HandshakesDescriptor(tls.completedHandshakes(), tls.failedHandshakes())) : null;
		}

	}

	/**
	 * The handshakes of a server.
	 *
	 * @param completed how many succeeded
	 * @param failed how many failed or took too long
	 */
	public record HandshakesDescriptor(long completed, long failed) {
	}

	private static <E extends Enum<E>> Map<E, Long> counts(Class<E> type, Map<E, Long> counts) {
		return inOrder(type, (key) -> counts.getOrDefault(key, 0L));
	}

	private static <E extends Enum<E>, V> Map<E, V> inOrder(Class<E> type, Function<E, V> value) {
		Map<E, V> values = new EnumMap<>(type);
		for (E key : type.getEnumConstants()) {
			values.put(key, value.apply(key));
		}
		return values;
	}

}
