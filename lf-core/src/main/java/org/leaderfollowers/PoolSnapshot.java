package org.leaderfollowers;

import java.time.Duration;
import java.time.Instant;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

import org.jspecify.annotations.Nullable;

/**
 * The state of a pool at one moment. The pool is not stopped for a snapshot; the roles of
 * the threads and the leaders of the handle sets are consistent with each other.
 *
 * @param name the name of the pool
 * @param state the state of the pool
 * @param minThreads the minimum number of threads
 * @param maxThreads the maximum number of threads; after it was lowered, there are more
 * threads until the surplus ones have nothing to do
 * @param keepAlive how long a surplus thread waits before it ends
 * @param promotionPolicy when followers are promoted
 * @param promotionOrder which follower is promoted
 * @param promotionLease how long a leader may run a handler before a follower takes over
 * @param parallelism the maximum number of threads that share the events that are ready
 * @param threads the threads of the pool, by number
 * @param handleSets the handle sets of the pool that are in use, or have been, by number
 * @param eventSources the event sources that the pool was built for
 * @param promotions how many leaders there have been, by how they came to lead
 * @param handOffNanos how long leadership was vacant between two leaders, in total, in
 * nanoseconds
 * @param wakeUps how many followers were woken
 * @param wastedWakeUps how many of them found that another thread led already
 * @param threadsStarted how many threads were started since the pool was built
 * @param threadStartFailures how many threads could not be started
 * @param leaderlessPeriods how often a handle set or event source had no leader because
 * every thread was busy
 * @param leaderlessNanos the total length of these periods in nanoseconds, for periods
 * that have ended
 * @param starvations how many of those periods were longer than the lease
 * @param starvedFor for how long a handle set or event source has had no leader because
 * every thread is busy; zero if all have a leader now
 * @param bufferedBytes how much memory the connections hold for messages that have begun
 * to arrive and replies that wait for their peers, in bytes
 * @param maxBufferedBytes how much memory they may hold together, in bytes
 * @param time when the snapshot was taken
 * @param vacancies how long leadership was vacant between two leaders; after a takeover,
 * from the end of the lease on
 * @param unfolding how many of the handle sets are in use, and why
 * @param nestedUpcalls how many handlers were run on top of waiting handlers, see
 * {@link NestedDispatch}
 * @param alarms the threads that have not come back for long
 */
