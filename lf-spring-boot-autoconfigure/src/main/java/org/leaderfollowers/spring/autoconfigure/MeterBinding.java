package org.leaderfollowers.spring.autoconfigure;

import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.binder.MeterBinder;
import org.leaderfollowers.spring.metrics.PoolMetrics;
import org.leaderfollowers.spring.metrics.ServerMetrics;

import org.springframework.beans.factory.ObjectProvider;
import org.springframework.beans.factory.SmartInitializingSingleton;
import org.springframework.beans.factory.config.BeanPostProcessor;
import org.springframework.beans.factory.config.ConfigurableListableBeanFactory;

/**
 * Binds our meters where Boot does not: if its module for metrics is not there, and if
 * the registry is that of a parent context, since each context binds its own ones only.
 */
final class MeterBinding implements SmartInitializingSingleton {

	private static final String POST_PROCESSOR = "org.springframework.boot.micrometer.metrics.autoconfigure.MeterRegistryPostProcessor";

	private final ConfigurableListableBeanFactory beanFactory;

	private final ObjectProvider<MeterRegistry> registry;

	MeterBinding(ConfigurableListableBeanFactory beanFactory, ObjectProvider<MeterRegistry> registry) {
		this.beanFactory = beanFactory;
		this.registry = registry;
	}

	@Override
	public void afterSingletonsInstantiated() {
		if (isBoundByBoot()) {
			return;
		}
		this.registry.ifUnique((unique) -> {
			bind(this.beanFactory.getBeansOfType(PoolMetrics.class).values(), unique);
			bind(this.beanFactory.getBeansOfType(ServerMetrics.class).values(), unique);
		});
	}

	private static void bind(Iterable<? extends MeterBinder> binders, MeterRegistry registry) {
		binders.forEach((binder) -> binder.bindTo(registry));
	}

	/** Only beans of this context, as Boot's post-processor sees them. */
	private boolean isBoundByBoot() {
		if (this.beanFactory.getBeanNamesForType(MeterRegistry.class, true, false).length == 0) {
			return false;
		}
		for (String name : this.beanFactory.getBeanNamesForType(BeanPostProcessor.class, true, false)) {
			Class<?> type = this.beanFactory.getType(name, false);
			if (type != null && type.getName().equals(POST_PROCESSOR)) {
				return true;
			}
		}
		return false;
	}

}
