package org.leaderfollowers.spring.actuate;

import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Function;
import java.util.function.Predicate;

import org.jspecify.annotations.Nullable;
import org.leaderfollowers.LeaderFollowersPool;
import org.leaderfollowers.Server;
import org.leaderfollowers.spring.actuate.WriteAudit.Operator;
import org.leaderfollowers.spring.handler.HandlerBeans;
import org.leaderfollowers.spring.limit.ClientLimiters;
import org.leaderfollowers.spring.server.LeaderFollowersPools;
import org.leaderfollowers.spring.server.LeaderFollowersServers;

import org.springframework.boot.actuate.endpoint.Access;
import org.springframework.boot.actuate.endpoint.OperationResponseBody;
import org.springframework.boot.actuate.endpoint.SecurityContext;
import org.springframework.boot.actuate.endpoint.annotation.DeleteOperation;
import org.springframework.boot.actuate.endpoint.annotation.Endpoint;
import org.springframework.boot.actuate.endpoint.annotation.ReadOperation;
import org.springframework.boot.actuate.endpoint.annotation.Selector;
import org.springframework.boot.actuate.endpoint.annotation.WriteOperation;
import org.springframework.context.ApplicationEventPublisher;
import org.springframework.util.Assert;

/**
 * {@link Endpoint @Endpoint} that shows the state of the pools and servers of the
 * application, and changes them at run time.
 */
@Endpoint(id = "leaderfollowers", defaultAccess = Access.READ_ONLY)
public class LeaderFollowersEndpoint {

	private final @Nullable String application;

	private final LeaderFollowersPools pools;

	private final LeaderFollowersServers servers;

	private final ClientLimiters limiters;

	private final Predicate<SecurityContext> maySeeClients;

	private final Function<String, List<HandlerBeans.Mapping>> mappings;

	private final PoolOperations poolOperations;

	private final ServerOperations serverOperations;

	/**
	 * Creates a new endpoint.
	 * @param application the name of the application to show, or {@code null} if it has
	 * none
	 * @param pools the pools to show
	 * @param servers the servers to show
	 * @param limiters the limits that apply to each client of a server
	 * @param maySeeClients decides whether a caller may see which clients have exceeded a
	 * limit. JMX does not identify its callers
	 * @param mappings finds the methods of the handlers by the name of a server
	 * @param drainTimeout how long a server may drain if a request has no timeout; at
	 * most a day
	 * @param publisher publishes each write as an event for Boot's audit
	 */
	public LeaderFollowersEndpoint(@Nullable String application, LeaderFollowersPools pools,
			LeaderFollowersServers servers, ClientLimiters limiters, Predicate<SecurityContext> maySeeClients,
			Function<String, List<HandlerBeans.Mapping>> mappings, Duration drainTimeout,
			ApplicationEventPublisher publisher) {
		Assert.notNull(pools, "'pools' must not be null");
		Assert.notNull(servers, "'servers' must not be null");
		Assert.notNull(limiters, "'limiters' must not be null");
		Assert.notNull(maySeeClients, "'maySeeClients' must not be null");
		Assert.notNull(mappings, "'mappings' must not be null");
		Assert.notNull(drainTimeout, "'drainTimeout' must not be null");
		Assert.notNull(publisher, "'publisher' must not be null");
		this.application = application;
		this.pools = pools;
		this.servers = servers;
		this.limiters = limiters;
		this.maySeeClients = maySeeClients;
		this.mappings = mappings;
		WriteAudit audit = new WriteAudit(publisher);
		this.poolOperations = new PoolOperations(audit);
		this.serverOperations = new ServerOperations(servers, limiters, drainTimeout, audit);
	}

	/**
	 * Shows all pools and servers.
	 * @return pools and servers by name
	 */
	@ReadOperation
	public LeaderFollowersDescriptor leaderFollowers() {
		Instant time = Instant.now();
		Map<String, PoolDescriptor> pools = new LinkedHashMap<>();
		this.pools.forEach((pool) -> pools.put(pool.name(), PoolDescriptor.of(pool.snapshot())));
		Map<String, ServerDescriptor> servers = new LinkedHashMap<>();
		this.servers.forEach((server) -> servers.put(server.name(), ServerDescriptor.of(server.snapshot())));
		return new LeaderFollowersDescriptor(this.application, time, pools, servers);
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
		return (found != null) ? ServerDescriptor.of(found.snapshot(), this.mappings.apply(server),
				this.limiters.get(server), this.maySeeClients.test(SecurityContext.NONE)) : null;
	}

