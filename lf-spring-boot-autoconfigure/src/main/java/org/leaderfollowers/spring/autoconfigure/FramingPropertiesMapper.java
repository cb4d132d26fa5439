package org.leaderfollowers.spring.autoconfigure;

import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;

import org.jspecify.annotations.Nullable;
import org.leaderfollowers.Framing;
import org.leaderfollowers.LengthFieldFraming;
import org.leaderfollowers.spring.autoconfigure.FramingProperties.ByteOrder;
import org.leaderfollowers.spring.autoconfigure.FramingProperties.DecimalLength;
import org.leaderfollowers.spring.autoconfigure.FramingProperties.Enclosed;
import org.leaderfollowers.spring.autoconfigure.FramingProperties.LengthField;
import org.leaderfollowers.spring.autoconfigure.FramingProperties.Type;
import org.leaderfollowers.spring.server.UnknownNameException;
import org.leaderfollowers.spring.server.UnknownNameException.Kind;

import org.springframework.beans.factory.BeanFactoryUtils;
import org.springframework.beans.factory.BeanNotOfRequiredTypeException;
import org.springframework.beans.factory.ListableBeanFactory;
import org.springframework.util.unit.DataSize;

/**
 * Maps the properties of a server or client to its framing.
 *
 * @param properties the properties of the server or client
 * @param framing the properties to map
 * @param beanFactory provides framings of the application and of parent contexts
 */
