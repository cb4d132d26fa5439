package org.leaderfollowers.spring.autoconfigure;

import io.micrometer.observation.ObservationRegistry;
import org.leaderfollowers.TcpServer;
import org.leaderfollowers.spring.interceptor.MessageHandlerDecorator;
import org.leaderfollowers.spring.observation.MessageObservationConvention;
import org.leaderfollowers.spring.observation.ObservedMessageHandler;

import org.springframework.beans.factory.ObjectProvider;
import org.springframework.boot.autoconfigure.AutoConfiguration;
import org.springframework.boot.autoconfigure.EnableAutoConfiguration;
import org.springframework.boot.autoconfigure.condition.ConditionalOnBean;
import org.springframework.boot.autoconfigure.condition.ConditionalOnClass;
import org.springframework.context.annotation.Bean;
import org.springframework.core.annotation.Order;

/**
 * {@link EnableAutoConfiguration Auto-configuration} for the observation of the messages
 * that handlers process. Where Boot configures meters, it makes a timer of each
 * observation.
 */
@AutoConfiguration(after = LeaderFollowersAutoConfiguration.class,
		afterName = "org.springframework.boot.micrometer.observation.autoconfigure.ObservationAutoConfiguration")
@ConditionalOnClass({ TcpServer.class, ObservationRegistry.class })
@ConditionalOnBean(ObservationRegistry.class)
public final class LeaderFollowersObservationAutoConfiguration {

	@Bean
	@Order(MessageHandlerDecorator.OBSERVATION_ORDER)
	MessageHandlerDecorator leaderFollowersObservationDecorator(ObservationRegistry registry,
			ObjectProvider<MessageObservationConvention> convention) {
		return (handler, server, handlerName) -> registry.isNoop() ? handler
				: new ObservedMessageHandler(handler, server, handlerName, registry, convention.getIfAvailable());
	}

}
