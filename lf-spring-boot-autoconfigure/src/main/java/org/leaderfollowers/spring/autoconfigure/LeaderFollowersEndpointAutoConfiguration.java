package org.leaderfollowers.spring.autoconfigure;

import java.util.Set;

import org.leaderfollowers.TcpServer;
import org.leaderfollowers.WireLog;
import org.leaderfollowers.spring.actuate.ClientsEndpoint;
import org.leaderfollowers.spring.actuate.ConnectionsEndpoint;
import org.leaderfollowers.spring.actuate.ConnectionsEndpointWebExtension;
import org.leaderfollowers.spring.actuate.HandOffsEndpoint;
import org.leaderfollowers.spring.actuate.HandOffsEndpointWebExtension;
import org.leaderfollowers.spring.actuate.LeaderFollowersEndpoint;
import org.leaderfollowers.spring.actuate.LeaderFollowersEndpointWebExtension;
import org.leaderfollowers.spring.actuate.SessionsEndpoint;
import org.leaderfollowers.spring.autoconfigure.LfProperties.WireLogging;
import org.leaderfollowers.spring.client.LeaderFollowersClients;
import org.leaderfollowers.spring.handler.HandlerBeans;
import org.leaderfollowers.spring.limit.ClientLimiters;
import org.leaderfollowers.spring.server.LeaderFollowersPools;
import org.leaderfollowers.spring.server.LeaderFollowersServers;
import org.leaderfollowers.spring.session.LfSessions;

import org.springframework.beans.factory.ObjectProvider;
import org.springframework.boot.actuate.autoconfigure.endpoint.condition.ConditionalOnAvailableEndpoint;
import org.springframework.boot.actuate.autoconfigure.endpoint.expose.EndpointExposure;
import org.springframework.boot.actuate.endpoint.Show;
import org.springframework.boot.autoconfigure.AutoConfiguration;
import org.springframework.boot.autoconfigure.EnableAutoConfiguration;
import org.springframework.boot.autoconfigure.condition.ConditionalOnBean;
import org.springframework.boot.autoconfigure.condition.ConditionalOnClass;
import org.springframework.boot.autoconfigure.condition.ConditionalOnMissingBean;
import org.springframework.boot.context.properties.ConfigurationProperties;
import org.springframework.boot.context.properties.EnableConfigurationProperties;
import org.springframework.boot.context.properties.bind.DefaultValue;
import org.springframework.context.ApplicationEventPublisher;
import org.springframework.context.annotation.Bean;
import org.springframework.core.env.Environment;
import org.springframework.util.StringUtils;

/**
 * {@link EnableAutoConfiguration Auto-configuration} for {@link LeaderFollowersEndpoint},
 * {@link HandOffsEndpoint}, {@link ConnectionsEndpoint} and {@link ClientsEndpoint}.
 */
@AutoConfiguration(after = { LeaderFollowersAutoConfiguration.class, LeaderFollowersSessionAutoConfiguration.class })
@ConditionalOnClass({ TcpServer.class, LeaderFollowersEndpoint.class, ConditionalOnAvailableEndpoint.class })
@ConditionalOnBean({ LeaderFollowersPools.class, LeaderFollowersServers.class, LfProperties.class })
@EnableConfigurationProperties(LeaderFollowersEndpointAutoConfiguration.ConnectionsEndpointProperties.class)
public final class LeaderFollowersEndpointAutoConfiguration {

	private final WireLog.Options wireLogLimits;

	/** Checks the limits even if no endpoint can use them yet. */
	LeaderFollowersEndpointAutoConfiguration(LfProperties properties) {
		this.wireLogLimits = wireLogLimits(properties.logging().wire());
	}

	@Bean
	@ConditionalOnMissingBean
	@ConditionalOnAvailableEndpoint
	LeaderFollowersEndpoint leaderFollowersEndpoint(LeaderFollowersPools pools, LeaderFollowersServers servers,
			ObjectProvider<ClientLimiters> limiters, ConnectionsEndpointProperties properties,
			HandlerBeans handlerBeans, Environment environment, ApplicationEventPublisher publisher) {
		String application = environment.getProperty("spring.application.name");
		return new LeaderFollowersEndpoint(StringUtils.hasText(application) ? application : null, pools, servers,
				limiters.getIfAvailable(() -> new ClientLimiters(null)),
				(caller) -> properties.showRemoteAddresses().isShown(caller, properties.roles()),
				handlerBeans::mappings, ShutdownPropertiesMapper.phaseTimeout(environment), publisher);
	}

