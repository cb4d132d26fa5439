package org.leaderfollowers.spring.actuate;

import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Map;

import org.jspecify.annotations.Nullable;
import org.leaderfollowers.EventType;
import org.leaderfollowers.PoolAlarm;
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
 * @param time when the snapshot was taken
 * @param state the state of the pool
 * @param configuration the configuration of the pool
 * @param roles how many threads have each role
 * @param threads the threads of the pool
 * @param threadsStarted how many threads were started since the pool was built
 * @param threadStartFailures how many threads could not be started
 * @param handleSets the handle sets of the pool that are in use, or have been
 * @param eventSources the event sources that the pool was built for
 * @param unfolding how many handle sets are in use, and why
 * @param promotions how many leaders there have been, by how they came to lead
 * @param handOffs the hand-offs of leadership
 * @param leaderless how long no thread could lead because every thread was busy
 * @param bufferedBytes how much memory its connections hold together, in bytes
 * @param nestedUpcalls how many handlers were run on top of waiting handlers
 * @param alarms the threads that have not come back for long
 */
public record PoolDescriptor(Instant time, PoolSnapshot.State state, PoolConfigurationDescriptor configuration,
		Map<ThreadRole, Integer> roles, List<ThreadDescriptor> threads, long threadsStarted, long threadStartFailures,
		List<HandleSetDescriptor> handleSets, List<EventSourceDescriptor> eventSources, UnfoldingDescriptor unfolding,
		Map<PromotionKind, Long> promotions, HandOffsDescriptor handOffs, LeaderlessDescriptor leaderless,
		long bufferedBytes, long nestedUpcalls, List<AlarmDescriptor> alarms) implements OperationResponseBody {

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
				pool.bufferedBytes(), pool.nestedUpcalls(),
				pool.alarms().stream().map((alarm) -> AlarmDescriptor.of(alarm, pool.time())).toList());
	}

	/**
	 * A thread that has not come back for long. Its stack is left out; the endpoint
	 * {@code threaddump} shows it.
	 *
	 * @param kind the kind of the alarm
	 * @param thread the name of the thread
	 * @param handleSet the name of the handle set that it leads, or {@code null}
	 * @param server the name of the server whose event it processes, or {@code null}
	 * @param handle the handle whose event it processes, or {@code null}
	 * @param handler the name of the handler that it runs, or {@code null}
	 * @param since since when, as far as the watchdog has seen
	 */
	public record AlarmDescriptor(PoolAlarm.Kind kind, String thread, @Nullable String handleSet,
			@Nullable String server, @Nullable String handle, @Nullable String handler, Instant since) {

		static AlarmDescriptor of(PoolAlarm alarm, Instant now) {
			return new AlarmDescriptor(alarm.kind(), alarm.thread(), alarm.handleSet(), alarm.server(), alarm.handle(),
					alarm.handler(), now.minus(alarm.duration()));
		}

	}

	/**
	 * The configuration of a pool.
	 *
	 * @param threads the limits on the number of threads
	 * @param handleSets the number of handle sets, in use or not
	 * @param parallelism the maximum number of threads that share the events that are
	 * ready
	 * @param maxBufferedBytes how much memory its connections may hold together, in bytes
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
	 * The limits on the number of threads of a pool.
	 *
	 * @param min the minimum number of threads
	 * @param max the maximum number of threads
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
	 * @param role the role of the thread
	 * @param since when it took this role
	 * @param server the name of the server whose event it processes, or {@code null}
	 * @param handle the handle whose event it processes, or {@code null}; a leader may
	 * process an event as well
	 * @param handler the name of the handler that it runs, or {@code null}
	 * @param waitsFor the reply or message for which the handler waits, and on which
	 * connection; {@code null} if it does not wait, as far as the engine knows
	 * @param waitingSince when the handler began to wait, or {@code null}
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
	 * @param ready how many handles have an event and wait for a thread to take them
	 * @param handles the number of handles
	 * @param events how many events have occurred, by type
	 * @param sharing how its events are shared among threads
	 * @param inUse whether new handles are assigned to it. After it was taken out of use,
	 * it keeps only handles that have had no event since then, and needs no leader
	 * without handles
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
	 * @param inUse whether the source is registered with the pool
	 * @param leader the name of the thread that leads it, or {@code null} if none does:
	 * as with a handle set, or because the maximum number of its events is being handled
	 * @param vacantFor for how long it has needed a leader and had none; zero if it has
	 * one
	 * @param handling how many of its events are being handled
	 * @param events how many events it has returned
	 * @param handlerFailures how many of these were lost because their handler failed
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
	 * The number of handles of a handle set.
	 *
	 * @param registered all handles
	 * @param active the handles that wait for their next event
	 * @param deactivated the handles whose event is being processed, or that wait for
	 * something other than an event
	 */
	public record HandlesDescriptor(int registered, int active, int deactivated) {
	}

	/**
	 * How the events of a handle set are shared among threads.
	 *
	 * @param threads how many threads process an event of the set now without leading it
	 * @param events how many events were processed by threads that did not lead the set
	 * @param reliefs how many threads were woken or started because too much work waited
	 * @param latest the reason for the latest of these, or {@code null} if there was none
	 */
	public record SharingDescriptor(int threads, long events, long reliefs, @Nullable ReliefDescriptor latest) {

		static SharingDescriptor of(SharingSnapshot sharing) {
			return new SharingDescriptor(sharing.threads(), sharing.events(), sharing.reliefs(),
					ReliefDescriptor.of(sharing.latest()));
		}

	}

	/**
	 * The reason for waking or starting a thread to share the ready handles of a set.
	 *
	 * @param time when the thread was woken or started
	 * @param ready how many handles waited for a thread
	 * @param work the estimated time in which a single thread would have processed them
	 * @param wakeUp the estimated time for waking a thread
	 * @param reason the reason in a sentence
	 */
	public record ReliefDescriptor(Instant time, int ready, Duration work, Duration wakeUp, String reason) {

		static @Nullable ReliefDescriptor of(@Nullable ReliefSnapshot relief) {
			return (relief != null) ? new ReliefDescriptor(relief.time(), relief.ready(), relief.work(),
					relief.wakeUp(), relief.reason()) : null;
		}

	}

	/**
	 * The number of handle sets in use. Unless this number was configured, the pool uses
	 * as many handle sets as it can keep processors busy.
	 *
	 * @param inUse how many handle sets are in use
	 * @param changes how often this number has changed
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
	 * A change of the number of handle sets in use.
	 *
	 * @param time when the number changed
	 * @param from how many were in use before
	 * @param to how many were in use afterwards
	 * @param reason the measured values that caused the change, in a sentence
	 */
	public record UnfoldingChangeDescriptor(Instant time, int from, int to, String reason) {
	}

	/**
	 * The hand-offs of leadership.
	 *
	 * @param count the number of hand-offs
	 * @param totalTime how long leadership was vacant between two leaders, in total
	 * @param wakeUps how many followers were woken
	 * @param wastedWakeUps how many of these found that another thread led already
	 * @param latency how long leadership was vacant between two leaders, for each
	 * hand-off
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
	 * How long handle sets and event sources had no leader because every thread was busy.
	 *
	 * @param periods the number of such periods that have ended
	 * @param totalTime the total length of these periods
	 * @param starvations how many periods were longer than the lease
	 * @param starvedFor the length of the current period, or zero if there is none
	 */
	public record LeaderlessDescriptor(long periods, Duration totalTime, long starvations, Duration starvedFor) {
	}

}
