package org.leaderfollowers.spring.autoconfigure;

import java.nio.ByteBuffer;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;

import io.micrometer.common.KeyValue;
import io.micrometer.common.KeyValues;
import io.micrometer.core.instrument.Clock;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.Tag;
import io.micrometer.core.instrument.Tags;
import io.micrometer.core.instrument.Timer;
import org.apache.commons.logging.Log;
import org.apache.commons.logging.LogFactory;
import org.leaderfollowers.Connection;
import org.leaderfollowers.MessageHandler;
import org.leaderfollowers.spring.interceptor.MessageHandlerInterceptor;
import org.leaderfollowers.spring.observation.DefaultMessageObservationConvention;
import org.leaderfollowers.spring.observation.MessageObservationDocumentation.LowCardinalityKeyNames;

/**
 * {@link MessageHandlerInterceptor} that times how the handler of a server processes its
 * messages, with the same names and tags as the timer that Micrometer creates for an
 * observation with the {@link DefaultMessageObservationConvention}. A message without a
 * failure allocates nothing: it costs two readings of the clock and one recording. A
 * failure of the registry does not affect the message.
 */
final class TimerInterceptor implements MessageHandlerInterceptor {

	/** The tag that the observation handler of Micrometer adds. */
	private static final String ERROR = "error";

	private static final String NAME = new DefaultMessageObservationConvention().getName();

	private static final Log logger = LogFactory.getLog(TimerInterceptor.class);

	private final AtomicBoolean warned = new AtomicBoolean();

	private final MeterRegistry registry;

	private final Clock clock;

	private final Tags tags;

	private final Timer handled;

	/**
	 * Creates a new interceptor. Its timer is registered at once, so it is visible before
	 * the first message.
	 * @param server the name of the server
	 * @param handlerName the name of its handler
	 * @param registry the registry of the timers
	 * @param commonKeyValues the key values that all observations of the application have
	 */
	TimerInterceptor(String server, String handlerName, MeterRegistry registry, KeyValues commonKeyValues) {
		this.registry = registry;
		this.clock = registry.config().clock();
		this.tags = Tags
			.of(LowCardinalityKeyNames.SERVER.asString(), server, LowCardinalityKeyNames.HANDLER.asString(),
					handlerName)
			.and(commonKeyValues.stream().map((keyValue) -> Tag.of(keyValue.getKey(), keyValue.getValue())).toList());
		this.handled = timer("success", KeyValue.NONE_VALUE);
	}

	private Timer timer(String outcome, String error) {
		return Timer.builder(NAME)
			.description("Time that handlers take for a message")
			.tags(this.tags.and(LowCardinalityKeyNames.OUTCOME.asString(), outcome, ERROR, error))
			.register(this.registry);
	}

	@Override
	public void onMessage(Connection connection, ByteBuffer message, MessageHandler next) throws Exception {
		long startNanos = this.clock.monotonicTime();
		try {
			next.onMessage(connection, message);
		}
		catch (Throwable ex) {
			recordFailed(ex, startNanos);
			throw ex;
		}
		try {
			this.handled.record(this.clock.monotonicTime() - startNanos, TimeUnit.NANOSECONDS);
		}
		catch (RuntimeException ex) {
			notRecorded(ex);
		}
	}

	private void recordFailed(Throwable failure, long startNanos) {
		try {
			// The timer is looked up each time, because an exception costs more than that
			// and there are few types of exceptions.
			timer("error", failure.getClass().getSimpleName()).record(this.clock.monotonicTime() - startNanos,
					TimeUnit.NANOSECONDS);
		}
		catch (RuntimeException ex) {
			notRecorded(ex);
		}
	}

	/** A failure of the registry must not replace the outcome of the message. */
	private void notRecorded(RuntimeException ex) {
		if (!this.warned.getAndSet(true)) {
			logger.warn("Messages cannot be timed; this is logged once for each handler", ex);
		}
	}

}
