package org.leaderfollowers.spring.autoconfigure;

import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;

import io.micrometer.common.KeyValue;
import io.micrometer.common.KeyValues;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.Tag;
import io.micrometer.core.instrument.Timer;
import org.apache.commons.logging.Log;
import org.apache.commons.logging.LogFactory;
import org.jspecify.annotations.Nullable;
import org.leaderfollowers.spring.interceptor.ExchangeInterceptor;
import org.leaderfollowers.spring.observation.DefaultExchangeObservationConvention;

/**
 * {@link ExchangeInterceptor} that times the exchanges of clients, with the same names
 * and tags as the timer that Micrometer creates for an observation with the
 * {@link DefaultExchangeObservationConvention}. A failure of the registry does not affect
 * the exchange.
 */
final class ExchangeTimer implements ExchangeInterceptor {

	private static final String NAME = new DefaultExchangeObservationConvention().getName();

	private static final Log logger = LogFactory.getLog(ExchangeTimer.class);

	private final AtomicBoolean warned = new AtomicBoolean();

	private final MeterRegistry registry;

	private final KeyValues common;

	/**
	 * Creates a new interceptor.
	 * @param registry the registry of the timers
	 * @param commonKeyValues the key values that all observations of the application have
	 */
	ExchangeTimer(MeterRegistry registry, KeyValues commonKeyValues) {
		this.registry = registry;
		this.common = commonKeyValues;
	}

	@Override
	public @Nullable Object aroundExchange(ExchangeCall call) throws Exception {
		long startNanos = this.registry.config().clock().monotonicTime();
		Object reply;
		try {
			reply = call.proceed();
		}
		catch (Throwable ex) {
			record(call, startNanos, ex);
			throw ex;
		}
		ExchangeMeasurement.whenComplete(reply, (failure) -> record(call, startNanos, failure));
		return reply;
	}

	private void record(ExchangeCall call, long startNanos, @Nullable Throwable failure) {
		try {
			String error = (failure != null) ? failure.getClass().getSimpleName() : KeyValue.NONE_VALUE;
			KeyValues tags = this.common
				.and(DefaultExchangeObservationConvention.keyValues(call.client(), call.method(), failure))
				.and("error", error);
			Timer.builder(NAME)
				.description("Time from the call of a client to the reply")
				.tags(tags.stream().map((tag) -> Tag.of(tag.getKey(), tag.getValue())).toList())
				.register(this.registry)
				.record(this.registry.config().clock().monotonicTime() - startNanos, TimeUnit.NANOSECONDS);
		}
		catch (RuntimeException ex) {
			if (!this.warned.getAndSet(true)) {
				logger.warn("Exchanges cannot be timed; this is logged once", ex);
			}
		}
	}

}
