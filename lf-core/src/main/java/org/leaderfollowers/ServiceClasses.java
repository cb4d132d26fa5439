package org.leaderfollowers;

import java.nio.ByteBuffer;
import java.util.Map;

import org.jspecify.annotations.Nullable;

/**
 * How connections that have no class yet choose the pool that serves them. A connection
 * passes from one {@link ConnectionContext} to the next: it is asked for its class when
 * it is established, then before its first message, and then never again.
 */
final class ServiceClasses {

	private final ServiceClass serviceClass;

	/** By the name of the pool. */
	private final Map<String, ConnectionContext> pools;

	/** The context of a connection for which no pool is chosen. */
	private final ConnectionContext otherwise;

	private final boolean beforeOpening;

	private ServiceClasses(ServiceClass serviceClass, Map<String, ConnectionContext> pools, ConnectionContext otherwise,
			boolean beforeOpening) {
		this.serviceClass = serviceClass;
		this.pools = pools;
		this.otherwise = otherwise;
		this.beforeOpening = beforeOpening;
	}

	/**
	 * Creates the context of connections that have no class yet.
	 * @param pools the contexts of connections that have a class, by the name of the pool
	 * @param own the one of them for the server's own pool
	 */
	static ConnectionContext before(ServiceClass serviceClass, Map<String, ConnectionContext> pools,
			ConnectionContext own) {
		ConnectionContext opened = own.with(new ServiceClasses(serviceClass, pools, own, false));
		return own.with(new ServiceClasses(serviceClass, pools, opened, true));
	}

	/** Whether the connection has not been established yet. */
	boolean beforeOpening() {
		return this.beforeOpening;
	}

	/** Chooses the next context of a connection that has just been established. */
	ConnectionContext choose(Connection connection) {
		return find(connection, this.serviceClass.poolOf(connection));
	}

	/** Chooses the next context of a connection before its first message is handled. */
	ConnectionContext choose(Connection connection, ByteBuffer firstMessage) {
		return find(connection, this.serviceClass.poolOf(connection, firstMessage.asReadOnlyBuffer()));
	}

	private ConnectionContext find(Connection connection, @Nullable String pool) {
		ConnectionContext found = (pool != null) ? this.pools.get(pool) : this.otherwise;
		if (found == null) {
			throw new IllegalStateException(
					"The service class of server '%s' has chosen the pool '%s' for %s, but the server has only the pools %s. Choose one of these, or add the pool to the server"
						.formatted(connection.server(), pool, connection,
								this.pools.keySet().stream().sorted().toList()));
		}
		return found;
	}

}
