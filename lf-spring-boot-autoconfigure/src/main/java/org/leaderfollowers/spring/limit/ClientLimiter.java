package org.leaderfollowers.spring.limit;

import java.net.InetSocketAddress;
import java.time.Duration;
import java.time.Instant;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.atomic.LongAdder;
import java.util.function.LongSupplier;
import java.util.stream.Stream;

import org.apache.commons.logging.Log;
import org.apache.commons.logging.LogFactory;
import org.jspecify.annotations.Nullable;
import org.leaderfollowers.ClientKey;
import org.leaderfollowers.ClientLimitException;
import org.leaderfollowers.Connection;
import org.leaderfollowers.ConnectionGuard;
import org.leaderfollowers.MessageHandler;
import org.leaderfollowers.spring.internal.Printable;
import org.leaderfollowers.spring.limit.ClientLimits.Limit;

import org.springframework.util.Assert;

/**
 * Applies limits to each client of a server. Any thread; only the calling thread of a
 * {@code change} does more than a few calculations.
 */
public final class ClientLimiter implements ConnectionGuard {

	private static final Log logger = LogFactory.getLog(ClientLimiter.class);

	private static final long LOG_INTERVAL_NANOS = Duration.ofSeconds(10).toNanos();

	private final String server;

	private final boolean datagrams;

	private final @Nullable ClientKey keys;

	private final ClientTable table;

	private final SuspensionTimer timer;

	private final LongSupplier nanoTime;

	private final Offenders offenders = new Offenders();

	/** One for each limit and effect. */
	private final List<LongAdder> excesses = Stream.generate(LongAdder::new)
		.limit((long) Limit.values().length * Effect.values().length)
		.toList();

	/** Whether a line waits for the log. */
	private volatile boolean logging;

	private volatile ClientLimits limits;

	/** The messages of exceptions, of which a client can cause many. */
	private volatile Map<Limit, String> refusals;

	/** Guarded by {@link #offenders}. */
	private long loggedNanos;

	/** How many lines were not logged, or -1 before the first line. Guarded likewise. */
	private long heldBack = -1;

	ClientLimiter(String server, boolean datagrams, ClientLimits limits, @Nullable ClientKey keys, ClientTable table,
			SuspensionTimer timer, LongSupplier nanoTime) {
		this.server = Printable.of(server);
		this.datagrams = datagrams;
		this.limits = limits;
		this.refusals = refusals(limits);
		this.keys = keys;
		this.table = table;
		this.timer = timer;
		this.nanoTime = nanoTime;
	}

	/**
	 * Applies the limits to the messages of a handler.
	 * @param handler the handler of the server
	 * @return the handler to call instead
	 */
	public MessageHandler around(MessageHandler handler) {
		return new LimitInterceptor(this).decorate(handler, this.server, this.server);
	}

	/**
	 * The limits as they are now.
	 * @return the limits
	 */
	public ClientLimits limits() {
		return this.limits;
	}

	/**
	 * Whether the server receives datagrams, to which only some limits apply.
	 * @return {@code false} if it has connections
	 */
	public boolean isForDatagrams() {
		return this.datagrams;
	}

	/**
	 * Changes the limits of all clients immediately. What they have used already counts
	 * in proportion.
	 * @param limits the new limits
	 */
	public void change(ClientLimits limits) {
		Assert.notNull(limits, "'limits' must not be null");
		this.refusals = refusals(limits);
		this.limits = limits;
	}

	private Map<Limit, String> refusals(ClientLimits limits) {
		Map<Limit, String> messages = new EnumMap<>(Limit.class);
		for (Limit limit : Limit.values()) {
			messages.put(limit, "The client has exceeded '%s' (%s) of server '%s'".formatted(limit.property(),
					limits.get(limit), this.server));
		}
		return messages;
	}

	/**
	 * Returns what clients have exceeded.
	 * @return numbers and offenders
	 */
	public Snapshot snapshot() {
		return new Snapshot(this.limits, this.table.clients(), this.table.aggregates(), this.offenders.list());
	}

	/**
	 * How often clients have exceeded a limit.
	 * @param limit the limit
	 * @param effect the consequence
	 * @return a number that only increases
	 */
	public long excesses(Limit limit, Effect effect) {
		return counter(limit, effect).sum();
	}

