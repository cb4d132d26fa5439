package org.leaderfollowers.spring.autoconfigure;

import org.leaderfollowers.TcpServer;
import org.leaderfollowers.spring.actuate.LeaderFollowersEndpoint;
import org.leaderfollowers.spring.actuate.LeaderFollowersEndpointWebExtension;
import org.leaderfollowers.spring.server.LeaderFollowersPools;
import org.leaderfollowers.spring.server.LeaderFollowersServers;

import org.springframework.boot.actuate.autoconfigure.endpoint.condition.ConditionalOnAvailableEndpoint;
import org.springframework.boot.actuate.autoconfigure.endpoint.expose.EndpointExposure;
import org.springframework.boot.autoconfigure.AutoConfiguration;
import org.springframework.boot.autoconfigure.EnableAutoConfiguration;
import org.springframework.boot.autoconfigure.condition.ConditionalOnBean;
import org.springframework.boot.autoconfigure.condition.ConditionalOnClass;
import org.springframework.boot.autoconfigure.condition.ConditionalOnMissingBean;
import org.springframework.context.ApplicationEventPublisher;
import org.springframework.context.annotation.Bean;
import org.springframework.core.env.Environment;

/**
 * {@link EnableAutoConfiguration Auto-configuration} for {@link LeaderFollowersEndpoint}.
 */
@AutoConfiguration(after = LeaderFollowersAutoConfiguration.class)
@ConditionalOnClass({ TcpServer.class, LeaderFollowersEndpoint.class, ConditionalOnAvailableEndpoint.class })
@ConditionalOnBean({ LeaderFollowersPools.class, LeaderFollowersServers.class })
@ConditionalOnAvailableEndpoint(LeaderFollowersEndpoint.class)
public final class LeaderFollowersEndpointAutoConfiguration {

	@Bean
	@ConditionalOnMissingBean
	LeaderFollowersEndpoint leaderFollowersEndpoint(LeaderFollowersPools pools, LeaderFollowersServers servers,
			Environment environment, ApplicationEventPublisher publisher) {
		return new LeaderFollowersEndpoint(pools, servers, ShutdownPropertiesMapper.phaseTimeout(environment),
				publisher);
	}

	@Bean
	@ConditionalOnMissingBean
	@ConditionalOnBean(LeaderFollowersEndpoint.class)
	@ConditionalOnAvailableEndpoint(endpoint = LeaderFollowersEndpoint.class, exposure = EndpointExposure.WEB)
	LeaderFollowersEndpointWebExtension leaderFollowersEndpointWebExtension(LeaderFollowersEndpoint endpoint) {
		return new LeaderFollowersEndpointWebExtension(endpoint);
	}

}
