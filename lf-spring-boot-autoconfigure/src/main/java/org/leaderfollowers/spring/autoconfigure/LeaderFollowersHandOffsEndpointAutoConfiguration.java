package org.leaderfollowers.spring.autoconfigure;

import org.leaderfollowers.TcpServer;
import org.leaderfollowers.spring.actuate.HandOffsEndpoint;
import org.leaderfollowers.spring.actuate.HandOffsEndpointWebExtension;
import org.leaderfollowers.spring.server.LeaderFollowersPools;

import org.springframework.boot.actuate.autoconfigure.endpoint.condition.ConditionalOnAvailableEndpoint;
import org.springframework.boot.actuate.autoconfigure.endpoint.expose.EndpointExposure;
import org.springframework.boot.autoconfigure.AutoConfiguration;
import org.springframework.boot.autoconfigure.EnableAutoConfiguration;
import org.springframework.boot.autoconfigure.condition.ConditionalOnBean;
import org.springframework.boot.autoconfigure.condition.ConditionalOnClass;
import org.springframework.boot.autoconfigure.condition.ConditionalOnMissingBean;
import org.springframework.context.ApplicationEventPublisher;
import org.springframework.context.annotation.Bean;

/**
 * {@link EnableAutoConfiguration Auto-configuration} for {@link HandOffsEndpoint}.
 */
@AutoConfiguration(after = LeaderFollowersAutoConfiguration.class)
@ConditionalOnClass({ TcpServer.class, HandOffsEndpoint.class, ConditionalOnAvailableEndpoint.class })
@ConditionalOnBean(LeaderFollowersPools.class)
@ConditionalOnAvailableEndpoint(HandOffsEndpoint.class)
public final class LeaderFollowersHandOffsEndpointAutoConfiguration {

	@Bean
	@ConditionalOnMissingBean
	HandOffsEndpoint leaderFollowersHandOffsEndpoint(LeaderFollowersPools pools, ApplicationEventPublisher publisher) {
		return new HandOffsEndpoint(pools, publisher);
	}

	@Bean
	@ConditionalOnMissingBean
	@ConditionalOnBean(HandOffsEndpoint.class)
	@ConditionalOnAvailableEndpoint(endpoint = HandOffsEndpoint.class, exposure = EndpointExposure.WEB)
	HandOffsEndpointWebExtension leaderFollowersHandOffsEndpointWebExtension(HandOffsEndpoint endpoint) {
		return new HandOffsEndpointWebExtension(endpoint);
	}

}
