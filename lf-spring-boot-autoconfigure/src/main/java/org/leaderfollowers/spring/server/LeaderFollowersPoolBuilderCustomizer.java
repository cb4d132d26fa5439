package org.leaderfollowers.spring.server;

import org.leaderfollowers.LeaderFollowersPool;

/**
 * Customizes the builder of a pool that is configured by properties. Beans of this type
 * are called in their order, after the properties have been applied. Pools that are beans
 * themselves are not customized.
 */
@FunctionalInterface
public interface LeaderFollowersPoolBuilderCustomizer {

	/**
	 * Customizes a pool.
	 * @param pool the name of the pool
	 * @param builder the builder
	 */
	void customize(String pool, LeaderFollowersPool.Builder builder);

}
