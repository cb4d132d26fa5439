package org.leaderfollowers.spring.health;

import org.leaderfollowers.spring.session.LfSessions;

import org.springframework.boot.health.contributor.AbstractHealthIndicator;
import org.springframework.boot.health.contributor.Health;
import org.springframework.boot.health.contributor.Status;

/**
 * The health of the sessions:
 * <ul>
 * <li>{@link Status#UP}: other nodes can be reached as far as there are any.</li>
 * <li>{@link Status#UNKNOWN}: they cannot. The sessions of this node go on, so it would
 * be wrong to take the node out of service: all nodes may have the same problem.</li>
 * </ul>
 */
final class SessionHealthIndicator extends AbstractHealthIndicator {

	private final LfSessions sessions;

	SessionHealthIndicator(LfSessions sessions) {
		super("Health check of the sessions failed");
		this.sessions = sessions;
	}

	@Override
	protected void doHealthCheck(Health.Builder builder) {
		String problem = this.sessions.directory().problem();
		builder.status((problem == null) ? Status.UP : Status.UNKNOWN);
		if (problem != null) {
			builder.withDetail("reason", problem);
		}
		builder.withDetail("node", this.sessions.directory().node())
			.withDetail("nodes", this.sessions.directory().nodes().size())
			.withDetail("open", this.sessions.counters().open());
	}

}
