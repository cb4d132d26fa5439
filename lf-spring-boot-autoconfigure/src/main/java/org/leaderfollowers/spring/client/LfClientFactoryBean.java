package org.leaderfollowers.spring.client;

import org.jspecify.annotations.Nullable;
import org.leaderfollowers.spring.annotation.LfClient;
import org.leaderfollowers.spring.handler.ClientProxies;

import org.springframework.beans.factory.BeanFactory;
import org.springframework.beans.factory.BeanFactoryAware;
import org.springframework.beans.factory.SmartFactoryBean;
import org.springframework.util.Assert;

/**
 * Creates a bean of an interface that is annotated with {@link LfClient @LfClient}. The
 * bean is created at the start even if no other bean uses it, so that mistakes are found.
 * <p>
 * This class is public, so that code that is generated ahead of time can use it in the
 * package of the interface, which may be package-private.
 *
 * @param <T> the interface
 */
public final class LfClientFactoryBean<T> implements SmartFactoryBean<T>, BeanFactoryAware {

	private final Class<T> type;

	private @Nullable BeanFactory beanFactory;

	/**
	 * Creates a factory.
	 * @param type the interface
	 */
	public LfClientFactoryBean(Class<T> type) {
		Assert.notNull(type, "'type' must not be null");
		this.type = type;
	}

	@Override
	public void setBeanFactory(BeanFactory beanFactory) {
		this.beanFactory = beanFactory;
	}

	@Override
	public T getObject() {
		if (this.beanFactory == null) {
			throw new IllegalStateException("no bean factory was set");
		}
		return this.beanFactory.getBean(ClientProxies.class).create(this.type);
	}

	@Override
	public Class<T> getObjectType() {
		return this.type;
	}

	@Override
	public boolean isEagerInit() {
		return true;
	}

}
