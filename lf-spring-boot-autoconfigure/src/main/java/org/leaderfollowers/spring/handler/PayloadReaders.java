package org.leaderfollowers.spring.handler;

import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;

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
 * Finds out at start how messages are converted to a type.
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
	 * @param type the type, generics resolved
	 * @param parameter the parameter that gets the payload
	 * @return the reader, or {@code null} if there is no way to convert a message to it
	 */
	@Nullable PayloadReader find(ResolvableType type, MethodParameter parameter) {
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
		TypeDescriptor descriptor = new TypeDescriptor(type, null, parameter.getParameterAnnotations());
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

	/** Finds the reader for JSON, whatever else can be converted to the type. */
	@Nullable PayloadReader json(ResolvableType type) {
		JsonConverter json = this.converters.json();
		if (json == null) {
			return null;
		}
		JsonConverter.Reader reader = json.reader(type.getType());
		return (connection, message) -> reader.read(json(message));
	}

	/**
	 * The bytes of a message for a JSON parser, which knows the encodings of Unicode
	 * only.
	 */
	byte[] json(ByteBuffer message) {
		byte[] bytes = Text.bytes(message);
		return this.text.charset().name().startsWith("UTF-") ? bytes
				: this.text.decode(bytes).getBytes(StandardCharsets.UTF_8);
	}

	/**
	 * Asks converters that know only at run time what they can convert.
	 *
	 * @param converter the converter to ask
	 * @param type what to convert to
	 * @param parameter what tells a converter more about the type
	 * @param otherwise reads what the converter does not
	 */
	private record ByMessageConverter(MessageConverter converter, Class<?> type, MethodParameter parameter,
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
				// It may quote the message.
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
		 * @param connection where it is from; {@code null} for the reply to an exchange
		 * @param message the message
		 */
		@Nullable Object read(@Nullable Connection connection, ByteBuffer message) throws Exception;

	}

}
