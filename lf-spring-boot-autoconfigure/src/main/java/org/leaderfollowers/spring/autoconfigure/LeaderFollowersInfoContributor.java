package org.leaderfollowers.spring.autoconfigure;

import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

import org.jspecify.annotations.Nullable;
import org.leaderfollowers.ClientSnapshot;
import org.leaderfollowers.LeaderFollowersPool;
import org.leaderfollowers.PoolSnapshot;
import org.leaderfollowers.PromotionOrder;
import org.leaderfollowers.PromotionPolicy;
import org.leaderfollowers.Server;
import org.leaderfollowers.ServerSnapshot;
import org.leaderfollowers.TcpClient;
import org.leaderfollowers.TransportType;
import org.leaderfollowers.spring.client.LeaderFollowersClients;
import org.leaderfollowers.spring.server.LeaderFollowersPools;
import org.leaderfollowers.spring.server.LeaderFollowersServers;

import org.springframework.boot.actuate.info.Info;
import org.springframework.boot.actuate.info.InfoContributor;
import org.springframework.util.Assert;

/**
 * {@link InfoContributor} that adds the section {@code lf}, with the version of the
 * engine and the configured pools, servers and clients.
 */
final class LeaderFollowersInfoContributor implements InfoContributor {

	private final LeaderFollowersPools pools;

	private final LeaderFollowersServers servers;

	private final LeaderFollowersClients clients;

	/**
	 * Creates a new contributor.
	 * @param pools the pools to describe
	 * @param servers the servers to describe
	 * @param clients the clients to describe
	 */
	public LeaderFollowersInfoContributor(LeaderFollowersPools pools, LeaderFollowersServers servers,
			LeaderFollowersClients clients) {
		Assert.notNull(pools, "'pools' must not be null");
		Assert.notNull(servers, "'servers' must not be null");
		Assert.notNull(clients, "'clients' must not be null");
		this.pools = pools;
		this.servers = servers;
		this.clients = clients;
	}

	@Override
	public void contribute(Info.Builder builder) {
		Map<String, PoolInfo> pools = new TreeMap<>();
		for (LeaderFollowersPool pool : this.pools) {
			pools.put(pool.name(), PoolInfo.of(pool.snapshot()));
		}
		Map<String, ServerInfo> servers = new TreeMap<>();
		for (Server server : this.servers) {
			servers.put(server.name(), ServerInfo.of(server.snapshot()));
		}
		Map<String, ClientInfo> clients = new TreeMap<>();
		for (TcpClient client : this.clients) {
			clients.put(client.name(), ClientInfo.of(client.snapshot()));
		}
		builder.withDetail("lf", new LeaderFollowersInfo(
				LeaderFollowersPool.class.getPackage().getImplementationVersion(), pools, servers, clients));
	}

	/**
	 * The section.
	 *
	 * @param version the version of the engine, or {@code null} if its jar does not
	 * contain it
	 * @param pools the pools, by name
	 * @param servers the servers, by name
	 * @param clients the clients, by name
	 */
	public record LeaderFollowersInfo(@Nullable String version, Map<String, PoolInfo> pools,
			Map<String, ServerInfo> servers, Map<String, ClientInfo> clients) {
	}

	/**
	 * A client.
	 *
	 * @param addresses the addresses that it connects to
	 * @param connections how many connections it keeps open
	 * @param pool the name of the pool that serves it
	 */
	public record ClientInfo(List<String> addresses, int connections, String pool) {

		static ClientInfo of(ClientSnapshot client) {
			return new ClientInfo(client.addresses().stream().map(ClientSnapshot.Address::address).toList(),
					client.connections(), client.pool());
		}

	}

	/**
	 * A pool.
	 *
	 * @param threads how many threads it may have
	 * @param handleSets how many handle sets it has, in use or not
	 * @param parallelism the maximum number of threads that share the ready events
	 * @param promotion how followers are promoted
	 * @param maxBufferedBytes how much memory its connections may hold together
	 */
	public record PoolInfo(ThreadsInfo threads, int handleSets, int parallelism, PromotionInfo promotion,
			long maxBufferedBytes) {

		static PoolInfo of(PoolSnapshot pool) {
			return new PoolInfo(new ThreadsInfo(pool.minThreads(), pool.maxThreads()), pool.unfolding().most(),
					pool.parallelism(),
					new PromotionInfo(pool.promotionPolicy(), pool.promotionOrder(), pool.promotionLease()),
					pool.maxBufferedBytes());
		}

	}

	/**
	 * How many threads a pool may have.
	 *
	 * @param min the minimum number of threads
	 * @param max the maximum number of threads
	 */
	public record ThreadsInfo(int min, int max) {
	}

	/**
	 * How followers are promoted.
	 *
	 * @param policy when the leader promotes a follower
	 * @param order which follower is promoted
	 * @param lease how long a leader may run a handler before a follower takes over
	 */
	public record PromotionInfo(PromotionPolicy policy, PromotionOrder order, Duration lease) {
	}

	/**
	 * A server.
	 *
	 * @param transport the transport of the messages
	 * @param port the port that it is bound to, or {@code null} if it is not
	 * @param framing the framing of the messages
	 * @param tls whether it uses TLS
	 * @param pool the name of the pool that serves it
	 */
	public record ServerInfo(TransportType transport, @Nullable Integer port, String framing, boolean tls,
			String pool) {

		static ServerInfo of(ServerSnapshot server) {
			return new ServerInfo(server.transport(), (server.port() > 0) ? server.port() : null, server.framing(),
					server.tls() != null, server.pool());
		}

	}

}
