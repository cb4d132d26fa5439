package org.leaderfollowers.spring.autoconfigure;

import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.observation.DefaultMeterObservationHandler;
import io.micrometer.observation.ObservationRegistry;
import org.jspecify.annotations.Nullable;
import org.leaderfollowers.TcpServer;
import org.leaderfollowers.spring.autoconfigure.MessageMeasurement.ExchangeTiming;
import org.leaderfollowers.spring.autoconfigure.MessageMeasurement.Timing;
import org.leaderfollowers.spring.interceptor.ExchangeInterceptor;
import org.leaderfollowers.spring.interceptor.MessageHandlerDecorator;
import org.leaderfollowers.spring.observation.ExchangeObservationConvention;
import org.leaderfollowers.spring.observation.MessageObservationConvention;

import org.springframework.beans.factory.ObjectProvider;
import org.springframework.beans.factory.config.ConfigurableListableBeanFactory;
import org.springframework.boot.autoconfigure.AutoConfiguration;
import org.springframework.boot.autoconfigure.EnableAutoConfiguration;
import org.springframework.boot.autoconfigure.condition.AnyNestedCondition;
import org.springframework.boot.autoconfigure.condition.ConditionalOnBean;
import org.springframework.boot.autoconfigure.condition.ConditionalOnClass;
import org.springframework.boot.micrometer.observation.autoconfigure.ObservationAutoConfiguration;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Conditional;
import org.springframework.context.annotation.Configuration;
import org.springframework.core.annotation.Order;

/**
 * {@link EnableAutoConfiguration Auto-configuration} for the observation of the messages
 * that handlers process and of the exchanges of clients, and for their timers. If Boot
 * configures meters, it creates a timer for each observation. If an observation would
 * have no other effect, the messages are timed without one.
 */
@AutoConfiguration(after = LeaderFollowersAutoConfiguration.class,
		afterName = { "org.springframework.boot.micrometer.observation.autoconfigure.ObservationAutoConfiguration",
				"org.springframework.boot.micrometer.metrics.autoconfigure.CompositeMeterRegistryAutoConfiguration" })
@ConditionalOnClass({ TcpServer.class, ObservationRegistry.class })
@ConditionalOnBean(LfProperties.class)
@Conditional(LeaderFollowersObservationAutoConfiguration.OnRegistry.class)
public final class LeaderFollowersObservationAutoConfiguration {

	@Bean
	@Order(MessageHandlerDecorator.OBSERVATION_ORDER)
	MessageMeasurement leaderFollowersObservationDecorator(LfProperties properties,
			ObjectProvider<ObservationRegistry> registry, ObjectProvider<MessageObservationConvention> convention,
			ObjectProvider<Timing> timing, ObjectProvider<ObservationListeners> listeners) {
		return new MessageMeasurement(properties.observation().mode(), registry.getIfUnique(),
				convention.getIfAvailable(), timing.getIfAvailable(), listeners.getIfAvailable());
	}

	@Bean
	@Order(MessageHandlerDecorator.OBSERVATION_ORDER)
	ExchangeInterceptor leaderFollowersExchangeObservation(MessageMeasurement measurement,
			ObjectProvider<ExchangeObservationConvention> convention, ObjectProvider<ExchangeTiming> timing) {
		return ExchangeMeasurement.of(measurement, convention.getIfAvailable(), timing.getIfAvailable());
	}

	/** Requires a registry of meters. */
	@Configuration(proxyBeanMethods = false)
	@ConditionalOnClass(MeterRegistry.class)
	@ConditionalOnBean(MeterRegistry.class)
	static class Timers {

		@Bean
		@Nullable Timing leaderFollowersMessageTiming(ObjectProvider<MeterRegistry> registry) {
			MeterRegistry unique = registry.getIfUnique();
			return (unique != null) ? (server, handler, common) -> new TimerInterceptor(server, handler, unique, common)
					: null;
		}

		@Bean
		@Nullable ExchangeTiming leaderFollowersExchangeTiming(ObjectProvider<MeterRegistry> registry) {
			MeterRegistry unique = registry.getIfUnique();
			return (unique != null) ? (common) -> new ExchangeTimer(unique, common) : null;
		}

	}

	/** Requires the support of Boot for observations. */
	@Configuration(proxyBeanMethods = false)
	@ConditionalOnClass({ ObservationAutoConfiguration.class, DefaultMeterObservationHandler.class })
	static class Listeners {

		@Bean
		ObservationListeners leaderFollowersObservationListeners(ConfigurableListableBeanFactory beanFactory) {
			return new ObservationListeners(beanFactory);
		}

	}

	/** A registry of either kind. */
	static class OnRegistry extends AnyNestedCondition {

		OnRegistry() {
			super(ConfigurationPhase.REGISTER_BEAN);
		}

		@ConditionalOnBean(ObservationRegistry.class)
		static class OfObservations {

		}

		@ConditionalOnBean(type = "io.micrometer.core.instrument.MeterRegistry")
		static class OfMeters {

		}

	}

}
