package org.leaderfollowers;

import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.EnumMap;
import java.util.HashSet;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.Consumer;

import org.jspecify.annotations.Nullable;
import org.leaderfollowers.internal.buffer.MemoryBudget;
import org.leaderfollowers.internal.latency.LatencyHistogram;
import org.leaderfollowers.internal.promotion.HandOffKind;
import org.leaderfollowers.internal.promotion.Leadership;
import org.leaderfollowers.internal.promotion.Member;
import org.leaderfollowers.internal.promotion.PoolSettings;
import org.leaderfollowers.internal.promotion.PromotionProtocol;
import org.leaderfollowers.internal.promotion.Sharing;
import org.leaderfollowers.internal.promotion.Starvation;
import org.leaderfollowers.internal.promotion.Unfolding;

/** Takes snapshots of a pool without stopping it. */
final class PoolMonitor {

	private static final PromotionKind[] KINDS = PromotionKind.values();

	private final PoolOptions options;

	private final HandleSets handleSets;

	private final EventSources sources;

	private final Unfolding unfolding;

	private final PoolThreads threads;

	private final PromotionProtocol promotion;

	private final StarvationMonitor starvationMonitor;

	private final PoolWatchdog watchdog;

	private final MemoryBudget memory;

	private final NestedUpcalls upcalls;

	PoolMonitor(PoolOptions options, HandleSets handleSets, EventSources sources, Unfolding unfolding,
			PoolThreads threads, PromotionProtocol promotion, StarvationMonitor starvationMonitor,
			PoolWatchdog watchdog, MemoryBudget memory, NestedUpcalls upcalls) {
		this.options = options;
		this.handleSets = handleSets;
		this.sources = sources;
		this.unfolding = unfolding;
		this.threads = threads;
		this.promotion = promotion;
		this.starvationMonitor = starvationMonitor;
		this.watchdog = watchdog;
		this.memory = memory;
		this.upcalls = upcalls;
	}

	PoolSnapshot snapshot(PoolSnapshot.State state) {
		Instant time = Instant.now();
		long now = this.options.clock().nanoTime();
		// The state of the leaderships decides who leads. All other values are made
		// consistent with what was read from them.
		Map<Leadership, Member> leaders = leaders(now);
		Set<Member> leading = new HashSet<>(leaders.values());
		Set<Member> unlisted = new HashSet<>(leading);
		List<PoolSnapshot.ThreadSnapshot> listed = new ArrayList<>();
		for (Participant participant : this.threads.members().all()) {
			if (unlisted.remove(participant) || !participant.hasWithdrawn()) {
				listed.add(participant.snapshot(leading.contains(participant), now));
			}
		}
		// Its number may have been given to another thread since.
		leaders.values().removeAll(unlisted);
		List<PoolSnapshot.HandleSetSnapshot> sets = new ArrayList<>();
		for (HandleSet set : this.handleSets) {
			Member leader = leaders.get(set.leadership);
			PoolSnapshot.SharingSnapshot sharing = sharing(set, leader, now, time);
			boolean used = !set.leadership.isResting() || set.leadership.term() > 0;
			if (used) {
				sets.add(set.snapshot(name(leader), vacantFor(set.leadership, leader, now), sharing));
			}
		}
		List<PoolSnapshot.EventSourceSnapshot> eventSources = new ArrayList<>();
		for (LedSource source : this.sources.all()) {
			Member leader = leaders.get(source.leadership);
			eventSources.add(source.snapshot(name(leader), vacantFor(source.leadership, leader, now),
					this.sources.handling(source)));
		}
		Starvation starvation = this.starvationMonitor.starvation();
		PoolSettings settings = this.threads.settings();
		LatencySnapshot vacancies = vacancies();
		return new PoolSnapshot(this.options.name(), state, settings.minThreads(), settings.maxThreads(),
				this.options.keepAlive(), PoolOptions.policyOf(settings), this.options.promotionOrder(),
				Duration.ofNanos(settings.leaseNanos()), this.options.parallelism(), List.copyOf(listed),
				List.copyOf(sets), List.copyOf(eventSources), promotions(), vacancies.total().toNanos(),
				this.promotion.wakeUps(), this.promotion.wastedWakeUps(), this.threads.started(),
				this.threads.startFailures(), starvation.periods(), starvation.totalNanos(),
				this.starvationMonitor.starvations(), Duration.ofNanos(this.starvationMonitor.longestNanos()),
				this.memory.used(), this.memory.limit(), time, vacancies, unfolding(now, time), this.upcalls.count(),
				this.watchdog.alarms());
	}

