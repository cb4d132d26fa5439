package org.leaderfollowers.spring.autoconfigure;

import java.lang.reflect.Method;

import org.leaderfollowers.spring.annotation.LfHandler;
import org.leaderfollowers.spring.handler.HandlerFactory;
import org.leaderfollowers.spring.handler.HandlerSource;

import org.springframework.aop.framework.AopProxyUtils;
import org.springframework.beans.factory.config.BeanDefinition;
import org.springframework.beans.factory.config.ConfigurableListableBeanFactory;
import org.springframework.util.ClassUtils;
import org.springframework.beans.factory.support.RootBeanDefinition;
import org.springframework.util.StringUtils;

/**
 * A bean that is annotated with {@link LfHandler @LfHandler}.
 *
 * @param name the name of the bean
 * @param server the name of the server that it serves
 * @param beanFactory where to get it from
 */
record HandlerBean(String name, String server, ConfigurableListableBeanFactory beanFactory) {

	/**
	 * Returns the bean itself, or the proxy around it.
	 */
	HandlerSource get() {
		Object bean = this.beanFactory.getBean(this.name);
		Class<?> type = ClassUtils.getUserClass(AopProxyUtils.ultimateTargetClass(bean));
		if (!HandlerFactory.isHandler(type)) {
			throw new NotMessageHandlerException(describe(), type);
		}
		return new HandlerSource(bean, type, this.name, describe());
	}

	/**
	 * Checks what can be told without creating the bean.
	 */
	void checkType() {
		Class<?> type = this.beanFactory.getType(this.name, false);
		if (type != null && !type.isInterface() && type != Object.class && !HandlerFactory.isHandler(type)) {
			throw new NotMessageHandlerException(describe(), type);
		}
	}

	/**
	 * Tells people which bean it is and where to find it.
	 */
	String describe() {
		return describe(this.name, this.beanFactory);
	}

	static String describe(String name, ConfigurableListableBeanFactory beanFactory) {
		if (!beanFactory.containsBeanDefinition(name)) {
			return "'%s', registered by code".formatted(name);
		}
		BeanDefinition definition = beanFactory.getMergedBeanDefinition(name);
		String resource = definition.getResourceDescription();
		if (!StringUtils.hasText(resource)) {
			// Registered by code, some of which is generated ahead of time.
			Method method = (definition instanceof RootBeanDefinition root) ? root.getResolvedFactoryMethod() : null;
			if (method != null) {
				return "'%s', defined by method '%s' in %s".formatted(name, method.getName(),
						method.getDeclaringClass().getName());
			}
			return "'%s', made from %s".formatted(name, definition.getBeanClassName());
		}
		if (StringUtils.hasText(definition.getFactoryMethodName())) {
			return "'%s', defined by method '%s' in %s".formatted(name, definition.getFactoryMethodName(), resource);
		}
		return "'%s', defined in %s".formatted(name, resource);
	}

}
