package org.leaderfollowers.spring.handler;

import org.springframework.util.Assert;

/**
 * A bean that handles messages.
 *
 * @param bean the bean itself, or the proxy around it
 * @param type its class, which is not that of a proxy
 * @param name the name of the bean
 * @param description the bean and where it is defined, for people
 */
public record HandlerSource(Object bean, Class<?> type, String name, String description) {

	public HandlerSource {
		Assert.notNull(bean, "'bean' must not be null");
		Assert.notNull(type, "'type' must not be null");
		Assert.notNull(name, "'name' must not be null");
		Assert.notNull(description, "'description' must not be null");
	}

}
