package org.leaderfollowers;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentMap;

import org.jspecify.annotations.Nullable;
import org.leaderfollowers.internal.linkage.Linkage;
import org.leaderfollowers.internal.logging.EngineLog;

/** The code that the connections of all transports share. */
abstract class EngineConnection implements Connection {

	private static final VarHandle ATTRIBUTES;

	static {
		try {
			ATTRIBUTES = MethodHandles.lookup()
				.findVarHandle(EngineConnection.class, "attributes", ConcurrentMap.class);
		}
		catch (ReflectiveOperationException ex) {
			throw new ExceptionInInitializerError(ex);
		}
		Linkage.link(() -> ATTRIBUTES.compareAndSet((EngineConnection) null, null, (ConcurrentMap<?, ?>) null));
	}

	private final long id;

	private volatile @Nullable ConcurrentMap<String, Object> attributes;

	EngineConnection(long id) {
		this.id = id;
	}

	@Override
	public final long id() {
		return this.id;
	}

	@Override
	public final ConcurrentMap<String, Object> attributes() {
		ConcurrentMap<String, Object> current = this.attributes;
		if (current == null) {
			current = new ConcurrentHashMap<>(4);
			if (!ATTRIBUTES.compareAndSet(this, null, current)) {
				current = this.attributes;
			}
		}
		return (current != null) ? current : new ConcurrentHashMap<>();
	}

	/** Logs a failure that the application has not handled. */
	abstract void logUnhandled(Throwable failure);

	/** Logs a failure that the application has not handled. */
	static void logUnhandled(Connection connection, Throwable failure) {
		if (connection instanceof EngineConnection own) {
			own.logUnhandled(failure);
		}
		else {
			EngineLog.INSTANCE.warn("{} failed and is closed", connection, failure);
		}
	}

	/**
	 * Creates the exception for a message that is not accepted because the connection is
	 * closed.
	 */
	final ConnectionClosedException closedException(String refused, CloseReason reason, @Nullable Throwable cause) {
		return new ConnectionClosedException("%s is closed (%s): the %s was not sent".formatted(this, reason, refused),
				reason, cause)
			.of(this);
	}

	/**
	 * Whether a failure only reports that this connection is closed, because its handler
	 * sent to a peer that had gone. The close itself reports this already.
	 */
	final boolean isClosedException(Throwable failure) {
		return failure instanceof ConnectionClosedException closed && closed.isOf(this);
	}

}
