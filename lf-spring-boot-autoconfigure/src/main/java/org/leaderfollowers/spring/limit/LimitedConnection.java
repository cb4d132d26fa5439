package org.leaderfollowers.spring.limit;

import java.nio.ByteBuffer;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;

import org.jspecify.annotations.Nullable;
import org.leaderfollowers.ClientKey;
import org.leaderfollowers.ClientLimitException;
import org.leaderfollowers.CloseReason;
import org.leaderfollowers.Connection;
import org.leaderfollowers.ConnectionGuard;
import org.leaderfollowers.spring.internal.LoginFailures;
import org.leaderfollowers.spring.limit.ClientLimiter.Effect;
import org.leaderfollowers.spring.limit.ClientLimits.Action;
import org.leaderfollowers.spring.limit.ClientLimits.Limit;

/**
 * A connection whose client has limits. It counts for the address of the client until the
 * application knows a key for it.
 */
final class LimitedConnection implements ConnectionGuard.Permit, LoginFailures {

	/**
	 * How much longer a connection is suspended than it has to be. Nothing is lost by it:
	 * what the client may use grows meanwhile. Without it, a client that always sends
	 * would be suspended and resumed for each message.
	 */
	private static final long RECOVERY_NANOS = TimeUnit.MILLISECONDS.toNanos(50);

	private final ClientLimiter limiter;

	private final AtomicInteger failures = new AtomicInteger();

	/** Changed only with the monitor of this object held. */
	private volatile Client client;

	/** Changed only with the monitor of this object held. */
	private volatile boolean identified;

	/** The latest suspension. */
	private volatile SuspensionTimer.@Nullable Pause pause;

	/** {@code null} until it is established. */
	private volatile @Nullable Connection connection;

	/** Whether the handler knows the connection. */
	private volatile boolean begun;

	/** Guarded by this object. */
	private boolean closed;

	LimitedConnection(ClientLimiter limiter, Client client) {
		this.limiter = limiter;
		this.client = client;
	}

	/** Finds the limits of a connection, or {@code null} if it has none. */
	static @Nullable LimitedConnection of(Connection connection) {
		return (connection.attributes().get(LoginFailures.ATTRIBUTE) instanceof LimitedConnection limited) ? limited
				: null;
	}

	@Override
	public void opened(Connection connection) {
		this.connection = connection;
		connection.attributes().put(LoginFailures.ATTRIBUTE, this);
	}

	/** Whether the connection was established and is about to close. */
	boolean isClosing() {
		Connection established = this.connection;
		return established != null && !established.isOpen();
	}

	/**
	 * The connection is open, but the handler does not know it yet.
	 * @return whether to tell the handler
	 */
	boolean begins(Connection connection) {
		boolean served = identify(connection);
		if (served && !isPaused()) {
			suspendIfOwed(connection);
		}
		this.begun = served;
		return served;
	}

	/**
	 * The connection is closed.
	 * @return whether to tell the handler, which may not know it
	 */
	boolean ends(CloseReason reason) {
		if (reason == CloseReason.LOGIN_TIMEOUT && !isPaused()) {
			failed();
		}
		return this.begun;
	}

	/**
	 * Counts the connection for the key of its client, if the application knows the key
	 * by now.
	 * @return {@code false} if the connection is closed, because the client exceeds a
	 * limit
	 */
	boolean identify(Connection connection) {
		ClientKey keys = this.limiter.keys();
		if (keys == null || this.identified) {
			return true;
		}
		Object key = keys.keyOf(connection);
		return key == null || identify(connection, key);
	}

