package org.leaderfollowers;

import java.time.Duration;
import java.time.Instant;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

import org.jspecify.annotations.Nullable;

/**
 * What a pool was doing at a moment. Taken without stopping the pool; the roles of the
 * threads and the leaders of the handle sets agree with each other.
 *
 * @param name the name of the pool
 * @param state whether it runs
 * @param minThreads the least number of threads
 * @param maxThreads the greatest number of threads; if it was lowered, there are more
 * until the surplus ones have nothing to do
 * @param keepAlive how long a surplus thread waits before it ends
 * @param promotionPolicy when followers are promoted
 * @param promotionOrder which follower is promoted
 * @param promotionLease how long a leader may run a handler before a follower takes over
 * @param parallelism how many threads share the events that are ready, at the most
 * @param threads the threads of the pool, by number
 * @param handleSets the handle sets of the pool that are in use, or have been, by number
 * @param promotions how many leaders there have been, by how they came to lead
 * @param handOffNanos how long leadership was vacant between two leaders, all together,
 * in nanoseconds
 * @param wakeUps how many followers were woken
 * @param wastedWakeUps how many of them found another leader in place already
 * @param threadsStarted how many threads were started since the pool was built
 * @param threadStartFailures how many threads could not be started
 * @param leaderlessPeriods how often a handle set had no leader because every thread was
 * busy
 * @param leaderlessNanos how long that was, all together, in nanoseconds; periods that
 * have ended
 * @param starvations how many of those periods were longer than the lease
 * @param starvedFor for how long a handle set has had no leader now because every thread
 * is busy; zero if all have one
 * @param bufferedBytes how much memory the connections hold for messages that have begun
 * to arrive and replies that wait for their peers, in bytes
 * @param maxBufferedBytes how much they may hold together, in bytes
 * @param time when this was
 * @param vacancies how long leadership was vacant between two leaders; for one that was
 * taken over from the end of its lease on
 * @param unfolding how many of the handle sets are in use, and why
 */
