package org.leaderfollowers.spring.autoconfigure;

import java.util.Map;
import java.util.function.Predicate;

import io.micrometer.common.KeyValues;
import io.micrometer.core.instrument.observation.DefaultMeterObservationHandler;
import io.micrometer.observation.GlobalObservationConvention;
import io.micrometer.observation.Observation;
import io.micrometer.observation.ObservationFilter;
import io.micrometer.observation.ObservationHandler;
import io.micrometer.observation.ObservationPredicate;
import io.micrometer.observation.ObservationRegistry;
import org.jspecify.annotations.Nullable;
import org.leaderfollowers.spring.observation.DefaultMessageObservationConvention;
import org.leaderfollowers.spring.observation.MessageObservationConvention;

import org.springframework.beans.factory.BeanFactory;
import org.springframework.beans.factory.BeanFactoryUtils;
import org.springframework.beans.factory.config.BeanDefinition;
import org.springframework.beans.factory.config.ConfigurableListableBeanFactory;
import org.springframework.boot.micrometer.observation.autoconfigure.ObservationAutoConfiguration;
import org.springframework.boot.micrometer.observation.autoconfigure.ObservationHandlerGroup;
import org.springframework.boot.micrometer.observation.autoconfigure.ObservationProperties;
import org.springframework.boot.micrometer.observation.autoconfigure.ObservationRegistryCustomizer;
import org.springframework.util.ClassUtils;

/**
 * Finds out whether an observation of a message would be more than its timer. Only what
 * is known to be no more counts as such: beans of Boot. Anything else, and whatever later
 * versions of Boot may add, is taken for a listener.
 */
final class ObservationListeners {

	/** Has the settings {@code management.observations.enable} and {@code key-values}. */
	private static final String PROPERTIES_BEAN_TYPE = ObservationProperties.class.getPackageName()
			+ ".PropertiesObservationFilterPredicate";

	private static final String METER_GROUP_BEAN = "metricsObservationHandlerGroup";

	private final ConfigurableListableBeanFactory beanFactory;

	ObservationListeners(ConfigurableListableBeanFactory beanFactory) {
		this.beanFactory = beanFactory;
	}

	/**
	 * Finds what needs observations.
	 * @return a description of the first one found, or {@code null} if there is none
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
		found = (found != null) ? found
				: find(ObservationHandlerGroup.class, (bean) -> bean.getKey().equals(METER_GROUP_BEAN));
		found = (found != null) ? found : find(MessageObservationConvention.class, (bean) -> false);
		found = (found != null) ? found : find(GlobalObservationConvention.class, (bean) -> false);
		found = (found != null) ? found : find(ObservationPredicate.class, ObservationListeners::isProperties);
		found = (found != null) ? found : find(ObservationFilter.class, ObservationListeners::isProperties);
		return (found != null) ? found : find(ObservationRegistryCustomizer.class, (bean) -> false);
	}

	/**
	 * Whether the settings of Boot allow the observation of messages. If they do not,
	 * there is no timer of it either.
	 */
	boolean isEnabled() {
		return this.beanFactory.getBeanProvider(ObservationPredicate.class)
			.stream()
			.allMatch((predicate) -> predicate.test(new DefaultMessageObservationConvention().getName(),
					new Observation.Context()));
	}

	/**
	 * What the settings of Boot add to every observation.
	 */
	KeyValues commonKeyValues() {
		ObservationProperties properties = this.beanFactory.getBeanProvider(ObservationProperties.class).getIfUnique();
		return (properties != null)
				? KeyValues.of(properties.getKeyValues().entrySet(), Map.Entry::getKey, Map.Entry::getValue)
				: KeyValues.empty();
	}

	private static boolean isProperties(Map.Entry<String, ?> bean) {
		return bean.getValue().getClass().getName().equals(PROPERTIES_BEAN_TYPE);
	}

	private @Nullable String find(Class<?> type, Predicate<Map.Entry<String, ?>> known) {
		return beans(type).entrySet()
			.stream()
			.filter(known.negate())
			.findFirst()
			.map((bean) -> "there is the bean '%s' of type %s".formatted(bean.getKey(), type.getSimpleName()))
			.orElse(null);
	}

	/** Those of parents, too, as Boot does when it configures the registry. */
	private Map<String, ?> beans(Class<?> type) {
		return BeanFactoryUtils.beansOfTypeIncludingAncestors(this.beanFactory, type);
	}

	/** One that the application has made may have been given listeners by its maker. */
	private boolean isRegistryOfBoot() {
		String[] names = BeanFactoryUtils.beanNamesForTypeIncludingAncestors(this.beanFactory,
				ObservationRegistry.class);
		if (names.length != 1) {
			return false;
		}
		BeanFactory owner = this.beanFactory;
		while (owner instanceof ConfigurableListableBeanFactory factory) {
			if (factory.containsLocalBean(names[0])) {
				return factory.containsBeanDefinition(names[0])
						&& isOfBoot(factory, factory.getMergedBeanDefinition(names[0]));
			}
			owner = factory.getParentBeanFactory();
		}
		return false;
	}

	private static boolean isOfBoot(BeanFactory beanFactory, BeanDefinition definition) {
		String configuration = definition.getFactoryBeanName();
		Class<?> type = (configuration != null) ? beanFactory.getType(configuration, false) : null;
		return type != null && ClassUtils.getUserClass(type) == ObservationAutoConfiguration.class;
	}

}
