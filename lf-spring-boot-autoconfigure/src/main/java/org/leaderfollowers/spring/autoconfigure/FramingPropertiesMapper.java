package org.leaderfollowers.spring.autoconfigure;

import java.util.List;
import java.util.Locale;

import org.jspecify.annotations.Nullable;
import org.leaderfollowers.Framing;
import org.leaderfollowers.LengthFieldFraming;
import org.leaderfollowers.spring.autoconfigure.LfProperties.ByteOrder;
import org.leaderfollowers.spring.autoconfigure.LfProperties.FramingType;
import org.leaderfollowers.spring.autoconfigure.LfProperties.LengthField;
import org.leaderfollowers.spring.server.UnknownNameException;
import org.leaderfollowers.spring.server.UnknownNameException.Kind;

import org.springframework.beans.factory.BeanFactoryUtils;
import org.springframework.beans.factory.BeanNotOfRequiredTypeException;
import org.springframework.beans.factory.ListableBeanFactory;
import org.springframework.util.unit.DataSize;

/**
 * Maps the properties of a server or client to its framing.
 *
 * @param properties those of the server or client
 * @param framing the properties to map
 * @param beanFactory where to find framings of the application, parents included
 */
record FramingPropertiesMapper(ConfiguredProperties<?> properties, LfProperties.Framing framing,
		ListableBeanFactory beanFactory) {

	private static final String TYPE = "framing.type";

	private static final String BEAN = "framing.bean";

	private static final String DELIMITER = "framing.delimiter";

	private static final String LENGTH = "framing.length";

	private static final String LENGTH_FIELD = "framing.length-field";

	Framing map() {
		LfProperties.Framing framing = this.framing;
		rejectUnused(DELIMITER, framing.delimiter(), FramingType.DELIMITER);
		rejectUnused(LENGTH, framing.length(), FramingType.FIXED_LENGTH);
		rejectUnused(LENGTH_FIELD, framing.lengthField(), FramingType.LENGTH_FIELD);
		String bean = framing.bean();
		if (bean != null) {
			if (framing.type() != null) {
				throw this.properties.invalid(TYPE, name(framing.type()),
						"Is not used, because '%s' names the framing '%s'. Remove one of them."
							.formatted(this.properties.key(BEAN), bean));
			}
			return bean(bean);
		}
		return switch (type()) {
			case LINE -> Framing.line();
			case DELIMITER -> delimiter(framing.delimiter());
			case FIXED_LENGTH -> fixedLength(framing.length());
			case LENGTH_FIELD -> lengthField(framing.lengthField());
			case RAW -> Framing.raw();
		};
	}

	/**
	 * Checks that a message of the framing can be received.
	 */
	void checkLength(DataSize maxMessageSize) {
		Integer length = this.framing.length();
		if (length != null && length > maxMessageSize.toBytes()) {
			throw this.properties.invalid(LENGTH, length, "Must not be greater than '%s', which is %d bytes."
				.formatted(this.properties.key("max-message-size"), maxMessageSize.toBytes()));
		}
	}

	private Framing bean(String name) {
		if (!this.beanFactory.containsBean(name)) {
			throw new UnknownNameException(Kind.FRAMING, name,
					List.of(BeanFactoryUtils.beanNamesForTypeIncludingAncestors(this.beanFactory, Framing.class)),
					this.properties.key(BEAN));
		}
		try {
			return this.beanFactory.getBean(name, Framing.class);
		}
		catch (BeanNotOfRequiredTypeException ex) {
			throw this.properties.invalid(BEAN, name, "The bean '%s' is a %s, which does not implement %s."
				.formatted(name, ex.getActualType().getName(), Framing.class.getName()));
		}
	}

	private FramingType type() {
		FramingType type = this.framing.type();
		return (type != null) ? type : FramingType.LINE;
	}

	private void rejectUnused(String property, @Nullable Object value, FramingType type) {
		if (value != null && type() != type) {
			throw this.properties.invalid(property, value,
					"Is used only if '%s' is '%s'.".formatted(this.properties.key(TYPE), name(type)));
		}
	}

	private static String name(FramingType type) {
		return type.name().toLowerCase(Locale.ROOT).replace('_', '-');
	}

	private <V> V required(String property, @Nullable V value, FramingType type) {
		if (value == null) {
			throw this.properties.missing(property,
					"A value is required, because '%s' is '%s'.".formatted(this.properties.key(TYPE), name(type)));
		}
		return value;
	}

	private Framing delimiter(@Nullable String delimiter) {
		String value = required(DELIMITER, delimiter, FramingType.DELIMITER);
		return Framing.delimiter(this.properties.get(DELIMITER, value, Delimiter::parse));
	}

	private Framing fixedLength(@Nullable Integer length) {
		return this.properties.get(LENGTH, required(LENGTH, length, FramingType.FIXED_LENGTH), Framing::fixedLength,
				"be at least 1");
	}

	private Framing lengthField(@Nullable LengthField field) {
		Integer bytes = required(LENGTH_FIELD + ".bytes", (field != null) ? field.bytes() : null,
				FramingType.LENGTH_FIELD);
		LengthFieldFraming framing = this.properties.get(LENGTH_FIELD + ".bytes", bytes, Framing::lengthField,
				"be 1, 2, 3 or 4");
		if (field == null) {
			return framing;
		}
		framing = this.properties.get(LENGTH_FIELD + ".offset", field.offset(), framing::offset, "be from 0 to 1024");
		framing = this.properties.get(LENGTH_FIELD + ".adjustment", field.adjustment(), framing::adjustment,
				"be from -65536 to 65536");
		return framing.inclusive(field.inclusive())
			.order((field.byteOrder() == ByteOrder.BIG_ENDIAN) ? java.nio.ByteOrder.BIG_ENDIAN
					: java.nio.ByteOrder.LITTLE_ENDIAN);
	}

}