	@Bean
	@ConditionalOnMissingBean
	@ConditionalOnBean(LeaderFollowersEndpoint.class)
	@ConditionalOnAvailableEndpoint(exposure = EndpointExposure.WEB)
	LeaderFollowersEndpointWebExtension leaderFollowersEndpointWebExtension(LeaderFollowersEndpoint endpoint) {
		return new LeaderFollowersEndpointWebExtension(endpoint);
	}

	@Bean
	@ConditionalOnMissingBean
	@ConditionalOnAvailableEndpoint
	HandOffsEndpoint leaderFollowersHandOffsEndpoint(LeaderFollowersPools pools, ApplicationEventPublisher publisher) {
		return new HandOffsEndpoint(pools, publisher);
	}

	@Bean
	@ConditionalOnMissingBean
	@ConditionalOnBean(HandOffsEndpoint.class)
	@ConditionalOnAvailableEndpoint(exposure = EndpointExposure.WEB)
	HandOffsEndpointWebExtension leaderFollowersHandOffsEndpointWebExtension(HandOffsEndpoint endpoint) {
		return new HandOffsEndpointWebExtension(endpoint);
	}

	@Bean
	@ConditionalOnBean(LeaderFollowersClients.class)
	@ConditionalOnMissingBean
	@ConditionalOnAvailableEndpoint
	ClientsEndpoint leaderFollowersClientsEndpoint(LeaderFollowersClients clients) {
		return new ClientsEndpoint(clients);
	}

	@Bean
	@ConditionalOnBean(LfSessions.class)
	@ConditionalOnMissingBean
	@ConditionalOnAvailableEndpoint
	SessionsEndpoint leaderFollowersSessionsEndpoint(LfSessions sessions) {
		return new SessionsEndpoint(sessions);
	}

	@Bean
	@ConditionalOnMissingBean
	@ConditionalOnBean(SessionsEndpoint.class)
	@ConditionalOnAvailableEndpoint(exposure = EndpointExposure.WEB)
	SessionsEndpoint.WebExtension leaderFollowersSessionsEndpointWebExtension(SessionsEndpoint endpoint) {
		return new SessionsEndpoint.WebExtension(endpoint);
	}

	@Bean
	@ConditionalOnMissingBean
	@ConditionalOnAvailableEndpoint
	ConnectionsEndpoint leaderFollowersConnectionsEndpoint(LeaderFollowersServers servers,
			ConnectionsEndpointProperties properties, ApplicationEventPublisher publisher) {
		return new ConnectionsEndpoint(servers, properties.showRemoteAddresses(), properties.roles(),
				this.wireLogLimits, publisher);
	}

	private static WireLog.Options wireLogLimits(WireLogging wire) {
		ConfiguredProperties<WireLogging> properties = new ConfiguredProperties<>("lf.logging.wire", wire);
		properties.set("max-duration", wire.maxDuration(), (valid) -> new WireLog.Options(0, valid, false, 1, 1),
				"be more than 0");
		properties.setSize("max-segment-size", wire.maxSegmentSize(),
				(valid) -> new WireLog.Options(0, wire.maxDuration(), false, valid, 1), "be from 1 to 16384 bytes");
		properties.setSize("max-size", wire.maxSize(),
				(valid) -> new WireLog.Options(0, wire.maxDuration(), false, 1, valid), "be at least 1 byte");
		return new WireLog.Options(0, wire.maxDuration(), wire.payload(), (int) wire.maxSegmentSize().toBytes(),
				wire.maxSize().toBytes());
	}

	@Bean
	@ConditionalOnMissingBean
	@ConditionalOnBean(ConnectionsEndpoint.class)
	@ConditionalOnAvailableEndpoint(exposure = EndpointExposure.WEB)
	ConnectionsEndpointWebExtension leaderFollowersConnectionsEndpointWebExtension(ConnectionsEndpoint endpoint) {
		return new ConnectionsEndpointWebExtension(endpoint);
	}

	/**
	 * Properties of the endpoint of connections.
	 *
	 * @param showRemoteAddresses When to show the addresses of clients.
	 * @param roles Roles that are authorized to see the addresses of clients. One of them
	 * is enough. If empty, every authenticated user is authorized.
	 */
	@ConfigurationProperties("management.endpoint.lfconnections")
	record ConnectionsEndpointProperties(@DefaultValue("never") Show showRemoteAddresses,
			@DefaultValue Set<String> roles) {
	}

}
