package org.leaderfollowers.internal.latency;

import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicLongArray;
import java.util.concurrent.atomic.AtomicReference;
import java.util.concurrent.atomic.LongAdder;

import org.jspecify.annotations.Nullable;

/**
 * Counts durations in buckets that are linear within a power of two: eight of them each,
 * so that the bounds of a bucket differ by an eighth at the most, from nanoseconds to
 * hours, in less than three kilobytes.
 * <p>
 * Nothing is lost: each recording is one atomic addition to its bucket. While nobody else
 * gets in its way it is made in the same place by everybody; who is got in the way of
 * goes on in a second place, which is allocated the first time (the idea of
 * {@link LongAdder}, for a row of counters).
 * <p>
 * Who reads sees at least the total and the greatest of all that it sees counted: a
 * writer adds to the bucket last, a reader reads the buckets first.
 */
public final class LatencyHistogram {

	/** Each power of two is divided into so many. */
	private static final int SUB_BITS = 3;

	private static final int SUB_BUCKETS = 1 << SUB_BITS;

	/** From 2^44 ns on, almost five hours, there is one bucket. */
	private static final int MAX_EXPONENT = 44;

	/** How many buckets there are. */
	public static final int BUCKETS = (MAX_EXPONENT - SUB_BITS + 1) * SUB_BUCKETS;

	private final AtomicLongArray counts = new AtomicLongArray(BUCKETS);

	private final AtomicReference<@Nullable AtomicLongArray> contended = new AtomicReference<>();

	private final LongAdder totalNanos = new LongAdder();

	private final AtomicLong maxNanos = new AtomicLong();

	/**
	 * Records a duration. Any thread.
	 * @param nanos in nanoseconds; what is negative counts as 0
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
	 * Records a duration more cheaply. By one thread at a time, each of which sees what
	 * the one before it wrote, and only if all recordings are made so.
	 * @param nanos in nanoseconds; what is negative counts as 0
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
	 * Adds what has been recorded to a sum. Any thread.
	 * @param sum where to
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
		// The upper bound belongs to the bucket.
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
	 * The greatest duration that belongs to a bucket, but for the last one, which has no
	 * bound.
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

	/**
	 * What several histograms have recorded together. One thread.
	 */
	public static final class Sum {

		private final long[] counts = new long[BUCKETS];

		private long totalNanos;

		private long maxNanos;

		/** Creates an empty sum. */
		public Sum() {
		}

		/**
		 * How many durations belong to a bucket.
		 * @param bucket from 0 to {@link #BUCKETS}
		 * @return a number
		 */
		public long count(int bucket) {
			return this.counts[bucket];
		}

		/**
		 * All durations together.
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
