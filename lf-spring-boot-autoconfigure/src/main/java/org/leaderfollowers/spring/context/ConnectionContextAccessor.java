package org.leaderfollowers.spring.context;

import java.util.Map;
import java.util.function.Predicate;

import io.micrometer.context.ContextAccessor;
import org.jspecify.annotations.Nullable;
import org.leaderfollowers.Connection;

/**
 * {@link ContextAccessor} that lets snapshots of Micrometer's context propagation read
 * from, and write to, the {@linkplain Connection#attributes() attributes} of a
 * connection. An attribute is meant for a thread-local value if it has the name that is
 * the key of its {@link io.micrometer.context.ThreadLocalAccessor}. Found by Micrometer
 * itself.
 */
public final class ConnectionContextAccessor implements ContextAccessor<Connection, Connection> {

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
