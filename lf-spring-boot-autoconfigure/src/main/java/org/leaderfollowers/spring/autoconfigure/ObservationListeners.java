package org.leaderfollowers.spring.autoconfigure;

import java.lang.reflect.Method;
import java.util.Map;
import java.util.function.Predicate;

import io.micrometer.common.KeyValues;
import io.micrometer.core.instrument.observation.DefaultMeterObservationHandler;
import io.micrometer.core.instrument.observation.MeterObservationHandler;
import io.micrometer.observation.GlobalObservationConvention;
import io.micrometer.observation.Observation;
import io.micrometer.observation.ObservationFilter;
import io.micrometer.observation.ObservationHandler;
import io.micrometer.observation.ObservationPredicate;
import io.micrometer.observation.ObservationRegistry;
import org.jspecify.annotations.Nullable;
import org.leaderfollowers.spring.observation.ExchangeObservationConvention;
import org.leaderfollowers.spring.observation.MessageObservationConvention;

import org.springframework.beans.factory.BeanFactory;
import org.springframework.beans.factory.BeanFactoryUtils;
import org.springframework.beans.factory.config.ConfigurableListableBeanFactory;
import org.springframework.beans.factory.support.RootBeanDefinition;
import org.springframework.boot.micrometer.observation.autoconfigure.ObservationAutoConfiguration;
import org.springframework.boot.micrometer.observation.autoconfigure.ObservationHandlerGroup;
import org.springframework.boot.micrometer.observation.autoconfigure.ObservationProperties;
import org.springframework.boot.micrometer.observation.autoconfigure.ObservationRegistryCustomizer;

/**
 * Determines whether an observation of a message has more effects than its timer. Only
 * beans of Boot are known to have no further effects. Everything else counts as a
 * listener, also beans that later versions of Boot may add.
 */
final class ObservationListeners {

	private final ConfigurableListableBeanFactory beanFactory;

	ObservationListeners(ConfigurableListableBeanFactory beanFactory) {
		this.beanFactory = beanFactory;
	}

	/**
	 * Finds a reason to observe messages.
	 * @return a description of the first reason, or {@code null} if there is none
	 */
	@Nullable String find() {
		if (!isRegistryOfBoot()) {
			return "the ObservationRegistry is not the one that Spring Boot configures";
		}
		String found = find(ObservationHandler.class,
				(bean) -> bean.getValue().getClass() == DefaultMeterObservationHandler.class);
		if (found == null && beans(ObservationHandler.class).size() > 1) {
			found = "there are several beans of type DefaultMeterObservationHandler";
		}
		found = (found != null) ? found : find(ObservationHandlerGroup.class, ObservationListeners::isOfMeters);
		found = (found != null) ? found : find(MessageObservationConvention.class, (bean) -> false);
		found = (found != null) ? found : find(ExchangeObservationConvention.class, (bean) -> false);
		found = (found != null) ? found : find(GlobalObservationConvention.class, (bean) -> false);
		found = (found != null) ? found : find(ObservationPredicate.class, this::isOfSettings);
		found = (found != null) ? found : find(ObservationFilter.class, this::isOfSettings);
		return (found != null) ? found : find(ObservationRegistryCustomizer.class, (bean) -> false);
	}

	/**
	 * Whether the settings of Boot allow an observation. If they do not, there is no
	 * timer either.
	 */
	boolean isEnabled(String name) {
		return this.beanFactory.getBeanProvider(ObservationPredicate.class)
			.stream()
			.allMatch((predicate) -> predicate.test(name, new Observation.Context()));
	}

	/** The key values that the settings of Boot add to every observation. */
	KeyValues commonKeyValues() {
		ObservationProperties properties = this.beanFactory.getBeanProvider(ObservationProperties.class).getIfUnique();
		return (properties != null)
				? KeyValues.of(properties.getKeyValues().entrySet(), Map.Entry::getKey, Map.Entry::getValue)
				: KeyValues.empty();
	}

	private static boolean isOfMeters(Map.Entry<String, ?> group) {
		return group.getValue() instanceof ObservationHandlerGroup ofHandlers
				&& ofHandlers.handlerType() == MeterObservationHandler.class;
	}

	/**
	 * Whether a bean applies the settings {@code management.observations.enable} and
	 * {@code key-values}. Only this bean is both a filter and a predicate.
	 */
	private boolean isOfSettings(Map.Entry<String, ?> bean) {
		return bean.getValue() instanceof ObservationFilter && bean.getValue() instanceof ObservationPredicate
				&& isOfBoot(bean.getKey());
	}

	private @Nullable String find(Class<?> type, Predicate<Map.Entry<String, ?>> known) {
		return beans(type).entrySet()
			.stream()
			.filter(known.negate())
			.findFirst()
			.map((bean) -> "there is the bean '%s' of type %s".formatted(bean.getKey(), type.getSimpleName()))
			.orElse(null);
	}

	/**
	 * Includes beans of parent contexts, as Boot does when it configures the registry.
	 */
	private Map<String, ?> beans(Class<?> type) {
		return BeanFactoryUtils.beansOfTypeIncludingAncestors(this.beanFactory, type);
	}

	/** A registry that the application creates may have further listeners. */
	private boolean isRegistryOfBoot() {
		String[] names = BeanFactoryUtils.beanNamesForTypeIncludingAncestors(this.beanFactory,
				ObservationRegistry.class);
		return names.length == 1 && isOfBoot(names[0]);
	}

	/**
	 * Whether the auto-configuration of observations in Spring Boot has created a bean.
	 */
	private boolean isOfBoot(String name) {
		BeanFactory owner = this.beanFactory;
		while (owner instanceof ConfigurableListableBeanFactory factory) {
			if (factory.containsLocalBean(name)) {
				return factory.containsBeanDefinition(name)
						&& factory.getMergedBeanDefinition(name) instanceof RootBeanDefinition definition
						&& isOfBoot(definition.getResolvedFactoryMethod());
			}
			owner = factory.getParentBeanFactory();
		}
		return false;
	}

	private static boolean isOfBoot(@Nullable Method factoryMethod) {
		return factoryMethod != null && factoryMethod.getDeclaringClass() == ObservationAutoConfiguration.class;
	}

}