	ServerDescriptor existingServer(SecurityContext caller, String pool, String server) {
		return ServerDescriptor.of(requiredServer(pool, server).snapshot(), this.mappings.apply(server),
				this.limiters.get(server), this.maySeeClients.test(caller));
	}

	/**
	 * Changes a running pool immediately. Values that are not given do not change. If one
	 * of the values is rejected, nothing changes.
	 * @param pool the name of the pool
	 * @param minThreads the minimum number of threads, which are kept even when idle
	 * @param maxThreads the maximum number of threads
	 * @param policy {@code adaptive} or {@code eager}
	 * @param lease how long a leader may run a handler before a follower takes over
	 * @return the changed pool
	 */
	@WriteOperation
	public PoolDescriptor changePool(@Selector String pool, @Nullable String minThreads, @Nullable String maxThreads,
			@Nullable String policy, @Nullable String lease) {
		return changePool(Operator.UNKNOWN, pool, minThreads, maxThreads, policy, lease);
	}

	PoolDescriptor changePool(Operator operator, String pool, @Nullable String minThreads, @Nullable String maxThreads,
			@Nullable String policy, @Nullable String lease) {
		return this.poolOperations.change(operator, requiredPool(pool), minThreads, maxThreads, policy, lease);
	}

	/**
	 * Pauses, resumes, drains or evacuates a server, or changes the limits of its
	 * clients.
	 * @param pool the name of the pool that serves it
	 * @param server the name of the server
	 * @param action {@code pause}, {@code resume}, {@code drain}, {@code evacuate} or
	 * {@code limit}
	 * @param timeout how long it may drain; the timeout of a shutdown phase if not given
	 * @param rate how many connections an evacuation closes, such as {@code 50/s}
	 * @param maxConnections for {@code limit}: a number, or {@code none}
	 * @param connectionsPerSecond for {@code limit}: a number, or {@code none}
	 * @param messagesPerSecond for {@code limit}: a number, or {@code none}
	 * @param bytesPerSecond for {@code limit}: a size, or {@code none}
	 * @param failedLoginsPerMinute for {@code limit}: a number, or {@code none}
	 * @param limitAction for {@code limit}: {@code suspend}, {@code refuse} or
	 * {@code close}
	 * @return the changed server
	 */
	@WriteOperation
	public ServerDescriptor changeServer(@Selector String pool, @Selector String server, @Nullable String action,
			@Nullable String timeout, @Nullable String rate, @Nullable String maxConnections,
			@Nullable String connectionsPerSecond, @Nullable String messagesPerSecond, @Nullable String bytesPerSecond,
			@Nullable String failedLoginsPerMinute, @Nullable String limitAction) {
		return changeServer(Operator.UNKNOWN, pool, server, action, timeout, rate,
				new LimitOperations.Arguments(maxConnections, connectionsPerSecond, messagesPerSecond, bytesPerSecond,
						failedLoginsPerMinute, limitAction));
	}

	ServerDescriptor changeServer(Operator operator, String pool, String server, @Nullable String action,
			@Nullable String timeout, @Nullable String rate, LimitOperations.Arguments limits) {
		return this.serverOperations.change(operator, pool, requiredServer(pool, server).name(), action, timeout, rate,
				limits);
	}

	/**
	 * Closes a connection when all messages that were received have been answered.
	 * @param pool the name of the pool
	 * @param server the name of the server
	 * @param connection the identifier of the connection
	 * @param timeout how long this may take, 0 to close the connection at once; the
	 * timeout of a shutdown phase if not given
	 * @return always {@code null}
	 */
	// Not void: the extension, which returns a body if it refuses, would add another
	// web operation instead of replacing a void one.
	@DeleteOperation
	public @Nullable OperationResponseBody closeConnection(@Selector String pool, @Selector String server,
			@Selector String connection, @Nullable String timeout) {
		closeConnection(Operator.UNKNOWN, pool, server, connection, timeout);
		return null;
	}

	void closeConnection(Operator operator, String pool, String server, String connection, @Nullable String timeout) {
		this.serverOperations.closeConnection(operator, pool, requiredServer(pool, server), connection, timeout);
	}

	private @Nullable LeaderFollowersPool findPool(String name) {
		return find(this.pools, (candidate) -> candidate.name().equals(name));
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

	private @Nullable Server findServer(String pool, String name) {
		return find(this.servers, (candidate) -> candidate.name().equals(name) && candidate.pool().name().equals(pool));
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

	private static <T> @Nullable T find(Iterable<T> candidates, Predicate<T> condition) {
		for (T candidate : candidates) {
			if (condition.test(candidate)) {
				return candidate;
			}
		}
		return null;
	}

}
