package org.leaderfollowers.spring.metrics;

import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.function.ToDoubleFunction;

import io.micrometer.core.instrument.FunctionCounter;
import io.micrometer.core.instrument.Gauge;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.Timer;
import io.micrometer.core.instrument.binder.BaseUnits;
import io.micrometer.core.instrument.binder.MeterBinder;
import org.leaderfollowers.CloseReason;
import org.leaderfollowers.EventType;
import org.leaderfollowers.LeaderFollowersPool;
import org.leaderfollowers.PoolListener;
import org.leaderfollowers.PoolSnapshot;
import org.leaderfollowers.PromotionKind;
import org.leaderfollowers.ServerSnapshot;
import org.leaderfollowers.ServerSnapshot.Datagrams;
import org.leaderfollowers.ThreadRole;
import org.leaderfollowers.TransportType;
import org.leaderfollowers.spring.server.LeaderFollowersPools;
import org.leaderfollowers.spring.server.LeaderFollowersServers;

import org.springframework.util.Assert;

/**
 * Meters of the pools and servers of an application context. All of them are read from
 * snapshots when somebody looks, except for the timers.
 */
public final class LeaderFollowersMetrics implements MeterBinder {

	private final LeaderFollowersPools pools;

	private final LeaderFollowersServers servers;

	/**
	 * Meters refer weakly to what they read.
	 */
	private final List<RecentSnapshot<?>> snapshots = new ArrayList<>();

	/**
	 * Creates new metrics.
	 * @param pools the pools to measure
	 * @param servers the servers to measure
	 */
	public LeaderFollowersMetrics(LeaderFollowersPools pools, LeaderFollowersServers servers) {
		Assert.notNull(pools, "'pools' must not be null");
		Assert.notNull(servers, "'servers' must not be null");
		this.pools = pools;
		this.servers = servers;
	}

	@Override
	public void bindTo(MeterRegistry registry) {
		this.pools.forEach((pool) -> {
			bindPool(registry, pool.name(), keep(new RecentSnapshot<>(pool::snapshot)));
			bindTimers(registry, pool);
		});
		this.servers.names()
			.forEach((name) -> bindServer(registry, name,
					keep(new RecentSnapshot<>(() -> this.servers.get(name).snapshot()))));
	}

	private synchronized <S> RecentSnapshot<S> keep(RecentSnapshot<S> snapshot) {
		this.snapshots.add(snapshot);
		return snapshot;
	}

	private void bindPool(MeterRegistry registry, String pool, RecentSnapshot<PoolSnapshot> snapshot) {
		for (ThreadRole role : ThreadRole.values()) {
			Gauge.builder("lf.pool.threads", snapshot, snapshot.value((current) -> current.count(role)))
				.description("Number of threads of the pool by the role that they play")
				.tag("pool", pool)
				.tag("role", lowerCase(role))
				.register(registry);
		}
		Gauge.builder("lf.buffered", snapshot, snapshot.value(PoolSnapshot::bufferedBytes))
			.description("Memory of the connections for messages that have begun and replies that wait")
			.baseUnit(BaseUnits.BYTES)
			.tag("pool", pool)
			.register(registry);
		for (PromotionKind kind : PromotionKind.values()) {
			FunctionCounter
				.builder("lf.promotions", snapshot, snapshot.value((current) -> count(current.promotions(), kind)))
				.description("Number of leaders by how they came to lead")
				.tag("pool", pool)
				.tag("kind", lowerCase(kind))
				.register(registry);
		}
		for (EventType type : EventType.values()) {
			FunctionCounter.builder("lf.events", snapshot, snapshot.value((current) -> events(current, type)))
				.description("Number of events that were taken from the handle sets of the pool by type")
				.tag("pool", pool)
				.tag("type", lowerCase(type))
				.register(registry);
		}
		FunctionCounter.builder("lf.starvations", snapshot, snapshot.value(PoolSnapshot::starvations))
			.description("Number of periods without a leader because every thread was busy that outlasted the lease")
			.tag("pool", pool)
			.register(registry);
	}

	private void bindTimers(MeterRegistry registry, LeaderFollowersPool pool) {
		Timer handOff = Timer.builder("lf.handoff")
			.description(
					"Time from the end of a leadership or lease until the next leader of the handle set is in place")
			.tag("pool", pool.name())
			.register(registry);
		Timer leaderless = Timer.builder("lf.leaderless")
			.description("Time that a handle set had no leader because every thread was busy")
			.tag("pool", pool.name())
			.register(registry);
		pool.addListener(new Timers(handOff, leaderless));
	}

	private void bindServer(MeterRegistry registry, String server, RecentSnapshot<ServerSnapshot> snapshot) {
		if (this.servers.get(server).snapshot().transport() == TransportType.UDP) {
			bindDatagrams(registry, server, snapshot);
		}
		else {
			bindConnections(registry, server, snapshot);
		}
		bindBytes(registry, server, "received", snapshot, snapshot.value(ServerSnapshot::receivedBytes));
		bindBytes(registry, server, "sent", snapshot, snapshot.value(ServerSnapshot::sentBytes));
	}