	private boolean identify(Connection connection, Object key) {
		Limit exceeded;
		Client own;
		synchronized (this) {
			if (this.identified || this.closed || !connection.isOpen()) {
				return true;
			}
			this.identified = true;
			own = this.limiter.table().acquireKey(key);
			if (own == null) {
				// The table is full, so the address remains the key.
				return true;
			}
			Client left = own;
			try {
				exceeded = own.admit(this.limiter.limits(), this);
				if (exceeded == null) {
					left = this.client;
					left.leave(this);
					this.client = own;
				}
			}
			finally {
				this.limiter.table().release(left);
			}
		}
		if (exceeded != null) {
			this.limiter.exceeded(own, exceeded, Effect.CLOSE);
			connection.close(CloseReason.CLIENT_LIMIT);
		}
		else {
			suspendIfOwed(connection);
		}
		return exceeded == null;
	}

	/**
	 * Counts a message.
	 * @return whether to handle it
	 * @throws ClientLimitException if it is refused
	 */
	boolean takes(Connection connection, int size) {
		ClientLimits limits = this.limiter.limits();
		Client current = this.client;
		if (limits.action() == Action.SUSPEND) {
			// While the server drains, all messages that have been received are answered.
			if (!connection.isDraining()) {
				suspend(connection, current, current.take(limits, size));
			}
			return true;
		}
		Limit exceeded = current.tryTake(limits, size);
		if (exceeded == null) {
			return true;
		}
		if (limits.action() == Action.REFUSE) {
			this.limiter.exceeded(current, exceeded, Effect.REFUSE);
			throw this.limiter.exception(exceeded);
		}
		this.limiter.exceeded(current, exceeded, Effect.CLOSE);
		connection.close(CloseReason.CLIENT_LIMIT);
		return false;
	}

	/**
	 * Suspends the connection if its client has exceeded a limit by earlier connections,
	 * which it could close to begin again otherwise.
	 */
	private void suspendIfOwed(Connection connection) {
		if (!connection.isDraining()) {
			suspend(connection, this.client, owed());
		}
	}

	private long owed() {
		ClientLimits limits = this.limiter.limits();
		return (limits.action() == Action.SUSPEND) ? this.client.owed(limits) : 0;
	}

	private void suspend(Connection connection, Client current, long wait) {
		if (wait != 0) {
			this.limiter.exceeded(current, (wait > 0) ? Limit.MESSAGES_PER_SECOND : Limit.BYTES_PER_SECOND,
					Effect.SUSPEND);
			this.pause = this.limiter.timer().suspend(connection, withRecovery(wait), () -> withRecovery(owed()));
		}
	}

	private static long withRecovery(long wait) {
		return (wait != 0) ? Math.abs(wait) + RECOVERY_NANOS : 0;
	}

	private boolean isPaused() {
		SuspensionTimer.Pause latest = this.pause;
		return latest != null && !latest.isOver();
	}

	/**
	 * A message of a conversation counts, too. If the connection is suspended, the
	 * conversation itself continues, because its thread would have to wait otherwise.
	 */
	@Override
	public void received(Connection connection, ByteBuffer message) {
		ClientLimits limits = this.limiter.limits();
		if (limits.action() == Action.SUSPEND && isPaused()) {
			// One pause is enough: a peer could otherwise make as many as it sends
			// messages.
			this.client.take(limits, message.remaining());
		}
		else if (!takes(connection, message.remaining())) {
			throw this.limiter.exception(Limit.MESSAGES_PER_SECOND);
		}
	}

	@Override
	public void check() {
		if (this.client.mayNotLogIn(this.limiter.limits())) {
			this.limiter.exceeded(this.client, Limit.FAILED_LOGINS_PER_MINUTE, Effect.REFUSE);
			throw this.limiter.exception(Limit.FAILED_LOGINS_PER_MINUTE);
		}
	}

	@Override
	public Object lock() {
		return this.failures;
	}

	@Override
	public void failed() {
		this.failures.incrementAndGet();
		this.client.loginFailed(this.limiter.limits());
	}

	@Override
	public int count() {
		return this.failures.get();
	}

	@Override
	public synchronized void closed() {
		this.closed = true;
		this.client.leave(this);
		this.limiter.table().release(this.client);
	}

}
