package org.leaderfollowers.spring.handler;

import java.lang.reflect.Method;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;

import org.jspecify.annotations.Nullable;
import org.leaderfollowers.spring.annotation.Exchange;
import org.leaderfollowers.spring.handler.ClientProxies.Exchanger;
import org.leaderfollowers.spring.handler.PayloadReaders.PayloadReader;

/**
 * A method that is annotated with {@link Exchange @Exchange}, ready to be called.
 *
 * @param method the method
 * @param description the method, for error messages
 * @param exchanger sends the request
 * @param request converts the argument to the request
 * @param reply converts the reply to the result
 * @param timeout how long the exchange may take, or {@code null} for the timeout of the
 * client
 */
record ExchangeMethod(Method method, String description, Exchanger exchanger, Request request, Reply reply,
		@Nullable Duration timeout) {

	/**
	 * Conversion of the argument of a method to a message.
	 *
	 * @param writer converts the argument
	 * @param validation validates the argument before its conversion, or {@code null} for
	 * no validation
	 */
	record Request(PayloadWriter writer, @Nullable PayloadValidation validation) {

		ByteBuffer write(Object argument) {
			if (this.validation != null) {
				this.validation.validate(argument);
			}
			return this.writer.write(null, argument);
		}

	}

	/**
	 * Conversion of a reply to the result of a method.
	 *
	 * @param later whether the method returns a future
	 * @param reader converts the reply; {@code null} to ignore it
	 * @param missing the treatment of an empty reply
	 * @param validation validates the result, or {@code null} for no validation
	 */
	record Reply(boolean later, @Nullable PayloadReader reader, Missing missing,
			@Nullable PayloadValidation validation) {

		/** Placeholder for a method that has a mistake, and is therefore never called. */
		static final Reply NONE = new Reply(false, null, Missing.CONVERTED, null);

		@Nullable Object read(ByteBuffer message) throws Exception {
			if (this.reader == null) {
				return null;
			}
			boolean empty = !message.hasRemaining() && this.missing != Missing.CONVERTED;
			Object value = empty ? null : this.reader.read(null, message);
			if (this.validation != null) {
				this.validation.validate(value);
			}
			return (this.missing == Missing.OPTIONAL) ? Optional.ofNullable(value) : value;
		}

	}

	/**
	 * The treatment of an empty reply.
	 */
	enum Missing {

		/** The reply is converted like any other. */
		CONVERTED,

		/** The result is an empty {@link Optional}. */
		OPTIONAL,

		/** The result is {@code null}. */
		NULL

	}

	/**
	 * Sends a request.
	 * @param argument the request
	 * @return the converted reply, or a future of it
	 */
	@Nullable Object exchange(Object argument) {
		ByteBuffer message = this.request.write(argument);
		return this.reply.later() ? later(this.exchanger.exchangeAsync(message, this.timeout))
				: read(this.exchanger.exchange(message, this.timeout));
	}

	private CompletableFuture<@Nullable Object> later(CompletableFuture<ByteBuffer> message) {
		CompletableFuture<@Nullable Object> result = new Later(message);
		// thenApply would wrap the exception of the exchange.
		message.whenComplete((reply, failure) -> {
			if (failure != null) {
				result.completeExceptionally(failure);
				return;
			}
			try {
				result.complete(read(reply));
			}
			catch (Throwable ex) {
				result.completeExceptionally(ex);
			}
		});
		return result;
	}

	private @Nullable Object read(ByteBuffer message) {
		try {
			return this.reply.read(message);
		}
		catch (Exception ex) {
			throw new InvalidReplyException("The reply to %s cannot be used: %s".formatted(this.description,
					(ex instanceof PayloadConversionException || ex instanceof PayloadValidationException)
							? ex.getMessage() : ex.getClass().getName()),
					ex);
		}
	}

	/**
	 * Future of a converted reply. Its cancellation also cancels the exchange.
	 */
	private static final class Later extends CompletableFuture<@Nullable Object> {

		private final CompletableFuture<ByteBuffer> message;

		Later(CompletableFuture<ByteBuffer> message) {
			this.message = message;
		}

		@Override
		public boolean cancel(boolean mayInterruptIfRunning) {
			boolean cancelled = super.cancel(mayInterruptIfRunning);
			if (isCancelled()) {
				this.message.cancel(mayInterruptIfRunning);
			}
			return cancelled;
		}

	}

}
