package org.leaderfollowers.spring.autoconfigure;

import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.ExecutionException;
import java.util.function.Consumer;

import io.micrometer.observation.Observation;
import io.micrometer.observation.ObservationRegistry;
import org.jspecify.annotations.Nullable;
import org.leaderfollowers.spring.autoconfigure.MessageMeasurement.ExchangeTiming;
import org.leaderfollowers.spring.interceptor.ExchangeInterceptor;
import org.leaderfollowers.spring.observation.DefaultExchangeObservationConvention;
import org.leaderfollowers.spring.observation.ExchangeObservationContext;
import org.leaderfollowers.spring.observation.ExchangeObservationConvention;
import org.leaderfollowers.spring.observation.MessageObservationDocumentation;

/**
 * {@link ExchangeInterceptor} that observes the exchanges of clients, from the call to
 * the reply, even if the caller does not wait for it.
 *
 * @param registry the registry of observations
 * @param convention the convention of the application, if it has one
 */
record ExchangeMeasurement(ObservationRegistry registry,
		@Nullable ExchangeObservationConvention convention) implements ExchangeInterceptor {

	private static final ExchangeObservationConvention DEFAULT_CONVENTION = new DefaultExchangeObservationConvention();

	/**
	 * Creates an interceptor that observes exchanges or, if this has the same result,
	 * times them.
	 * @param ofMessages decides for messages, and thereby for exchanges
	 */
	static ExchangeInterceptor of(MessageMeasurement ofMessages, @Nullable ExchangeObservationConvention convention,
			@Nullable ExchangeTiming timing) {
		ObservationRegistry registry = ofMessages.registry();
		if (registry != null && ofMessages.reasonToObserve() != null) {
			return new ExchangeMeasurement(registry, convention);
		}
		return (timing != null && ofMessages.isEnabled(DEFAULT_CONVENTION.getName()))
				? timing.interceptor(ofMessages.commonKeyValues()) : new Unmeasured();
	}

	@Override
	public @Nullable Object aroundExchange(ExchangeCall call) throws Exception {
		Observation observation = MessageObservationDocumentation.EXCHANGE.observation(this.convention,
				DEFAULT_CONVENTION, () -> new ExchangeObservationContext(call.client(), call.method(), call.request()),
				this.registry);
		observation.start();
		Object reply;
		try (Observation.Scope scope = observation.openScope()) {
			reply = call.proceed();
		}
		catch (Throwable ex) {
			stop(observation, ex);
			throw ex;
		}
		whenComplete(reply, (failure) -> stop(observation, failure));
		return reply;
	}

	/**
	 * Calls back at the end of an exchange. Interceptors may return futures that wrap a
	 * failure, so the callback is told the cause.
	 */
	static void whenComplete(@Nullable Object reply, Consumer<@Nullable Throwable> callback) {
		if (reply instanceof CompletableFuture<?> future) {
			future.whenComplete((value, failure) -> callback.accept(unwrap(failure)));
		}
		else {
			callback.accept(null);
		}
	}

	private static @Nullable Throwable unwrap(@Nullable Throwable failure) {
		Throwable unwrapped = failure;
		while ((unwrapped instanceof CompletionException || unwrapped instanceof ExecutionException)
				&& unwrapped.getCause() != null) {
			unwrapped = unwrapped.getCause();
		}
		return unwrapped;
	}

	private static void stop(Observation observation, @Nullable Throwable failure) {
		if (failure != null) {
			observation.error(failure);
		}
		observation.stop();
	}

	/** An interceptor without effect, so that there always is an interceptor. */
	private static final class Unmeasured implements ExchangeInterceptor {

		@Override
		public boolean supports(String client) {
			return false;
		}

		@Override
		public @Nullable Object aroundExchange(ExchangeCall call) throws Exception {
			return call.proceed();
		}

	}

}
