package org.leaderfollowers.spring.autoconfigure;

import java.time.Clock;
import java.time.Duration;

import org.leaderfollowers.spring.autoconfigure.LfProperties.Sessions;
import org.leaderfollowers.spring.handler.MessageConversion;
import org.leaderfollowers.spring.server.LeaderFollowersServers;
import org.leaderfollowers.spring.session.LfSessions;
import org.leaderfollowers.spring.session.SessionDirectory;
import org.leaderfollowers.spring.session.SessionOptions;

import org.springframework.beans.factory.ObjectProvider;
import org.springframework.boot.autoconfigure.AutoConfiguration;
import org.springframework.boot.autoconfigure.EnableAutoConfiguration;
import org.springframework.boot.autoconfigure.condition.ConditionalOnBean;
import org.springframework.boot.autoconfigure.condition.ConditionalOnMissingBean;
import org.springframework.boot.autoconfigure.condition.SearchStrategy;
import org.springframework.context.ApplicationEventPublisher;
import org.springframework.context.annotation.Bean;

/**
 * {@link EnableAutoConfiguration Auto-configuration} for {@link LfSessions}. A bean of
 * type {@link SessionDirectory} replaces the directory in memory.
 */
@AutoConfiguration(after = LeaderFollowersAutoConfiguration.class)
@ConditionalOnBean(value = { LeaderFollowersServers.class, MessageConversion.class, LfProperties.class },
		search = SearchStrategy.CURRENT)
public final class LeaderFollowersSessionAutoConfiguration {

	/**
	 * Does not depend on the beans that the servers need, so handlers can use it. A child
	 * context shares the sessions of its parent, because a process is one node.
	 */
	@Bean
	@ConditionalOnMissingBean
	LfSessions leaderFollowersSessions(LfProperties properties, ObjectProvider<SessionDirectory> directory,
			LeaderFollowersServers servers, MessageConversion conversion, ApplicationEventPublisher events) {
		return new LfSessions(directory.getIfAvailable(() -> SessionDirectory.inMemory(Clock.systemUTC())),
				options(properties.sessions()), conversion, servers::names, events);
	}

	private static SessionOptions options(Sessions sessions) {
		ConfiguredProperties<Sessions> properties = new ConfiguredProperties<>("lf.sessions", sessions);
		properties.set("max-name-length", sessions.maxNameLength(),
				(valid) -> new SessionOptions(valid, 1, Duration.ofNanos(1), Duration.ofNanos(1)), "be at least 1");
		properties.set("max-takeovers", sessions.maxTakeovers(),
				(valid) -> new SessionOptions(1, valid, Duration.ofNanos(1), Duration.ofNanos(1)), "be at least 1");
		properties.set("takeover-period", sessions.takeoverPeriod(),
				(valid) -> new SessionOptions(1, 1, valid, Duration.ofNanos(1)), "be more than 0");
		properties.set("timeout", sessions.timeout(), (valid) -> new SessionOptions(1, 1, Duration.ofNanos(1), valid),
				"be more than 0");
		return new SessionOptions(sessions.maxNameLength(), sessions.maxTakeovers(), sessions.takeoverPeriod(),
				sessions.timeout());
	}

}
