package org.leaderfollowers.spring.actuate;

import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Map;

import org.jspecify.annotations.Nullable;
import org.leaderfollowers.EventType;
import org.leaderfollowers.PoolSnapshot;
import org.leaderfollowers.PoolSnapshot.EventSourceSnapshot;
import org.leaderfollowers.PoolSnapshot.HandleSetSnapshot;
import org.leaderfollowers.PoolSnapshot.ReliefSnapshot;
import org.leaderfollowers.PoolSnapshot.SharingSnapshot;
import org.leaderfollowers.PoolSnapshot.ThreadSnapshot;
import org.leaderfollowers.PoolSnapshot.UnfoldingChange;
import org.leaderfollowers.PoolSnapshot.UnfoldingSnapshot;
import org.leaderfollowers.PromotionKind;
import org.leaderfollowers.PromotionOrder;
import org.leaderfollowers.PromotionPolicy;
import org.leaderfollowers.ThreadRole;
import org.leaderfollowers.spring.actuate.LeaderFollowersDescriptor.LatencyDescriptor;

import org.springframework.boot.actuate.endpoint.OperationResponseBody;

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
 * @param handleSets the handle sets of the pool that are in use, or have been
 * @param eventSources the event sources that the pool was built for
 * @param unfolding how many handle sets are in use, and why
 * @param promotions how many leaders there have been, by how they came to lead
 * @param handOffs how leadership was handed over
 * @param leaderless how long nobody could lead because every thread was busy
 * @param bufferedBytes how much memory its connections hold together
 * @param nestedUpcalls how many handlers have been run on top of handlers that waited
 */
