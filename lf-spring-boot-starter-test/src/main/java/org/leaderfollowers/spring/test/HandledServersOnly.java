package org.leaderfollowers.spring.test;

import org.leaderfollowers.spring.autoconfigure.LfProperties;
import org.leaderfollowers.spring.handler.HandlerBeans;

import org.springframework.beans.factory.config.BeanPostProcessor;
import org.springframework.beans.factory.config.ConfigurableListableBeanFactory;

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
		return (bean instanceof LfProperties properties)
				? properties.onlyServers(new HandlerBeans(this.beanFactory).findByServer()::containsKey) : bean;
	}

}
