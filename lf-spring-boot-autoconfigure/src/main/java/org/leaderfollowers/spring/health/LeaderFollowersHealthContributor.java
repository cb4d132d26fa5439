package org.leaderfollowers.spring.health;

import java.time.Duration;
import java.util.function.Function;
import java.util.stream.Stream;
import java.util.stream.StreamSupport;

import org.jspecify.annotations.Nullable;
import org.leaderfollowers.LeaderFollowersPool;
import org.leaderfollowers.TcpClient;
import org.leaderfollowers.spring.client.LeaderFollowersClients;
import org.leaderfollowers.spring.server.LeaderFollowersPools;
import org.leaderfollowers.spring.server.LeaderFollowersServers;
import org.leaderfollowers.spring.session.LfSessions;

import org.springframework.boot.health.contributor.CompositeHealthContributor;
import org.springframework.boot.health.contributor.HealthContributor;
import org.springframework.boot.health.contributor.HealthIndicator;
import org.springframework.util.Assert;

/**
 * {@link CompositeHealthContributor} for the pools, servers and clients of an application
 * context: one {@link HealthIndicator} for each, as {@code pools/<name>},
 * {@code servers/<name>} and {@code clients/<name>}. The tree has this shape even with
 * one pool and one server, so that paths, health groups and alerts do not change when a
 * server is added.
 */
public final class LeaderFollowersHealthContributor implements CompositeHealthContributor {

	private static final String POOLS = "pools";

	private static final String SERVERS = "servers";

	private static final String CLIENTS = "clients";

	private static final String SESSIONS = "sessions";

	private final CompositeHealthContributor pools;

	private final CompositeHealthContributor servers;

	private final CompositeHealthContributor clients;

	private final @Nullable HealthIndicator sessions;

	/**
	 * Creates a new contributor.
	 * @param pools the pools to check
	 * @param servers the servers to check
	 * @param clients the clients to check
	 * @param sessions the sessions to check, or {@code null} for none
	 * @param saturatedAfter how long every thread of a pool may be busy before the pool
	 * is out of service, or {@code null} for no limit
	 */
	public LeaderFollowersHealthContributor(LeaderFollowersPools pools, LeaderFollowersServers servers,
			LeaderFollowersClients clients, @Nullable LfSessions sessions, @Nullable Duration saturatedAfter) {
		Assert.notNull(pools, "'pools' must not be null");
		Assert.notNull(servers, "'servers' must not be null");
		Assert.notNull(clients, "'clients' must not be null");
		// Looked up each time, because pools are built when they are needed.
		this.pools = new Indicators<>(pools, LeaderFollowersPool::name,
				(pool) -> new PoolHealthIndicator(pool::snapshot, saturatedAfter));
		// By name, because a server that is started again is a new object.
		this.servers = new Indicators<>(() -> servers.names().iterator(), Function.identity(),
				(name) -> new ServerHealthIndicator(() -> servers.get(name).snapshot()));
		this.clients = new Indicators<>(clients, TcpClient::name,
				(client) -> new ClientHealthIndicator(client::snapshot, clients.isOptional(client.name())));
		this.sessions = (sessions != null) ? new SessionHealthIndicator(sessions) : null;
	}

	@Override
	public @Nullable HealthContributor getContributor(String name) {
		return switch (name) {
			case POOLS -> this.pools;
			case SERVERS -> this.servers;
			case CLIENTS -> this.clients;
			case SESSIONS -> this.sessions;
			default -> null;
		};
	}

	@Override
	public Stream<Entry> stream() {
		Stream<Entry> entries = Stream.of(new Entry(POOLS, this.pools), new Entry(SERVERS, this.servers),
				new Entry(CLIENTS, this.clients));
		return (this.sessions != null) ? Stream.concat(entries, Stream.of(new Entry(SESSIONS, this.sessions)))
				: entries;
	}

	private record Indicators<T>(Iterable<T> sources, Function<T, String> name,
			Function<T, HealthIndicator> indicator) implements CompositeHealthContributor {

		@Override
		public @Nullable HealthContributor getContributor(String name) {
			return stream().filter((entry) -> entry.name().equals(name))
				.map(Entry::contributor)
				.findFirst()
				.orElse(null);
		}

		@Override
		public Stream<Entry> stream() {
			return StreamSupport.stream(this.sources.spliterator(), false)
				.map((source) -> new Entry(this.name.apply(source), this.indicator.apply(source)));
		}

	}

}
