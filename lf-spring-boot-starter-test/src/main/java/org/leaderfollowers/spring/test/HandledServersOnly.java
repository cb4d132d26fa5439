package org.leaderfollowers.spring.test;

import java.util.LinkedHashSet;
import java.util.Set;

import org.leaderfollowers.spring.annotation.LfHandler;
import org.leaderfollowers.spring.autoconfigure.LfProperties;

import org.springframework.beans.factory.config.BeanPostProcessor;
import org.springframework.beans.factory.config.ConfigurableListableBeanFactory;
import org.springframework.beans.factory.config.EmbeddedValueResolver;

/**
 * Leaves out servers whose handlers are not part of a test, because they would fail the
 * start of the application.
 */
class HandledServersOnly implements BeanPostProcessor {

	private final ConfigurableListableBeanFactory beanFactory;

	HandledServersOnly(ConfigurableListableBeanFactory beanFactory) {
		this.beanFactory = beanFactory;
	}

	@Override
	public Object postProcessAfterInitialization(Object bean, String beanName) {
		return (bean instanceof LfProperties properties) ? properties.onlyServers(handledServers()::contains) : bean;
	}

	private Set<String> handledServers() {
		EmbeddedValueResolver embeddedValues = new EmbeddedValueResolver(this.beanFactory);
		Set<String> servers = new LinkedHashSet<>();
		for (String name : this.beanFactory.getBeanNamesForAnnotation(LfHandler.class)) {
			LfHandler annotation = this.beanFactory.findAnnotationOnBean(name, LfHandler.class, false);
			if (annotation != null && annotation.source().isEmpty() && annotation.client().isEmpty()) {
				servers.add(embeddedValues.resolveStringValue(annotation.server()));
			}
		}
		return servers;
	}

}
