package org.leaderfollowers;

import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.EnumMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;

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

/**
 * Looks at a pool from outside, without stopping it.
 */
final class PoolMonitor {

	private static final PromotionKind[] KINDS = PromotionKind.values();

	private final PoolOptions options;

	private final HandleSets handleSets;

	private final Unfolding unfolding;

	private final PoolThreads threads;

	private final PromotionProtocol promotion;

	private final StarvationMonitor starvationMonitor;

	private final MemoryBudget memory;

	PoolMonitor(PoolOptions options, HandleSets handleSets, Unfolding unfolding, PoolThreads threads,
			PromotionProtocol promotion, StarvationMonitor starvationMonitor, MemoryBudget memory) {
		this.options = options;
		this.handleSets = handleSets;
		this.unfolding = unfolding;
		this.threads = threads;
		this.promotion = promotion;
		this.starvationMonitor = starvationMonitor;
		this.memory = memory;
	}

	PoolSnapshot snapshot(PoolSnapshot.State state) {
		Instant time = Instant.now();
		long now = this.options.clock().nanoTime();
		// The words of the handle sets decide who leads; all else is put in accordance
		// with what they said when they were read.
		@Nullable Member[] leaders = new @Nullable Member[this.handleSets.count()];
		Set<Member> leading = new HashSet<>();
		for (int i = 0; i < leaders.length; i++) {
			Member leader = leaderOf(this.handleSets.get(i).leadership, now);
			if (leader != null && leading.add(leader)) {
				leaders[i] = leader;
			}
		}
		Set<Member> unlisted = new HashSet<>(leading);
		List<PoolSnapshot.ThreadSnapshot> listed = new ArrayList<>();
		for (Participant participant : this.threads.members().all()) {
			if (unlisted.remove(participant) || !participant.hasWithdrawn()) {
				listed.add(participant.snapshot(leading.contains(participant), now));
			}
		}
		List<PoolSnapshot.HandleSetSnapshot> sets = new ArrayList<>();
		Starvation starvation = this.starvationMonitor.starvation();
		for (int i = 0; i < leaders.length; i++) {
			Member leader = leaders[i];
			HandleSet set = this.handleSets.get(i);
			// Its place may have been given to another thread since.
			String name = (leader != null && !unlisted.contains(leader)) ? leader.thread().getName() : null;
			PoolSnapshot.SharingSnapshot sharing = sharing(set, leader, now, time);
			if (set.leadership.isResting() && set.leadership.term() == 0) {
				// It has never been in use.
				continue;
			}
			Duration vacantFor = (name != null || set.leadership.isResting()) ? Duration.ZERO
					: vacantFor(set.leadership, starvation.nanos(set.leadership, now), now);
			sets.add(set.snapshot(name, vacantFor, sharing));
		}
		PoolSettings settings = this.threads.settings();
		LatencySnapshot vacancies = vacancies();
		return new PoolSnapshot(this.options.name(), state, settings.minThreads(), settings.maxThreads(),
				this.options.keepAlive(), PoolOptions.policyOf(settings), this.options.promotionOrder(),
				Duration.ofNanos(settings.leaseNanos()), this.options.parallelism(), List.copyOf(listed),
				List.copyOf(sets), promotions(), vacancies.total().toNanos(), this.promotion.wakeUps(),
				this.promotion.wastedWakeUps(), this.threads.started(), this.threads.startFailures(),
				starvation.periods(), starvation.totalNanos(), this.starvationMonitor.starvations(),
				Duration.ofNanos(this.starvationMonitor.longestNanos()), this.memory.used(), this.memory.limit(), time,
				vacancies, unfolding(now, time));
	}

	/** For a set that is known to have no leader. */
	private static Duration vacantFor(Leadership leadership, long starvedNanos, long nowNanos) {
		long nanos = leadership.isVacant() ? nowNanos - leadership.vacatedNanos() : starvedNanos;
		// It may have been given up after the time was taken.
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
	 * The leader of a handle set, unless it does not return: a lease that has run out is
	 * starved if there was nobody to take it over.
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
		for (HandleSet set : this.handleSets) {
			set.leadership.handOffs().addTo(HandOffKind.values()[kind.ordinal()], sum);
		}
		return sum;
	}

}
