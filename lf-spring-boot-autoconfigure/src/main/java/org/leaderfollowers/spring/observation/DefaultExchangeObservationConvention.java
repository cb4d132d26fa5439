package org.leaderfollowers.spring.observation;

import java.lang.reflect.Method;
import java.util.Locale;
import java.util.concurrent.CancellationException;

import io.micrometer.common.KeyValues;
import org.jspecify.annotations.Nullable;
import org.leaderfollowers.ClientSnapshot.Outcome;
import org.leaderfollowers.ExchangeLostException;
import org.leaderfollowers.ExchangeRejectedException;
import org.leaderfollowers.ExchangeTimeoutException;
import org.leaderfollowers.spring.observation.MessageObservationDocumentation.ExchangeKeyNames;

/**
 * Default {@link ExchangeObservationConvention}: the name {@code lf.client.exchanges},
 * and the keys of {@link ExchangeKeyNames}. Spans are named after the method,
 * {@code Ledger.book}.
 */
public class DefaultExchangeObservationConvention implements ExchangeObservationConvention {

	/**
	 * Creates a new convention.
	 */
	public DefaultExchangeObservationConvention() {
	}

	@Override
	public String getName() {
		return "lf.client.exchanges";
	}

	@Override
	public String getContextualName(ExchangeObservationContext context) {
		return name(context.getMethod());
	}

	@Override
	public KeyValues getLowCardinalityKeyValues(ExchangeObservationContext context) {
		return keyValues(context.getClient(), context.getMethod(), context.getError());
	}

	/**
	 * Returns the keys and values of an exchange, for code that times exchanges without
	 * an observation.
	 * @param client the name of the client
	 * @param method the method that was called
	 * @param failure the exception of the method, or {@code null}
	 * @return the keys of {@link ExchangeKeyNames} with their values
	 */
	public static KeyValues keyValues(String client, Method method, @Nullable Throwable failure) {
		return KeyValues.of(ExchangeKeyNames.CLIENT.withValue(client), ExchangeKeyNames.METHOD.withValue(name(method)),
				ExchangeKeyNames.OUTCOME.withValue(outcome(failure)));
	}

	private static String name(Method method) {
		return method.getDeclaringClass().getSimpleName() + "." + method.getName();
	}

	private static String outcome(@Nullable Throwable failure) {
		Outcome outcome = null;
		if (failure == null) {
			outcome = Outcome.REPLIED;
		}
		else if (failure instanceof ExchangeTimeoutException) {
			outcome = Outcome.TIMED_OUT;
		}
		else if (failure instanceof ExchangeLostException) {
			outcome = Outcome.LOST;
		}
		else if (failure instanceof ExchangeRejectedException) {
			outcome = Outcome.REJECTED;
		}
		else if (failure instanceof CancellationException) {
			outcome = Outcome.CANCELLED;
		}
		return (outcome != null) ? outcome.name().toLowerCase(Locale.ROOT) : "error";
	}

}
