package org.leaderfollowers;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;

/**
 * What can be changed while a pool runs. Replaced as a whole, never changed: whoever
 * decides something reads it once.
 *
 * @param minThreads the least number of threads
 * @param maxThreads the greatest number of threads
 * @param promotionPolicy when followers are promoted
 * @param leaseNanos how long a leader may run a handler
 * @param sinceNanos since when policy and lease are these, by the clock of the pool
 */
record Settings(int minThreads, int maxThreads, PromotionPolicy promotionPolicy, long leaseNanos, long sinceNanos) {

	private static final int MOST_THREADS = 10_000;

	private static final Duration SHORTEST_LEASE = Duration.ofNanos(100_000);

	private static final Duration LONGEST_LEASE = Duration.ofMinutes(1);

	/**
	 * So many leases without a dispatch, and the watcher sleeps: waking it again costs as
	 * much as a few of its timed waits.
	 */
	private static final int QUIET_LEASES = 8;

	/**
	 * From some settings to others.
	 */
	@FunctionalInterface
	interface Change {

		Settings apply(Settings current, long nowNanos);

	}

	Settings withThreads(int min, int max) {
		return new Settings(min, max, this.promotionPolicy, this.leaseNanos, this.sinceNanos);
	}

	Settings withPolicy(PromotionPolicy policy, long nowNanos) {
		return new Settings(this.minThreads, this.maxThreads, policy, this.leaseNanos, nowNanos);
	}

	Settings withLease(Duration lease, long nowNanos) {
		return new Settings(this.minThreads, this.maxThreads, this.promotionPolicy, lease.toNanos(), nowNanos);
	}

	Duration promotionLease() {
		return Duration.ofNanos(this.leaseNanos);
	}

	/**
	 * When a lease runs out: not before the change that made it so short. With
	 * {@link PromotionPolicy#EAGER} there is none but those that began before.
	 */
	long leaseEndNanos(long beganNanos) {
		long end = (this.promotionPolicy == PromotionPolicy.EAGER) ? beganNanos : beganNanos + this.leaseNanos;
		return (end - this.sinceNanos < 0) ? this.sinceNanos : end;
	}

	/** After so long without a lease, whoever watches them sleeps. */
	long quietNanos() {
		return QUIET_LEASES * this.leaseNanos;
	}

	/**
	 * What is different in other settings, for a line of the log.
	 * @return empty if nothing is
	 */
	String differenceTo(Settings other) {
		List<String> differences = new ArrayList<>();
		if (this.minThreads != other.minThreads || this.maxThreads != other.maxThreads) {
			differences.add("threads %d..%d -> %d..%d".formatted(this.minThreads, this.maxThreads, other.minThreads,
					other.maxThreads));
		}
		if (this.promotionPolicy != other.promotionPolicy) {
			differences.add("promotion policy %s -> %s".formatted(this.promotionPolicy, other.promotionPolicy));
		}
		if (this.leaseNanos != other.leaseNanos) {
			differences.add("promotion lease %s -> %s".formatted(promotionLease(), other.promotionLease()));
		}
		return String.join(", ", differences);
	}

	/**
	 * Demands that a pool can have so many threads.
	 * @param minName what the caller calls the least number
	 * @param maxName and the greatest one
	 */
	static void checkThreads(String minName, int min, String maxName, int max) {
		if (min < 1) {
			throw new IllegalArgumentException("'%s' must be at least 1, but is %d".formatted(minName, min));
		}
		if (max < min || max > MOST_THREADS) {
			throw new IllegalArgumentException(
					"'%s' must be from '%s' (%d) to %d, but is %d".formatted(maxName, minName, min, MOST_THREADS, max));
		}
	}

	/** Demands that there is a thread for each handle set to lead it. */
	static void checkHandleSets(int handleSets, int minThreads) {
		if (handleSets > minThreads) {
			throw new IllegalArgumentException(
					"'handleSets' (%d) must not exceed the minimum of threads (%d): a set without a leader is not served"
						.formatted(handleSets, minThreads));
		}
	}

	/** Demands that a lease is neither too short to be watched nor endless. */
	static void checkLease(Duration lease) {
		if (lease.compareTo(SHORTEST_LEASE) < 0 || lease.compareTo(LONGEST_LEASE) > 0) {
			throw new IllegalArgumentException("'lease' must be from 100 microseconds to 1 minute, but is " + lease);
		}
	}

}
