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
		this.begun = identify(connection);
		return this.begun;
	}

	/**
	 * The connection is closed.
	 * @return whether to tell the handler, which may not know it
	 */
	boolean ends(CloseReason reason) {
		if (reason == CloseReason.LOGIN_TIMEOUT) {
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
			exceeded = own.admit(this.limiter.limits(), this);
			Client left = (exceeded != null) ? own : this.client;
			if (exceeded == null) {
				left.leave(this);
				this.client = own;
			}
			this.limiter.table().release(left);
		}
		if (exceeded != null) {
			this.limiter.exceeded(own, exceeded, Effect.CLOSE);
			connection.close(CloseReason.CLIENT_LIMIT);
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
			suspendIfExceeded(connection, size, limits, current);
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

	private void suspendIfExceeded(Connection connection, int size, ClientLimits limits, Client current) {
		if (connection.isDraining()) {
			// All messages that have been received are to be answered now.
			return;
		}
		long wait = current.take(limits, size);
		if (wait != 0) {
			this.limiter.exceeded(current, (wait > 0) ? Limit.MESSAGES_PER_SECOND : Limit.BYTES_PER_SECOND,
					Effect.SUSPEND);
			this.pause = this.limiter.timer().suspend(connection, Math.abs(wait) + RECOVERY_NANOS);
		}
	}

	/**
	 * A message of a conversation counts, too. If the connection is suspended, the
	 * conversation itself continues, because its thread would have to wait otherwise.
	 */
	@Override
	public void received(Connection connection, ByteBuffer message) {
		SuspensionTimer.Pause earlier = this.pause;
		if (earlier != null && !earlier.isOver()) {
			// The conversation continues although the connection is suspended. One pause
			// is
			// enough: a peer could otherwise make as many as it sends messages.
			return;
		}
		if (!takes(connection, message.remaining())) {
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