public record PoolSnapshot(String name, State state, int minThreads, int maxThreads, Duration keepAlive,
		PromotionPolicy promotionPolicy, PromotionOrder promotionOrder, Duration promotionLease, int parallelism,
		List<ThreadSnapshot> threads, List<HandleSetSnapshot> handleSets, List<EventSourceSnapshot> eventSources,
		Map<PromotionKind, Long> promotions, long handOffNanos, long wakeUps, long wastedWakeUps, long threadsStarted,
		long threadStartFailures, long leaderlessPeriods, long leaderlessNanos, long starvations, Duration starvedFor,
		long bufferedBytes, long maxBufferedBytes, Instant time, LatencySnapshot vacancies, UnfoldingSnapshot unfolding,
		long nestedUpcalls, List<PoolAlarm> alarms) {

	/**
	 * The number of threads that have a role.
	 * @param role the role
	 * @return a number of threads
	 */
	public int count(ThreadRole role) {
		return (int) this.threads.stream().filter((thread) -> thread.role() == role).count();
	}

	/**
	 * The handlers that the threads run.
	 * @return one element for each handler that runs, ordered by the number of threads,
	 * highest first
	 */
	public List<RunningHandler> runningHandlers() {
		return runningHandlers(this.threads);
	}

	static List<RunningHandler> runningHandlers(List<ThreadSnapshot> threads) {
		Map<RunningHandler, Integer> counts = new HashMap<>();
		for (ThreadSnapshot thread : threads) {
			if (thread.handler() != null) {
				counts.merge(new RunningHandler(thread.server(), thread.handler(), 1, thread.waitsForPeer()), 1,
						Integer::sum);
			}
		}
		return counts.entrySet()
			.stream()
			.map((entry) -> new RunningHandler(entry.getKey().server(), entry.getKey().handler(), entry.getValue(),
					entry.getKey().waitsFor()))
			.sorted(Comparator.comparingInt(RunningHandler::threads).reversed().thenComparing(RunningHandler::toString))
			.toList();
	}

	/**
	 * The life of a pool.
	 */
	public enum State {

		/** Built, and without threads. */
		NEW,

		/** Serves events. */
		RUNNING,

		/** Takes no more events, and waits for handlers that run. */
		STOPPING,

		/** Has no threads any more. */
		STOPPED

	}

	/**
	 * A thread of the pool.
	 *
	 * @param name the name of the thread
	 * @param role the role of the thread
	 * @param since for how long it has had this role
	 * @param server the name of the server whose event it processes, or {@code null}
	 * @param handle the handle whose event it processes, or {@code null}; with
	 * {@link PromotionPolicy#ADAPTIVE}, a leader may process an event as well
	 * @param handler the name of the handler that it runs, or {@code null}
	 * @param waitsFor the reply or message for which the handler waits, and its
	 * connection; {@code null} if it does not wait, as far as the engine knows
	 * @param waitsForPeer the name of the client or server of this connection, or the
	 * description of something else that it waits for
	 * @param waitingFor for how long it has been waiting; zero if it does not wait
	 */
	public record ThreadSnapshot(String name, ThreadRole role, Duration since, @Nullable String server,
			@Nullable String handle, @Nullable String handler, @Nullable String waitsFor, @Nullable String waitsForPeer,
			Duration waitingFor) {
	}

	/**
	 * A handler that threads of the pool run.
	 *
	 * @param server the name of its server, or {@code null} if it has none
	 * @param handler the name of the handler
	 * @param threads how many threads run it
	 * @param waitsFor the name of the client or server on whose connection it waits for a
	 * reply or a message, or {@code null} if it does not
	 */
	public record RunningHandler(@Nullable String server, String handler, int threads, @Nullable String waitsFor) {

		/**
		 * Describes the handler for the log.
		 * @return for example {@code 3 x 'orderHandler' of server 'orders'}
		 */
		@Override
		public String toString() {
			return this.threads + " x '" + this.handler + "'"
					+ ((this.server != null) ? " of server '" + this.server + "'" : "")
					+ ((this.waitsFor != null) ? ", waiting for '" + this.waitsFor + "'" : "");
		}

	}

	/**
	 * A handle set of the pool.
	 *
	 * @param name the name of the handle set
	 * @param leader the name of the thread that leads it, or {@code null} if none does:
	 * for a moment between two leaders, or because every thread is busy. If the lease of
	 * a leader has ended and no thread was left to take over the leadership, there is no
	 * leader
	 * @param term how many leaderships there have been
	 * @param handles how many handles are registered
	 * @param active how many of them wait for their next event
	 * @param deactivated how many of them are being processed, or wait for something
	 * other than an event
	 * @param events how many events were taken from the set, by type
	 * @param vacantFor for how long it has had no leader, for any reason; zero if it has
	 * a leader now
	 * @param ready how many handles have fired and wait for a thread to take them
	 * @param sharing how other threads help the leader
	 * @param inUse whether handles are assigned to the set; otherwise it has only handles
	 * that have not fired since it was folded, and no leader if it has no handles
	 */
	public record HandleSetSnapshot(String name, @Nullable String leader, long term, int handles, int active,
			int deactivated, Map<EventType, Long> events, Duration vacantFor, int ready, SharingSnapshot sharing,
			boolean inUse) {
	}

	/**
	 * An event source of the pool.
	 *
	 * @param name the name of the source
	 * @param inUse whether a source is registered under the name
	 * @param leader the name of the thread that leads it, or {@code null} if none does:
	 * as with a handle set, or because it needs no leader. It needs none while it is not
	 * in use, and while the maximum number of its events is being handled
	 * @param term how many leaderships there have been
	 * @param vacantFor for how long it has had no leader although it needs one; zero if
	 * it has a leader now
	 * @param handling how many of its events are being handled
	 * @param events how many events it has returned
	 * @param handlerFailures how many of them were lost because their handler failed
	 * @param sourceFailures how often waiting for an event failed
	 */
	public record EventSourceSnapshot(String name, boolean inUse, @Nullable String leader, long term,
			Duration vacantFor, int handling, long events, long handlerFailures, long sourceFailures) {
	}

	/**
	 * The number of handle sets in use: unless it was configured, as many as the pool can
	 * keep processors busy.
	 *
	 * @param inUse how many handle sets are in use
	 * @param most how many handle sets there are
	 * @param changes how often the number in use has changed
	 * @param latest the latest change, or {@code null} if there was none
	 */
	public record UnfoldingSnapshot(int inUse, int most, long changes, @Nullable UnfoldingChange latest) {
	}

	/**
	 * A change of the number of handle sets in use.
	 *
	 * @param time when the number changed
	 * @param from how many handle sets were in use before
	 * @param to how many were in use afterwards
	 * @param reason a description of the measured figures
	 */
	public record UnfoldingChange(Instant time, int from, int to, String reason) {
	}

	/**
	 * How the events of a handle set are shared among threads: while one thread keeps up,
	 * it leads and processes alone. If so much work waits that waking a thread pays,
	 * further threads also take ready handles.
	 *
	 * @param threads how many threads process an event of the set now and do not lead it,
	 * except threads whose handlers are known to block
	 * @param events how many events were processed by threads that did not lead
	 * @param reliefs how often a thread was woken or started because too much work waited
	 * @param latest the latest of these wake-ups, or {@code null} if there was none
	 */
	public record SharingSnapshot(int threads, long events, long reliefs, @Nullable ReliefSnapshot latest) {
	}

	/**
	 * The reason why a thread was woken or started to share the ready handles of a set.
	 *
	 * @param time when it was woken or started
	 * @param ready how many handles waited for a thread
	 * @param work how long a single thread would have worked on them, as the engine has
	 * learned
	 * @param wakeUp the estimated cost of waking a thread
	 */
	public record ReliefSnapshot(Instant time, int ready, Duration work, Duration wakeUp) {

		/**
		 * Describes the reason.
		 * @return a sentence
		 */
		public String reason() {
			return "%d %s ready, about %d µs of work for one thread; waking another one costs about %d µs".formatted(
					this.ready, (this.ready == 1) ? "handle was" : "handles were", this.work.toNanos() / 1000,
					this.wakeUp.toNanos() / 1000);
		}

	}

}
