package org.leaderfollowers.spring.handler;

import java.lang.reflect.Method;
import java.util.Collection;
import java.util.stream.Collectors;

import org.springframework.beans.factory.config.BeanDefinition;
import org.springframework.beans.factory.config.ConfigurableListableBeanFactory;
import org.springframework.beans.factory.support.RootBeanDefinition;
import org.springframework.boot.diagnostics.AbstractFailureAnalyzer;
import org.springframework.boot.diagnostics.FailureAnalysis;
import org.springframework.util.StringUtils;

/**
 * Thrown at start if a handler, or an interface of a client, cannot be used. It contains
 * the description and the action of its failure analysis.
 */
@SuppressWarnings("serial")
class InvalidHandlerException extends RuntimeException {

	private final String action;

	/**
	 * Creates a new exception.
	 * @param description the mistake
	 * @param action the correction
	 */
	InvalidHandlerException(String description, String action) {
		super(description);
		this.action = action;
	}

	String getAction() {
		return this.action;
	}

	/**
	 * Formats items as one line each, for descriptions and actions.
	 */
	static String list(Collection<String> items) {
		return items.stream().map("%n\t- %s"::formatted).collect(Collectors.joining("", "%n".formatted(), ""));
	}

	/**
	 * Returns the name of a bean and the place of its definition, for messages.
	 */
	static String describe(ConfigurableListableBeanFactory beanFactory, String name) {
		if (!beanFactory.containsBeanDefinition(name)) {
			return "'%s', registered by code".formatted(name);
		}
		BeanDefinition merged = beanFactory.getMergedBeanDefinition(name);
		// What the application has defined, if the bean is a proxy for it.
		BeanDefinition original = merged.getOriginatingBeanDefinition();
		BeanDefinition definition = (original != null) ? original : merged;
		String resource = definition.getResourceDescription();
		if (!StringUtils.hasText(resource)) {
			// Registered by code, for example by code that is generated ahead of time.
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

	/**
	 * Reports the description and the action when the start fails.
	 */
	static class Analyzer extends AbstractFailureAnalyzer<InvalidHandlerException> {

		@Override
		protected FailureAnalysis analyze(Throwable rootFailure, InvalidHandlerException cause) {
			return new FailureAnalysis(cause.getMessage(), cause.getAction(), cause);
		}

	}

}
