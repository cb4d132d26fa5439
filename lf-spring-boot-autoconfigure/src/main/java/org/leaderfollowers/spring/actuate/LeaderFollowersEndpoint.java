package org.leaderfollowers.spring.actuate;

import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.EnumMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.function.Function;

import org.apache.commons.logging.Log;
import org.apache.commons.logging.LogFactory;
import org.jspecify.annotations.Nullable;
import org.leaderfollowers.CloseReason;
import org.leaderfollowers.Connection;
import org.leaderfollowers.EventType;
import org.leaderfollowers.LatencySnapshot;
import org.leaderfollowers.LeaderFollowersPool;
import org.leaderfollowers.PoolSnapshot;
import org.leaderfollowers.PoolSnapshot.HandleSetSnapshot;
import org.leaderfollowers.PoolSnapshot.ThreadSnapshot;
import org.leaderfollowers.PromotionKind;
import org.leaderfollowers.PromotionOrder;
import org.leaderfollowers.PromotionPolicy;
import org.leaderfollowers.ServerSnapshot;
import org.leaderfollowers.Server;
import org.leaderfollowers.TcpServer;
import org.leaderfollowers.ThreadRole;
import org.leaderfollowers.TransportType;
import org.leaderfollowers.spring.logging.Printable;
import org.leaderfollowers.spring.server.LeaderFollowersPools;
import org.leaderfollowers.spring.server.LeaderFollowersServers;

import org.springframework.boot.actuate.endpoint.Access;
import org.springframework.boot.actuate.endpoint.OperationResponseBody;
import org.springframework.boot.actuate.endpoint.annotation.DeleteOperation;
import org.springframework.boot.actuate.endpoint.annotation.Endpoint;
import org.springframework.boot.actuate.endpoint.annotation.ReadOperation;
import org.springframework.boot.actuate.endpoint.annotation.Selector;
import org.springframework.boot.actuate.endpoint.annotation.WriteOperation;
import org.springframework.context.ApplicationEventPublisher;
import org.springframework.util.Assert;

/**
 * {@link Endpoint @Endpoint} that shows what the pools and servers of the application are
 * doing.
 */
@Endpoint(id = "leaderfollowers", defaultAccess = Access.READ_ONLY)
public class LeaderFollowersEndpoint {

	private static final Log logger = LogFactory.getLog(LeaderFollowersEndpoint.class);

	/** Of a pool; the engine takes no more either. */
	private static final int MOST_THREADS = 10_000;

	private static final Duration LONGEST_DRAIN = Duration.ofDays(1);

	private final LeaderFollowersPools pools;

	private final LeaderFollowersServers servers;

	private final Duration drainTimeout;

	private final WriteAudit audit;

	/**
	 * One write at a time, so that what it tells of before and after is true. A lock of
	 * our own: those who are told may wait for threads of the pool.
	 */
	private final Object writing = new Object();

	/**
	 * Creates a new endpoint.
	 * @param pools the pools to show
	 * @param servers the servers to show
	 * @param drainTimeout how long a server may drain, unless a request says otherwise; a
	 * day at the most
	 * @param publisher where to publish the writes, for Boot's audit
	 */
	public LeaderFollowersEndpoint(LeaderFollowersPools pools, LeaderFollowersServers servers, Duration drainTimeout,
			ApplicationEventPublisher publisher) {
		Assert.notNull(pools, "'pools' must not be null");
		Assert.notNull(servers, "'servers' must not be null");
		Assert.notNull(drainTimeout, "'drainTimeout' must not be null");
		Assert.notNull(publisher, "'publisher' must not be null");
		this.pools = pools;
		this.servers = servers;
		this.drainTimeout = (drainTimeout.compareTo(LONGEST_DRAIN) > 0) ? LONGEST_DRAIN : drainTimeout;
		this.audit = new WriteAudit(publisher);
	}

	/**
	 * Shows all pools and servers.
	 * @return pools and servers by name
	 */
	@ReadOperation
	public LeaderFollowersDescriptor leaderFollowers() {
		Instant time = Instant.now();
		Map<String, PoolDescriptor> pools = new LinkedHashMap<>();
		for (LeaderFollowersPool pool : this.pools) {
			pools.put(pool.name(), PoolDescriptor.of(pool.snapshot()));
		}
		Map<String, ServerDescriptor> servers = new LinkedHashMap<>();
		for (Server server : this.servers) {
			servers.put(server.name(), ServerDescriptor.of(server.snapshot()));
		}
		return new LeaderFollowersDescriptor(time, pools, servers);
	}

	/**
	 * Shows one pool.
	 * @param pool the name of the pool
	 * @return the pool, or {@code null} if there is none of this name
	 */
	@ReadOperation
	public @Nullable PoolDescriptor pool(@Selector String pool) {
		LeaderFollowersPool found = findPool(pool);
		return (found != null) ? PoolDescriptor.of(found.snapshot()) : null;
	}

	PoolDescriptor existingPool(String pool) {
		return PoolDescriptor.of(requiredPool(pool).snapshot());
	}

