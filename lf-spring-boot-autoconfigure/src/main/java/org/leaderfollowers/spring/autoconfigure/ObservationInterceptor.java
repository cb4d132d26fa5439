package org.leaderfollowers.spring.autoconfigure;

import java.nio.ByteBuffer;

import io.micrometer.observation.ObservationRegistry;
import org.jspecify.annotations.Nullable;
import org.leaderfollowers.Connection;
import org.leaderfollowers.MessageHandler;
import org.leaderfollowers.spring.interceptor.MessageHandlerInterceptor;
import org.leaderfollowers.spring.observation.DefaultMessageObservationConvention;
import org.leaderfollowers.spring.observation.MessageObservationContext;
import org.leaderfollowers.spring.observation.MessageObservationConvention;
import org.leaderfollowers.spring.observation.MessageObservationDocumentation;

/**
 * {@link MessageHandlerInterceptor} that observes how the handler of a server processes
 * its messages. Micrometer and the listeners determine how much memory this allocates. If
 * only meters listen, a {@link TimerInterceptor} costs less.
 */
final class ObservationInterceptor implements MessageHandlerInterceptor {

	private final MessageObservationConvention defaultConvention = new DefaultMessageObservationConvention();

	private final String server;

	private final String handlerName;

	private final ObservationRegistry registry;

	private final @Nullable MessageObservationConvention convention;

	/**
	 * Creates a new interceptor.
	 * @param server the name of the server
	 * @param handlerName the name of its handler
	 * @param registry the registry of observations
	 * @param convention the convention to follow, or {@code null} for the default one
	 */
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
