package org.leaderfollowers.spring.autoconfigure;

import org.leaderfollowers.TcpServer;
import org.leaderfollowers.spring.actuate.ConnectionsEndpoint;
import org.leaderfollowers.spring.actuate.ConnectionsEndpointWebExtension;
import org.leaderfollowers.spring.autoconfigure.LfProperties.Actuator;
import org.leaderfollowers.spring.server.LeaderFollowersServers;

import org.springframework.boot.actuate.autoconfigure.endpoint.condition.ConditionalOnAvailableEndpoint;
import org.springframework.boot.actuate.autoconfigure.endpoint.expose.EndpointExposure;
import org.springframework.boot.actuate.endpoint.Show;
import org.springframework.boot.autoconfigure.AutoConfiguration;
import org.springframework.boot.autoconfigure.EnableAutoConfiguration;
import org.springframework.boot.autoconfigure.condition.ConditionalOnBean;
import org.springframework.boot.autoconfigure.condition.ConditionalOnClass;
import org.springframework.boot.autoconfigure.condition.ConditionalOnMissingBean;
import org.springframework.context.annotation.Bean;

/**
 * {@link EnableAutoConfiguration Auto-configuration} for {@link ConnectionsEndpoint}.
 */
@AutoConfiguration(after = LeaderFollowersAutoConfiguration.class)
@ConditionalOnClass({ TcpServer.class, ConnectionsEndpoint.class, ConditionalOnAvailableEndpoint.class })
@ConditionalOnBean({ LeaderFollowersServers.class, LfProperties.class })
@ConditionalOnAvailableEndpoint(ConnectionsEndpoint.class)
public final class LeaderFollowersConnectionsEndpointAutoConfiguration {

	@Bean
	@ConditionalOnMissingBean
	ConnectionsEndpoint leaderFollowersConnectionsEndpoint(LeaderFollowersServers servers, LfProperties properties) {
		Actuator actuator = properties.actuator();
		return new ConnectionsEndpoint(servers, Show.valueOf(actuator.showRemoteAddresses().name()), actuator.roles());
	}

	@Bean
	@ConditionalOnMissingBean
	@ConditionalOnBean(ConnectionsEndpoint.class)
	@ConditionalOnAvailableEndpoint(endpoint = ConnectionsEndpoint.class, exposure = EndpointExposure.WEB)
	ConnectionsEndpointWebExtension leaderFollowersConnectionsEndpointWebExtension(ConnectionsEndpoint endpoint) {
		return new ConnectionsEndpointWebExtension(endpoint);
	}

}
