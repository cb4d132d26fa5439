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
 * @param description the method for people
 * @param exchanger sends the request
 * @param request what becomes of the argument
 * @param reply what becomes of the reply
 * @param timeout how long it may take, or {@code null} for what the client has
 */
record ExchangeMethod(Method method, String description, Exchanger exchanger, Request request, Reply reply,
		@Nullable Duration timeout) {

	/**
	 * What becomes of the argument of a method.
	 *
	 * @param writer converts it
	 * @param validation validates it before, or {@code null}
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
	 * What becomes of the reply.
	 *
	 * @param later whether the method returns a future
	 * @param reader converts it; {@code null} to ignore it
	 * @param missing what an empty reply is, instead of being converted
	 * @param validation validates it, or {@code null}
	 */
	record Reply(boolean later, @Nullable PayloadReader reader, Missing missing,
			@Nullable PayloadValidation validation) {

		/** Not a constructor: mistakes have been noted, and it will not be used. */
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
	 * What becomes of an empty reply.
	 */
	enum Missing {

		/** It is converted as any other. */
		CONVERTED,

		/** It is an empty {@link Optional}. */
		OPTIONAL,

		/** It is {@code null}. */
		NULL

	}

	/**
	 * Sends a request.
	 * @param argument the request
	 * @return the reply, or the future of it
	 */
	@Nullable Object exchange(Object argument) {
		ByteBuffer message = this.request.write(argument);
		return this.reply.later() ? later(this.exchanger.exchangeAsync(message, this.timeout))
				: read(this.exchanger.exchange(message, this.timeout));
	}

	private CompletableFuture<@Nullable Object> later(CompletableFuture<ByteBuffer> message) {
		CompletableFuture<@Nullable Object> result = new Later(message);
		// Not thenApply: it would wrap the exception of the exchange.
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
	 * Gives up the reply that it is made of when it is cancelled.
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
