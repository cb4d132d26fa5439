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
 * Converts messages from and to JSON. The only class here that needs Jackson.
 */
final class JsonConverter {

	/** The class that tells whether Jackson is there. */
	static final String MAPPER = "tools.jackson.databind.json.JsonMapper";

	private final JsonMapper mapper;

	private final ObjectWriter writer;

	private JsonConverter(JsonMapper mapper) {
		this.mapper = mapper;
		// The line is the most common framing.
		this.writer = mapper.writer().without(SerializationFeature.INDENT_OUTPUT);
	}

	/**
	 * Creates a converter that uses the mapper of the application, if it has one. Replies
	 * are written without indentation, whatever the mapper says.
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

	/** Whether it is JSON already, and one value although it can be iterated over. */
	static boolean isTree(Object value) {
		return value instanceof TreeNode;
	}

	/**
	 * Finds a property of the outermost object.
	 * @return its value as text, or {@code null} if there is none or it is no scalar
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

	/** Whether a message says that it is of a type that nobody knows. */
	static boolean isUnknownType(Throwable failure) {
		return failure.getCause() instanceof InvalidTypeIdException;
	}

	/** What Jackson says quotes the message; where it failed does not. */
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
