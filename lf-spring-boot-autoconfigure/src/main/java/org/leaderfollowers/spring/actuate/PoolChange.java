package org.leaderfollowers.spring.actuate;

import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.Map;

import org.jspecify.annotations.Nullable;
import org.leaderfollowers.LeaderFollowersPool;
import org.leaderfollowers.PoolSnapshot;
import org.leaderfollowers.PromotionPolicy;

/**
 * What is to be different about a pool.
 *
 * @param minThreads threads that are kept, or {@code null} to leave it as it is
 * @param maxThreads threads at the most, or {@code null} to leave it as it is
 * @param policy when followers are promoted, or {@code null} to leave it as it is
 * @param lease how long a leader may run a handler, or {@code null} to leave it as it is
 */
record PoolChange(@Nullable Integer minThreads, @Nullable Integer maxThreads, @Nullable PromotionPolicy policy,
		@Nullable Duration lease) {

	boolean isEmpty() {
		return this.minThreads == null && this.maxThreads == null && this.policy == null && this.lease == null;
	}

	/**
	 * Changes all of it or nothing.
	 * @throws IllegalArgumentException if a value is refused
	 * @throws IllegalStateException if the pool is closed
	 */
	void apply(LeaderFollowersPool pool, PoolSnapshot before) {
		if (this.lease != null) {
			// To have it checked, before anything is changed.
			LeaderFollowersPool.builder().promotionLease(this.lease);
		}
		if (this.minThreads != null && this.maxThreads == null && this.minThreads > before.maxThreads()) {
			// The engine would blame the maximum, which nobody has asked for.
			throw new IllegalArgumentException("'minThreads' must be from 1 to 'maxThreads' (%d), but is %d"
				.formatted(before.maxThreads(), this.minThreads));
		}
		if (this.minThreads != null || this.maxThreads != null) {
			pool.resize((this.minThreads != null) ? this.minThreads : before.minThreads(),
					(this.maxThreads != null) ? this.maxThreads : before.maxThreads());
		}
		if (this.lease != null) {
			pool.promotionLease(this.lease);
		}
		if (this.policy != null) {
			pool.promotionPolicy(this.policy);
		}
	}

	/**
	 * What can be changed, under the names that it is changed by.
	 */
	static Map<String, Object> values(PoolSnapshot pool) {
		Map<String, Object> values = new LinkedHashMap<>();
		values.put("minThreads", pool.minThreads());
		values.put("maxThreads", pool.maxThreads());
		values.put("policy", pool.promotionPolicy().name());
		values.put("lease", pool.promotionLease().toString());
		return values;
	}

}
