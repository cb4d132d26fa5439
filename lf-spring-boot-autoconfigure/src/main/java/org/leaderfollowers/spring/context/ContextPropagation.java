package org.leaderfollowers.spring.context;

import java.nio.ByteBuffer;
import java.util.Map;

import io.micrometer.context.ContextRegistry;
import io.micrometer.context.ContextSnapshot;
import io.micrometer.context.ContextSnapshotFactory;
import io.micrometer.context.ThreadLocalAccessor;
import org.leaderfollowers.CloseReason;
import org.leaderfollowers.Connection;
import org.leaderfollowers.MessageHandler;
import org.leaderfollowers.spring.interceptor.MessageHandlerDecorator;
import org.leaderfollowers.spring.interceptor.MessageHandlerInterceptor;

import org.springframework.core.Ordered;
import org.springframework.util.Assert;

/**
 * Binds attributes of a connection to the thread, around every call of its handler: those
 * that have the key of a {@link ThreadLocalAccessor}. Afterwards the thread has again
 * what it had before. An attribute that is set by a call is bound from the next one on.
 * Nothing is allocated for connections without such attributes.
 */
public final class ContextPropagation implements MessageHandlerInterceptor, Ordered {

	/** Outside of the observation, whose parent may be among the attributes. */
	private static final int ORDER = MessageHandlerDecorator.OBSERVATION_ORDER - 500;

	private final ContextRegistry registry;

	private final ContextSnapshotFactory snapshots;

	/**
	 * Creates a new interceptor.
	 * @param registry knows what can be bound to threads
	 */
	public ContextPropagation(ContextRegistry registry) {
		Assert.notNull(registry, "'registry' must not be null");
		this.registry = registry;
		this.snapshots = ContextSnapshotFactory.builder().contextRegistry(registry).build();
	}

	@Override
	public void onOpen(Connection connection, MessageHandler next) throws Exception {
		if (!hasContext(connection)) {
			next.onOpen(connection);
			return;
		}
		try (ContextSnapshot.Scope scope = this.snapshots.setThreadLocalsFrom(connection)) {
			next.onOpen(connection);
		}
	}

	@Override
	public void onMessage(Connection connection, ByteBuffer message, MessageHandler next) throws Exception {
		if (!hasContext(connection)) {
			next.onMessage(connection, message);
			return;
		}
		try (ContextSnapshot.Scope scope = this.snapshots.setThreadLocalsFrom(connection)) {
			next.onMessage(connection, message);
		}
	}

	@Override
	public void onWritable(Connection connection, MessageHandler next) throws Exception {
		if (!hasContext(connection)) {
			next.onWritable(connection);
			return;
		}
		try (ContextSnapshot.Scope scope = this.snapshots.setThreadLocalsFrom(connection)) {
			next.onWritable(connection);
		}
	}

	@Override
	public void onClose(Connection connection, CloseReason reason, MessageHandler next) throws Exception {
		if (!hasContext(connection)) {
			next.onClose(connection, reason);
			return;
		}
		try (ContextSnapshot.Scope scope = this.snapshots.setThreadLocalsFrom(connection)) {
			next.onClose(connection, reason);
		}
	}

	@Override
	public void onError(Connection connection, Throwable failure, MessageHandler next) throws Exception {
		if (!hasContext(connection)) {
			next.onError(connection, failure);
			return;
		}
		try (ContextSnapshot.Scope scope = this.snapshots.setThreadLocalsFrom(connection)) {
			next.onError(connection, failure);
		}
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

}
