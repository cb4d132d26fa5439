package org.leaderfollowers.spring.autoconfigure;

import java.time.Duration;
import java.util.Comparator;
import java.util.concurrent.TimeUnit;
import java.util.function.ToDoubleFunction;
import java.util.function.ToLongFunction;
import java.util.stream.Stream;

import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.Tags;
import io.micrometer.core.instrument.Timer;
import io.micrometer.core.instrument.binder.BaseUnits;
import io.micrometer.core.instrument.binder.MeterBinder;
import org.leaderfollowers.EventType;
import org.leaderfollowers.LeaderFollowersPool;
import org.leaderfollowers.PoolAlarm;
import org.leaderfollowers.PoolListener;
import org.leaderfollowers.PoolSnapshot;
import org.leaderfollowers.PoolSnapshot.EventSourceSnapshot;
import org.leaderfollowers.PoolSnapshot.HandleSetSnapshot;
import org.leaderfollowers.PromotionKind;
import org.leaderfollowers.ThreadRole;
import org.leaderfollowers.spring.server.LeaderFollowersPools;

import org.springframework.util.Assert;

/**
 * Meters of the pools of an application context. A registry that reads them causes a
 * snapshot, except for timers, which new leaders record.
 */
final class PoolMetrics implements MeterBinder, AutoCloseable {

	private final LeaderFollowersPools pools;

	private final Meters meters = new Meters();

	/**
	 * Creates new metrics.
	 * @param pools the pools to measure
	 */
	public PoolMetrics(LeaderFollowersPools pools) {
		Assert.notNull(pools, "'pools' must not be null");
		this.pools = pools;
	}

	/**
	 * Registers the meters of the existing pools. Further registries can follow. Binding
	 * the same registry again has no effect.
	 */
	@Override
	public void bindTo(MeterRegistry registry) {
		if (!this.meters.bindTo(registry)) {
			return;
		}
		for (LeaderFollowersPool pool : this.pools) {
			Tags tags = Tags.of("pool", pool.name());
			Meters.Reader<LeaderFollowersPool, PoolSnapshot> reader = this.meters.of(registry, () -> pool,
					LeaderFollowersPool::snapshot, tags);
			bind(reader);
			pool.snapshot().eventSources().forEach((source) -> bindSource(reader, source.name()));
			bindTimers(registry, pool, tags);
		}
	}

	private void bind(Meters.Reader<LeaderFollowersPool, PoolSnapshot> pool) {
		for (ThreadRole role : ThreadRole.values()) {
			pool.and("role", Meters.tag(role))
				.gauge("lf.pool.threads", "Threads of the pool, by role", (now) -> now.count(role));
		}
		pool.gauge("lf.pool.threads.min", "Threads that are kept even when idle", PoolSnapshot::minThreads);
		pool.gauge("lf.pool.threads.max", "Maximum number of threads", PoolSnapshot::maxThreads);
		pool.counter("lf.pool.threads.failed", "Threads that could not be started", PoolSnapshot::threadStartFailures);
		pool.duration("lf.pool.vacant",
				"Time that a handle set or event source has now been without a leader, for any reason",
				PoolMetrics::longestVacancy);
		pool.duration("lf.pool.starved",
				"Time that a handle set or event source has now been without a leader because every thread is "
						+ "busy",
				(now) -> now.starvedFor().toNanos());
		for (PoolAlarm.Kind kind : PoolAlarm.Kind.values()) {
			pool.and("kind", Meters.tag(kind))
				.gauge("lf.pool.alarms", "Threads that have not come back for long, by the kind of the alarm",
						(now) -> now.alarms().stream().filter((alarm) -> alarm.kind() == kind).count());
		}
		for (PromotionKind kind : PromotionKind.values()) {
			pool.and("kind", Meters.tag(kind))
				.counter("lf.promotions", "New leaders, by how they took the leadership",
						(now) -> now.promotions().getOrDefault(kind, 0L));
		}
		for (EventType type : EventType.values()) {
			pool.and("type", Meters.tag(type))
				.counter("lf.events", "Events that were taken from the handle sets, by type",
						sum((set) -> set.events().getOrDefault(type, 0L)));
		}
		pool.counter("lf.events.shared", "Events that were processed by threads that did not lead",
				sum((set) -> set.sharing().events()));
		pool.gauge("lf.pool.handle.sets", "Handle sets that are in use", (now) -> now.unfolding().inUse());
		pool.counter("lf.pool.reliefs", "Threads that were woken or started to share the ready handles",
				sum((set) -> set.sharing().reliefs()));
		pool.counter("lf.starvations", "Periods longer than the lease without a leader because every thread was busy",
				PoolSnapshot::starvations);
		pool.and("state", "active")
			.gauge("lf.handles", "Handles by whether they wait for an event", sum(HandleSetSnapshot::active));
		pool.and("state", "deactivated")
			.gauge("lf.handles", "Handles by whether they wait for an event", sum(HandleSetSnapshot::deactivated));
		pool.gauge("lf.handles.ready", "Handles that have fired and wait for a thread", sum(HandleSetSnapshot::ready));
		pool.gauge("lf.buffered", BaseUnits.BYTES,
				"Memory of the connections for messages that have begun and replies that wait",
				PoolSnapshot::bufferedBytes);
		pool.gauge("lf.buffered.max", BaseUnits.BYTES, "Maximum memory of all connections together",
				PoolSnapshot::maxBufferedBytes);
	}

