package org.leaderfollowers.spring.autoconfigure;

import java.time.Duration;

import org.jspecify.annotations.Nullable;
import org.leaderfollowers.ClientSnapshot;
import org.leaderfollowers.PoolSnapshot;
import org.leaderfollowers.TcpServer;
import org.leaderfollowers.spring.autoconfigure.LfProperties.Health;
import org.leaderfollowers.spring.client.LeaderFollowersClients;
import org.leaderfollowers.spring.health.LeaderFollowersHealthContributor;
import org.leaderfollowers.spring.health.PoolHealthIndicator;
import org.leaderfollowers.spring.health.ServerHealthIndicator;
import org.leaderfollowers.spring.server.LeaderFollowersPools;
import org.leaderfollowers.spring.server.LeaderFollowersServers;
import org.leaderfollowers.spring.session.LfSessions;

import org.springframework.aot.hint.BindingReflectionHintsRegistrar;
import org.springframework.aot.hint.RuntimeHints;
import org.springframework.aot.hint.RuntimeHintsRegistrar;
import org.springframework.beans.factory.ObjectProvider;
import org.springframework.boot.autoconfigure.AutoConfiguration;
import org.springframework.boot.autoconfigure.EnableAutoConfiguration;
import org.springframework.boot.autoconfigure.condition.ConditionalOnBean;
import org.springframework.boot.autoconfigure.condition.ConditionalOnClass;
import org.springframework.boot.autoconfigure.condition.ConditionalOnMissingBean;
import org.springframework.boot.autoconfigure.condition.SearchStrategy;
import org.springframework.boot.health.autoconfigure.contributor.ConditionalOnEnabledHealthIndicator;
import org.springframework.boot.health.contributor.HealthContributor;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.ImportRuntimeHints;

/**
 * {@link EnableAutoConfiguration Auto-configuration} for
 * {@link LeaderFollowersHealthContributor}.
 */
@AutoConfiguration(after = { LeaderFollowersAutoConfiguration.class, LeaderFollowersSessionAutoConfiguration.class })
@ConditionalOnClass({ TcpServer.class, HealthContributor.class, ConditionalOnEnabledHealthIndicator.class })
@ConditionalOnBean({ LeaderFollowersPools.class, LeaderFollowersServers.class, LeaderFollowersClients.class,
		LfProperties.class })
@ConditionalOnEnabledHealthIndicator("lf")
@ImportRuntimeHints(LeaderFollowersHealthContributorAutoConfiguration.DetailsRuntimeHints.class)
public final class LeaderFollowersHealthContributorAutoConfiguration {

	@Bean
	@ConditionalOnMissingBean(name = { "lfHealthIndicator", "lfHealthContributor" }, search = SearchStrategy.CURRENT)
	HealthContributor lfHealthContributor(LfProperties properties, LeaderFollowersPools pools,
			LeaderFollowersServers servers, LeaderFollowersClients clients, ObjectProvider<LfSessions> sessions) {
		return new LeaderFollowersHealthContributor(pools, servers, clients, sessions.getIfAvailable(),
				saturatedAfter(properties.health()));
	}

	private static @Nullable Duration saturatedAfter(Health health) {
		Duration saturatedAfter = health.saturatedAfter();
		if (saturatedAfter != null && (saturatedAfter.isNegative() || saturatedAfter.isZero())) {
			throw new ConfiguredProperties<>("lf.health", health).invalid("saturated-after", saturatedAfter,
					"Must be positive: a fully used pool is saturated for moments.");
		}
		return saturatedAfter;
	}

	/** The details are written as JSON. */
	static class DetailsRuntimeHints implements RuntimeHintsRegistrar {

		@Override
		public void registerHints(RuntimeHints hints, @Nullable ClassLoader classLoader) {
			new BindingReflectionHintsRegistrar().registerReflectionHints(hints.reflection(),
					PoolHealthIndicator.Threads.class, PoolSnapshot.RunningHandler.class,
					ServerHealthIndicator.Connections.class, ClientSnapshot.Address.class);
		}

	}

}
