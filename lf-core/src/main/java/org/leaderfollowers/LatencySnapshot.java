package org.leaderfollowers;

import java.math.BigDecimal;
import java.math.RoundingMode;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;

import org.leaderfollowers.internal.latency.LatencyHistogram;

/**
 * A histogram of durations since the start. Neighbouring buckets differ by at most an
 * eighth. Subtract the buckets of two snapshots to get the durations between them.
 *
 * @param count the number of durations
 * @param total the sum of all durations
 * @param max the longest duration, exactly
 * @param buckets the buckets in ascending order, without empty ones
 */
public record LatencySnapshot(long count, Duration total, Duration max, List<Bucket> buckets) {

	/**
	 * The number of durations of about the same length.
	 *
	 * @param upTo the longest duration that belongs to the bucket; the shortest is at
	 * most an eighth shorter. The last possible bucket, of about five hours, also
	 * contains all longer durations
	 * @param count the number of durations in this bucket only
	 */
	public record Bucket(Duration upTo, long count) {
	}

	/**
	 * Creates a snapshot, with a copy of the buckets.
	 * @param count the number of durations
	 * @param total the sum of all durations
	 * @param max the longest duration
	 * @param buckets the buckets in ascending order
	 */
	public LatencySnapshot {
		buckets = List.copyOf(buckets);
	}

	/**
	 * The duration that the given percentage of all durations did not exceed.
	 * @param percentile from 0 to 100: 50 for the median, 99.9 for all but one in a
	 * thousand
	 * @return the duration, at most an eighth too high and never more than {@link #max};
	 * zero if there are no durations
	 * @throws IllegalArgumentException if {@code percentile} is not from 0 to 100
	 */
	public Duration percentile(double percentile) {
		if (!(percentile >= 0 && percentile <= 100)) {
			throw new IllegalArgumentException("'percentile' must be from 0 to 100, but is " + percentile);
		}
		// Computed in decimal: otherwise 99.9 % of 1000 would be slightly more than 999.
		long rank = Math.max(1,
				BigDecimal.valueOf(percentile)
					.multiply(BigDecimal.valueOf(this.count))
					.movePointLeft(2)
					.setScale(0, RoundingMode.CEILING)
					.longValue());
		long seen = 0;
		for (Bucket bucket : this.buckets.subList(0, Math.max(0, this.buckets.size() - 1))) {
			seen += bucket.count();
			if (seen >= rank) {
				return bucket.upTo();
			}
		}
		// The rank is in the last bucket, which also contains the maximum.
		return this.max;
	}

	static LatencySnapshot of(LatencyHistogram.Sum sum) {
		List<Bucket> buckets = new ArrayList<>();
		long count = 0;
		for (int i = 0; i < LatencyHistogram.BUCKETS; i++) {
			if (sum.count(i) != 0) {
				buckets.add(new Bucket(Duration.ofNanos(LatencyHistogram.upperBound(i)), sum.count(i)));
				count += sum.count(i);
			}
		}
		return new LatencySnapshot(count, Duration.ofNanos(sum.totalNanos()), Duration.ofNanos(sum.maxNanos()),
				buckets);
	}

}
