package org.leaderfollowers.spring.autoconfigure;

import java.util.List;

import org.leaderfollowers.LeaderFollowersPool;
import org.leaderfollowers.spring.autoconfigure.LfProperties.Pool;
import org.leaderfollowers.spring.autoconfigure.LfProperties.Threads;

import org.springframework.boot.context.properties.source.InvalidConfigurationPropertyValueException;
import org.springframework.util.unit.DataSize;

/**
 * Maps the properties of a pool to its builder.
 *
 * @param properties the properties to map
 */
record PoolPropertiesMapper(ConfiguredProperties<Pool> properties) {

	private static final String WATCHED = "be 0, or from 1 second to 24 hours";

	/**
	 * Maps the properties.
	 * @param name the name of the pool
	 * @param sources the names of the event sources that the pool waits on
	 */
	LeaderFollowersPool.Builder map(String name, List<String> sources) {
		LeaderFollowersPool.Builder builder = LeaderFollowersPool.builder().name(name);
		Pool pool = this.properties.values();
		Threads threads = pool.threads();
		this.properties.set("threads.min", threads.min(), (min) -> builder.threads(Math.min(min, 1), 1),
				"be at least 1");
		if (threads.max() < threads.min()) {
			throw contradiction(threads);
		}
		this.properties.set("threads.max", threads.max(), (max) -> builder.threads(threads.min(), max),
				"be from '%s', which is %d, to 10000".formatted(this.properties.key("threads.min"), threads.min()));
		this.properties.set("threads.keep-alive", threads.keepAlive(), builder::keepAlive, "be positive");
		this.properties.set("threads.priority", threads.priority(), builder::threadPriority, "be from 1 to 10");
		Integer handleSets = pool.handleSets();
		if (handleSets != null) {
			this.properties.set("handle-sets", handleSets, builder::handleSets, "be from 1 to 64");
			if (handleSets > threads.min()) {
				throw this.properties.invalid("handle-sets", handleSets,
						"Must not be greater than '%s', which is %d: each handle set needs a thread to lead it."
							.formatted(this.properties.key("threads.min"), threads.min()));
			}
		}
		int leaders = ((handleSets != null) ? handleSets : 1) + sources.size();
		if (!sources.isEmpty() && leaders > threads.min()) {
			throw this.properties.invalid("threads.min", threads.min(),
					"Must be at least %d: each handle set and each event source (%s) needs a thread to lead it."
						.formatted(leaders, String.join(", ", sources)));
		}
		builder.eventSources(sources.toArray(String[]::new));
		Integer parallelism = pool.parallelism();
		if (parallelism != null) {
			this.properties.set("parallelism", parallelism, builder::parallelism, "be from 1 to 1024");
		}
		DataSize maxBufferedSize = pool.maxBufferedSize();
		if (maxBufferedSize != null) {
			this.properties.set("max-buffered-size", maxBufferedSize,
					(size) -> builder.maxBufferedBytes(size.toBytes()), "be at least 64KB");
		}
		builder.nestedDispatch(pool.nestedDispatch());
		this.properties.set("max-nested-depth", pool.maxNestedDepth(), builder::maxNestedDepth, "be from 1 to 100");
		builder.promotionPolicy(pool.promotion().policy());
		builder.promotionOrder(pool.promotion().order());
		this.properties.set("promotion.lease", pool.promotion().lease(), builder::promotionLease,
				"be from 100 microseconds to 1 minute");
		this.properties.set("watchdog.stuck-after", pool.watchdog().stuckAfter(), builder::stuckAfter, WATCHED);
		this.properties.set("watchdog.slow-handler-after", pool.watchdog().slowHandlerAfter(),
				builder::slowHandlerAfter, WATCHED);
		return builder;
	}

	/**
	 * Reports the property that was set, because the other one may have its default
	 * value.
	 */
	private InvalidConfigurationPropertyValueException contradiction(Threads threads) {
		Threads defaults = ConfiguredProperties.defaults(this.properties.prefix(), Pool.class).values().threads();
		if (threads.max() == defaults.max()) {
			return this.properties.invalid("threads.min", threads.min(), "Must not be greater than '%s', which is %d."
				.formatted(this.properties.key("threads.max"), threads.max()));
		}
		return this.properties.invalid("threads.max", threads.max(), "Must not be less than '%s', which is %d."
			.formatted(this.properties.key("threads.min"), threads.min()));
	}

}
