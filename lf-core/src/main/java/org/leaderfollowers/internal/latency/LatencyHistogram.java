package org.leaderfollowers.internal.latency;

import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicLongArray;
import java.util.concurrent.atomic.AtomicReference;
import java.util.concurrent.atomic.LongAdder;

import org.jspecify.annotations.Nullable;

/**
 * Counts durations in buckets from nanoseconds to hours, in less than three kilobytes.
 * Each power of two is divided into eight buckets of equal width, so that the bounds of a
 * bucket differ by at most an eighth.
 * <p>
 * No recording is lost: each is one atomic addition to a bucket. Without contention, all
 * threads use the same row of buckets. A thread that loses a race counts in a second row,
 * which is allocated when it is first needed (the idea of {@link LongAdder}).
 * <p>
 * A reader sees at least the total and the maximum of all durations that it sees counted:
 * a writer adds to the bucket last, and a reader reads the buckets first.
 */
public final class LatencyHistogram {

	/** Each power of two is divided into 2 to the power of this number of buckets. */
	private static final int SUB_BITS = 3;

	private static final int SUB_BUCKETS = 1 << SUB_BITS;

	/** All durations from 2^44 ns, almost five hours, share one bucket. */
	private static final int MAX_EXPONENT = 44;

	/** The number of buckets. */
	public static final int BUCKETS = (MAX_EXPONENT - SUB_BITS + 1) * SUB_BUCKETS;

	private final AtomicLongArray counts = new AtomicLongArray(BUCKETS);

	private final AtomicReference<@Nullable AtomicLongArray> contended = new AtomicReference<>();

	private final LongAdder totalNanos = new LongAdder();

	private final AtomicLong maxNanos = new AtomicLong();

	/**
	 * Records a duration. Any thread.
	 * @param nanos in nanoseconds; a negative duration counts as 0
	 */
	public void record(long nanos) {
		long duration = Math.max(0, nanos);
		this.totalNanos.add(duration);
		long max = this.maxNanos.getOpaque();
		while (duration > max && !this.maxNanos.compareAndSet(max, duration)) {
			max = this.maxNanos.getOpaque();
		}
		int bucket = bucketOf(duration);
		long count = this.counts.getPlain(bucket);
		if (!this.counts.compareAndSet(bucket, count, count + 1)) {
			elsewhere().getAndIncrement(bucket);
		}
	}

	/**
	 * Records a duration at a lower cost. Only one thread at a time may call this method,
	 * each thread must see the writes of the previous one, and no other recording method
	 * may be used.
	 * @param nanos in nanoseconds; a negative duration counts as 0
	 */
	public void recordAlone(long nanos) {
		long duration = Math.max(0, nanos);
		this.totalNanos.add(duration);
		if (duration > this.maxNanos.getPlain()) {
			this.maxNanos.setOpaque(duration);
		}
		int bucket = bucketOf(duration);
		this.counts.setRelease(bucket, this.counts.getPlain(bucket) + 1);
	}

	private AtomicLongArray elsewhere() {
		AtomicLongArray place = this.contended.get();
		if (place == null) {
			place = new AtomicLongArray(BUCKETS);
			if (!this.contended.compareAndSet(null, place)) {
				AtomicLongArray other = this.contended.get();
				return (other != null) ? other : place;
			}
		}
		return place;
	}

	/**
	 * Adds the recorded durations to a sum. Any thread.
	 * @param sum receives the durations
	 */
	public void addTo(Sum sum) {
		AtomicLongArray more = this.contended.get();
		for (int bucket = 0; bucket < BUCKETS; bucket++) {
			sum.counts[bucket] += this.counts.get(bucket) + ((more != null) ? more.get(bucket) : 0);
		}
		sum.totalNanos += this.totalNanos.sum();
		sum.maxNanos = Math.max(sum.maxNanos, this.maxNanos.get());
	}

	static int bucketOf(long nanos) {
		// The upper bound is part of the bucket.
		long value = Math.max(0, nanos - 1);
		if (value < SUB_BUCKETS) {
			return (int) value;
		}
		int exponent = Long.SIZE - 1 - Long.numberOfLeadingZeros(value);
		if (exponent >= MAX_EXPONENT) {
			return BUCKETS - 1;
		}
		int sub = (int) (value >>> (exponent - SUB_BITS)) & (SUB_BUCKETS - 1);
		return ((exponent - SUB_BITS + 1) << SUB_BITS) + sub;
	}

	/**
	 * The longest duration of a bucket. The last bucket has no bound.
	 * @param bucket from 0
	 * @return nanoseconds
	 */
	public static long upperBound(int bucket) {
		if (bucket < SUB_BUCKETS) {
			return bucket + 1;
		}
		int exponent = (bucket >>> SUB_BITS) + SUB_BITS - 1;
		int sub = bucket & (SUB_BUCKETS - 1);
		return (long) (SUB_BUCKETS + sub + 1) << (exponent - SUB_BITS);
	}

	/** The durations of several histograms together. Used by one thread. */
	public static final class Sum {

		private final long[] counts = new long[BUCKETS];

		private long totalNanos;

		private long maxNanos;

		/** Creates an empty sum. */
		public Sum() {
		}

		/**
		 * The number of durations in a bucket.
		 * @param bucket from 0 to {@link #BUCKETS}
		 * @return a number
		 */
		public long count(int bucket) {
			return this.counts[bucket];
		}

		/**
		 * The sum of all durations.
		 * @return nanoseconds
		 */
		public long totalNanos() {
			return this.totalNanos;
		}

		/**
		 * The longest duration.
		 * @return nanoseconds, 0 if there is none
		 */
		public long maxNanos() {
			return this.maxNanos;
		}

	}

}
