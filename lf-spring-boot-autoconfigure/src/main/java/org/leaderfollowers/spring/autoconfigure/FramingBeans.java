package org.leaderfollowers.spring.autoconfigure;

import java.util.List;

import org.leaderfollowers.Framing;
import org.leaderfollowers.spring.server.UnknownFramingException;

import org.springframework.beans.factory.BeanNotOfRequiredTypeException;
import org.springframework.beans.factory.ListableBeanFactory;
import org.springframework.beans.factory.BeanFactoryUtils;

/**
 * The framings of the application.
 *
 * @param beanFactory where to find them, parents included
 */
record FramingBeans(ListableBeanFactory beanFactory) {

	/**
	 * Returns the framing that a property names.
	 * @param properties the properties of the server
	 * @param property the property that names it
	 * @param name the name of the bean
	 */
	Framing get(ConfiguredProperties<?> properties, String property, String name) {
		if (!this.beanFactory.containsBean(name)) {
			throw new UnknownFramingException(name,
					List.of(BeanFactoryUtils.beanNamesForTypeIncludingAncestors(this.beanFactory, Framing.class)),
					properties.key(property));
		}
		try {
			return this.beanFactory.getBean(name, Framing.class);
		}
		catch (BeanNotOfRequiredTypeException ex) {
			throw properties.invalid(property, name, "The bean '%s' is a %s, which does not implement %s."
				.formatted(name, ex.getActualType().getName(), Framing.class.getName()));
		}
	}

}
