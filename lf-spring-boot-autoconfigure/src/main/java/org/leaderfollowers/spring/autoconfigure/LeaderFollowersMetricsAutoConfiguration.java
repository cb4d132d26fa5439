package org.leaderfollowers.spring.autoconfigure;

import io.micrometer.core.instrument.MeterRegistry;
import org.leaderfollowers.TcpServer;
import org.leaderfollowers.spring.client.LeaderFollowersClients;
import org.leaderfollowers.spring.limit.ClientLimiters;
import org.leaderfollowers.spring.server.LeaderFollowersPools;
import org.leaderfollowers.spring.server.LeaderFollowersServers;
import org.leaderfollowers.spring.session.LfSessions;

import org.springframework.beans.factory.ObjectProvider;
import org.springframework.beans.factory.SmartInitializingSingleton;
import org.springframework.beans.factory.config.ConfigurableListableBeanFactory;
import org.springframework.boot.autoconfigure.AutoConfiguration;
import org.springframework.boot.autoconfigure.EnableAutoConfiguration;
import org.springframework.boot.autoconfigure.condition.ConditionalOnBean;
import org.springframework.boot.autoconfigure.condition.ConditionalOnClass;
import org.springframework.boot.autoconfigure.condition.ConditionalOnMissingBean;
import org.springframework.boot.autoconfigure.condition.SearchStrategy;
import org.springframework.context.annotation.Bean;

/**
 * {@link EnableAutoConfiguration Auto-configuration} for the meters of Leader/Followers
 * pools, servers and clients. Each application context has its own meters.
 */
@AutoConfiguration(after = { LeaderFollowersAutoConfiguration.class, LeaderFollowersSessionAutoConfiguration.class },
		afterName = "org.springframework.boot.micrometer.metrics.autoconfigure.CompositeMeterRegistryAutoConfiguration")
@ConditionalOnClass({ TcpServer.class, MeterRegistry.class })
@ConditionalOnBean(MeterRegistry.class)
public final class LeaderFollowersMetricsAutoConfiguration {

	@Bean
	@ConditionalOnBean(value = LeaderFollowersPools.class, search = SearchStrategy.CURRENT)
	@ConditionalOnMissingBean(search = SearchStrategy.CURRENT)
	PoolMetrics leaderFollowersPoolMetrics(LeaderFollowersPools pools) {
		return new PoolMetrics(pools);
	}

	@Bean
	@ConditionalOnBean(value = LeaderFollowersServers.class, search = SearchStrategy.CURRENT)
	@ConditionalOnMissingBean(search = SearchStrategy.CURRENT)
	ServerMetrics leaderFollowersServerMetrics(LeaderFollowersServers servers,
			ObjectProvider<ClientLimiters> limiters) {
		return new ServerMetrics(servers, limiters.getIfAvailable(() -> new ClientLimiters(null)));
	}

	@Bean
	@ConditionalOnBean(value = LeaderFollowersClients.class, search = SearchStrategy.CURRENT)
	@ConditionalOnMissingBean(search = SearchStrategy.CURRENT)
	ClientMetrics leaderFollowersClientMetrics(LeaderFollowersClients clients) {
		return new ClientMetrics(clients);
	}

	@Bean
	@ConditionalOnBean(value = LfSessions.class, search = SearchStrategy.CURRENT)
	@ConditionalOnMissingBean(search = SearchStrategy.CURRENT)
	SessionMetrics leaderFollowersSessionMetrics(LfSessions sessions) {
		return new SessionMetrics(sessions);
	}

	/**
	 * Spring Boot binds the meters of this context to its registries. This bean binds
	 * them if the registry belongs to a parent context, or if the module of Spring Boot
	 * for metrics is missing. A registry that is bound already is not bound again.
	 */
	@Bean
	SmartInitializingSingleton leaderFollowersMeterBinding(ConfigurableListableBeanFactory beanFactory,
			ObjectProvider<MeterRegistry> registry) {
		return () -> registry.ifUnique((unique) -> {
			beanFactory.getBeansOfType(PoolMetrics.class).values().forEach((metrics) -> metrics.bindTo(unique));
			beanFactory.getBeansOfType(ServerMetrics.class).values().forEach((metrics) -> metrics.bindTo(unique));
			beanFactory.getBeansOfType(ClientMetrics.class).values().forEach((metrics) -> metrics.bindTo(unique));
			beanFactory.getBeansOfType(SessionMetrics.class).values().forEach((metrics) -> metrics.bindTo(unique));
		});
	}

}
