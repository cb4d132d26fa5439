package org.leaderfollowers.spring.actuate;

import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.Map;

import org.apache.commons.logging.Log;
import org.apache.commons.logging.LogFactory;
import org.jspecify.annotations.Nullable;
import org.leaderfollowers.LeaderFollowersPool;
import org.leaderfollowers.PoolSnapshot;
import org.leaderfollowers.PromotionPolicy;
import org.leaderfollowers.spring.actuate.WriteAudit.Operator;
import org.leaderfollowers.spring.internal.Printable;

/**
 * Changes pools while they run.
 */
final class PoolOperations {

	private static final Log logger = LogFactory.getLog(LeaderFollowersEndpoint.class);

	/** Of a pool; the engine takes no more either. */
	private static final int MOST_THREADS = 10_000;

	private final WriteAudit audit;

	PoolOperations(WriteAudit audit) {
		this.audit = audit;
	}

	PoolDescriptor change(Operator operator, LeaderFollowersPool pool, @Nullable String minThreads,
			@Nullable String maxThreads, @Nullable String policy, @Nullable String lease) {
		Change change = new Change(OperationArguments.integer("minThreads", minThreads, 1, MOST_THREADS),
				OperationArguments.integer("maxThreads", maxThreads, 1, MOST_THREADS),
				OperationArguments.constant("policy", policy, PromotionPolicy.class),
				OperationArguments.duration("lease", lease));
		if (change.isEmpty()) {
			throw RefusedRequestException
				.invalid("Nothing to change: give 'minThreads', 'maxThreads', 'policy' or 'lease', or several of them");
		}
		return this.audit.write(() -> change(operator, pool, change));
	}

	private PoolDescriptor change(Operator operator, LeaderFollowersPool pool, Change change) {
		PoolSnapshot before = pool.snapshot();
		try {
			change.apply(pool, before);
		}
		catch (IllegalArgumentException ex) {
			throw RefusedRequestException.invalid(String.valueOf(ex.getMessage()));
		}
		catch (IllegalStateException ex) {
			throw RefusedRequestException.conflict("The pool is " + pool.snapshot().state());
		}
		PoolSnapshot after = pool.snapshot();
		Map<String, Object> old = Change.values(before);
		Map<String, Object> changed = Change.values(after);
		changed.entrySet().removeIf((value) -> value.getValue().equals(old.get(value.getKey())));
		old.keySet().retainAll(changed.keySet());
		if (!changed.isEmpty()) {
			logger.info(Printable
				.of("Pool '%s' is changed%s: %s, was %s".formatted(pool.name(), operator.by(), changed, old)));
			this.audit.record(operator, WriteAudit.POOL_CHANGED, Map.of("pool", pool.name()), old, changed);
		}
		return PoolDescriptor.of(after);
	}

	/**
	 * What is to be different about a pool.
	 *
	 * @param minThreads threads that are kept, or {@code null} to leave it as it is
	 * @param maxThreads threads at the most, or {@code null} to leave it as it is
	 * @param policy when followers are promoted, or {@code null} to leave it as it is
	 * @param lease how long a leader may run a handler, or {@code null} to leave it as it
	 * is
	 */
	record Change(@Nullable Integer minThreads, @Nullable Integer maxThreads, @Nullable PromotionPolicy policy,
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

}
