package org.leaderfollowers.spring.autoconfigure;

import java.nio.ByteBuffer;
import java.util.Map;
import java.util.function.Predicate;

import io.micrometer.context.ContextAccessor;
import io.micrometer.context.ContextRegistry;
import io.micrometer.context.ContextSnapshot;
import io.micrometer.context.ContextSnapshot.Scope;
import io.micrometer.context.ContextSnapshotFactory;
import io.micrometer.context.ThreadLocalAccessor;
import org.jspecify.annotations.Nullable;
import org.leaderfollowers.CloseReason;
import org.leaderfollowers.Connection;
import org.leaderfollowers.EventType;
import org.leaderfollowers.MessageHandler;
import org.leaderfollowers.NestingGuard;
import org.leaderfollowers.spring.interceptor.MessageHandlerDecorator;
import org.leaderfollowers.spring.interceptor.MessageHandlerInterceptor;

import org.springframework.core.Ordered;
import org.springframework.util.Assert;

/**
 * Binds attributes of a connection to the thread around every call of its handler:
 * attributes whose name is the key of a {@link ThreadLocalAccessor}. Afterwards the
 * previous values are restored. An attribute that a call sets is bound from the next call
 * on. Nothing is allocated for connections without such attributes.
 * <p>
 * If a handler runs on top of another one, it does not see the values of that one.
 */
final class ContextPropagation implements MessageHandlerInterceptor, NestingGuard, Ordered {

	/** Outside of the observation, because its parent may be among the attributes. */
	private static final int ORDER = MessageHandlerDecorator.OBSERVATION_ORDER - 500;

	private final ContextRegistry registry;

	private final ContextSnapshotFactory snapshots;

	private final ContextSnapshot nothing;

	/**
	 * Creates a new interceptor.
	 * @param registry knows the values that can be bound to threads
	 */
	public ContextPropagation(ContextRegistry registry) {
		Assert.notNull(registry, "'registry' must not be null");
		this.registry = registry;
		this.snapshots = ContextSnapshotFactory.builder().contextRegistry(registry).build();
		this.nothing = ContextSnapshotFactory.builder()
			.contextRegistry(registry)
			.clearMissing(true)
			.build()
			.captureFrom();
	}

	@Override
	public void onOpen(Connection connection, MessageHandler next) throws Exception {
		try (Scope scope = bind(connection)) {
			next.onOpen(connection);
		}
	}

	@Override
	public void onMessage(Connection connection, ByteBuffer message, MessageHandler next) throws Exception {
		try (Scope scope = bind(connection)) {
			next.onMessage(connection, message);
		}
	}

	@Override
	public void onWritable(Connection connection, MessageHandler next) throws Exception {
		try (Scope scope = bind(connection)) {
			next.onWritable(connection);
		}
	}

	@Override
	public void onIdle(Connection connection, EventType type, MessageHandler next) throws Exception {
		try (Scope scope = bind(connection)) {
			next.onIdle(connection, type);
		}
	}

	@Override
	public void onDrain(Connection connection, MessageHandler next) throws Exception {
		try (Scope scope = bind(connection)) {
			next.onDrain(connection);
		}
	}

	@Override
	public void onClose(Connection connection, CloseReason reason, MessageHandler next) throws Exception {
		try (Scope scope = bind(connection)) {
			next.onClose(connection, reason);
		}
	}

	@Override
	public void onError(Connection connection, Throwable failure, MessageHandler next) throws Exception {
		try (Scope scope = bind(connection)) {
			next.onError(connection, failure);
		}
	}

	@Override
	public void separate(Runnable handler) {
		try (Scope scope = this.nothing.setThreadLocals()) {
			handler.run();
		}
	}

	/**
	 * Returns {@code null} if there is nothing to bind, which is allowed for a resource.
	 */
	private @Nullable Scope bind(Connection connection) {
		return hasContext(connection) ? this.snapshots.setThreadLocalsFrom(connection) : null;
	}

	private boolean hasContext(Connection connection) {
		Map<String, Object> attributes = connection.attributes();
		if (attributes.isEmpty()) {
			return false;
		}
		for (ThreadLocalAccessor<?> accessor : this.registry.getThreadLocalAccessors()) {
			if (attributes.containsKey(accessor.key())) {
				return true;
			}
		}
		return false;
	}

	@Override
	public int getOrder() {
		return ORDER;
	}

	/**
	 * {@link ContextAccessor} that lets snapshots of Micrometer's context propagation
	 * read from, and write to, the {@linkplain Connection#attributes() attributes} of a
	 * connection. An attribute belongs to a thread-local value if its name is the key of
	 * the {@link ThreadLocalAccessor}. Micrometer finds this class itself, so it must be
	 * public.
	 */
	public static final class ConnectionAccessor implements ContextAccessor<Connection, Connection> {

		@Override
		public Class<? extends Connection> readableType() {
			return Connection.class;
		}

		@Override
		public void readValues(Connection connection, Predicate<Object> keyPredicate, Map<Object, Object> readValues) {
			connection.attributes().forEach((key, value) -> {
				if (keyPredicate.test(key)) {
					readValues.put(key, value);
				}
			});
		}

		@Override
		@SuppressWarnings("unchecked")
		public <T> @Nullable T readValue(Connection connection, Object key) {
			return (T) connection.attributes().get(key);
		}

		@Override
		public Class<? extends Connection> writeableType() {
			return Connection.class;
		}

		@Override
		public Connection writeValues(Map<Object, Object> valuesToWrite, Connection connection) {
			valuesToWrite.forEach((key, value) -> {
				if (key instanceof String name) {
					connection.attributes().put(name, value);
				}
			});
			return connection;
		}

	}

}
