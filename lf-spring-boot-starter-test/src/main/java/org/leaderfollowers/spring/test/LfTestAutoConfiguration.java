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
import org.springframework.core.env.Environment;

/**
 * {@link EnableAutoConfiguration Auto-configuration} for tests of applications that have
 * servers: their clients, and their ports.
 */
@AutoConfiguration(after = LeaderFollowersAutoConfiguration.class)
@ConditionalOnBean(LeaderFollowersServers.class)
public final class LfTestAutoConfiguration {

	@Bean
	static BeanFactoryPostProcessor localLfServerPortPostProcessor() {
		return LocalPortCandidateResolver::register;
	}

	/**
	 * Finds mistakes of handlers when the context is created, also in tests that leave
	 * out the lifecycles which do so otherwise.
	 */
	@Bean
	static SmartInitializingSingleton lfTestServers(ObjectProvider<LeaderFollowersServers> servers) {
		return () -> servers.getObject().names();
	}

	@Bean
	@Lazy
	@ConditionalOnMissingBean
	LfTestClients lfTestClients(LeaderFollowersServers servers, Environment environment) {
		return new LfTestClients(servers, environment);
	}

}
