package org.leaderfollowers.spring.handler;

import java.nio.ByteBuffer;

import org.jspecify.annotations.Nullable;
import org.leaderfollowers.Connection;

import org.springframework.core.convert.ConversionService;
import org.springframework.messaging.Message;
import org.springframework.messaging.converter.MessageConverter;

/**
 * Converts objects to messages.
 */
final class PayloadWriter {

	private final PayloadConverters converters;

	private final Text text;

	PayloadWriter(PayloadConverters converters, Text text) {
		this.converters = converters;
		this.text = text;
	}

	ByteBuffer encode(String text) {
		return this.text.encode(text);
	}

	/**
	 * Whether a value is a JSON tree, which is one message although it may be iterable.
	 */
	boolean isTree(Object value) {
		return this.converters.json() != null && JsonConverter.isTree(value);
	}

	/**
	 * Converts an object to a message.
	 * @param connection the connection that sends the message; {@code null} if it is not
	 * known yet
	 * @param value the object
	 * @throws IllegalArgumentException if the object is not a message, but yields
	 * messages later
	 */
	ByteBuffer write(@Nullable Connection connection, Object value) {
		if (value instanceof byte[] bytes) {
			return ByteBuffer.wrap(bytes);
		}
		if (value instanceof ByteBuffer buffer) {
			return buffer;
		}
		if (value instanceof CharSequence characters) {
			return this.text.encode(characters.toString());
		}
		if (ReplyTypes.isText(value.getClass())) {
			return this.text.encode(text(value));
		}
		ReplyTypes.checkValue(value);
		MessageConverter messageConverter = this.converters.messageConverter();
		if (messageConverter != null) {
			Message<?> message = messageConverter.toMessage(value,
					new ConnectionMessage(connection, null).getHeaders());
			Object payload = (message != null) ? message.getPayload() : null;
			if (payload instanceof byte[] bytes) {
				return ByteBuffer.wrap(bytes);
			}
			if (payload instanceof String string) {
				return this.text.encode(string);
			}
		}
		JsonConverter json = this.converters.json();
		if (json != null) {
			byte[] bytes = json.write(value);
			return this.text.isUtf8() ? ByteBuffer.wrap(bytes) : this.text.encode(Text.utf8(bytes));
		}
		throw new PayloadConversionException(
				"Nothing can convert a %s to a message".formatted(value.getClass().getName()), null);
	}

	private String text(Object value) {
		ConversionService conversionService = this.converters.conversionService();
		String converted = conversionService.canConvert(value.getClass(), String.class)
				? conversionService.convert(value, String.class) : null;
		return (converted != null) ? converted : value.toString();
	}

}