	private void bindConnections(MeterRegistry registry, String server, RecentSnapshot<ServerSnapshot> snapshot) {
		Gauge.builder("lf.connections", snapshot, snapshot.value(ServerSnapshot::openConnections))
			.description("Number of open connections")
			.tag("server", server)
			.register(registry);
		FunctionCounter
			.builder("lf.connections.accepted", snapshot, snapshot.value(ServerSnapshot::acceptedConnections))
			.description("Number of connections that were accepted")
			.tag("server", server)
			.register(registry);
		FunctionCounter
			.builder("lf.connections.rejected", snapshot, snapshot.value(ServerSnapshot::rejectedConnections))
			.description("Number of connections that were turned away because as many as allowed were open")
			.tag("server", server)
			.register(registry);
		for (CloseReason reason : CloseReason.values()) {
			FunctionCounter
				.builder("lf.connections.closed", snapshot,
						snapshot.value((current) -> count(current.closedConnections(), reason)))
				.description("Number of connections that were closed by the reason")
				.tag("server", server)
				.tag("reason", lowerCase(reason))
				.register(registry);
		}
	}

	private void bindDatagrams(MeterRegistry registry, String server, RecentSnapshot<ServerSnapshot> snapshot) {
		Gauge.builder("lf.datagrams", snapshot, snapshot.value(datagrams(Datagrams::inFlight)))
			.description("Number of datagrams that are being handled or suspended")
			.tag("server", server)
			.register(registry);
		FunctionCounter.builder("lf.datagrams.limit", snapshot, snapshot.value(datagrams(Datagrams::limitReached)))
			.description("Number of times that no more datagrams were read since as many as allowed were being handled")
			.tag("server", server)
			.register(registry);
		bindRejected(registry, server, "truncated", snapshot, snapshot.value(datagrams(Datagrams::truncated)));
		bindRejected(registry, server, "forged", snapshot, snapshot.value(datagrams(Datagrams::rejected)));
		bindReplies(registry, server, "sent", snapshot, snapshot.value(datagrams(Datagrams::sentReplies)));
		bindReplies(registry, server, "refused", snapshot, snapshot.value(datagrams(Datagrams::refusedReplies)));
		bindReplies(registry, server, "dropped", snapshot, snapshot.value(datagrams(Datagrams::droppedReplies)));
	}

	private void bindRejected(MeterRegistry registry, String server, String reason,
			RecentSnapshot<ServerSnapshot> snapshot, ToDoubleFunction<RecentSnapshot<ServerSnapshot>> value) {
		FunctionCounter.builder("lf.datagrams.rejected", snapshot, value)
			.description("Number of datagrams that were dropped because they were too large or their sender was forged")
			.tag("server", server)
			.tag("reason", reason)
			.register(registry);
	}

	private void bindReplies(MeterRegistry registry, String server, String outcome,
			RecentSnapshot<ServerSnapshot> snapshot, ToDoubleFunction<RecentSnapshot<ServerSnapshot>> value) {
		FunctionCounter.builder("lf.datagrams.replies", snapshot, value)
			.description("Number of replies to datagrams by what became of them")
			.tag("server", server)
			.tag("outcome", outcome)
			.register(registry);
	}

	private static ToDoubleFunction<ServerSnapshot> datagrams(ToDoubleFunction<Datagrams> value) {
		return (server) -> (server.datagrams() != null) ? value.applyAsDouble(server.datagrams()) : 0;
	}

	private void bindBytes(MeterRegistry registry, String server, String direction,
			RecentSnapshot<ServerSnapshot> snapshot, ToDoubleFunction<RecentSnapshot<ServerSnapshot>> value) {
		FunctionCounter.builder("lf.bytes", snapshot, value)
			.description("Amount of data that was received or sent, framing included")
			.baseUnit(BaseUnits.BYTES)
			.tag("server", server)
			.tag("direction", direction)
			.register(registry);
	}

	private static double events(PoolSnapshot pool, EventType type) {
		return pool.handleSets().stream().mapToDouble((set) -> count(set.events(), type)).sum();
	}

	private static <E extends Enum<E>> double count(Map<E, Long> counts, E key) {
		return counts.getOrDefault(key, 0L);
	}

	private static String lowerCase(Enum<?> value) {
		return value.name().toLowerCase(Locale.ROOT);
	}

	/**
	 * What is timed by a new leader, at the moment that it leads.
	 *
	 * @param handOff how long a hand-off took
	 * @param leaderless how long there was no thread to lead
	 */
	private record Timers(Timer handOff, Timer leaderless) implements PoolListener {

		@Override
		public void handedOff(PromotionKind kind, long vacancyNanos) {
			this.handOff.record(vacancyNanos, TimeUnit.NANOSECONDS);
		}

		@Override
		public void leaderless(long nanos) {
			this.leaderless.record(nanos, TimeUnit.NANOSECONDS);
		}

	}

}
