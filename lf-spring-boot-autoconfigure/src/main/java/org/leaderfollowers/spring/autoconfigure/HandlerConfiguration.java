package org.leaderfollowers.spring.autoconfigure;

import org.leaderfollowers.spring.handler.HandlerFactory;
import org.leaderfollowers.spring.handler.JsonConverter;
import org.leaderfollowers.spring.handler.LfErrorHandler;
import org.leaderfollowers.spring.handler.PayloadConverters;
import tools.jackson.databind.json.JsonMapper;

import org.springframework.beans.factory.ObjectProvider;
import org.springframework.beans.factory.config.ConfigurableListableBeanFactory;
import org.springframework.boot.autoconfigure.condition.ConditionalOnClass;
import org.springframework.boot.autoconfigure.condition.ConditionalOnMissingBean;
import org.springframework.boot.autoconfigure.condition.SearchStrategy;
import org.springframework.boot.convert.ApplicationConversionService;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.core.convert.ConversionService;
import org.springframework.messaging.converter.MessageConverter;
import org.springframework.validation.Validator;

/**
 * What the handlers of servers are made with.
 */
@Configuration(proxyBeanMethods = false)
class HandlerConfiguration {

	@Bean
	@ConditionalOnMissingBean(search = SearchStrategy.CURRENT)
	HandlerFactory leaderFollowersHandlerFactory(ConfigurableListableBeanFactory beanFactory,
			ObjectProvider<MessageConverter> messageConverters, ObjectProvider<JsonConverter> json,
			ObjectProvider<Validator> validator, ObjectProvider<LfErrorHandler> errorHandlers) {
		ConversionService conversionService = beanFactory.getConversionService();
		PayloadConverters converters = new PayloadConverters(messageConverters.orderedStream().toList(),
				json.getIfAvailable(),
				(conversionService != null) ? conversionService : ApplicationConversionService.getSharedInstance());
		return new HandlerFactory(converters, validator.getIfUnique(), errorHandlers.orderedStream().toList());
	}

	/**
	 * Needs Jackson.
	 */
	@Configuration(proxyBeanMethods = false)
	@ConditionalOnClass(JsonMapper.class)
	static class Json {

		@Bean
		@ConditionalOnMissingBean
		JsonConverter leaderFollowersJsonConverter(ObjectProvider<JsonMapper> mapper) {
			return new JsonConverter(mapper.getIfUnique(JsonMapper::shared));
		}

	}

}
