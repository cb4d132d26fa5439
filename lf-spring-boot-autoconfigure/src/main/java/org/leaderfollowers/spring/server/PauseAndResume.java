package org.leaderfollowers.spring.server;

import java.util.Set;

import org.apache.commons.logging.Log;
import org.apache.commons.logging.LogFactory;
import org.jspecify.annotations.Nullable;
import org.leaderfollowers.spring.event.PauseServerEvent;
import org.leaderfollowers.spring.event.ResumeServerEvent;

import org.springframework.context.ApplicationEvent;
import org.springframework.context.event.GenericApplicationListener;
import org.springframework.core.ResolvableType;
import org.springframework.util.Assert;

/**
 * Pauses and resumes servers when an event asks for it. Events that name a server of
 * another context are left to that one.
 */
public final class PauseAndResume implements GenericApplicationListener {

	private static final Log logger = LogFactory.getLog(PauseAndResume.class);

	private final LeaderFollowersServers servers;

	/**
	 * Creates a new listener.
	 * @param servers the servers to pause and resume
	 */
	public PauseAndResume(LeaderFollowersServers servers) {
		Assert.notNull(servers, "'servers' must not be null");
		this.servers = servers;
	}

	@Override
	public boolean supportsEventType(ResolvableType eventType) {
		Class<?> type = eventType.toClass();
		return type == PauseServerEvent.class || type == ResumeServerEvent.class;
	}

	@Override
	public void onApplicationEvent(ApplicationEvent event) {
		if (event instanceof PauseServerEvent pause) {
			concerned(pause.getServer()).forEach(this.servers::pause);
		}
		else if (event instanceof ResumeServerEvent resume) {
			concerned(resume.getServer()).forEach(this.servers::resume);
		}
	}

	private Set<String> concerned(@Nullable String server) {
		if (server == null) {
			return this.servers.names();
		}
		if (!this.servers.names().contains(server)) {
			// Not thrown: a context hears the events of its children as well.
			logger.warn("An event asks for the server '%s' to be paused or resumed, which this context does not have. "
				.formatted(server)
					+ "%sKnown servers: %s".formatted(SimilarName.question(server, this.servers.names()),
							String.join(", ", this.servers.names())));
			return Set.of();
		}
		return Set.of(server);
	}

}
