package org.leaderfollowers;

import org.leaderfollowers.internal.promotion.ProcessorTime;
import org.leaderfollowers.spring.server.LeaderFollowersPoolBuilderCustomizer;

/**
 * Has pools believe that they are alone on the machine, for tests of what they do only if
 * processors are to spare.
 */
public final class IdleMachine implements LeaderFollowersPoolBuilderCustomizer {

	@Override
	public void customize(String pool, LeaderFollowersPool.Builder builder) {
		builder.processorTime(new ProcessorTime() {

			@Override
			public long nanos(Thread thread) {
				return UNKNOWN;
			}

			@Override
			public long idleNanos() {
				return UNKNOWN;
			}

		});
	}

}
