package org.leaderfollowers.internal.latency;

import java.util.ArrayList;
import java.util.List;
import java.util.SplittableRandom;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Tests {@link LatencyHistogram}.
 */
class LatencyHistogramTests {

	private final LatencyHistogram histogram = new LatencyHistogram();

	private LatencyHistogram.Sum sum() {
		LatencyHistogram.Sum sum = new LatencyHistogram.Sum();
		this.histogram.addTo(sum);
		return sum;
	}

	private static long count(LatencyHistogram.Sum sum) {
		long count = 0;
		for (int bucket = 0; bucket < LatencyHistogram.BUCKETS; bucket++) {
			count += sum.count(bucket);
		}
		return count;
	}

	@Test
	void theBoundsOfABucketDifferByAnEighthAtTheMost() {
		long lower = 0;
		for (int bucket = 0; bucket < LatencyHistogram.BUCKETS; bucket++) {
			long upper = LatencyHistogram.upperBound(bucket);
			assertThat(upper).as("bucket %d", bucket).isGreaterThan(lower);
			assertThat(LatencyHistogram.bucketOf(upper)).isEqualTo(bucket);
			assertThat(LatencyHistogram.bucketOf(lower + 1)).isEqualTo(bucket);
			// From eight nanoseconds on; below that, each bucket has a width of one.
			assertThat(upper - lower).isLessThanOrEqualTo(Math.max(1, upper / 8));
			lower = upper;
		}
		assertThat(lower).isEqualTo(1L << 44);
	}

	@ParameterizedTest
	@ValueSource(longs = { 1L << 44, (1L << 44) + 1, 1L << 50, Long.MAX_VALUE })
	void whatTakesLongerThanAllBucketsIsInTheLastOne(long nanos) {
		assertThat(LatencyHistogram.bucketOf(nanos)).isEqualTo(LatencyHistogram.BUCKETS - 1);
		this.histogram.record(nanos);
		assertThat(sum().maxNanos()).isEqualTo(nanos);
	}

	@ParameterizedTest
	@ValueSource(longs = { 0, -1, Long.MIN_VALUE })
	void whatTookNoTimeIsInTheFirstOne(long nanos) {
		this.histogram.record(nanos);
		this.histogram.recordAlone(nanos);
		assertThat(sum().count(0)).isEqualTo(2);
		assertThat(sum().totalNanos()).isZero();
		assertThat(sum().maxNanos()).isZero();
	}

	@Test
	void everyDurationIsWithinItsBucket() {
		SplittableRandom random = new SplittableRandom(4711);
		for (int i = 0; i < 100_000; i++) {
			long nanos = random.nextLong(1, 1L << random.nextInt(1, 45));
			int bucket = LatencyHistogram.bucketOf(nanos);
			assertThat(nanos).isLessThanOrEqualTo(LatencyHistogram.upperBound(bucket));
			if (bucket > 0) {
				assertThat(nanos).isGreaterThan(LatencyHistogram.upperBound(bucket - 1));
			}
		}
	}

	@Test
	void severalHistogramsAreAddedUp() {
		LatencyHistogram other = new LatencyHistogram();
		this.histogram.record(100);
		other.recordAlone(3000);
		other.recordAlone(100);
		LatencyHistogram.Sum sum = new LatencyHistogram.Sum();
		other.addTo(sum);
		this.histogram.addTo(sum);
		assertThat(sum.count(LatencyHistogram.bucketOf(100))).isEqualTo(2);
		assertThat(sum.count(LatencyHistogram.bucketOf(3000))).isOne();
		assertThat(sum.totalNanos()).isEqualTo(3200);
		assertThat(sum.maxNanos()).isEqualTo(3000);
	}

	@Test
	void nothingIsLostWhenManyRecord() throws InterruptedException {
		int each = 100_000;
		List<Thread> threads = new ArrayList<>();
		for (int i = 0; i < 4; i++) {
			Thread thread = new Thread(() -> {
				for (int n = 0; n < each; n++) {
					this.histogram.record(1000);
				}
			});
			threads.add(thread);
			thread.start();
		}
		for (Thread thread : threads) {
			thread.join();
		}
		assertThat(count(sum())).isEqualTo(4L * each);
		assertThat(sum().count(LatencyHistogram.bucketOf(1000))).isEqualTo(4L * each);
		assertThat(sum().totalNanos()).isEqualTo(4000L * each);
	}

}
