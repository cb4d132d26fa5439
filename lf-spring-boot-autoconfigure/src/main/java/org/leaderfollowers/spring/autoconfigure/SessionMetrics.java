package org.leaderfollowers.spring.autoconfigure;

import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.Tags;
import io.micrometer.core.instrument.binder.MeterBinder;
import org.leaderfollowers.spring.session.LfSessions;
import org.leaderfollowers.spring.session.SessionCounters;

import org.springframework.util.Assert;

/**
 * Meters of the sessions of this node.
 */
final class SessionMetrics implements MeterBinder, AutoCloseable {

	private final LfSessions sessions;

	private final Meters meters = new Meters();

	/**
	 * Creates new metrics.
	 * @param sessions the sessions to measure
	 */
	SessionMetrics(LfSessions sessions) {
		Assert.notNull(sessions, "'sessions' must not be null");
		this.sessions = sessions;
	}

	/**
	 * Registers the meters. Further registries can follow. Binding the same registry
	 * again has no effect.
	 */
	@Override
	public void bindTo(MeterRegistry registry) {
		if (!this.meters.bindTo(registry)) {
			return;
		}
		Meters.Reader<LfSessions, SessionCounters> reader = this.meters.of(registry, () -> this.sessions,
				LfSessions::counters, Tags.empty());
		reader.gauge("lf.sessions.open", "Sessions that this node holds", SessionCounters::open);
		reader.gauge("lf.sessions.nodes", "Nodes that can be reached, this one included",
				(now) -> this.sessions.directory().nodes().size());
		reader.counter("lf.sessions.opened", "Connections that have taken a name", SessionCounters::openedSessions);
		reader.counter("lf.sessions.closed", "Sessions that have ended", SessionCounters::closedSessions);
		reader.counter("lf.sessions.takeovers", "Sessions that have lost their name to a later login",
				SessionCounters::takenOverSessions);
		reader.counter("lf.sessions.contested", "Logins refused because the name was taken over too often",
				SessionCounters::contestedLogins);
		reader.and("route", "local")
			.counter("lf.sessions.messages", "Messages and requests for sessions", SessionCounters::localMessages);
		reader.and("route", "remote")
			.counter("lf.sessions.messages", "Messages and requests for sessions", SessionCounters::remoteMessages);
		reader.counter("lf.sessions.failures", "Messages and requests for sessions that were not sent, or failed later",
				SessionCounters::failedMessages);
	}

	/**
	 * Removes the meters.
	 */
	@Override
	public void close() {
		this.meters.remove();
	}

}
