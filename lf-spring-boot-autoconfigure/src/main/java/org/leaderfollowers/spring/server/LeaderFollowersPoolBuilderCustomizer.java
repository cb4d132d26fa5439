package org.leaderfollowers.spring.server;

import org.leaderfollowers.LeaderFollowersPool;

/**
 * Changes how a pool that is configured by properties is built. Beans of this type are
 * called in their order, after the properties have been applied. Pools that are beans
 * themselves are not customized.
 */
@FunctionalInterface
public interface LeaderFollowersPoolBuilderCustomizer {

	/**
	 * Customizes a pool.
	 * @param pool the name of the pool
	 * @param builder builds it
	 */
	void customize(String pool, LeaderFollowersPool.Builder builder);

}
