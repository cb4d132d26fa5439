package org.leaderfollowers;

import java.nio.channels.SelectableChannel;

import org.leaderfollowers.internal.promotion.HandlerProfile;

/**
 * The handles of the connections of a server or client that one pool serves. The duration
 * of the handler is learned for each pool, because the messages of its connections may
 * differ from those of other pools.
 */
final class PoolHandles implements ServingPool {

	private final LeaderFollowersPool pool;

	private final int operations;

	private final HandlerProfile[] profiles;

	/**
	 * Creates handles of a pool.
	 * @param operations the operations that new handles are interested in
	 */
	PoolHandles(LeaderFollowersPool pool, int operations) {
		this.pool = pool;
		this.operations = operations;
		this.profiles = pool.handleSets().newProfiles();
	}

	@Override
	public String name() {
		return this.pool.name();
	}

	@Override
	public void start() {
		this.pool.start();
	}

	@Override
	public SelectableHandle newHandle(SelectableChannel channel, EngineEventHandler handler) {
		return this.pool.handleSets().newHandle(channel, handler, this.operations, this.profiles);
	}

	@Override
	public void adopt(SelectableHandle handle) {
		this.pool.handleSets().adopt(handle, this.profiles);
	}

}
