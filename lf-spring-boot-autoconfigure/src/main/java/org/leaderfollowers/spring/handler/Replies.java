package org.leaderfollowers.spring.handler;

import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.util.Iterator;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ConcurrentHashMap;
import java.util.stream.BaseStream;

import org.jspecify.annotations.Nullable;
import org.leaderfollowers.Connection;
import org.leaderfollowers.Suspension;

import org.springframework.core.convert.ConversionService;
import org.springframework.messaging.Message;
import org.springframework.messaging.MessageHeaders;
import org.springframework.messaging.converter.MessageConverter;

/**
 * Sends what handler methods return.
 */
final class Replies {

	private final PayloadConverters converters;

	private final Text text;

	/** What becomes of the failures of replies that come later. */
	private final FailureSink failures;

	/** Replies of several messages of which some have not been sent. */
	private final Map<Connection, ReplySequence> sequences = new ConcurrentHashMap<>();

	/**
	 * Is told of failures when no handler method is under way any more.
	 */
	@FunctionalInterface
	interface FailureSink {

		void failed(Connection connection, Throwable failure);

	}

	Replies(PayloadConverters converters, Text text, FailureSink failures) {
		this.converters = converters;
		this.text = text;
		this.failures = failures;
	}

	/**
	 * Sends a reply, or sees to it that it is sent: when it is there, as fast as the peer
	 * reads.
	 */
	void send(Connection connection, @Nullable Object reply) {
		if (reply instanceof String string) {
			connection.send(this.text.encode(string));
		}
		else if (reply != null) {
			sendOther(connection, reply);
		}
	}

	private void sendOther(Connection connection, Object reply) {
		if (reply instanceof Optional<?> optional) {
			send(connection, optional.orElse(null));
		}
		else if (reply instanceof CompletionStage<?> stage) {
			sendLater(connection, stage.toCompletableFuture());
		}
		else if (reply instanceof BaseStream<?, ?> stream) {
			begin(new ReplySequence(this, connection, stream.iterator(), stream));
		}
		else if (reply instanceof Iterator<?> iterator) {
			begin(new ReplySequence(this, connection, iterator, closeable(iterator)));
		}
		else if (reply instanceof Iterable<?> iterable && !(reply instanceof Path) && !isTree(reply)) {
			begin(new ReplySequence(this, connection, iterable.iterator(), closeable(iterable)));
		}
		else {
			connection.send(write(connection, reply));
		}
	}

	private static AutoCloseable closeable(Object source) {
		return (source instanceof AutoCloseable closeable) ? closeable : () -> {
		};
	}

	/** Sends one message of several. */
	void sendOne(Connection connection, @Nullable Object element) {
		Object reply = (element instanceof Optional<?> optional) ? optional.orElse(null) : element;
		if (reply instanceof CompletionStage<?> || reply instanceof BaseStream<?, ?>) {
			throw new IllegalArgumentException(
					"A reply of several messages has a %s among them".formatted(reply.getClass().getName()));
		}
		if (reply instanceof String string) {
			connection.send(this.text.encode(string));
		}
		else if (reply != null) {
			connection.send(write(connection, reply));
		}
	}

	private boolean isTree(Object reply) {
		return this.converters.json() != null && JsonConverter.isTree(reply);
	}

	private ByteBuffer write(Connection connection, Object reply) {
		if (reply instanceof byte[] bytes) {
			return ByteBuffer.wrap(bytes);
		}
		if (reply instanceof ByteBuffer buffer) {
			return buffer;
		}
		if (reply instanceof CharSequence characters) {
			return this.text.encode(characters.toString());
		}
		if (ReplyTypes.isText(reply.getClass())) {
			return this.text.encode(text(reply));
		}
		MessageConverter messageConverter = this.converters.messageConverter();
		if (messageConverter != null) {
			Message<?> message = messageConverter.toMessage(reply,
					new MessageHeaders(PayloadConverters.headers(connection)));
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
			byte[] bytes = json.write(reply);
			return this.text.isUtf8() ? ByteBuffer.wrap(bytes) : this.text.encode(Text.utf8(bytes));
		}
		throw new PayloadConversionException(
				"Nothing can convert a reply of type %s to a message".formatted(reply.getClass().getName()), null);
	}

	private String text(Object value) {
		ConversionService conversionService = this.converters.conversionService();
		String converted = conversionService.canConvert(value.getClass(), String.class)
				? conversionService.convert(value, String.class) : null;
		return (converted != null) ? converted : value.toString();
	}

	private void sendLater(Connection connection, CompletableFuture<?> future) {
		if (future.isDone() && !future.isCompletedExceptionally()) {
			send(connection, future.join());
			return;
		}
		// No message is handled before this one has been answered.
		Suspension suspension = connection.suspend();
		future.whenComplete((reply, failure) -> {
			try {
				if (failure != null) {
					this.failures.failed(connection, unwrap(failure));
				}
				else {
					send(connection, reply);
				}
			}
			catch (Throwable ex) {
				this.failures.failed(connection, ex);
			}
			finally {
				suspension.resume();
			}
		});
	}

	private static Throwable unwrap(Throwable failure) {
		Throwable cause = failure.getCause();
		return (failure instanceof CompletionException && cause != null) ? cause : failure;
	}

	private void begin(ReplySequence sequence) {
		Connection connection = sequence.connection();
		this.sequences.put(connection, sequence);
		sequence.proceed();
	}

	void ended(ReplySequence sequence, @Nullable Throwable failure) {
		this.sequences.remove(sequence.connection(), sequence);
		if (failure != null) {
			this.failures.failed(sequence.connection(), failure);
		}
	}

	/** The peer has read what waited for it. */
	void writable(Connection connection) {
		ReplySequence sequence = this.sequences.get(connection);
		if (sequence != null) {
			sequence.proceed();
		}
	}

	/** Nothing can be sent any more. */
	void closed(Connection connection) {
		ReplySequence sequence = this.sequences.remove(connection);
		if (sequence != null) {
			sequence.proceed();
		}
	}

}
