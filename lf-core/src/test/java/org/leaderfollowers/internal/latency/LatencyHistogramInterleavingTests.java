package org.leaderfollowers.internal.latency;

import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.leaderfollowers.interleavings.Exploration;
import org.leaderfollowers.interleavings.Interleaving;
import org.leaderfollowers.interleavings.Mutation;
import org.leaderfollowers.interleavings.Scenario;

/**
 * The interleavings of threads that record a duration of the same bucket: each of them is
 * counted, whichever threads lose a race.
 */
@Tag("interleavings")
class LatencyHistogramInterleavingTests {

	private enum Rule {

		A_DURATION_IS_COUNTED_BY_COMPARE_AND_SET(Mutation.setsWithoutComparing(LatencyHistogram.class, "record")),

		THE_SECOND_ROW_IS_PUBLISHED_BY_COMPARE_AND_SET(
				Mutation.setsWithoutComparing(LatencyHistogram.class, "elsewhere")),

		A_THREAD_THAT_LOSES_A_RACE_COUNTS_IN_THE_SECOND_ROW(
				Mutation.withoutCall(LatencyHistogram.class, "record", "getAndIncrement"));

		private final Mutation mutation;

		Rule(Mutation mutation) {
			this.mutation = mutation;
		}

	}

	@Test
	void everyDurationIsCounted() {
		Exploration.of(Recordings.class, 3).preemptions(3).assertSound();
	}

	@ParameterizedTest
	@EnumSource
	void noRuleCanBeDropped(Rule rule) {
		Exploration.of(Recordings.class, 3).preemptions(3).with(rule.mutation).assertViolated();
	}

	/** Threads that record one duration each. */
	static final class Recordings implements Scenario {

		private static final long NANOS = 7;

		private final LatencyHistogram histogram = new LatencyHistogram();

		private final int threads;

		Recordings(int threads) {
			this.threads = threads;
		}

		@Override
		public void begin() {
			for (int i = 0; i < this.threads; i++) {
				Interleaving.start("records", () -> this.histogram.record(NANOS));
			}
		}

		@Override
		public @Nullable String violationAtRest() {
			LatencyHistogram.Sum sum = new LatencyHistogram.Sum();
			this.histogram.addTo(sum);
			long count = sum.count(LatencyHistogram.bucketOf(NANOS));
			boolean isRight = count == this.threads && sum.totalNanos() == NANOS * this.threads
					&& sum.maxNanos() == NANOS;
			return isRight ? null : "%d durations, %d ns".formatted(count, sum.totalNanos());
		}

	}

}