	private static ToDoubleFunction<PoolSnapshot> sum(ToLongFunction<HandleSetSnapshot> number) {
		return (pool) -> pool.handleSets().stream().mapToLong(number).sum();
	}

	private static void bindSource(Meters.Reader<LeaderFollowersPool, PoolSnapshot> pool, String name) {
		Meters.Reader<LeaderFollowersPool, PoolSnapshot> source = pool.and("source", name);
		source.counter("lf.source.events", "Events that an event source has returned",
				ofSource(name, EventSourceSnapshot::events));
		source.gauge("lf.source.handling", "Events of an event source that are being handled",
				ofSource(name, EventSourceSnapshot::handling));
		source.and("kind", "handler")
			.counter("lf.source.failures",
					"Failures of handlers, whose events are lost, and of the event source itself",
					ofSource(name, EventSourceSnapshot::handlerFailures));
		source.and("kind", "source")
			.counter("lf.source.failures",
					"Failures of handlers, whose events are lost, and of the event source itself",
					ofSource(name, EventSourceSnapshot::sourceFailures));
	}

	private static ToDoubleFunction<PoolSnapshot> ofSource(String name, ToLongFunction<EventSourceSnapshot> number) {
		return (pool) -> pool.eventSources()
			.stream()
			.filter((source) -> source.name().equals(name))
			.mapToLong(number)
			.sum();
	}

	private static double longestVacancy(PoolSnapshot pool) {
		return Stream
			.concat(pool.handleSets().stream().map(HandleSetSnapshot::vacantFor),
					pool.eventSources().stream().map(EventSourceSnapshot::vacantFor))
			.max(Comparator.naturalOrder())
			.orElse(Duration.ZERO)
			.toNanos();
	}

	private static void bindTimers(MeterRegistry registry, LeaderFollowersPool pool, Tags tags) {
		Timer handOff = Timer.builder("lf.handoff")
			.description("Time from the end of a leadership or lease until the next leader was in place")
			.tags(tags)
			.register(registry);
		Timer leaderless = Timer.builder("lf.leaderless")
			.description("Time that a handle set or event source had no leader because every thread was busy")
			.tags(tags)
			.register(registry);
		pool.addListener(new Timers(handOff, leaderless));
	}

	/**
	 * Removes the meters that are read from the pools. The timers keep their recordings.
	 */
	@Override
	public void close() {
		this.meters.remove();
	}

	/**
	 * Timers that a new leader records when it begins to lead.
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
