package org.leaderfollowers.spring.handler;

import java.util.Collection;
import java.util.List;

import org.jspecify.annotations.Nullable;

import org.springframework.beans.factory.config.ConfigurableBeanFactory;
import org.springframework.boot.convert.ApplicationConversionService;
import org.springframework.core.convert.ConversionService;
import org.springframework.messaging.converter.CompositeMessageConverter;
import org.springframework.messaging.converter.MessageConverter;
import org.springframework.util.Assert;
import org.springframework.util.ClassUtils;

/**
 * The converters between messages and objects that are neither bytes nor text.
 */
final class PayloadConverters {

	private final @Nullable MessageConverter messageConverter;

	private final @Nullable JsonConverter json;

	private final ConversionService conversionService;

	/**
	 * Creates a set of converters.
	 * @param messageConverters tried first, in this order
	 * @param json converts the remaining types, or {@code null} without Jackson
	 * @param conversionService converts simple types such as numbers, which are sent as
	 * text
	 */
	PayloadConverters(Collection<MessageConverter> messageConverters, @Nullable JsonConverter json,
			ConversionService conversionService) {
		Assert.notNull(messageConverters, "'messageConverters' must not be null");
		Assert.notNull(conversionService, "'conversionService' must not be null");
		this.messageConverter = messageConverters.isEmpty() ? null
				: new CompositeMessageConverter(List.copyOf(messageConverters));
		this.json = json;
		this.conversionService = conversionService;
	}

	/**
	 * Finds the converters of an application.
	 * @param beanFactory contains the mapper for JSON, if Jackson is present
	 * @param messageConverters tried first, in this order
	 */
	static PayloadConverters of(ConfigurableBeanFactory beanFactory, List<MessageConverter> messageConverters) {
		JsonConverter json = ClassUtils.isPresent(JsonConverter.MAPPER, beanFactory.getBeanClassLoader())
				? JsonConverter.of(beanFactory) : null;
		ConversionService conversionService = beanFactory.getConversionService();
		return new PayloadConverters(messageConverters, json,
				(conversionService != null) ? conversionService : ApplicationConversionService.getSharedInstance());
	}

	/**
	 * Combines all message converters of the application, which are tried before JSON.
	 */
	@Nullable MessageConverter messageConverter() {
		return this.messageConverter;
	}

	@Nullable JsonConverter json() {
		return this.json;
	}

	ConversionService conversionService() {
		return this.conversionService;
	}

	/** Whether objects that are not bytes or text can be converted. */
	boolean convertObjects() {
		return this.messageConverter != null || this.json != null;
	}

}