public record PoolSnapshot(String name, State state, int minThreads, int maxThreads, Duration keepAlive,
		PromotionPolicy promotionPolicy, PromotionOrder promotionOrder, Duration promotionLease, int parallelism,
		List<ThreadSnapshot> threads, List<HandleSetSnapshot> handleSets, Map<PromotionKind, Long> promotions,
		long handOffNanos, long wakeUps, long wastedWakeUps, long threadsStarted, long threadStartFailures,
		long leaderlessPeriods, long leaderlessNanos, long starvations, Duration starvedFor, long bufferedBytes,
		long maxBufferedBytes, Instant time, LatencySnapshot vacancies, UnfoldingSnapshot unfolding) {

	/**
	 * How many threads play a role.
	 * @param role the role
	 * @return a number of threads
	 */
	public int count(ThreadRole role) {
		return (int) this.threads.stream().filter((thread) -> thread.role() == role).count();
	}

	/**
	 * What the threads run.
	 * @return one for each handler that runs, those of the most threads first
	 */
	public List<RunningHandler> runningHandlers() {
		return runningHandlers(this.threads);
	}

	static List<RunningHandler> runningHandlers(List<ThreadSnapshot> threads) {
		Map<RunningHandler, Integer> counts = new HashMap<>();
		for (ThreadSnapshot thread : threads) {
			if (thread.handler() != null) {
				counts.merge(new RunningHandler(thread.server(), thread.handler(), 1), 1, Integer::sum);
			}
		}
		return counts.entrySet()
			.stream()
			.map((entry) -> new RunningHandler(entry.getKey().server(), entry.getKey().handler(), entry.getValue()))
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

		/** Takes no more events; handlers that run are waited for. */
		STOPPING,

		/** Has no threads any more. */
		STOPPED

	}

	/**
	 * A thread of the pool.
	 *
	 * @param name the name of the thread
	 * @param role what it does
	 * @param since for how long it has had this role
	 * @param server the name of the server that it processes an event of, if it does
	 * @param handle what it works on, if it processes an event; a leader does with
	 * {@link PromotionPolicy#ADAPTIVE}
	 * @param handler who processes, if somebody does
	 */
	public record ThreadSnapshot(String name, ThreadRole role, Duration since, @Nullable String server,
			@Nullable String handle, @Nullable String handler) {
	}

	/**
	 * A handler that threads of the pool run.
	 *
	 * @param server the name of its server, or {@code null} if it has none
	 * @param handler the name of the handler
	 * @param threads how many threads run it
	 */
	public record RunningHandler(@Nullable String server, String handler, int threads) {

		/**
		 * Tells what runs, for people.
		 * @return for example {@code 3 x 'orderHandler' of server 'orders'}
		 */
		@Override
		public String toString() {
			return this.threads + " x '" + this.handler + "'"
					+ ((this.server != null) ? " of server '" + this.server + "'" : "");
		}

	}

	/**
	 * A handle set of the pool.
	 *
	 * @param name the name of the handle set
	 * @param leader the name of the thread that leads it, or {@code null} if none does:
	 * for a moment between two leaders, or because every thread is busy. A leader that
	 * runs a handler is none any more when its lease has run out and nobody was left to
	 * take the leadership over
	 * @param term how many leaderships there have been
	 * @param handles how many handles are registered
	 * @param active how many of them wait for their next event
	 * @param deactivated how many of them are worked on, or wait for something other than
	 * an event
	 * @param events how many events were taken from the set, by type
	 * @param vacantFor for how long it has had no leader now, whatever the reason; zero
	 * if it has one
	 * @param ready how many handles have fired and wait for a thread to take them
	 * @param sharing how the leader is helped
	 * @param inUse whether handles are dealt to the set; otherwise it has only those that
	 * have not fired since it was folded, and no leader if there are none
	 */
	public record HandleSetSnapshot(String name, @Nullable String leader, long term, int handles, int active,
			int deactivated, Map<EventType, Long> events, Duration vacantFor, int ready, SharingSnapshot sharing,
			boolean inUse) {
	}

	/**
	 * How many handle sets are in use: unless their number was chosen, as many as the
	 * pool can keep processors busy.
	 *
	 * @param inUse how many handle sets are in use
	 * @param most how many there are
	 * @param changes how often the number in use has changed
	 * @param latest the latest change, or {@code null} if there was none
	 */
	public record UnfoldingSnapshot(int inUse, int most, long changes, @Nullable UnfoldingChange latest) {
	}

	/**
	 * Handle sets were put into use, or out of it.
	 *
	 * @param time when
	 * @param from how many were in use
	 * @param to how many were in use after it
	 * @param reason what was measured, for people
	 */
	public record UnfoldingChange(Instant time, int from, int to, String reason) {
	}

	/**
	 * How the events of a handle set are shared among threads: while one thread keeps up,
	 * it leads and processes alone; if more work waits than is worth waking a thread for,
	 * further ones take ready handles, too.
	 *
	 * @param threads how many threads process an event of the set now and do not lead it,
	 * without those whose handlers are known to block
	 * @param events how many events were processed by threads that did not lead
	 * @param reliefs how often a thread was woken or started since too much work waited
	 * @param latest the latest of them, or {@code null} if there was none
	 */
	public record SharingSnapshot(int threads, long events, long reliefs, @Nullable ReliefSnapshot latest) {
	}

	/**
	 * Why a thread was woken or started to share the ready handles of a set.
	 *
	 * @param time when
	 * @param ready how many handles waited for a thread
	 * @param work how long a single thread would have worked on them, as the engine has
	 * learned
	 * @param wakeUp what waking a thread was taken to cost
	 */
	public record ReliefSnapshot(Instant time, int ready, Duration work, Duration wakeUp) {

		/**
		 * The reason, for people.
		 * @return a sentence
		 */
		public String reason() {
			return "%d %s ready, about %d µs of work for one thread; waking another one costs about %d µs".formatted(
					this.ready, (this.ready == 1) ? "handle was" : "handles were", this.work.toNanos() / 1000,
					this.wakeUp.toNanos() / 1000);
		}

	}

}