record FramingPropertiesMapper(ConfiguredProperties<?> properties, FramingProperties framing,
		ListableBeanFactory beanFactory) {

	private static final String TYPE = "framing.type";

	private static final String BEAN = "framing.bean";

	private static final String DELIMITER = "framing.delimiter";

	private static final String LENGTH = "framing.length";

	private static final String LENGTH_FIELD = "framing.length-field";

	private static final String DECIMAL_LENGTH = "framing.decimal-length";

	private static final String ENCLOSED = "framing.enclosed";

	private static final byte[] MLLP_START = { 0x0B };

	private static final byte[] MLLP_END = { 0x1C, '\r' };

	Framing map() {
		FramingProperties framing = this.framing;
		rejectUnused(DELIMITER, framing.delimiter(), Type.DELIMITER);
		rejectUnused(LENGTH, framing.length(), Type.FIXED_LENGTH);
		rejectUnused(LENGTH_FIELD, framing.lengthField(), Type.LENGTH_FIELD);
		rejectUnused(DECIMAL_LENGTH, framing.decimalLength(), Type.DECIMAL_LENGTH);
		rejectUnused(ENCLOSED, framing.enclosed(), Type.ENCLOSED);
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
			case DECIMAL_LENGTH -> decimalLength(framing.decimalLength());
			case ENCLOSED -> enclosed(framing.enclosed());
			case MLLP -> Framing.enclosed(MLLP_START, MLLP_END);
			case ISO8583 -> Framing.lengthField(2);
			case ISO8583_DECIMAL -> Framing.decimalLength(4);
			case MODBUS_TCP -> Framing.lengthField(2).offset(4);
			case RESP -> Framing.resp();
			case RAW -> Framing.raw();
		};
	}

	/** Checks that the server or client can receive a message of the framing. */
	void checkLength(DataSize maxMessageSize) {
		requireAtMost(LENGTH, this.framing.length(), maxMessageSize);
		LengthField field = this.framing.lengthField();
		requireAtMost(LENGTH_FIELD + ".offset", (field != null) ? field.offset() : null, maxMessageSize);
		DecimalLength digits = this.framing.decimalLength();
		requireAtMost(DECIMAL_LENGTH + ".offset", (digits != null) ? digits.offset() : null, maxMessageSize);
	}

	private void requireAtMost(String property, @Nullable Integer length, DataSize maxMessageSize) {
		if (length != null && length > maxMessageSize.toBytes()) {
			throw this.properties.invalid(property, length, "Must not be greater than '%s', which is %d bytes."
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

	private Type type() {
		Type type = this.framing.type();
		return (type != null) ? type : Type.LINE;
	}

	private void rejectUnused(String property, @Nullable Object value, Type type) {
		if (value != null && type() != type) {
			throw this.properties.invalid(property, value,
					"Is used only if '%s' is '%s'.".formatted(this.properties.key(TYPE), name(type)));
		}
	}

	private static String name(Type type) {
		return type.name().toLowerCase(Locale.ROOT).replace('_', '-');
	}

	private <V> V required(String property, @Nullable V value, Type type) {
		if (value == null) {
			throw this.properties.missing(property,
					"A value is required, because '%s' is '%s'.".formatted(this.properties.key(TYPE), name(type)));
		}
		return value;
	}

	private Framing delimiter(@Nullable String delimiter) {
		String value = required(DELIMITER, delimiter, Type.DELIMITER);
		return Framing.delimiter(this.properties.get(DELIMITER, value, Delimiter::parse));
	}

	private Framing fixedLength(@Nullable Integer length) {
		return this.properties.get(LENGTH, required(LENGTH, length, Type.FIXED_LENGTH), Framing::fixedLength,
				"be at least 1");
	}

	private Framing lengthField(@Nullable LengthField field) {
		Integer bytes = required(LENGTH_FIELD + ".bytes", (field != null) ? field.bytes() : null, Type.LENGTH_FIELD);
		LengthFieldFraming framing = this.properties.get(LENGTH_FIELD + ".bytes", bytes, Framing::lengthField,
				"be 1, 2, 3 or 4");
		if (field == null) {
			return framing;
		}
		return header(LENGTH_FIELD, framing, field.offset(), field.adjustment()).inclusive(field.inclusive())
			.order((field.byteOrder() == ByteOrder.BIG_ENDIAN) ? java.nio.ByteOrder.BIG_ENDIAN
					: java.nio.ByteOrder.LITTLE_ENDIAN);
	}

	private Framing decimalLength(@Nullable DecimalLength length) {
		if (length == null) {
			return Framing.decimalLength(4);
		}
		LengthFieldFraming framing = this.properties.get(DECIMAL_LENGTH + ".digits", length.digits(),
				Framing::decimalLength, "be from 1 to 9");
		return header(DECIMAL_LENGTH, framing, length.offset(), length.adjustment()).inclusive(length.inclusive());
	}

	private LengthFieldFraming header(String property, LengthFieldFraming framing, int offset, int adjustment) {
		LengthFieldFraming moved = this.properties.get(property + ".offset", offset, framing::offset,
				"be from 0 to 1024");
		return this.properties.get(property + ".adjustment", adjustment, moved::adjustment, "be from -65536 to 65536");
	}

	private Framing enclosed(@Nullable Enclosed enclosed) {
		byte[] start = bytes(ENCLOSED + ".start", (enclosed != null) ? enclosed.start() : null);
		byte[] end = bytes(ENCLOSED + ".end", (enclosed != null) ? enclosed.end() : null);
		if (enclosed == null || enclosed.escapes().isEmpty()) {
			return Framing.enclosed(start, end);
		}
		return this.properties.get(ENCLOSED + ".escapes", enclosed.escapes(),
				(escapes) -> Framing.enclosed(start, end, escapes(escapes)));
	}

	private byte[] bytes(String property, @Nullable String value) {
		return this.properties.get(property, required(property, value, Type.ENCLOSED), Delimiter::parse);
	}

	private static Map<Byte, byte[]> escapes(Map<String, String> escapes) {
		Map<Byte, byte[]> bytes = new HashMap<>();
		escapes.forEach((original, pair) -> {
			byte[] single = Delimiter.parse(original);
			if (single.length != 1) {
				throw new IllegalArgumentException(
						"'%s' is not a single byte such as '0x7e', which needs quotes in YAML".formatted(original));
			}
			bytes.put(single[0], Delimiter.parse(pair));
		});
		return bytes;
	}

}
