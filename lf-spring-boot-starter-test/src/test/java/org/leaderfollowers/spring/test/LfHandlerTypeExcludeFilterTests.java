package org.leaderfollowers.spring.test;

import java.io.IOException;

import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.leaderfollowers.ClientKey;
import org.leaderfollowers.Correlation;
import org.leaderfollowers.Framing;
import org.leaderfollowers.MessageOrder;
import org.leaderfollowers.NestingGuard;
import org.leaderfollowers.ServiceClass;
import org.leaderfollowers.spring.annotation.LfAdvice;
import org.leaderfollowers.spring.annotation.LfClient;
import org.leaderfollowers.spring.annotation.LfHandler;
import org.leaderfollowers.spring.client.TcpClientBuilderCustomizer;
import org.leaderfollowers.spring.handler.LfErrorHandler;
import org.leaderfollowers.spring.interceptor.ExchangeInterceptor;
import org.leaderfollowers.spring.interceptor.MessageHandlerDecorator;
import org.leaderfollowers.spring.interceptor.MessageHandlerInterceptor;
import org.leaderfollowers.spring.observation.ExchangeObservationConvention;
import org.leaderfollowers.spring.observation.MessageObservationConvention;
import org.leaderfollowers.spring.server.LeaderFollowersPoolBuilderCustomizer;
import org.leaderfollowers.spring.server.TcpServerBuilderCustomizer;
import org.leaderfollowers.spring.server.UdpServerBuilderCustomizer;
import tools.jackson.databind.JacksonModule;

import org.springframework.boot.jackson.JacksonComponent;
import org.springframework.core.convert.converter.Converter;
import org.springframework.core.convert.converter.GenericConverter;
import org.springframework.core.type.classreading.MetadataReaderFactory;
import org.springframework.core.type.classreading.SimpleMetadataReaderFactory;
import org.springframework.format.Formatter;
import org.springframework.messaging.converter.MessageConverter;
import org.springframework.messaging.handler.invocation.HandlerMethodArgumentResolver;
import org.springframework.messaging.handler.invocation.HandlerMethodReturnValueHandler;
import org.springframework.stereotype.Service;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Tests for {@link LfHandlerTypeExcludeFilter}: components of which types are part of a
 * test.
 */
class LfHandlerTypeExcludeFilterTests {

	private final MetadataReaderFactory classes = new SimpleMetadataReaderFactory();

	private boolean excludes(Class<?> component, Class<?> test) throws IOException {
		return new LfHandlerTypeExcludeFilter(test).match(this.classes.getMetadataReader(component.getName()),
				this.classes);
	}

	@ParameterizedTest
	@ValueSource(classes = { Handler.class, Advice.class, Client.class, Json.class, Framing.class, MessageOrder.class,
			ServiceClass.class, ClientKey.class, NestingGuard.class, LfErrorHandler.class,
			HandlerMethodArgumentResolver.class, HandlerMethodReturnValueHandler.class, MessageHandlerDecorator.class,
			MessageHandlerInterceptor.class, Correlation.class, ExchangeInterceptor.class,
			TcpServerBuilderCustomizer.class, UdpServerBuilderCustomizer.class, TcpClientBuilderCustomizer.class,
			LeaderFollowersPoolBuilderCustomizer.class, MessageObservationConvention.class,
			ExchangeObservationConvention.class, Converter.class, GenericConverter.class, Formatter.class,
			MessageConverter.class, JacksonModule.class })
	void whatHandlersNeedIsPartOfATest(Class<?> component) throws IOException {
		assertThat(excludes(component, AllHandlers.class)).isFalse();
		assertThat(excludes(component, OneHandler.class)).isEqualTo(component == Handler.class);
	}

	@ParameterizedTest
	@ValueSource(classes = { Other.class, HandlerOfSource.class })
	void everythingElseIsNot(Class<?> component) throws IOException {
		assertThat(excludes(component, AllHandlers.class)).isTrue();
	}

	@LfHandlerTest
	static class AllHandlers {

	}

	@LfHandlerTest(HandlerOfSource.class)
	static class OneHandler {

	}

	@LfHandler
	static class Handler {

	}

	@LfHandler(source = "alarms")
	static class HandlerOfSource {

	}

	@LfAdvice
	static class Advice {

	}

	@LfClient("ledger")
	interface Client {

	}

	@JacksonComponent
	static class Json {

	}

	@Service
	static class Other {

	}

}
