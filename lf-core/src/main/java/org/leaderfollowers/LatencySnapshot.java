package org.leaderfollowers;

import java.math.BigDecimal;
import java.math.RoundingMode;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;

import org.leaderfollowers.internal.latency.LatencyHistogram;

/**
 * How long something took, each time since the start: a histogram whose buckets differ
 * from their neighbours by an eighth at the most. The difference of the buckets of two
 * snapshots is what happened in between.
 *
 * @param count how many times
 * @param total all durations together
 * @param max the longest of them, exactly
 * @param buckets how many took how long, in ascending order; only buckets that anything
 * belongs to
 */
public record LatencySnapshot(long count, Duration total, Duration max, List<Bucket> buckets) {

	/**
	 * What took about as long.
	 *
	 * @param upTo the longest duration that belongs to the bucket; the shortest is at the
	 * most an eighth shorter. The last bucket there can be, of about five hours, also
	 * holds all that took longer
	 * @param count how many times, without those of other buckets
	 */
	public record Bucket(Duration upTo, long count) {
	}

	/**
	 * Creates a snapshot, with a copy of the buckets.
	 * @param count how many times
	 * @param total all durations together
	 * @param max the longest of them
	 * @param buckets how many took how long, in ascending order
	 */
	public LatencySnapshot {
		buckets = List.copyOf(buckets);
	}

	/**
	 * The duration that a share of all did not exceed.
	 * @param percentile from 0 to 100: 50 for the median, 99.9 for all but one in a
	 * thousand
	 * @return at the most an eighth too much, and never more than {@link #max}; zero if
	 * there were none
	 * @throws IllegalArgumentException if {@code percentile} is not from 0 to 100
	 */
	public Duration percentile(double percentile) {
		if (!(percentile >= 0 && percentile <= 100)) {
			throw new IllegalArgumentException("'percentile' must be from 0 to 100, but is " + percentile);
		}
		// In decimals: 99.9 % of 1000 would be a little more than 999 otherwise.
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
		// It belongs to the last bucket, and so does the greatest.
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
