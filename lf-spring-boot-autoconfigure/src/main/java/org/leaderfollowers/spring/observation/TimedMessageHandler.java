package org.leaderfollowers.spring.observation;

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
import org.leaderfollowers.CloseReason;
import org.leaderfollowers.Connection;
import org.leaderfollowers.MessageHandler;

import org.springframework.util.Assert;

/**
 * {@link MessageHandler} that times how another one processes its messages, with the
 * names and tags of the timer that Micrometer makes of an observation by the
 * {@link DefaultMessageObservationConvention}. A message that is handled allocates
 * nothing, and costs two looks at the clock and a record. A registry that fails changes
 * nothing about the message.
 */
public final class TimedMessageHandler implements MessageHandler {

	/** As Micrometer's handler of observations names it. */
	private static final String ERROR = "error";

	private static final Log logger = LogFactory.getLog(TimedMessageHandler.class);

	private final AtomicBoolean warned = new AtomicBoolean();

	private final MessageHandler handler;

	private final MeterRegistry registry;

	private final Clock clock;

	private final KeyValues commonKeyValues;

	private final MessageKeyValues keyValues;

	private final Timer handled;

	/**
	 * Creates a new handler. Its timer is registered at once, so that it can be seen
	 * before the first message.
	 * @param handler the handler to time
	 * @param server the name of its server
	 * @param handlerName the name of the handler
	 * @param registry where to register the timers
	 * @param commonKeyValues what every observation of the application has in addition
	 */
	public TimedMessageHandler(MessageHandler handler, String server, String handlerName, MeterRegistry registry,
			KeyValues commonKeyValues) {
		Assert.notNull(handler, "'handler' must not be null");
		Assert.notNull(server, "'server' must not be null");
		Assert.notNull(handlerName, "'handlerName' must not be null");
		Assert.notNull(registry, "'registry' must not be null");
		Assert.notNull(commonKeyValues, "'commonKeyValues' must not be null");
		this.handler = handler;
		this.registry = registry;
		this.clock = registry.config().clock();
		this.commonKeyValues = commonKeyValues;
		this.keyValues = new MessageKeyValues(server, handlerName);
		this.handled = timer(this.keyValues.success(), KeyValue.NONE_VALUE);
	}

	private Timer timer(KeyValues keyValues, String error) {
		return Timer.builder(DefaultMessageObservationConvention.NAME)
			.description("Time that handlers take for a message")
			.tags(tags(keyValues).and(tags(this.commonKeyValues)).and(ERROR, error))
			.register(this.registry);
	}

	private static Tags tags(KeyValues keyValues) {
		return Tags.of(keyValues.stream().map((keyValue) -> Tag.of(keyValue.getKey(), keyValue.getValue())).toList());
	}

	@Override
	public void onOpen(Connection connection) throws Exception {
		this.handler.onOpen(connection);
	}

	@Override
	public void onMessage(Connection connection, ByteBuffer message) throws Exception {
		long startNanos = this.clock.monotonicTime();
		try {
			this.handler.onMessage(connection, message);
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
			// Looked up each time: an exception costs more, and there are few types of
			// them.
			timer(this.keyValues.error(), failure.getClass().getSimpleName())
				.record(this.clock.monotonicTime() - startNanos, TimeUnit.NANOSECONDS);
		}
		catch (RuntimeException ex) {
			notRecorded(ex);
		}
	}

	/** The message was handled, or has failed for another reason: that is what counts. */
	private void notRecorded(RuntimeException ex) {
		if (!this.warned.getAndSet(true)) {
			logger.warn("Messages cannot be timed; this is logged once for each handler", ex);
		}
	}

	@Override
	public void onWritable(Connection connection) throws Exception {
		this.handler.onWritable(connection);
	}

	@Override
	public void onClose(Connection connection, CloseReason reason) throws Exception {
		this.handler.onClose(connection, reason);
	}

	@Override
	public void onError(Connection connection, Throwable failure) throws Exception {
		this.handler.onError(connection, failure);
	}

}
