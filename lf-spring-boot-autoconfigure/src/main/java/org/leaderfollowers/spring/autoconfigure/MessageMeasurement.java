package org.leaderfollowers.spring.autoconfigure;

import java.nio.ByteBuffer;

import io.micrometer.common.KeyValues;
import io.micrometer.observation.ObservationRegistry;
import org.apache.commons.logging.Log;
import org.apache.commons.logging.LogFactory;
import org.jspecify.annotations.Nullable;
import org.leaderfollowers.Connection;
import org.leaderfollowers.MessageHandler;
import org.leaderfollowers.spring.autoconfigure.LfProperties.ObservationMode;
import org.leaderfollowers.spring.interceptor.ExchangeInterceptor;
import org.leaderfollowers.spring.interceptor.MessageHandlerDecorator;
import org.leaderfollowers.spring.interceptor.MessageHandlerInterceptor;
import org.leaderfollowers.spring.observation.DefaultMessageObservationConvention;
import org.leaderfollowers.spring.observation.MessageObservationContext;
import org.leaderfollowers.spring.observation.MessageObservationConvention;
import org.leaderfollowers.spring.observation.MessageObservationDocumentation;

/**
 * Has the messages of handlers observed or, where that comes to the same thing, timed.
 *
 * @param mode what the application wants
 * @param registry the registry of observations, if there is one
 * @param convention the convention of the application, if it has one
 * @param timing times messages, if there is a registry of meters
 * @param listeners finds out who would listen, if Boot configures observations
 */
record MessageMeasurement(ObservationMode mode, @Nullable ObservationRegistry registry,
		@Nullable MessageObservationConvention convention, @Nullable Timing timing,
		@Nullable ObservationListeners listeners) implements MessageHandlerDecorator {

	private static final String NAME = new DefaultMessageObservationConvention().getName();

	private static final Log logger = LogFactory.getLog(MessageMeasurement.class);

	@Override
	public MessageHandler decorate(MessageHandler handler, String server, String handlerName) {
		String reason = reasonToObserve();
		if (reason != null) {
			logger.debug("Each message of server '%s' is an observation: %s".formatted(server, reason));
			return observe(handler, server, handlerName);
		}
		if (this.timing == null || !isEnabled(NAME)) {
			logger.debug("The messages of server '%s' are neither observed nor timed".formatted(server));
			return handler;
		}
		logger.debug("The messages of server '%s' are timed without observations: only meters would listen"
			.formatted(server));
		return this.timing.interceptor(server, handlerName, commonKeyValues()).decorate(handler, server, handlerName);
	}

	/** Whether the settings of the application allow an observation or its timer. */
	boolean isEnabled(String name) {
		return this.listeners == null || this.listeners.isEnabled(name);
	}

	/** What every observation of the application has in addition. */
	KeyValues commonKeyValues() {
		return (this.listeners != null) ? this.listeners.commonKeyValues() : KeyValues.empty();
	}

	/** Why a timer is not enough, or {@code null} if it is. */
	@Nullable String reasonToObserve() {
		if (this.mode == ObservationMode.NEVER || this.registry == null) {
			return null;
		}
		if (this.mode == ObservationMode.ALWAYS) {
			return "lf.observation.mode is 'always'";
		}
		if (this.timing == null) {
			return "there is no MeterRegistry";
		}
		return (this.listeners != null) ? this.listeners.find() : "Spring Boot does not configure observations";
	}

	private MessageHandler observe(MessageHandler handler, String server, String handlerName) {
		if (this.registry == null || (this.mode == ObservationMode.AUTO && this.registry.isNoop())) {
			return handler;
		}
		return new ObservationInterceptor(server, handlerName, this.registry, this.convention).decorate(handler, server,
				handlerName);
	}

	/**
	 * Observes how the handler of a server processes its messages. Micrometer and the
	 * listeners decide what is allocated for that. If only meters listen, a
	 * {@link TimerInterceptor} costs less.
	 */
	static final class ObservationInterceptor implements MessageHandlerInterceptor {

		private final MessageObservationConvention defaultConvention = new DefaultMessageObservationConvention();

		private final String server;

		private final String handlerName;

		private final ObservationRegistry registry;

		private final @Nullable MessageObservationConvention convention;

		ObservationInterceptor(String server, String handlerName, ObservationRegistry registry,
				@Nullable MessageObservationConvention convention) {
			this.server = server;
			this.handlerName = handlerName;
			this.registry = registry;
			this.convention = convention;
		}

		@Override
		public void onMessage(Connection connection, ByteBuffer message, MessageHandler next) throws Exception {
			MessageObservationDocumentation.MESSAGE
				.observation(this.convention, this.defaultConvention,
						() -> new MessageObservationContext(this.server, this.handlerName, connection), this.registry)
				.observeChecked(() -> next.onMessage(connection, message));
		}

	}

	/**
	 * Times messages without observations. The type does not mention meters, which need
	 * not be on the class path.
	 */
	@FunctionalInterface
	interface Timing {

		/**
		 * Times the messages of a handler.
		 * @param commonKeyValues what every observation of the application has
		 */
		MessageHandlerInterceptor interceptor(String server, String handlerName, KeyValues commonKeyValues);

	}

	/**
	 * Times exchanges without observations. The type does not mention meters, either.
	 */
	@FunctionalInterface
	interface ExchangeTiming {

		/**
		 * Times the exchanges of all clients.
		 * @param commonKeyValues what every observation of the application has
		 */
		ExchangeInterceptor interceptor(KeyValues commonKeyValues);

	}

}
