package org.leaderfollowers.internal.promotion;

import java.util.ArrayList;
import java.util.List;

import org.junit.jupiter.api.Test;

import static org.assertj.core.api.Assertions.assertThat;

/** Starting threads, and what a thread that ends at once must not cause. */
class ThreadSupplyTests {

	@Test
	void startsAsManyThreadsAsTheMinimumLacks() {
		Supply supply = new Supply(false);
		supply.startMinimum();
		assertThat(supply.starts).isEqualTo(3);
		supply.ended();
		supply.startMinimum();
		assertThat(supply.starts).isEqualTo(4);
		assertThat(supply.count()).isEqualTo(3);
	}

	@Test
	void threadsThatEndAtOnceAreNotReplacedWithoutAnEnd() {
		Supply supply = new Supply(true);
		supply.startMinimum();
		assertThat(supply.starts).isEqualTo(3);
		assertThat(supply.count()).isZero();
	}

	@Test
	void afterAFailureNoThreadIsStartedForAnEventForAWhile() {
		TestClock clock = new TestClock();
		Supply supply = new Supply(false, clock);
		supply.startMinimum();
		supply.isRefused = true;
		assertThat(supply.mayStart()).isTrue();
		assertThat(supply.start(true)).isEqualTo(ThreadSupply.Start.FAILED);
		assertThat(supply.starts).isEqualTo(4);
		supply.isRefused = false;
		for (int i = 0; i < 10; i++) {
			assertThat(supply.mayStart()).isFalse();
			assertThat(supply.isBelowMaximum()).isTrue();
			assertThat(supply.start(true)).isEqualTo(ThreadSupply.Start.FAILED);
			clock.now += 10_000_000;
		}
		assertThat(supply.starts).isEqualTo(4);
		assertThat(supply.mayStart()).isTrue();
		assertThat(supply.start(true)).isEqualTo(ThreadSupply.Start.STARTED);
		assertThat(supply.count()).isEqualTo(4);
	}

	@Test
	void theMinimumIsStartedAlthoughAThreadHasFailed() {
		Supply supply = new Supply(false, new TestClock());
		supply.isRefused = true;
		supply.startMinimum();
		assertThat(supply.count()).isZero();
		supply.isRefused = false;
		supply.startMinimum();
		assertThat(supply.count()).isEqualTo(3);
	}

	/** Before other threads look whether one could be started. */
	@Test
	void aThreadThatCouldNotBeStartedIsNotCountedAnyMoreWhenThisIsReported() {
		Supply supply = new Supply(false, new TestClock());
		supply.isRefused = true;
		supply.failing = () -> {
			assertThat(supply.count()).isZero();
			assertThat(supply.mayStart()).isFalse();
			supply.failures++;
		};
		assertThat(supply.start(true)).isEqualTo(ThreadSupply.Start.FAILED);
		assertThat(supply.failures).isOne();
		assertThat(supply.countsNotStarted).containsExactly(0);
	}

	@Test
	void thereAreNeitherMoreThreadsThanTheMaximumNorFewerThanTheMinimum() {
		Supply supply = new Supply(false);
		supply.startMinimum();
		assertThat(supply.start(false)).isEqualTo(ThreadSupply.Start.AT_LIMIT);
		assertThat(supply.isAboveMinimum()).isFalse();
		assertThat(supply.countOut(true)).isFalse();
		for (int i = 4; i <= 8; i++) {
			assertThat(supply.isBelowMaximum()).isTrue();
			assertThat(supply.start(true)).isEqualTo(ThreadSupply.Start.STARTED);
		}
		assertThat(supply.isBelowMaximum()).isFalse();
		assertThat(supply.start(true)).isEqualTo(ThreadSupply.Start.AT_LIMIT);
		assertThat(supply.isSurplus()).isFalse();
		assertThat(supply.countOut(false)).isFalse();
		assertThat(supply.change((current, now) -> current.withThreads(3, 7), 0).maxThreads()).isEqualTo(8);
		assertThat(supply.isSurplus()).isTrue();
		assertThat(supply.countOut(false)).isTrue();
		assertThat(supply.countOut(false)).isFalse();
		assertThat(supply.count()).isEqualTo(7);
		for (int i = 6; i >= 3; i--) {
			assertThat(supply.isAboveMinimum()).isTrue();
			assertThat(supply.countOut(true)).isTrue();
			assertThat(supply.count()).isEqualTo(i);
		}
		assertThat(supply.countOut(true)).isFalse();
	}

	@Test
	void noThreadIsStartedIfTheMaximumIsLoweredMeanwhile() {
		Supply supply = new Supply(false);
		supply.startMinimum();
		supply.starting = () -> supply.change((current, now) -> current.withThreads(1, 3), 0);
		assertThat(supply.start(true)).isEqualTo(ThreadSupply.Start.AT_LIMIT);
		assertThat(supply.count()).isEqualTo(3);
		assertThat(supply.starts).isEqualTo(3);
		assertThat(supply.countsNotStarted).containsExactly(3);
	}

	@Test
	void aThreadThatFailsIsReplacedUpToTheMinimum() {
		Supply supply = new Supply(false);
		supply.startMinimum();
		assertThat(supply.countInToMinimum()).isFalse();
		supply.ended();
		assertThat(supply.countInToMinimum()).isTrue();
		assertThat(supply.count()).isEqualTo(3);
		supply.ended();
		supply.isStopping = true;
		assertThat(supply.countInToMinimum()).isFalse();
		assertThat(supply.count()).isEqualTo(2);
	}

	@Test
	void aPoolThatStopsStartsNoThread() {
		Supply supply = new Supply(false);
		supply.isStopping = true;
		assertThat(supply.start(true)).isEqualTo(ThreadSupply.Start.FAILED);
		supply.startMinimum();
		assertThat(supply.count()).isZero();
	}

	private static final class TestClock extends Clock {

		private long now = Long.MAX_VALUE;

		@Override
		public long nanoTime() {
			return this.now;
		}

	}

	/** A supply whose threads may end before their starter continues. */
	private static final class Supply extends ThreadSupply {

		private final boolean endsAtOnce;

		private boolean isRefused;

		private boolean isStopping;

		/** Called before a thread is counted. */
		private Runnable starting = () -> {
		};

		/** Called when a thread could not be started. */
		private Runnable failing = () -> {
		};

		private int starts;

		private int failures;

		/** How many threads were counted each time that one was not started. */
		private final List<Integer> countsNotStarted = new ArrayList<>();

		Supply(boolean endsAtOnce) {
			this(endsAtOnce, Clock.SYSTEM);
		}

		Supply(boolean endsAtOnce, Clock clock) {
			super(new PoolSettings(3, 8, false, 1, 0), clock);
			this.endsAtOnce = endsAtOnce;
		}

		@Override
		protected void startThread(boolean underWay) {
			this.starts++;
			if (this.isRefused) {
				throw new OutOfMemoryError("made for the test");
			}
			if (this.endsAtOnce && this.starts < 100) {
				ended();
			}
		}

		@Override
		protected void notStarted() {
			this.countsNotStarted.add(count());
		}

		@Override
		protected void startFailed(Throwable failure) {
			this.failing.run();
		}

		@Override
		protected boolean isStopping() {
			this.starting.run();
			return this.isStopping;
		}

	}

}
