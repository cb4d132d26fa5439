package org.leaderfollowers.internal.promotion;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;

/**
 * The settings that can be changed while a pool runs. Replaced as a whole, never changed:
 * a thread that decides by them reads them once.
 *
 * @param minThreads the least number of threads
 * @param maxThreads the greatest number of threads
 * @param eager whether a leader promotes a follower before every dispatch
 * @param leaseNanos how long a leader may run a handler, in nanoseconds
 * @param sinceNanos since when policy and lease are these, by the clock of the pool
 */
public record PoolSettings(int minThreads, int maxThreads, boolean eager, long leaseNanos, long sinceNanos) {

	private static final int MOST_THREADS = 10_000;

	private static final Duration SHORTEST_LEASE = Duration.ofNanos(100_000);

	private static final Duration LONGEST_LEASE = Duration.ofMinutes(1);

	/**
	 * After so many leases without a dispatch the watcher sleeps: waking it again costs
	 * as much as a few of its timed waits.
	 */
	private static final int QUIET_LEASES = 8;

	/**
	 * A change from some settings to others.
	 */
	@FunctionalInterface
	public interface Change {

		/**
		 * Makes the new settings.
		 * @param current the settings that hold now
		 * @param nowNanos the time, by the clock of the pool
		 * @return the settings from now on
		 */
		PoolSettings apply(PoolSettings current, long nowNanos);

	}

	/**
	 * Changes the limits of the number of threads.
	 * @param min the least number
	 * @param max the greatest number
	 * @return the new settings
	 */
	public PoolSettings withThreads(int min, int max) {
		return new PoolSettings(min, max, this.eager, this.leaseNanos, this.sinceNanos);
	}

	/**
	 * Changes the promotion policy.
	 * @param isEager whether a leader promotes before every dispatch
	 * @param nowNanos the time, by the clock of the pool
	 * @return the new settings
	 */
	public PoolSettings withPolicy(boolean isEager, long nowNanos) {
		return new PoolSettings(this.minThreads, this.maxThreads, isEager, this.leaseNanos, nowNanos);
	}

	/**
	 * Changes the lease.
	 * @param lease how long a leader may run a handler
	 * @param nowNanos the time, by the clock of the pool
	 * @return the new settings
	 */
	public PoolSettings withLease(Duration lease, long nowNanos) {
		return new PoolSettings(this.minThreads, this.maxThreads, this.eager, lease.toNanos(), nowNanos);
	}

	/**
	 * When a lease runs out: not before the change that made it so short. An eager policy
	 * knows no leases but those that began before it.
	 * @param beganNanos when the lease began, by the clock of the pool
	 * @return the end, by the clock of the pool
	 */
	long leaseEndNanos(long beganNanos) {
		long end = this.eager ? beganNanos : beganNanos + this.leaseNanos;
		return (end - this.sinceNanos < 0) ? this.sinceNanos : end;
	}

	/** After so long without a lease, the watcher sleeps. */
	long quietNanos() {
		return QUIET_LEASES * this.leaseNanos;
	}

	/**
	 * The differences to other settings, for a line of the log.
	 * @param other the settings to compare with
	 * @return empty if there are none
	 */
	public String differenceTo(PoolSettings other) {
		List<String> differences = new ArrayList<>();
		if (this.minThreads != other.minThreads || this.maxThreads != other.maxThreads) {
			differences.add("threads %d..%d -> %d..%d".formatted(this.minThreads, this.maxThreads, other.minThreads,
					other.maxThreads));
		}
		if (this.eager != other.eager) {
			differences.add("promotion policy %s -> %s".formatted(policy(), other.policy()));
		}
		if (this.leaseNanos != other.leaseNanos) {
			differences.add("promotion lease %s -> %s".formatted(Duration.ofNanos(this.leaseNanos),
					Duration.ofNanos(other.leaseNanos)));
		}
		return String.join(", ", differences);
	}

	private String policy() {
		return this.eager ? "EAGER" : "ADAPTIVE";
	}

	/**
	 * Requires limits that a pool can have.
	 * @param minName the caller's name of the least number
	 * @param min the least number of threads
	 * @param maxName the caller's name of the greatest number
	 * @param max the greatest number of threads
	 * @throws IllegalArgumentException if one of them is out of its range
	 */
	public static void checkThreads(String minName, int min, String maxName, int max) {
		if (min < 1) {
			throw new IllegalArgumentException("'%s' must be at least 1, but is %d".formatted(minName, min));
		}
		if (max < min || max > MOST_THREADS) {
			throw new IllegalArgumentException(
					"'%s' must be from '%s' (%d) to %d, but is %d".formatted(maxName, minName, min, MOST_THREADS, max));
		}
	}

	/**
	 * Requires a lease that is long enough to be watched, and ends.
	 * @param lease how long a leader may run a handler
	 * @throws IllegalArgumentException if it is too short or too long
	 */
	public static void checkLease(Duration lease) {
		if (lease.compareTo(SHORTEST_LEASE) < 0 || lease.compareTo(LONGEST_LEASE) > 0) {
			throw new IllegalArgumentException("'lease' must be from 100 microseconds to 1 minute, but is " + lease);
		}
	}

}
