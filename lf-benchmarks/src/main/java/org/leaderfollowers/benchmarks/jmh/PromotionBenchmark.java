package org.leaderfollowers.benchmarks.jmh;

import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;

import org.leaderfollowers.internal.promotion.Follower;
import org.leaderfollowers.internal.promotion.Followers;
import org.leaderfollowers.internal.promotion.Leadership;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.BenchmarkMode;
import org.openjdk.jmh.annotations.Fork;
import org.openjdk.jmh.annotations.Level;
import org.openjdk.jmh.annotations.Measurement;
import org.openjdk.jmh.annotations.Mode;
import org.openjdk.jmh.annotations.OutputTimeUnit;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.Setup;
import org.openjdk.jmh.annotations.State;
import org.openjdk.jmh.annotations.TearDown;
import org.openjdk.jmh.annotations.Threads;
import org.openjdk.jmh.annotations.Warmup;
import org.openjdk.jmh.infra.ThreadParams;

/**
 * The cost of promoting: almost nothing if the leader takes the role back itself, and the
 * wake-up of a thread if a follower has to take it.
 */
@BenchmarkMode(Mode.AverageTime)
@OutputTimeUnit(TimeUnit.NANOSECONDS)
@Warmup(iterations = 3, time = 1)
@Measurement(iterations = 5, time = 1)
@Fork(1)
public class PromotionBenchmark {

	/**
	 * A leader promotes, and finds that the leadership is still vacant when it has
	 * finished.
	 * @param alone the leadership
	 * @return whether it could be taken
	 */
	@Benchmark
	public boolean takeAndGiveUp(Alone alone) {
		return alone.leadership.take(1) && alone.leadership.giveUp(1, 1);
	}

	/**
	 * A leader runs a short handler without promoting.
	 * @param leased a leadership that has a leader
	 * @return whether no other thread took it over
	 */
	@Benchmark
	public boolean leaseAndRegain(Leased leased) {
		leased.leadership.lease(1, 1);
		return leased.leadership.regain(1);
	}

	/**
	 * Two threads take the same leadership in turn, and give it up as soon as they have
	 * it.
	 * @param contended the leadership
	 * @param candidate the caller
	 * @return whether the caller got it
	 */
	@Benchmark
	@Threads(2)
	public boolean takeAndGiveUpContended(Contended contended, Candidate candidate) {
		return contended.leadership.take(candidate.number) && contended.leadership.giveUp(candidate.number, 1);
	}

	/**
	 * A thread wakes a follower, and the follower wakes the first thread.
	 * @param rally the two threads
	 */
	@Benchmark
	public void wakeFollowerAndBack(Rally rally) {
		rally.playAndAwaitReturn();
	}

	/**
	 * A leadership that one thread uses.
	 */
	@State(Scope.Thread)
	public static class Alone {

		final Leadership leadership = new Leadership();

	}

	/**
	 * A leadership with a leader.
	 */
	@State(Scope.Thread)
	public static class Leased {

		final Leadership leadership = new Leadership();

		@Setup
		public void lead() {
			this.leadership.take(1);
		}

	}

	/**
	 * A leadership that all threads of a benchmark use.
	 */
	@State(Scope.Benchmark)
	public static class Contended {

		final Leadership leadership = new Leadership();

	}

	/** A thread that wants to lead. */
	@State(Scope.Thread)
	public static class Candidate {

		int number;

		@Setup
		public void number(ThreadParams threads) {
			this.number = threads.getThreadIndex() + 1;
		}

	}

	/**
	 * Two threads: one waits as a follower while the other one is awake. Each thread
	 * publishes whose turn it is before it signals, and reads it after it is enqueued, as
	 * threads of a pool do with a vacant leadership.
	 */
	@State(Scope.Benchmark)
	public static class Rally {

		private static final int HOME = 1;

		private static final int AWAY = 2;

		private static final long PATIENCE_NANOS = TimeUnit.HOURS.toNanos(1);

		private Followers followers = newFollowers();

		private volatile int turn = HOME;

		private volatile boolean ended;

		private Follower home = new Follower(HOME, Thread.currentThread());

		private Thread opponent = new Thread(this::returnAll, "opponent");

		@Setup(Level.Iteration)
		public void begin() {
			this.ended = false;
			// The places of the old object belong to the followers of the previous
			// iteration.
			this.followers = newFollowers();
			this.turn = HOME;
			// JMH does not promise the same thread in each iteration.
			this.home = new Follower(HOME, Thread.currentThread());
			this.opponent = new Thread(this::returnAll, "opponent");
			this.opponent.start();
		}

		@TearDown(Level.Iteration)
		public void end() throws InterruptedException {
			this.ended = true;
			LockSupport.unpark(this.opponent);
			this.opponent.join();
		}

		private static Followers newFollowers() {
			return Followers.lifo();
		}

		void playAndAwaitReturn() {
			play(AWAY);
			awaitTurn(this.home, HOME);
		}

		private void returnAll() {
			Follower away = new Follower(AWAY, Thread.currentThread());
			while (awaitTurn(away, AWAY)) {
				play(HOME);
			}
		}

		private void play(int next) {
			this.turn = next;
			if (this.followers.signal() == Followers.Signal.NOBODY_WAITS) {
				// The caller has the mark. The thread that waits next looks at the turn.
				this.followers.arrive();
			}
		}

		/** Returns {@code false} when the rally has ended. */
		private boolean awaitTurn(Follower me, int mine) {
			while (this.turn != mine) {
				this.followers.enqueue(me);
				if (this.turn == mine || this.ended
						|| !this.followers.await(me, System.nanoTime() + PATIENCE_NANOS, () -> this.ended)) {
					this.followers.leave(me);
				}
				if (this.ended) {
					return false;
				}
			}
			return true;
		}

	}

}
