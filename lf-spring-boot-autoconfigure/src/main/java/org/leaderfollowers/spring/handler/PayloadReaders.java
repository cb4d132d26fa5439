package org.leaderfollowers.spring.handler;

import java.lang.reflect.Type;
import java.lang.reflect.TypeVariable;
import java.lang.reflect.WildcardType;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.HashSet;
import java.util.Set;
import java.util.stream.Stream;

import org.jspecify.annotations.Nullable;
import org.leaderfollowers.Connection;

import org.springframework.beans.BeanUtils;
import org.springframework.core.MethodParameter;
import org.springframework.core.ResolvableType;
import org.springframework.core.convert.ConversionException;
import org.springframework.core.convert.ConversionService;
import org.springframework.core.convert.TypeDescriptor;
import org.springframework.messaging.Message;
import org.springframework.messaging.converter.MessageConverter;
import org.springframework.messaging.converter.SmartMessageConverter;

/**
 * Determines at start how messages are converted to a type.
 */
final class PayloadReaders {

	private static final TypeDescriptor TEXT = TypeDescriptor.valueOf(String.class);

	private final PayloadConverters converters;

	private final Text text;

	PayloadReaders(PayloadConverters converters, Text text) {
		this.converters = converters;
		this.text = text;
	}

	/**
	 * Finds the reader for a type.
	 * @param type the type, with generics resolved
	 * @param parameter the parameter that receives the payload, or {@code null} if the
	 * type is all that is known
	 * @return the reader, or {@code null} if messages cannot be converted to the type
	 */
	@Nullable PayloadReader find(ResolvableType type, @Nullable MethodParameter parameter) {
		Class<?> raw = type.toClass();
		if (raw == ByteBuffer.class) {
			return (connection, message) -> message;
		}
		if (raw == byte[].class) {
			return (connection, message) -> Text.bytes(message);
		}
		if (raw == String.class || raw == CharSequence.class) {
			return (connection, message) -> this.text.decode(message);
		}
		TypeDescriptor descriptor = new TypeDescriptor(type, null,
				(parameter != null) ? parameter.getParameterAnnotations() : null);
		boolean fromText = this.converters.conversionService().canConvert(TEXT, descriptor);
		if (BeanUtils.isSimpleValueType(raw) && fromText) {
			return fromText(descriptor);
		}
		PayloadReader json = json(type);
		MessageConverter messageConverter = this.converters.messageConverter();
		if (messageConverter != null) {
			return new ByMessageConverter(messageConverter, raw, parameter, json);
		}
		if (json != null) {
			return json;
		}
		return fromText ? fromText(descriptor) : null;
	}

	private PayloadReader fromText(TypeDescriptor target) {
		ConversionService conversionService = this.converters.conversionService();
		return (connection, message) -> {
			int size = message.remaining();
			try {
				return conversionService.convert(this.text.decode(message), TEXT, target);
			}
			catch (ConversionException ex) {
				throw new PayloadConversionException(
						"A message of %d bytes is not the text of %s".formatted(size, target.getResolvableType()), ex);
			}
		};
	}

	/** Finds the reader for JSON, even if other converters support the type. */
	@Nullable PayloadReader json(ResolvableType type) {
		JsonConverter json = this.converters.json();
		if (json == null) {
			return null;
		}
		JsonConverter.Reader reader = json.reader(withoutVariables(type, Set.of()).getType());
		return (connection, message) -> reader.read(json(message));
	}

	/**
	 * Replaces the variables of a type by what they stand for. {@link ResolvableType}
	 * knows this, but its Java type is the one that is written.
	 * @param within the variables that the type is a part of: a bound of a variable may
	 * contain the variable
	 */
	private static ResolvableType withoutVariables(ResolvableType type, Set<Type> within) {
		Class<?> raw = type.resolve();
		if (raw == null || type.getType() instanceof Class<?> || type.getType() instanceof WildcardType) {
			return type;
		}
		Set<Type> variables = new HashSet<>(within);
		if (type.getType() instanceof TypeVariable<?> variable && !variables.add(variable)) {
			return ResolvableType.forClass(raw);
		}
		if (raw.isArray()) {
			return ResolvableType.forArrayComponent(withoutVariables(type.getComponentType(), variables));
		}
		ResolvableType[] generics = type.getGenerics();
		return (generics.length == 0) ? ResolvableType.forClass(raw)
				: ResolvableType.forClassWithGenerics(raw,
						Stream.of(generics)
							.map((generic) -> withoutVariables(generic, variables))
							.toArray(ResolvableType[]::new));
	}

	/**
	 * Returns the bytes of a message for a JSON parser, which supports only encodings of
	 * Unicode.
	 */
	byte[] json(ByteBuffer message) {
		byte[] bytes = Text.bytes(message);
		return this.text.charset().name().startsWith("UTF-") ? bytes
				: this.text.decode(bytes).getBytes(StandardCharsets.UTF_8);
	}

	/**
	 * Calls a message converter, which decides only at run time whether it converts a
	 * message.
	 *
	 * @param converter the converter
	 * @param type the target type
	 * @param parameter the parameter, which tells the converter the generic type and the
	 * annotations; {@code null} if there is none
	 * @param otherwise reads messages that the converter does not support, or
	 * {@code null} for none
	 */
	private record ByMessageConverter(MessageConverter converter, Class<?> type, @Nullable MethodParameter parameter,
			@Nullable PayloadReader otherwise) implements PayloadReader {

		@Override
		public @Nullable Object read(@Nullable Connection connection, ByteBuffer message) throws Exception {
			Message<byte[]> wrapped = new ConnectionMessage(connection, message);
			byte[] bytes = wrapped.getPayload();
			Object payload;
			try {
				payload = (this.converter instanceof SmartMessageConverter smart)
						? smart.fromMessage(wrapped, this.type, this.parameter)
						: this.converter.fromMessage(wrapped, this.type);
			}
			catch (PayloadConversionException ex) {
				throw ex;
			}
			catch (Exception ex) {
				// Wrapped, because its message may quote the payload.
				throw failure(bytes, ex);
			}
			if (payload != null) {
				return payload;
			}
			if (this.otherwise != null) {
				return this.otherwise.read(connection, message);
			}
			throw failure(bytes, null);
		}

		private PayloadConversionException failure(byte[] bytes, @Nullable Exception cause) {
			return new PayloadConversionException("No message converter makes a %s of a message of %d bytes"
				.formatted(this.type.getName(), bytes.length), cause);
		}

	}

	/**
	 * Converts messages to one type.
	 */
	@FunctionalInterface
	interface PayloadReader {

		/**
		 * Converts a message.
		 * @param connection the connection that received the message; {@code null} for
		 * the reply to an exchange
		 * @param message the message
		 */
		@Nullable Object read(@Nullable Connection connection, ByteBuffer message) throws Exception;

	}

}
