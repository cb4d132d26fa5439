package org.leaderfollowers.spring.autoconfigure;

import io.micrometer.core.instrument.MeterRegistry;
import org.leaderfollowers.TcpServer;
import org.leaderfollowers.spring.metrics.LeaderFollowersMetrics;
import org.leaderfollowers.spring.server.LeaderFollowersPools;
import org.leaderfollowers.spring.server.LeaderFollowersServers;

import org.springframework.boot.autoconfigure.AutoConfiguration;
import org.springframework.boot.autoconfigure.EnableAutoConfiguration;
import org.springframework.boot.autoconfigure.condition.ConditionalOnBean;
import org.springframework.boot.autoconfigure.condition.ConditionalOnClass;
import org.springframework.boot.autoconfigure.condition.ConditionalOnMissingBean;
import org.springframework.context.annotation.Bean;

/**
 * {@link EnableAutoConfiguration Auto-configuration} for the meters of Leader/Followers
 * pools and servers.
 */
@AutoConfiguration(after = LeaderFollowersAutoConfiguration.class,
		afterName = "org.springframework.boot.micrometer.metrics.autoconfigure.CompositeMeterRegistryAutoConfiguration")
@ConditionalOnClass({ TcpServer.class, MeterRegistry.class })
@ConditionalOnBean({ MeterRegistry.class, LeaderFollowersPools.class, LeaderFollowersServers.class })
public final class LeaderFollowersMetricsAutoConfiguration {

	@Bean
	@ConditionalOnMissingBean
	LeaderFollowersMetrics leaderFollowersMetrics(LeaderFollowersPools pools, LeaderFollowersServers servers) {
		return new LeaderFollowersMetrics(pools, servers);
	}

}