public record PoolDescriptor(Instant time, PoolSnapshot.State state, PoolConfigurationDescriptor configuration,
		Map<ThreadRole, Integer> roles, List<ThreadDescriptor> threads, long threadsStarted, long threadStartFailures,
		List<HandleSetDescriptor> handleSets, List<EventSourceDescriptor> eventSources, UnfoldingDescriptor unfolding,
		Map<PromotionKind, Long> promotions, HandOffsDescriptor handOffs, LeaderlessDescriptor leaderless,
		long bufferedBytes, long nestedUpcalls) implements OperationResponseBody {

	static PoolDescriptor of(PoolSnapshot pool) {
		return new PoolDescriptor(pool.time(), pool.state(), PoolConfigurationDescriptor.of(pool),
				LeaderFollowersDescriptor.inOrder(ThreadRole.class, pool::count),
				pool.threads().stream().map((thread) -> ThreadDescriptor.of(thread, pool.time())).toList(),
				pool.threadsStarted(), pool.threadStartFailures(),
				pool.handleSets().stream().map(HandleSetDescriptor::of).toList(),
				pool.eventSources().stream().map(EventSourceDescriptor::of).toList(),
				UnfoldingDescriptor.of(pool.unfolding()),
				LeaderFollowersDescriptor.counts(PromotionKind.class, pool.promotions()), HandOffsDescriptor.of(pool),
				new LeaderlessDescriptor(pool.leaderlessPeriods(), Duration.ofNanos(pool.leaderlessNanos()),
						pool.starvations(), pool.starvedFor()),
				pool.bufferedBytes(), pool.nestedUpcalls());
	}

	/**
	 * How a pool is configured.
	 *
	 * @param threads how many threads it may have
	 * @param handleSets how many handle sets it has, in use or not
	 * @param parallelism how many threads share the events that are ready, at the most
	 * @param maxBufferedBytes how much memory its connections may hold together
	 * @param promotion how followers are promoted
	 */
	public record PoolConfigurationDescriptor(ThreadLimitsDescriptor threads, int handleSets, int parallelism,
			long maxBufferedBytes, PromotionDescriptor promotion) {

		static PoolConfigurationDescriptor of(PoolSnapshot pool) {
			return new PoolConfigurationDescriptor(
					new ThreadLimitsDescriptor(pool.minThreads(), pool.maxThreads(), pool.keepAlive()),
					pool.unfolding().most(), pool.parallelism(), pool.maxBufferedBytes(),
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
	 * @param waitsFor the reply or message for which the handler waits, and on which
	 * connection; {@code null} if it does not wait, as far as the engine knows
	 * @param waitingSince when it began to wait, or {@code null}
	 */
	public record ThreadDescriptor(String name, ThreadRole role, Instant since, @Nullable String server,
			@Nullable String handle, @Nullable String handler, @Nullable String waitsFor,
			@Nullable Instant waitingSince) {

		static ThreadDescriptor of(ThreadSnapshot thread, Instant now) {
			return new ThreadDescriptor(thread.name(), thread.role(), now.minus(thread.since()), thread.server(),
					thread.handle(), thread.handler(), thread.waitsFor(),
					(thread.waitsFor() != null) ? now.minus(thread.waitingFor()) : null);
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
	 * @param sharing how its events are shared among threads
	 * @param inUse whether handles are dealt to it; otherwise it has only those without
	 * an event since it was folded, and needs no leader if there are none
	 */
	public record HandleSetDescriptor(String name, @Nullable String leader, Duration vacantFor, int ready,
			HandlesDescriptor handles, Map<EventType, Long> events, SharingDescriptor sharing, boolean inUse) {

		static HandleSetDescriptor of(HandleSetSnapshot set) {
			return new HandleSetDescriptor(set.name(), set.leader(), set.vacantFor(), set.ready(),
					new HandlesDescriptor(set.handles(), set.active(), set.deactivated()),
					LeaderFollowersDescriptor.counts(EventType.class, set.events()),
					SharingDescriptor.of(set.sharing()), set.inUse());
		}

	}

	/**
	 * An event source of a pool.
	 *
	 * @param name the name of the source
	 * @param inUse whether it is waited on
	 * @param leader the name of the thread that leads it, or {@code null} if none does:
	 * as with a handle set, or because as many of its events are being handled as may be
	 * @param vacantFor for how long it has had no leader now although it needs one; zero
	 * if it has one
	 * @param handling how many of its events are being handled
	 * @param events how many events it has returned
	 * @param handlerFailures how many of them were lost since their handler failed
	 * @param sourceFailures how often waiting for an event failed
	 */
	public record EventSourceDescriptor(String name, boolean inUse, @Nullable String leader, Duration vacantFor,
			int handling, long events, long handlerFailures, long sourceFailures) {

		static EventSourceDescriptor of(EventSourceSnapshot source) {
			return new EventSourceDescriptor(source.name(), source.inUse(), source.leader(), source.vacantFor(),
					source.handling(), source.events(), source.handlerFailures(), source.sourceFailures());
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
	 * How the events of a handle set are shared among threads.
	 *
	 * @param threads how many threads process an event of the set now and do not lead it
	 * @param events how many events were processed by threads that did not lead
	 * @param reliefs how many threads were woken or started because too much work waited
	 * @param latest why the latest of them was, or {@code null} if there was none
	 */
	public record SharingDescriptor(int threads, long events, long reliefs, @Nullable ReliefDescriptor latest) {

		static SharingDescriptor of(SharingSnapshot sharing) {
			return new SharingDescriptor(sharing.threads(), sharing.events(), sharing.reliefs(),
					ReliefDescriptor.of(sharing.latest()));
		}

	}

	/**
	 * Why a thread was woken or started to share the ready handles of a set.
	 *
	 * @param time when
	 * @param ready how many handles waited for a thread
	 * @param work how long a single thread would have worked on them
	 * @param wakeUp what waking a thread was taken to cost
	 * @param reason the reason in a sentence
	 */
	public record ReliefDescriptor(Instant time, int ready, Duration work, Duration wakeUp, String reason) {

		static @Nullable ReliefDescriptor of(@Nullable ReliefSnapshot relief) {
			return (relief != null) ? new ReliefDescriptor(relief.time(), relief.ready(), relief.work(),
					relief.wakeUp(), relief.reason()) : null;
		}

	}

	/**
	 * How many handle sets are in use: unless their number was chosen, as many as the
	 * pool can keep processors busy.
	 *
	 * @param inUse how many are in use
	 * @param changes how often that has changed
	 * @param latest the latest change, or {@code null} if there was none
	 */
	public record UnfoldingDescriptor(int inUse, long changes, @Nullable UnfoldingChangeDescriptor latest) {

		static UnfoldingDescriptor of(UnfoldingSnapshot unfolding) {
			UnfoldingChange latest = unfolding.latest();
			return new UnfoldingDescriptor(unfolding.inUse(), unfolding.changes(), (latest != null)
					? new UnfoldingChangeDescriptor(latest.time(), latest.from(), latest.to(), latest.reason()) : null);
		}

	}

	/**
	 * Handle sets were put into use, or out of it.
	 *
	 * @param time when
	 * @param from how many were in use
	 * @param to how many were in use after it
	 * @param reason what was measured, in a sentence
	 */
	public record UnfoldingChangeDescriptor(Instant time, int from, int to, String reason) {
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
	 * How long handle sets had no leader because every thread was busy.
	 *
	 * @param periods how often that was so and has ended
	 * @param totalTime how long those periods lasted, all together
	 * @param starvations how many of them were longer than the lease
	 * @param starvedFor for how long it has been so now, or zero if it is not
	 */
	public record LeaderlessDescriptor(long periods, Duration totalTime, long starvations, Duration starvedFor) {
	}

}
