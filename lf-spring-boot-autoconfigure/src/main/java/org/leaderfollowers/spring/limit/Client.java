package org.leaderfollowers.spring.limit;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.function.LongSupplier;

import io.github.bucket4j.Bandwidth;
import io.github.bucket4j.Bucket;
import io.github.bucket4j.BucketConfiguration;
import io.github.bucket4j.TimeMeter;
import io.github.bucket4j.TokensInheritanceStrategy;
import io.github.bucket4j.local.SynchronizationStrategy;
import org.jspecify.annotations.Nullable;
import org.leaderfollowers.spring.internal.Printable;
import org.leaderfollowers.spring.limit.ClientLimits.Limit;

/**
 * The use of one client, or of several clients that are counted together. Any thread; the
 * monitor is held only for a few calculations, and nothing is called that could wait.
 */
final class Client {

	private static final long LONGEST_WAIT_NANOS = TimeUnit.HOURS.toNanos(1);

	private static final int LONGEST_NAME = 64;

	/**
	 * How many connections that are closing do not count. They still hold sockets, so a
	 * client must not have any number of them.
	 */
	private static final int MOST_CLOSING = 8;

	private final Object key;

	private final int level;

	private final long share;

	private final Time time;

	/**
	 * How many users need this object in the table. The table changes it, one thread at a
	 * time.
	 */
	private volatile int references;

	/** The excess that was recorded last. */
	volatile Offenders.@Nullable Entry offense;

	// Guarded by this object

	private @Nullable ClientLimits applied;

	private int connections;

	/** Those of the connections that count for a key of the application. */
	private final List<LimitedConnection> identified = new ArrayList<>(0);

	private @Nullable Bucket newConnections;

	private @Nullable Bucket messages;

	private @Nullable Bucket bytes;

	/** {@code null} until a login fails. */
	private @Nullable Bucket failedLogins;

	/**
	 * Creates a client.
	 * @param key the key in the table
	 * @param level how much wider the prefix is than that of a single client, in steps
	 * @param share how many times the limits apply
	 * @param nanoTime the clock
	 */
	Client(Object key, int level, long share, LongSupplier nanoTime) {
		this.key = key;
		this.level = level;
		this.share = share;
		this.time = new Time(nanoTime);
	}

	Object key() {
		return this.key;
	}

	int level() {
		return this.level;
	}

	/** The name for operators. It is printable, although a client may have chosen it. */
	String name() {
		String name = Printable.of(this.key.toString());
		return (name.length() > LONGEST_NAME) ? name.substring(0, LONGEST_NAME) + "…" : name;
	}

	/** Adds a user. Called by the table only. Returns this client. */
	Client retain() {
		this.references++;
		return this;
	}

	/** Removes a user. Called by the table only. */
	void letGo() {
		this.references--;
	}

	/**
	 * Whether the table may forget this object, because nobody uses it and nothing would
	 * be different if it were created again.
	 */
	synchronized boolean isForgettable() {
		if (this.references > 0 || this.connections > 0) {
			return false;
		}
		this.time.read();
		return isFull(this.newConnections, Limit.CONNECTIONS_PER_SECOND)
				&& isFull(this.messages, Limit.MESSAGES_PER_SECOND) && isFull(this.bytes, Limit.BYTES_PER_SECOND)
				&& isFull(this.failedLogins, Limit.FAILED_LOGINS_PER_MINUTE);
	}

	private boolean isFull(@Nullable Bucket bucket, Limit limit) {
		ClientLimits limits = this.applied;
		return bucket == null || limits == null || bucket.getAvailableTokens() >= capacity(limits, limit);
	}

	/**
	 * Counts a new connection, unless it exceeds a limit.
	 * @param known the connection if it is identified. A connection of the same key that
	 * is closing, for example because this one has taken its session over, gives way
	 * @return the limit, or {@code null} if the connection is served
	 */
	synchronized @Nullable Limit admit(ClientLimits limits, @Nullable LimitedConnection known) {
		apply(limits);
		if (hasTooManyFailedLogins()) {
			return Limit.FAILED_LOGINS_PER_MINUTE;
		}
		long free = capacity(limits, Limit.MAX_CONNECTIONS) - this.connections;
		if (free <= 0 && free + closing() <= 0) {
			return Limit.MAX_CONNECTIONS;
		}
		if (this.newConnections != null && !this.newConnections.tryConsume(1)) {
			return Limit.CONNECTIONS_PER_SECOND;
		}
		if (known != null) {
			// First: if memory is too short for it, nothing was counted.
			this.identified.add(known);
		}
		this.connections++;
		return null;
	}

	private long closing() {
		return this.identified.stream().filter(LimitedConnection::isClosing).limit(MOST_CLOSING).count();
	}

	/** A connection that was counted is closed, or counts for another client. */
	synchronized void leave(@Nullable LimitedConnection connection) {
		this.connections--;
		this.identified.remove(connection);
	}

	/**
	 * Counts a message whether or not it exceeds a limit. An empty one counts as a byte,
	 * because it would be free otherwise.
	 * @param size the size of the message, in bytes
	 * @return how long to wait until the client is within its limits, in nanoseconds: 0
	 * if it is, more than 0 if it exceeds the limit of messages, and less than 0 (the
	 * negative time) if it exceeds the limit of bytes
	 */
	synchronized long take(ClientLimits limits, int size) {
		apply(limits);
		long forMessages = (this.messages != null) ? this.messages.consumeIgnoringRateLimits(1) : 0;
		long forBytes = (this.bytes != null) ? this.bytes.consumeIgnoringRateLimits(Math.max(1, size)) : 0;
		return longer(forMessages, forBytes);
	}

