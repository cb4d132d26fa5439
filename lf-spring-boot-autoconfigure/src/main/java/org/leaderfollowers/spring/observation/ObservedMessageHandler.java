package org.leaderfollowers.spring.observation;

import java.nio.ByteBuffer;

import io.micrometer.observation.ObservationRegistry;
import org.jspecify.annotations.Nullable;
import org.leaderfollowers.CloseReason;
import org.leaderfollowers.Connection;
import org.leaderfollowers.MessageHandler;

import org.springframework.util.Assert;

/**
 * {@link MessageHandler} that observes how another one processes its messages. What is
 * allocated for that is up to Micrometer and to those who listen; where nobody but meters
 * does, a {@link TimedMessageHandler} costs less.
 */
public final class ObservedMessageHandler implements MessageHandler {

	private static final MessageObservationConvention DEFAULT_CONVENTION = new DefaultMessageObservationConvention();

	private final MessageHandler handler;

	private final String server;

	private final String handlerName;

	private final ObservationRegistry registry;

	private final @Nullable MessageObservationConvention convention;

	private final MessageKeyValues keyValues;

	/**
	 * Creates a new handler.
	 * @param handler the handler to observe
	 * @param server the name of its server
	 * @param handlerName the name of the handler
	 * @param registry where to report
	 * @param convention the convention to follow, or {@code null} for the default one
	 */
	public ObservedMessageHandler(MessageHandler handler, String server, String handlerName,
			ObservationRegistry registry, @Nullable MessageObservationConvention convention) {
		Assert.notNull(handler, "'handler' must not be null");
		Assert.notNull(server, "'server' must not be null");
		Assert.notNull(handlerName, "'handlerName' must not be null");
		Assert.notNull(registry, "'registry' must not be null");
		this.handler = handler;
		this.server = server;
		this.handlerName = handlerName;
		this.registry = registry;
		this.convention = convention;
		this.keyValues = new MessageKeyValues(server, handlerName);
	}

	@Override
	public void onOpen(Connection connection) throws Exception {
		this.handler.onOpen(connection);
	}

	@Override
	public void onMessage(Connection connection, ByteBuffer message) throws Exception {
		MessageObservationDocumentation.MESSAGE
			.observation(this.convention, DEFAULT_CONVENTION,
					() -> new MessageObservationContext(this.server, this.handlerName, connection, this.keyValues),
					this.registry)
			.observeChecked(() -> this.handler.onMessage(connection, message));
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
