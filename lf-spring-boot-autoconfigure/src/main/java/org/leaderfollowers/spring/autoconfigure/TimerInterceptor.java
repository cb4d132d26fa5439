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
 * messages, with the names and tags of the timer that Micrometer makes of an observation
 * by the {@link DefaultMessageObservationConvention}. A message that is handled allocates
 * nothing: it costs two readings of the clock and one record. A failure of the registry
 * does not affect the message.
 */
final class TimerInterceptor implements MessageHandlerInterceptor {

	/** The tag that Micrometer's handler of observations adds. */
	private static final String ERROR = "error";

	private static final String NAME = new DefaultMessageObservationConvention().getName();

	private static final Log logger = LogFactory.getLog(TimerInterceptor.class);

	private final AtomicBoolean warned = new AtomicBoolean();

	private final MeterRegistry registry;

	private final Clock clock;

	private final Tags tags;

	private final Timer handled;

	/**
	 * Creates a new interceptor. Its timer is registered at once, so that it can be seen
	 * before the first message.
	 * @param server the name of the server
	 * @param handlerName the name of its handler
	 * @param registry where to register the timers
	 * @param commonKeyValues what every observation of the application has in addition
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
			// The timer is looked up each time: an exception costs more, and there are
			// few types of them.
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