	/**
	 * Shows one server.
	 * @param pool the name of the pool that serves it
	 * @param server the name of the server
	 * @return the server, or {@code null} if the pool serves none of this name
	 */
	@ReadOperation
	public @Nullable ServerDescriptor server(@Selector String pool, @Selector String server) {
		Server found = findServer(pool, server);
		return (found != null) ? ServerDescriptor.of(found.snapshot()) : null;
	}

	ServerDescriptor existingServer(String pool, String server) {
		return ServerDescriptor.of(requiredServer(pool, server).snapshot());
	}

	/**
	 * Changes a pool at once and while it runs. What is not given stays as it is; if one
	 * of the values is refused, nothing changes.
	 * @param pool the name of the pool
	 * @param minThreads how many threads are kept even when idle
	 * @param maxThreads how many threads there may be
	 * @param policy {@code adaptive} or {@code eager}
	 * @param lease how long a leader may run a handler before a follower takes over
	 * @return the pool as it is now
	 */
	@WriteOperation
	public PoolDescriptor changePool(@Selector String pool, @Nullable String minThreads, @Nullable String maxThreads,
			@Nullable String policy, @Nullable String lease) {
		return changePool(Operator.UNKNOWN, pool, minThreads, maxThreads, policy, lease);
	}

	PoolDescriptor changePool(Operator operator, String pool, @Nullable String minThreads, @Nullable String maxThreads,
			@Nullable String policy, @Nullable String lease) {
		LeaderFollowersPool found = requiredPool(pool);
		PoolChange change = new PoolChange(OperationArguments.integer("minThreads", minThreads, 1, MOST_THREADS),
				OperationArguments.integer("maxThreads", maxThreads, 1, MOST_THREADS),
				OperationArguments.constant("policy", policy, PromotionPolicy.class),
				OperationArguments.duration("lease", lease));
		if (change.isEmpty()) {
			throw RefusedRequestException
				.invalid("Nothing to change: give 'minThreads', 'maxThreads', 'policy' or 'lease', or several of them");
		}
		synchronized (this.writing) {
			PoolSnapshot before = found.snapshot();
			try {
				change.apply(found, before);
			}
			catch (IllegalArgumentException ex) {
				throw RefusedRequestException.invalid(String.valueOf(ex.getMessage()));
			}
			catch (IllegalStateException ex) {
				throw RefusedRequestException.conflict("The pool is " + found.snapshot().state());
			}
			PoolSnapshot after = found.snapshot();
			Map<String, Object> old = PoolChange.values(before);
			Map<String, Object> changed = PoolChange.values(after);
			changed.entrySet().removeIf((value) -> value.getValue().equals(old.get(value.getKey())));
			old.keySet().retainAll(changed.keySet());
			if (!changed.isEmpty()) {
				logger.info(Printable
					.of("Pool '%s' is changed%s: %s, was %s".formatted(found.name(), operator.by(), changed, old)));
				this.audit.record(operator, WriteAudit.POOL_CHANGED, Map.of("pool", found.name()), old, changed);
			}
			return PoolDescriptor.of(after);
		}
	}

	/**
	 * Pauses, resumes or drains a server.
	 * @param pool the name of the pool that serves it
	 * @param server the name of the server
	 * @param action {@code pause}, {@code resume} or {@code drain}
	 * @param timeout how long it may drain; as long as a phase of the shutdown if not
	 * given
	 * @return the server as it is now
	 */
	@WriteOperation
	public ServerDescriptor changeServer(@Selector String pool, @Selector String server, @Nullable String action,
			@Nullable String timeout) {
		return changeServer(Operator.UNKNOWN, pool, server, action, timeout);
	}

	ServerDescriptor changeServer(Operator operator, String pool, String server, @Nullable String action,
			@Nullable String timeout) {
		String name = requiredServer(pool, server).name();
		ServerAction asked = OperationArguments.constant("action", action, ServerAction.class);
		if (asked == null) {
			throw RefusedRequestException.invalid("Nothing to do: give 'action' ('pause', 'resume' or 'drain'), "
					+ "and with 'drain', if you like, 'timeout'");
		}
		Duration within = OperationArguments.duration("timeout", timeout);
		if (within != null && asked != ServerAction.DRAIN) {
			throw RefusedRequestException.invalid("'timeout' is for the action 'drain' only");
		}
		return (asked == ServerAction.DRAIN) ? drain(operator, pool, name, within)
				: pauseOrResume(operator, pool, name, asked == ServerAction.PAUSE);
	}

	/**
	 * Closes a connection, after what was accepted for sending has been written.
	 * @param pool the name of the pool
	 * @param server the name of the server
	 * @param connection what identifies the connection
	 * @return {@code null}: there is nothing to tell of it any more
	 */
	// Not void: over the web, a void operation is another one than that of the extension,
	// which has something to tell when it refuses.
	@DeleteOperation
	public @Nullable OperationResponseBody closeConnection(@Selector String pool, @Selector String server,
			@Selector String connection) {
		closeConnection(Operator.UNKNOWN, pool, server, connection);
		return null;
	}

