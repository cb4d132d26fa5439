package org.leaderfollowers;

import org.leaderfollowers.internal.promotion.ProcessorTime;
import org.leaderfollowers.spring.server.LeaderFollowersPoolBuilderCustomizer;

/**
 * Makes pools believe that no other process uses the machine, for tests of behaviour that
 * needs spare processors.
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
