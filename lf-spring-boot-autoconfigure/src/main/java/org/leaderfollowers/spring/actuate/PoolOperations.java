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

	/** The maximum of a pool, which the engine enforces too. */
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
	 * A change of a pool.
	 *
	 * @param minThreads the minimum number of threads, or {@code null} to keep it
	 * @param maxThreads the maximum number of threads, or {@code null} to keep it
	 * @param policy when followers are promoted, or {@code null} to keep it
	 * @param lease how long a leader may run a handler, or {@code null} to keep it
	 */
	record Change(@Nullable Integer minThreads, @Nullable Integer maxThreads, @Nullable PromotionPolicy policy,
			@Nullable Duration lease) {

		boolean isEmpty() {
			return this.minThreads == null && this.maxThreads == null && this.policy == null && this.lease == null;
		}

		/**
		 * Applies all values or none.
		 * @throws IllegalArgumentException if a value is rejected
		 * @throws IllegalStateException if the pool is closed
		 */
		void apply(LeaderFollowersPool pool, PoolSnapshot before) {
			if (this.lease != null) {
				// The builder rejects an invalid lease before anything is changed.
				LeaderFollowersPool.builder().promotionLease(this.lease);
			}
			if (this.minThreads != null && this.maxThreads == null && this.minThreads > before.maxThreads()) {
				// The engine would name the maximum, which the caller has not given.
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
		 * The values that can be changed, by the names of their arguments.
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
