package org.leaderfollowers.spring.autoconfigure;

import java.util.List;

import org.jspecify.annotations.Nullable;
import org.leaderfollowers.Correlation;
import org.leaderfollowers.spring.autoconfigure.LfProperties.CorrelationType;
import org.leaderfollowers.spring.server.UnknownNameException;
import org.leaderfollowers.spring.server.UnknownNameException.Kind;

import org.springframework.beans.factory.BeanFactoryUtils;
import org.springframework.beans.factory.BeanNotOfRequiredTypeException;
import org.springframework.beans.factory.ListableBeanFactory;

/**
 * Maps the properties of a correlation.
 *
 * @param properties the properties of the server or client that sends the requests
 * @param correlation the properties to map
 * @param beanFactory provides correlations of the application and of parent contexts
 */
record CorrelationPropertiesMapper(ConfiguredProperties<?> properties, LfProperties.Correlation correlation,
		ListableBeanFactory beanFactory) {

	private static final String TYPE = "correlation.type";

	private static final String BEAN = "correlation.bean";

	private static final String OFFSET = "correlation.offset";

	private static final String LENGTH = "correlation.length";

	/**
	 * Maps the properties.
	 * @return the correlation, or {@code null} if no property is set
	 */
	@Nullable Correlation map() {
		CorrelationType type = this.correlation.type();
		String bean = this.correlation.bean();
		if (type != CorrelationType.STAMPED) {
			rejectUnused(OFFSET, this.correlation.offset());
			rejectUnused(LENGTH, this.correlation.length());
		}
		if (bean != null) {
			if (type != null) {
				throw this.properties.invalid(TYPE, name(type),
						"Is not used, because '%s' names the correlation '%s'. Remove one of them."
							.formatted(this.properties.key(BEAN), bean));
			}
			return bean(bean);
		}
		if (type == null) {
			return null;
		}
		return switch (type) {
			case IN_ORDER -> Correlation.inOrder();
			case STAMPED -> stamped();
		};
	}

	private static String name(CorrelationType type) {
		return (type == CorrelationType.IN_ORDER) ? "in-order" : "stamped";
	}

	private void rejectUnused(String property, @Nullable Integer value) {
		if (value != null) {
			throw this.properties.invalid(property, value, "Is used only if '%s' is '%s'."
				.formatted(this.properties.key(TYPE), name(CorrelationType.STAMPED)));
		}
	}

	private Correlation stamped() {
		Integer offset = this.correlation.offset();
		Integer length = this.correlation.length();
		if (length == null) {
			throw this.properties.missing(LENGTH, "A value is required, because '%s' is '%s'."
				.formatted(this.properties.key(TYPE), name(CorrelationType.STAMPED)));
		}
		int from = (offset != null) ? offset : 0;
		this.properties.get(LENGTH, length, (valid) -> Correlation.stamped(0, valid), "be from 1 to 8");
		return this.properties.get(OFFSET, from, (valid) -> Correlation.stamped(valid, length), "not be negative");
	}

	private Correlation bean(String name) {
		if (!this.beanFactory.containsBean(name)) {
			throw new UnknownNameException(Kind.CORRELATION, name,
					List.of(BeanFactoryUtils.beanNamesForTypeIncludingAncestors(this.beanFactory, Correlation.class)),
					this.properties.key(BEAN));
		}
		try {
			return this.beanFactory.getBean(name, Correlation.class);
		}
		catch (BeanNotOfRequiredTypeException ex) {
			throw this.properties.invalid(BEAN, name, "The bean '%s' is a %s, not a %s.".formatted(name,
					ex.getActualType().getName(), Correlation.class.getName()));
		}
	}

}
