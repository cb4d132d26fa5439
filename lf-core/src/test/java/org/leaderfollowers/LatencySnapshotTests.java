package org.leaderfollowers;

import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.leaderfollowers.LatencySnapshot.Bucket;
import org.leaderfollowers.internal.latency.LatencyHistogram;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

/**
 * Tests {@link LatencySnapshot}.
 */
class LatencySnapshotTests {

	private static LatencySnapshot of(long... nanos) {
		LatencyHistogram histogram = new LatencyHistogram();
		for (long duration : nanos) {
			histogram.record(duration);
		}
		LatencyHistogram.Sum sum = new LatencyHistogram.Sum();
		histogram.addTo(sum);
		return LatencySnapshot.of(sum);
	}

	@Test
	void holdsTheBucketsThatAnythingBelongsTo() {
		LatencySnapshot snapshot = of(3000, 100, 100);
		assertThat(snapshot.count()).isEqualTo(3);
		assertThat(snapshot.total()).isEqualTo(Duration.ofNanos(3200));
		assertThat(snapshot.max()).isEqualTo(Duration.ofNanos(3000));
		assertThat(snapshot.buckets()).containsExactly(new Bucket(Duration.ofNanos(104), 2),
				new Bucket(Duration.ofNanos(3072), 1));
	}

	@Test
	void percentilesAreTooGreatByAnEighthAtTheMost() {
		long[] nanos = new long[1000];
		for (int i = 0; i < nanos.length; i++) {
			nanos[i] = (i + 1) * 1000L;
		}
		LatencySnapshot snapshot = of(nanos);
		for (double percentile : new double[] { 0.1, 1, 10, 50, 90, 99, 99.9 }) {
			double exact = percentile * 10 * 1000;
			assertThat((double) snapshot.percentile(percentile).toNanos()).as("percentile %s", percentile)
				.isBetween(exact - 1, exact * 1.125 + 1);
		}
	}

	@Test
	void allButOneInAThousandAreWithoutTheOne() {
		long[] nanos = new long[1000];
		Arrays.fill(nanos, 8);
		nanos[500] = 1_000_000;
		assertThat(of(nanos).percentile(99.9)).isEqualTo(Duration.ofNanos(8));
		assertThat(of(nanos).percentile(99.91)).isEqualTo(Duration.ofNanos(1_000_000));
	}

	@Test
	void noPercentileIsGreaterThanTheGreatest() {
		assertThat(of(1000, 1025).percentile(100)).isEqualTo(Duration.ofNanos(1025));
		assertThat(of(1025).percentile(0)).isEqualTo(Duration.ofNanos(1025));
		assertThat(of(10_000, 1L << 50).percentile(100)).isEqualTo(Duration.ofNanos(1L << 50));
	}

	@Test
	void ofNothingEveryPercentileIsZero() {
		assertThat(of()).isEqualTo(new LatencySnapshot(0, Duration.ZERO, Duration.ZERO, List.of()));
		assertThat(of().percentile(50)).isZero();
	}

	@ParameterizedTest
	@ValueSource(doubles = { -0.1, 100.1, Double.NaN, Double.POSITIVE_INFINITY })
	void aPercentileThatIsNoneIsRefused(double percentile) {
		assertThatIllegalArgumentException().isThrownBy(() -> of(1).percentile(percentile))
			.withMessageContaining("from 0 to 100");
	}

	@Test
	void theListOfBucketsIsCopied() {
		List<Bucket> buckets = new ArrayList<>();
		LatencySnapshot snapshot = new LatencySnapshot(0, Duration.ZERO, Duration.ZERO, buckets);
		buckets.add(new Bucket(Duration.ZERO, 1));
		assertThat(snapshot.buckets()).isEmpty();
	}

}