	/**
	 * Returns the leaders. A thread is listed for one leadership only, even if it changed
	 * between two reads.
	 */
	private Map<Leadership, Member> leaders(long nowNanos) {
		Map<Leadership, Member> leaders = new IdentityHashMap<>();
		Set<Member> leading = new HashSet<>();
		forEachLeadership((leadership) -> {
			Member leader = leaderOf(leadership, nowNanos);
			if (leader != null && leading.add(leader)) {
				leaders.put(leadership, leader);
			}
		});
		return leaders;
	}

	private void forEachLeadership(Consumer<Leadership> action) {
		this.handleSets.forEach((set) -> action.accept(set.leadership));
		this.sources.all().forEach((source) -> action.accept(source.leadership));
	}

	private static @Nullable String name(@Nullable Member leader) {
		return (leader != null) ? leader.thread().getName() : null;
	}

	private Duration vacantFor(Leadership leadership, @Nullable Member leader, long nowNanos) {
		if (leader != null || leadership.isResting()) {
			return Duration.ZERO;
		}
		long nanos = leadership.isVacant() ? nowNanos - leadership.vacatedNanos()
				: this.starvationMonitor.starvation().nanos(leadership, nowNanos);
		// The leadership may have been given up after the time was read.
		return Duration.ofNanos(Math.max(1, nanos));
	}

	private PoolSnapshot.UnfoldingSnapshot unfolding(long nowNanos, Instant time) {
		Unfolding.Change latest = this.unfolding.latest();
		PoolSnapshot.UnfoldingChange change = (latest != null)
				? new PoolSnapshot.UnfoldingChange(time.minusNanos(Math.max(0, nowNanos - latest.nanoTime())),
						latest.from(), latest.to(), latest.reason())
				: null;
		return new PoolSnapshot.UnfoldingSnapshot(this.unfolding.inUse(), this.handleSets.count(),
				this.unfolding.changes(), change);
	}

	/**
	 * The leader of a handle set or event source. If its lease has expired and no thread
	 * could take over, it does not count as the leader.
	 */
	private @Nullable Member leaderOf(Leadership leadership, long nowNanos) {
		int holder = leadership.holder();
		boolean stuck = leadership.isLeased() && this.starvationMonitor.starvation().nanos(leadership, nowNanos) > 0;
		return (holder != Leadership.VACANT && holder <= Leadership.MAX_PARTICIPANT && !stuck)
				? this.threads.members().get(holder) : null;
	}

	private PoolSnapshot.SharingSnapshot sharing(HandleSet set, @Nullable Member leader, long nowNanos, Instant time) {
		int threads = 0;
		for (Participant participant : this.threads.living()) {
			SelectableHandle handle = participant.handle();
			boolean shares = participant != leader && !participant.isBlocking();
			threads += (shares && handle != null && handle.handleSet() == set) ? 1 : 0;
		}
		Sharing sharing = set.leadership.sharing();
		Sharing.Latest latest = sharing.latest();
		PoolSnapshot.ReliefSnapshot relief = (latest != null)
				? new PoolSnapshot.ReliefSnapshot(time.minusNanos(Math.max(0, nowNanos - latest.nanoTime())),
						latest.ready(), Duration.ofNanos(latest.workNanos()), Duration.ofNanos(latest.wakeUpNanos()))
				: null;
		return new PoolSnapshot.SharingSnapshot(threads, sharing.events(), sharing.reliefs(), relief);
	}

	private Map<PromotionKind, Long> promotions() {
		Map<PromotionKind, Long> counts = new EnumMap<>(PromotionKind.class);
		for (PromotionKind kind : KINDS) {
			counts.put(kind, LatencySnapshot.of(vacancies(kind, new LatencyHistogram.Sum())).count());
		}
		return Map.copyOf(counts);
	}

	private LatencySnapshot vacancies() {
		LatencyHistogram.Sum sum = new LatencyHistogram.Sum();
		for (PromotionKind kind : KINDS) {
			vacancies(kind, sum);
		}
		return LatencySnapshot.of(sum);
	}

	private LatencyHistogram.Sum vacancies(PromotionKind kind, LatencyHistogram.Sum sum) {
		forEachLeadership((leadership) -> leadership.handOffs().addTo(HandOffKind.values()[kind.ordinal()], sum));
		return sum;
	}

}
