package org.leaderfollowers.internal.promotion;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;

/**
 * The settings that can be changed while a pool runs. An object is replaced but never
 * changed, so a thread reads it once for each decision.
 *
 * @param minThreads the minimum number of threads
 * @param maxThreads the maximum number of threads
 * @param eager whether a leader promotes a follower before every dispatch
 * @param leaseNanos how long a leader may run a handler, in nanoseconds
 * @param sinceNanos when the policy and the lease were set, by the clock of the pool
 */
public record PoolSettings(int minThreads, int maxThreads, boolean eager, long leaseNanos, long sinceNanos) {

	private static final int MOST_THREADS = 10_000;

	private static final Duration SHORTEST_LEASE = Duration.ofNanos(100_000);

	private static final Duration LONGEST_LEASE = Duration.ofMinutes(1);

	/**
	 * The number of leases without a dispatch after which the watcher sleeps: waking it
	 * costs as much as a few of its timed waits.
	 */
	private static final int QUIET_LEASES = 8;

	/** A change of settings. */
	@FunctionalInterface
	public interface Change {

		/**
		 * Creates the new settings.
		 * @param current the current settings
		 * @param nowNanos the current time, by the clock of the pool
		 * @return the new settings
		 */
		PoolSettings apply(PoolSettings current, long nowNanos);

	}

	/**
	 * Changes the limits of the number of threads.
	 * @param min the minimum number
	 * @param max the maximum number
	 * @return the new settings
	 */
	public PoolSettings withThreads(int min, int max) {
		return new PoolSettings(min, max, this.eager, this.leaseNanos, this.sinceNanos);
	}

	/**
	 * Changes the promotion policy.
	 * @param isEager whether a leader promotes before every dispatch
	 * @param nowNanos the current time, by the clock of the pool
	 * @return the new settings
	 */
	public PoolSettings withPolicy(boolean isEager, long nowNanos) {
		return new PoolSettings(this.minThreads, this.maxThreads, isEager, this.leaseNanos, nowNanos);
	}

	/**
	 * Changes the lease.
	 * @param lease how long a leader may run a handler
	 * @param nowNanos the current time, by the clock of the pool
	 * @return the new settings
	 */
	public PoolSettings withLease(Duration lease, long nowNanos) {
		return new PoolSettings(this.minThreads, this.maxThreads, this.eager, lease.toNanos(), nowNanos);
	}

	/**
	 * When a lease expires: not before the change that shortened it. With an eager
	 * policy, only leases that began before the change exist.
	 * @param beganNanos when the lease began, by the clock of the pool
	 * @return the end, by the clock of the pool
	 */
	long leaseEndNanos(long beganNanos) {
		long end = this.eager ? beganNanos : beganNanos + this.leaseNanos;
		return (end - this.sinceNanos < 0) ? this.sinceNanos : end;
	}

	/** How long there must be no lease before the watcher sleeps. */
	long quietNanos() {
		return QUIET_LEASES * this.leaseNanos;
	}

	/**
	 * Describes the differences from other settings, for the log.
	 * @param other the settings to compare with
	 * @return the description, empty if there are no differences
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
	 * Checks the limits of the number of threads.
	 * @param minName the name of the minimum in messages
	 * @param min the minimum number of threads
	 * @param maxName the name of the maximum in messages
	 * @param max the maximum number of threads
	 * @throws IllegalArgumentException if a number is out of its range
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
	 * Checks that a lease is long enough to be watched, and not too long.
	 * @param lease how long a leader may run a handler
	 * @throws IllegalArgumentException if it is too short or too long
	 */
	public static void checkLease(Duration lease) {
		if (lease.compareTo(SHORTEST_LEASE) < 0 || lease.compareTo(LONGEST_LEASE) > 0) {
			throw new IllegalArgumentException("'lease' must be from 100 microseconds to 1 minute, but is " + lease);
		}
	}

}
