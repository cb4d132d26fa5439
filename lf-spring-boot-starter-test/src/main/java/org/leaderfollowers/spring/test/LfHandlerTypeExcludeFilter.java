package org.leaderfollowers.spring.test;

import java.io.IOException;
import java.util.LinkedHashSet;
import java.util.Map;
import java.util.Set;

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
import org.leaderfollowers.spring.server.LeaderFollowersPoolBuilderCustomizer;
import org.leaderfollowers.spring.server.TcpServerBuilderCustomizer;
import org.leaderfollowers.spring.server.UdpServerBuilderCustomizer;

import org.springframework.boot.context.TypeExcludeFilter;
import org.springframework.boot.test.context.filter.annotation.StandardAnnotationCustomizableTypeExcludeFilter;
import org.springframework.core.convert.converter.Converter;
import org.springframework.core.convert.converter.GenericConverter;
import org.springframework.core.type.classreading.MetadataReader;
import org.springframework.core.type.classreading.MetadataReaderFactory;
import org.springframework.format.Formatter;
import org.springframework.messaging.handler.invocation.HandlerMethodArgumentResolver;
import org.springframework.messaging.handler.invocation.HandlerMethodReturnValueHandler;
import org.springframework.util.ClassUtils;

/**
 * {@link TypeExcludeFilter} for {@link LfHandlerTest @LfHandlerTest}.
 */
class LfHandlerTypeExcludeFilter extends StandardAnnotationCustomizableTypeExcludeFilter<LfHandlerTest> {

	private static final Class<?>[] ALL_HANDLERS = {};

	private static final String[] OPTIONAL_INCLUDES = {
			"org.leaderfollowers.spring.observation.MessageObservationConvention",
			"org.leaderfollowers.spring.observation.ExchangeObservationConvention",
			"org.springframework.boot.jackson.JacksonComponent",
			"org.springframework.messaging.converter.MessageConverter", "tools.jackson.databind.JacksonModule" };

	private static final Set<Class<?>> KNOWN_INCLUDES = knownIncludes();

	private final Class<?>[] handlers;

	LfHandlerTypeExcludeFilter(Class<?> testClass) {
		super(testClass);
		this.handlers = getAnnotation().getValue("handlers", Class[].class).orElse(ALL_HANDLERS);
	}

	private static Set<Class<?>> knownIncludes() {
		Set<Class<?>> includes = new LinkedHashSet<>(Set.of(Framing.class, Correlation.class, MessageOrder.class,
				ServiceClass.class, ClientKey.class, NestingGuard.class, LfClient.class, LfAdvice.class,
				LfErrorHandler.class, HandlerMethodArgumentResolver.class, HandlerMethodReturnValueHandler.class,
				MessageHandlerDecorator.class, ExchangeInterceptor.class, LeaderFollowersPoolBuilderCustomizer.class,
				TcpServerBuilderCustomizer.class, TcpClientBuilderCustomizer.class, UdpServerBuilderCustomizer.class,
				Converter.class, GenericConverter.class, Formatter.class));
		ClassLoader classLoader = LfHandlerTypeExcludeFilter.class.getClassLoader();
		for (String name : OPTIONAL_INCLUDES) {
			if (ClassUtils.isPresent(name, classLoader)) {
				includes.add(ClassUtils.resolveClassName(name, classLoader));
			}
		}
		return Set.copyOf(includes);
	}

	/**
	 * Event sources are created by a configuration, which is not part of the test. A
	 * placeholder may name one: its value is not known here.
	 */
	@Override
	public boolean match(MetadataReader metadataReader, MetadataReaderFactory metadataReaderFactory)
			throws IOException {
		Map<String, Object> annotation = metadataReader.getAnnotationMetadata()
			.getAnnotationAttributes(LfHandler.class.getName());
		boolean ofSource = annotation != null && !"".equals(annotation.get("source"));
		return (ofSource && this.handlers.length == 0) || super.match(metadataReader, metadataReaderFactory);
	}

	@Override
	protected Set<Class<?>> getKnownIncludes() {
		if (this.handlers.length > 0) {
			return KNOWN_INCLUDES;
		}
		Set<Class<?>> includes = new LinkedHashSet<>(KNOWN_INCLUDES);
		includes.add(LfHandler.class);
		return includes;
	}

	@Override
	protected Set<Class<?>> getComponentIncludes() {
		return Set.of(this.handlers);
	}

}
