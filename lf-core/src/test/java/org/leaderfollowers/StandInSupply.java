package org.leaderfollowers;

import org.leaderfollowers.internal.promotion.Clock;
import org.leaderfollowers.internal.promotion.PoolSettings;
import org.leaderfollowers.internal.promotion.ThreadSupply;

/** Starts no thread: the test acts in its place. */
final class StandInSupply extends ThreadSupply {

	StandInSupply(PoolSettings settings, Clock clock) {
		super(settings, clock);
	}

	@Override
	protected void startThread(boolean underWay) {
	}

	@Override
	protected boolean isStopping() {
		return false;
	}

}