	private static long longer(long forMessages, long forBytes) {
		return (forBytes > forMessages) ? -Math.min(forBytes, LONGEST_WAIT_NANOS)
				: Math.min(forMessages, LONGEST_WAIT_NANOS);
	}

	/**
	 * How long to wait until the client is within its limits, because of messages that
	 * were counted.
	 * @return as of {@link #take}
	 */
	synchronized long owed(ClientLimits limits) {
		apply(limits);
		return longer(owed(this.messages, capacity(limits, Limit.MESSAGES_PER_SECOND)),
				owed(this.bytes, capacity(limits, Limit.BYTES_PER_SECOND)));
	}

	private static long owed(@Nullable Bucket bucket, long capacity) {
		if (bucket == null || bucket.getAvailableTokens() >= 0) {
			return 0;
		}
		// The client is within its limits when nothing is missing, which is before there
		// is one to use.
		long untilOne = bucket.estimateAbilityToConsume(1).getNanosToWaitForRefill();
		return Math.max(1, untilOne - TimeUnit.SECONDS.toNanos(1) / capacity);
	}

	/**
	 * Counts a message, unless the client has exceeded a limit. The last message within
	 * the limit of bytes may be larger than what is left, because a client could never
	 * send a message that is larger than its limit otherwise.
	 * @return the limit, or {@code null} if the message was counted
	 */
	synchronized @Nullable Limit tryTake(ClientLimits limits, int size) {
		apply(limits);
		if (this.messages != null && this.messages.getAvailableTokens() <= 0) {
			return Limit.MESSAGES_PER_SECOND;
		}
		if (this.bytes != null && this.bytes.getAvailableTokens() <= 0) {
			return Limit.BYTES_PER_SECOND;
		}
		if (this.messages != null) {
			this.messages.consumeIgnoringRateLimits(1);
		}
		if (this.bytes != null) {
			this.bytes.consumeIgnoringRateLimits(Math.max(1, size));
		}
		return null;
	}

	/** Counts a failed login. The first one begins a minute. */
	synchronized void loginFailed(ClientLimits limits) {
		apply(limits);
		if (limits.get(Limit.FAILED_LOGINS_PER_MINUTE) != null) {
			if (this.failedLogins == null || isFull(this.failedLogins, Limit.FAILED_LOGINS_PER_MINUTE)) {
				this.failedLogins = bucket(null, limits, Limit.FAILED_LOGINS_PER_MINUTE);
			}
			if (this.failedLogins != null) {
				this.failedLogins.tryConsume(1);
			}
		}
	}

	/** Whether the client may not log in until the minute is over. */
	synchronized boolean mayNotLogIn(ClientLimits limits) {
		apply(limits);
		return hasTooManyFailedLogins();
	}

	private boolean hasTooManyFailedLogins() {
		return this.failedLogins != null && this.failedLogins.getAvailableTokens() <= 0;
	}

	/** Reads the time, and adopts limits that have changed. */
	private void apply(ClientLimits limits) {
		this.time.read();
		if (limits != this.applied) {
			this.newConnections = bucket(this.newConnections, limits, Limit.CONNECTIONS_PER_SECOND);
			this.messages = bucket(this.messages, limits, Limit.MESSAGES_PER_SECOND);
			this.bytes = bucket(this.bytes, limits, Limit.BYTES_PER_SECOND);
			if (this.failedLogins != null) {
				this.failedLogins = bucket(this.failedLogins, limits, Limit.FAILED_LOGINS_PER_MINUTE);
			}
			this.applied = limits;
		}
	}

	private long capacity(ClientLimits limits, Limit limit) {
		Long value = limits.get(limit);
		return (value != null) ? Math.min(value * this.share, ClientLimits.GREATEST) : Long.MAX_VALUE;
	}

	private @Nullable Bucket bucket(@Nullable Bucket current, ClientLimits limits, Limit limit) {
		if (limits.get(limit) == null) {
			return null;
		}
		long capacity = capacity(limits, limit);
		Bandwidth bandwidth = (limit == Limit.FAILED_LOGINS_PER_MINUTE)
				? Bandwidth.builder().capacity(capacity).refillIntervally(capacity, Duration.ofMinutes(1)).build()
				: Bandwidth.builder().capacity(capacity).refillGreedy(capacity, Duration.ofSeconds(1)).build();
		if (current != null) {
			// A client that owes 10 messages owes 10 at any rate.
			current.replaceConfiguration(BucketConfiguration.builder().addLimit(bandwidth).build(),
					(current.getAvailableTokens() < 0) ? TokensInheritanceStrategy.AS_IS
							: TokensInheritanceStrategy.PROPORTIONALLY);
			return current;
		}
		// The monitor of this object protects the buckets.
		return Bucket.builder()
			.addLimit(bandwidth)
			.withCustomTimePrecision(this.time)
			.withSynchronizationStrategy(SynchronizationStrategy.NONE)
			.build();
	}

	/** The time of the current call, which is read once for all buckets. */
	private static final class Time implements TimeMeter {

		private final LongSupplier nanoTime;

		private long nanos;

		private Time(LongSupplier nanoTime) {
			this.nanoTime = nanoTime;
		}

		private void read() {
			this.nanos = this.nanoTime.getAsLong();
		}

		@Override
		public long currentTimeNanos() {
			return this.nanos;
		}

		@Override
		public boolean isWallClockBased() {
			return false;
		}

	}

}
