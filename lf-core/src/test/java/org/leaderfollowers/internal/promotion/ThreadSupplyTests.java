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

	/** A supply whose threads may end before their starter continues. */
	private static final class Supply extends ThreadSupply {

		private final boolean endsAtOnce;

		private int starts;

		Supply(boolean endsAtOnce) {
			super(new PoolSettings(3, 8, false, 1, 0));
			this.endsAtOnce = endsAtOnce;
		}

		@Override
		protected void startThread(boolean underWay) {
			this.starts++;
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
