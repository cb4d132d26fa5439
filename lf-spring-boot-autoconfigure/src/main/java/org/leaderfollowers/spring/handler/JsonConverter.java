package org.leaderfollowers.spring.handler;

import java.lang.reflect.Type;

import org.jspecify.annotations.Nullable;
import tools.jackson.core.JacksonException;
import tools.jackson.core.JsonParser;
import tools.jackson.core.JsonToken;
import tools.jackson.core.TokenStreamLocation;
import tools.jackson.core.TreeNode;
import tools.jackson.databind.ObjectReader;
import tools.jackson.databind.ObjectWriter;
import tools.jackson.databind.SerializationFeature;
import tools.jackson.databind.exc.InvalidTypeIdException;
import tools.jackson.databind.json.JsonMapper;

import org.springframework.beans.factory.BeanFactory;

/**
 * Converts messages from and to JSON. No other class of this package needs Jackson, which
 * is optional.
 */
final class JsonConverter {

	/** The presence of this class shows that Jackson is present. */
	static final String MAPPER = "tools.jackson.databind.json.JsonMapper";

	private final JsonMapper mapper;

	private final ObjectWriter writer;

	private JsonConverter(JsonMapper mapper) {
		this.mapper = mapper;
		// A reply must fit on one line, since the line is the most common framing.
		this.writer = mapper.writer().without(SerializationFeature.INDENT_OUTPUT);
	}

	/**
	 * Creates a converter that uses the mapper of the application, if it has one. The
	 * setting of the mapper for indentation is ignored: replies have none.
	 */
	static JsonConverter of(BeanFactory beanFactory) {
		return new JsonConverter(beanFactory.getBeanProvider(JsonMapper.class).getIfUnique(JsonMapper::shared));
	}

	Reader reader(Type type) {
		ObjectReader reader = this.mapper.readerFor(this.mapper.constructType(type));
		return (json) -> {
			try {
				return reader.readValue(json);
			}
			catch (JacksonException ex) {
				throw failure(json, type.getTypeName(), ex);
			}
		};
	}

	byte[] write(Object value) {
		return this.writer.writeValueAsBytes(value);
	}

	/**
	 * Whether a value is a JSON tree, which is one message although it may be iterable.
	 */
	static boolean isTree(Object value) {
		return value instanceof TreeNode;
	}

	/**
	 * Finds a property of the outermost object.
	 * @return its value as text, or {@code null} if the property is missing or not a
	 * scalar
	 */
	@Nullable String property(byte[] json, String name) {
		try (JsonParser parser = this.mapper.createParser(json)) {
			if (parser.nextToken() != JsonToken.START_OBJECT) {
				return null;
			}
			while (parser.nextToken() == JsonToken.PROPERTY_NAME) {
				boolean found = name.equals(parser.currentName());
				JsonToken value = parser.nextToken();
				if (found) {
					return (value.isScalarValue() && value != JsonToken.VALUE_NULL) ? parser.getString() : null;
				}
				parser.skipChildren();
			}
			return null;
		}
		catch (JacksonException ex) {
			throw failure(json, "an object", ex);
		}
	}

	/** Whether a conversion failed because the message names an unknown type. */
	static boolean isUnknownType(Throwable failure) {
		return failure.getCause() instanceof InvalidTypeIdException;
	}

	/** Reports the location, but not the message of Jackson, which quotes the payload. */
	private static PayloadConversionException failure(byte[] json, String target, JacksonException cause) {
		TokenStreamLocation location = cause.getLocation();
		String where = (location != null && location.getLineNr() > 0)
				? ", at line %d, column %d".formatted(location.getLineNr(), location.getColumnNr()) : "";
		return new PayloadConversionException("A message of %d bytes is not the JSON of %s%s (%s)"
			.formatted(json.length, target, where, cause.getClass().getSimpleName()), cause);
	}

	/**
	 * Converts JSON to one type.
	 */
	@FunctionalInterface
	interface Reader {

		@Nullable Object read(byte[] json);

	}

}
