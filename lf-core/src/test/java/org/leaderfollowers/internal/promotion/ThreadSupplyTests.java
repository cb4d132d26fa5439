package org.leaderfollowers.internal.promotion;

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

		private int starts;

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
		protected boolean isStopping() {
			return false;
		}

	}

}
