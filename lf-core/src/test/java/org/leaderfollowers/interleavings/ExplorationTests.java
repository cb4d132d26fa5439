package org.leaderfollowers.interleavings;

import java.util.Set;

import org.junit.jupiter.api.Test;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Tests of the {@link Exploration} itself: two states that it takes for the same one must
 * be the same.
 */
class ExplorationTests {

	@Test
	void aThreadThatWaitsAtOnceHasBegun() {
		Set<Long> every = Exploration.of(Waiters.class, 3).withoutPruning().rests();
		assertThat(every).hasSize(1);
		assertThat(Exploration.of(Waiters.class, 3).rests()).isEqualTo(every);
	}

	/** Threads that wait for something that does not come, and do nothing else. */
	static final class Waiters implements Scenario {

		private final int threads;

		Waiters(int threads) {
			this.threads = threads;
		}

		@Override
		public void begin() {
			for (int i = 0; i < this.threads; i++) {
				Interleaving.start("waiter" + i, () -> Interleaving.await("nothing", () -> false));
			}
		}

		@Override
		public String violationAtRest() {
			return null;
		}

	}

}
