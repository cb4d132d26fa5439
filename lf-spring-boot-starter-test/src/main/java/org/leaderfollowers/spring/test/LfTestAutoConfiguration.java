package org.leaderfollowers.spring.test;

import org.leaderfollowers.spring.autoconfigure.LeaderFollowersAutoConfiguration;
import org.leaderfollowers.spring.server.LeaderFollowersServers;

import org.springframework.beans.factory.ObjectProvider;
import org.springframework.beans.factory.SmartInitializingSingleton;
import org.springframework.beans.factory.config.BeanFactoryPostProcessor;
import org.springframework.boot.autoconfigure.AutoConfiguration;
import org.springframework.boot.autoconfigure.EnableAutoConfiguration;
import org.springframework.boot.autoconfigure.condition.ConditionalOnBean;
import org.springframework.boot.autoconfigure.condition.ConditionalOnMissingBean;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Lazy;

/**
 * {@link EnableAutoConfiguration Auto-configuration} for tests of applications with
 * servers: test clients, and the ports of servers.
 */
@AutoConfiguration(after = LeaderFollowersAutoConfiguration.class)
@ConditionalOnBean(LeaderFollowersServers.class)
public final class LfTestAutoConfiguration {

	@Bean
	static BeanFactoryPostProcessor localLfServerPortPostProcessor() {
		return LocalPortCandidateResolver::register;
	}

	/**
	 * Finds mistakes in handlers when the context is created, also in tests without the
	 * lifecycles that otherwise do so.
	 */
	@Bean
	static SmartInitializingSingleton lfTestServers(ObjectProvider<LeaderFollowersServers> servers) {
		return () -> servers.getObject().names();
	}

	@Bean
	@Lazy
	@ConditionalOnMissingBean
	LfTestClients lfTestClients(LeaderFollowersServers servers) {
		return new LfTestClients(servers);
	}

}