	private LongAdder counter(Limit limit, Effect effect) {
		return this.excesses.get(limit.ordinal() * Effect.values().length + effect.ordinal());
	}

	@Override
	public @Nullable Permit admit(InetSocketAddress address) {
		Client client = this.table.acquire(address.getAddress());
		boolean admitted = false;
		try {
			// First: a connection that is counted, but not created, would count for ever.
			LimitedConnection created = new LimitedConnection(this, client);
			Limit exceeded = client.admit(this.limits, null);
			if (exceeded == null) {
				admitted = true;
				return created;
			}
			exceeded(client, exceeded, Effect.REFUSE);
			return null;
		}
		finally {
			if (!admitted) {
				this.table.release(client);
			}
		}
	}

	/** Counts a datagram. Returns whether to handle it. */
	boolean takes(Connection datagram, int size) {
		Object key = (this.keys != null) ? this.keys.keyOf(datagram) : null;
		Client client = (key != null) ? this.table.findKey(key) : null;
		if (client == null) {
			client = this.table.find(datagram.remoteAddress().getAddress());
		}
		Limit exceeded = client.tryTake(this.limits, size);
		if (exceeded != null) {
			exceeded(client, exceeded, Effect.DROP);
		}
		return exceeded == null;
	}

	@Nullable ClientKey keys() {
		return this.keys;
	}

	ClientTable table() {
		return this.table;
	}

	SuspensionTimer timer() {
		return this.timer;
	}

	/** Creates the exception for a message that exceeds a limit. */
	ClientLimitException exception(Limit limit) {
		return new ClientLimitException(this.refusals.get(limit));
	}

	/** Records an excess, and logs the first one of a client. */
	void exceeded(Client client, Limit limit, Effect effect) {
		counter(limit, effect).increment();
		if (!this.offenders.record(client, limit)) {
			return;
		}
		long suppressed;
		synchronized (this.offenders) {
			long now = this.nanoTime.getAsLong();
			boolean tooSoon = this.heldBack >= 0 && now - this.loggedNanos < LOG_INTERVAL_NANOS;
			if (tooSoon || this.logging) {
				this.heldBack++;
				return;
			}
			this.loggedNanos = now;
			suppressed = Math.max(0, this.heldBack);
			this.heldBack = 0;
		}
		log("Client %s has exceeded '%s' (%s) of server '%s': %s%s".formatted(client.name(), limit.property(),
				this.limits.get(limit), this.server, effect.description,
				(suppressed > 0) ? " (%d more such clients since the last such line)".formatted(suppressed) : ""));
	}

	/**
	 * Logs a line in a thread of its own: the log may block, and the caller may hold the
	 * listening socket.
	 */
	private void log(String line) {
		Thread thread = new Thread(() -> {
			try {
				logger.warn(line);
			}
			finally {
				this.logging = false;
			}
		}, "lf-client-limits-log");
		thread.setDaemon(true);
		// Last, so that it is reset even if memory was too short for the line.
		this.logging = true;
		try {
			thread.start();
		}
		catch (OutOfMemoryError ex) {
			// There is no thread for the line.
			this.logging = false;
		}
	}

	/** The consequence of an excess. */
	public enum Effect {

		/** The message was handled, and the connection is not read for a while. */
		SUSPEND("its connection is not read until it is within its limits"),

		/** The new connection, message or login was refused. */
		REFUSE("this is refused until it is within its limits"),

		/** The connection was closed. */
		CLOSE("its connection is closed"),

		/** The datagram was dropped. */
		DROP("its datagrams are dropped until it is within its limits");

		private final String description;

		Effect(String description) {
			this.description = description;
		}

	}

	/**
	 * What the clients of a server may use, and which of them have used more.
	 *
	 * @param limits the limits
	 * @param clients how many clients are counted one by one
	 * @param aggregates how many networks of clients are counted together, because the
	 * maximum number of clients is reached
	 * @param offenders the clients that have exceeded a limit, the latest first
	 */
	public record Snapshot(ClientLimits limits, int clients, int aggregates, List<Offender> offenders) {
	}

	/**
	 * A client that has exceeded a limit.
	 *
	 * @param client the address, network or key of the client, printable
	 * @param limit the limit
	 * @param count how often
	 * @param since when for the first time
	 * @param latest when for the last time
	 */
	public record Offender(String client, Limit limit, long count, Instant since, Instant latest) {
	}

}