	void closeConnection(Operator operator, String pool, String server, String connection) {
		Server found = requiredServer(pool, server);
		Long id = OperationArguments.number("connection", connection, 1, Long.MAX_VALUE);
		if (!(found instanceof TcpServer tcpServer)) {
			throw RefusedRequestException.invalid("The server has no connections, since its transport is UDP");
		}
		Connection open = (id != null) ? tcpServer.connection(id) : null;
		if (open == null) {
			throw RefusedRequestException.unknown("open connection", List.of());
		}
		if (open.isOpen()) {
			open.close();
			logger.info(Printable
				.of("Connection %d of server '%s' is closed%s".formatted(id, found.name(), operator.by())));
			this.audit.record(operator, WriteAudit.CONNECTION_CLOSED,
					Map.of("pool", pool, "server", found.name(), "connection", String.valueOf(id)), Map.of(), Map.of());
		}
	}

	private ServerDescriptor pauseOrResume(Operator operator, String pool, String name, boolean pause) {
		synchronized (this.writing) {
			Server server = this.servers.get(name);
			ServerSnapshot.State state = server.snapshot().state();
			if (state == ServerSnapshot.State.DRAINING || state == ServerSnapshot.State.STOPPED) {
				throw RefusedRequestException.conflict("The server is " + state + ": only the application can start "
						+ "it again, by a start of its context");
			}
			boolean before = server.isPaused();
			try {
				if (pause) {
					this.servers.pause(name, operator.by());
				}
				else {
					this.servers.resume(name, operator.by());
				}
			}
			finally {
				// Also if one who listens to the event fails.
				if (server.isPaused() != before) {
					this.audit.record(operator, pause ? WriteAudit.SERVER_PAUSED : WriteAudit.SERVER_RESUMED,
							Map.of("pool", pool, "server", name), Map.of("paused", before), Map.of("paused", pause));
				}
			}
			return ServerDescriptor.of(server.snapshot());
		}
	}

	private ServerDescriptor drain(Operator operator, String pool, String name, @Nullable Duration timeout) {
		Duration within = (timeout != null) ? timeout : this.drainTimeout;
		if (within.isNegative() || within.compareTo(LONGEST_DRAIN) > 0) {
			throw RefusedRequestException
				.invalid("'timeout' must be from 0 to %s, but is %s".formatted(LONGEST_DRAIN, within));
		}
		synchronized (this.writing) {
			ServerSnapshot.State before = this.servers.get(name).snapshot().state();
			ServerSnapshot draining;
			try {
				draining = this.servers.drain(name, within, operator.by());
			}
			catch (IllegalStateException ex) {
				throw RefusedRequestException.conflict("The server cannot be drained, since it is " + before);
			}
			this.audit.record(operator, WriteAudit.SERVER_DRAINED,
					Map.of("pool", pool, "server", name, "timeout", within.toString()), Map.of("state", before.name()),
					Map.of("state", draining.state().name()));
			return ServerDescriptor.of(draining);
		}
	}

	private @Nullable LeaderFollowersPool findPool(String name) {
		for (LeaderFollowersPool candidate : this.pools) {
			if (candidate.name().equals(name)) {
				return candidate;
			}
		}
		return null;
	}

	private @Nullable Server findServer(String pool, String name) {
		for (Server candidate : this.servers) {
			if (candidate.name().equals(name) && candidate.pool().name().equals(pool)) {
				return candidate;
			}
		}
		return null;
	}

	private LeaderFollowersPool requiredPool(String name) {
		LeaderFollowersPool pool = findPool(name);
		if (pool == null) {
			List<String> known = new ArrayList<>();
			this.pools.forEach((candidate) -> known.add(candidate.name()));
			throw RefusedRequestException.unknown("pool", known);
		}
		return pool;
	}

	private Server requiredServer(String pool, String name) {
		requiredPool(pool);
		Server server = findServer(pool, name);
		if (server == null) {
			List<String> known = new ArrayList<>();
			this.servers.forEach((candidate) -> {
				if (candidate.pool().name().equals(pool)) {
					known.add(candidate.name());
				}
			});
			throw RefusedRequestException.unknown("server of this pool", known);
		}
		return server;
	}

	private enum ServerAction {

		PAUSE, RESUME, DRAIN

	}

	/**
	 * The pools and servers of the application. Each is looked at once, one right after
	 * the other.
	 *
	 * @param time when this was
	 * @param pools the pools, by name
	 * @param servers the servers, by name
	 */
	public record LeaderFollowersDescriptor(Instant time, Map<String, PoolDescriptor> pools,
			Map<String, ServerDescriptor> servers) implements OperationResponseBody {
	}

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
					LeaderlessDescriptor.of(pool), pool.bufferedBytes());
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
					pool.handleSets().size(), pool.maxBufferedBytes(), PromotionDescriptor.of(pool));
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

		static PromotionDescriptor of(PoolSnapshot pool) {
			return new PromotionDescriptor(pool.promotionPolicy(), pool.promotionOrder(), pool.promotionLease());
		}

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

		static LeaderlessDescriptor of(PoolSnapshot pool) {
			return new LeaderlessDescriptor(pool.leaderlessPeriods(), Duration.ofNanos(pool.leaderlessNanos()),
					pool.starvations(), pool.starvedFor());
		}

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
