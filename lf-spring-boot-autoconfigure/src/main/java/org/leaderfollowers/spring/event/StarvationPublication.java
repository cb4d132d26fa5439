package org.leaderfollowers.spring.event;

import java.time.Duration;

import org.leaderfollowers.LeaderFollowersPool;
import org.leaderfollowers.PoolListener;
import org.leaderfollowers.PromotionKind;

/**
 * Publishes that a pool is starved.
 *
 * @param pool the pool
 * @param publication where to publish
 */
record StarvationPublication(LeaderFollowersPool pool, EventPublication publication) implements PoolListener {

	@Override
	public void handedOff(PromotionKind kind, long vacancyNanos) {
	}

	@Override
	public void starved(long nanos) {
		this.publication.publish(new PoolStarvedEvent(this.pool, Duration.ofNanos(nanos)));
	}

}
