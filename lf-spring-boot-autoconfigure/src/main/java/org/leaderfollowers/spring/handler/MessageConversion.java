package org.leaderfollowers.spring.handler;

import java.lang.reflect.Type;
import java.nio.ByteBuffer;
import java.nio.charset.Charset;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Function;

import org.jspecify.annotations.Nullable;
import org.leaderfollowers.Connection;
import org.leaderfollowers.spring.handler.PayloadReaders.PayloadReader;

import org.springframework.beans.factory.ObjectProvider;
import org.springframework.beans.factory.config.ConfigurableBeanFactory;
import org.springframework.core.ResolvableType;
import org.springframework.messaging.converter.MessageConverter;
import org.springframework.util.Assert;
import org.springframework.util.function.SingletonSupplier;

/**
 * Converts objects to messages and messages to objects outside of handlers, as the
 * handlers of a server convert their replies and arguments. Safe for many threads.
 */
public final class MessageConversion {

	private final Function<String, Charset> charsets;

	private final SingletonSupplier<PayloadConverters> converters;

	private final Map<String, PayloadWriter> writers = new ConcurrentHashMap<>();

	private final Map<Target, PayloadReader> readers = new ConcurrentHashMap<>();

	/**
	 * Creates a conversion.
	 * @param charsets finds the charset of text by the name of a server
	 * @param beanFactory contains the mapper for JSON, if Jackson is present
	 * @param messageConverters converters that are tried before all others, in their
	 * order
	 */
	public MessageConversion(Function<String, Charset> charsets, ConfigurableBeanFactory beanFactory,
			ObjectProvider<MessageConverter> messageConverters) {
		Assert.notNull(charsets, "'charsets' must not be null");
		Assert.notNull(beanFactory, "'beanFactory' must not be null");
		Assert.notNull(messageConverters, "'messageConverters' must not be null");
		this.charsets = charsets;
		// Created with the first message, since these beans may depend on this object.
		this.converters = SingletonSupplier
			.of(() -> PayloadConverters.of(beanFactory, messageConverters.orderedStream().toList()));
	}

	/**
	 * Returns the charset of the text of a server.
	 * @param server the name of the server
	 * @return UTF-8 if the server is not configured here
	 */
	public Charset charset(String server) {
		return this.charsets.apply(server);
	}

	/**
	 * Converts an object to a message of a server.
	 * @param server the name of the server, which need not exist here
	 * @param connection the connection that the message is for; {@code null} if it is for
	 * several, or for one of another node
	 * @param payload the object
	 * @return the message
	 * @throws PayloadConversionException if nothing can convert the object
	 */
	public ByteBuffer write(String server, @Nullable Connection connection, Object payload) {
		return this.writers
			.computeIfAbsent(server,
					(name) -> new PayloadWriter(this.converters.obtain(), new Text(this.charsets.apply(name))))
			.write(connection, payload);
	}

	/**
	 * Converts a message of a server to an object.
	 * @param server the name of the server, which need not exist here
	 * @param type the type of the object
	 * @param message the message
	 * @return the object; {@code null} if that is what the message says
	 * @throws PayloadConversionException if the message cannot be converted to the type
	 */
	public @Nullable Object read(String server, ResolvableType type, ByteBuffer message) {
		PayloadReader reader = this.readers.computeIfAbsent(new Target(server, type.getType()), (target) -> {
			PayloadReader found = new PayloadReaders(this.converters.obtain(), new Text(this.charsets.apply(server)))
				.find(type, null);
			if (found == null) {
				throw new PayloadConversionException(
						"Nothing can convert a message of server '%s' to %s".formatted(server, type), null);
			}
			return found;
		});
		try {
			return reader.read(null, message);
		}
		catch (RuntimeException ex) {
			throw ex;
		}
		catch (Exception ex) {
			throw new PayloadConversionException(
					"A message of %d bytes cannot be converted to %s".formatted(message.remaining(), type), ex);
		}
	}

	private record Target(String server, Type type) {
	}

}
