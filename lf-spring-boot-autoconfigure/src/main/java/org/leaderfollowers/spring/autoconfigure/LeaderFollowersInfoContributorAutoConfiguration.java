package org.leaderfollowers.spring.autoconfigure;

import org.jspecify.annotations.Nullable;
import org.leaderfollowers.TcpServer;
import org.leaderfollowers.spring.autoconfigure.LeaderFollowersInfoContributor.LeaderFollowersInfo;
import org.leaderfollowers.spring.client.LeaderFollowersClients;
import org.leaderfollowers.spring.server.LeaderFollowersPools;
import org.leaderfollowers.spring.server.LeaderFollowersServers;

import org.springframework.aot.hint.BindingReflectionHintsRegistrar;
import org.springframework.aot.hint.RuntimeHints;
import org.springframework.aot.hint.RuntimeHintsRegistrar;
import org.springframework.boot.actuate.autoconfigure.info.ConditionalOnEnabledInfoContributor;
import org.springframework.boot.actuate.autoconfigure.info.InfoContributorAutoConfiguration;
import org.springframework.boot.actuate.autoconfigure.info.InfoContributorFallback;
import org.springframework.boot.actuate.info.InfoContributor;
import org.springframework.boot.autoconfigure.AutoConfiguration;
import org.springframework.boot.autoconfigure.EnableAutoConfiguration;
import org.springframework.boot.autoconfigure.condition.ConditionalOnBean;
import org.springframework.boot.autoconfigure.condition.ConditionalOnClass;
import org.springframework.boot.autoconfigure.condition.ConditionalOnMissingBean;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.ImportRuntimeHints;
import org.springframework.core.annotation.Order;

/**
 * {@link EnableAutoConfiguration Auto-configuration} for
 * {@link LeaderFollowersInfoContributor}. Disabled by default, like the contributors of
 * Boot that describe the running application instead of its build.
 */
@AutoConfiguration(after = LeaderFollowersAutoConfiguration.class)
@ConditionalOnClass({ TcpServer.class, InfoContributor.class, ConditionalOnEnabledInfoContributor.class })
@ConditionalOnBean({ LeaderFollowersPools.class, LeaderFollowersServers.class, LeaderFollowersClients.class })
@ImportRuntimeHints(LeaderFollowersInfoContributorAutoConfiguration.InfoRuntimeHints.class)
public final class LeaderFollowersInfoContributorAutoConfiguration {

	@Bean
	@ConditionalOnMissingBean
	@ConditionalOnEnabledInfoContributor(value = "lf", fallback = InfoContributorFallback.DISABLE)
	@Order(InfoContributorAutoConfiguration.DEFAULT_ORDER)
	LeaderFollowersInfoContributor lfInfoContributor(LeaderFollowersPools pools, LeaderFollowersServers servers,
			LeaderFollowersClients clients) {
		return new LeaderFollowersInfoContributor(pools, servers, clients);
	}

	/** The section is written as JSON. */
	static class InfoRuntimeHints implements RuntimeHintsRegistrar {

		@Override
		public void registerHints(RuntimeHints hints, @Nullable ClassLoader classLoader) {
			new BindingReflectionHintsRegistrar().registerReflectionHints(hints.reflection(),
					LeaderFollowersInfo.class);
		}

	}

}
