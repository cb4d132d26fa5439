package org.leaderfollowers;

import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Predicate;
import java.util.function.Supplier;

import org.jspecify.annotations.Nullable;

/**
 * A client whose connections are served by a {@link LeaderFollowersPool}. Requests of
 * many threads share the connections, and each thread gets the reply to its own request.
 *
 * <pre>
 * TcpClient redis = TcpClient.builder(pool).address("localhost", 6379).framing(framing)
 *     .correlation(Correlation.inOrder()).build();
 * redis.start();
 * ByteBuffer reply = redis.exchange(request);
 * </pre>
 *
 * The client keeps its connections open. When a connection ends, the client reconnects:
 * at once if the address was reached before, otherwise after pauses that grow. It
 * distributes its connections over its addresses, omits addresses that cannot be reached,
 * and uses them again when they can be reached.
 * <p>
 * The client repeats only requests that are {@linkplain Builder#idempotent declared
 * idempotent}. Any other request fails with an {@link ExchangeLostException} if its
 * connection ends, because the peer may have executed it.
 * <p>
 * Any thread may call all methods. A thread of a pool that waits for a reply does not
 * lead meanwhile, unless no other thread can.
 */
public final class TcpClient implements AutoCloseable {

	private final Supplier<ClientLifecycle> lives;

	/** The TLS configuration of new connections. */
	private final AtomicReference<@Nullable ClientTls> tls;

	private volatile ClientLifecycle life;

	private TcpClient(Supplier<ClientLifecycle> lives, AtomicReference<@Nullable ClientTls> tls) {
		this.lives = lives;
		this.tls = tls;
		this.life = lives.get();
	}

	/**
	 * Creates a builder of a client.
	 * @param pool the pool whose threads serve the connections
	 * @return a builder with defaults
	 */
	public static Builder builder(LeaderFollowersPool pool) {
		return new Builder(pool);
	}

	/**
	 * Begins to connect, and returns at once. If a peer cannot be reached, this is
	 * logged, and the client tries again. A client that was closed can be started again;
	 * its counters continue.
	 * @throws IllegalStateException if the client has been started already, or its pool
	 * is closed
	 */
	public synchronized void start() {
		if (this.life.isClosed()) {
			this.life = this.lives.get();
		}
		this.life.start();
	}

	/**
	 * Waits until a request can be sent. A thread of a pool does not lead meanwhile.
	 * @param timeout how long to wait
	 * @return whether there is a connection with a free place; {@code false} before the
	 * timeout if the calling thread belongs to the pool of the client, and no other
	 * thread of the pool is left that could connect or read replies
	 */
	public boolean awaitConnected(Duration timeout) {
		return this.life.awaitConnected(timeout);
	}

	/**
	 * Sends a request and waits for its reply, at most for the
	 * {@linkplain Builder#requestTimeout request timeout}.
	 * @param request the payload, from position to limit, which are the same after the
	 * call
	 * @return the payload of the reply, which belongs to the caller
	 * @throws ExchangeRejectedException if the request was not sent
	 * @throws ExchangeTimeoutException if the reply did not come in time
	 * @throws ExchangeLostException if the connection ended before the reply came, or the
	 * thread was interrupted; its interrupt status remains set
	 * @throws IllegalStateException if a handler of the client calls this method and
	 * there is only one connection: no thread would read the reply
	 * @throws IllegalArgumentException if the framing or the correlation cannot express
	 * the request
	 */
	public ByteBuffer exchange(ByteBuffer request) {
		return this.life.exchange(request, this.life.requestNanos());
	}

	/**
	 * Sends a request and waits for its reply, with a timeout for this request.
	 * @param request the payload, from position to limit
	 * @param timeout how long the exchange may take, including the wait for a connection;
	 * more than 0
	 * @return the payload of the reply, which belongs to the caller
	 * @throws ExchangeException as {@link #exchange(ByteBuffer)} does
	 */
	public ByteBuffer exchange(ByteBuffer request, Duration timeout) {
		return this.life.exchange(request, Arguments.nanos(Arguments.positive("timeout", timeout)));
	}

	/**
	 * Sends a request without waiting. If the request cannot be sent at once, the future
	 * fails with an {@link ExchangeRejectedException}.
	 * @param request the payload, from position to limit, which are the same after the
	 * call
	 * @return a future that a thread of the pool completes with the payload of the reply,
	 * or with an {@link ExchangeException}. Cancelling the future gives up the reply; the
	 * peer is not informed
	 * @throws IllegalArgumentException if the framing or the correlation cannot express
	 * the request
	 */
	public CompletableFuture<ByteBuffer> exchangeAsync(ByteBuffer request) {
		return this.life.exchangeAsync(request, this.life.requestNanos());
	}

	/**
	 * Sends a request without waiting, with a timeout for this request.
	 * @param request the payload, from position to limit
	 * @param timeout how long the exchange may take; more than 0
	 * @return a future, completed as by {@link #exchangeAsync(ByteBuffer)}
	 */
	public CompletableFuture<ByteBuffer> exchangeAsync(ByteBuffer request, Duration timeout) {
		return this.life.exchangeAsync(request, Arguments.nanos(Arguments.positive("timeout", timeout)));
	}

	/**
	 * Closes the client: accepts no more requests, waits up to 30 seconds for the replies
	 * to requests under way, and closes the connections. The pool is not closed.
	 */
	@Override
	public void close() {
		close(ClientLifecycle.CLOSE_TIMEOUT);
	}

	/**
	 * Closes the client.
	 * @param grace how long to wait for replies; requests that are still under way then
	 * are lost
	 * @return whether every request that was under way received its reply; {@code false}
	 * also if one was lost, timed out or was given up meanwhile, or if another thread
	 * closes the client and has not finished within the grace
	 */
	public boolean close(Duration grace) {
		boolean replied = this.life.close(grace);
		wireLog().stop();
		return replied;
	}

	/**
	 * Logs the bytes of the connections, while it is on.
	 * @return the log of this client, which is off until it is started, and of no use
	 * after the client was closed
	 */
	public WireLog wireLog() {
		return this.life.wireLog();
	}

	/**
	 * Replaces the TLS configuration of the client, for example because a certificate was
	 * renewed. Open connections keep theirs. Any thread.
	 * @param tls the configuration of connections that are made from now on
	 * @throws IllegalStateException if the client was built without TLS
	 */
	public void tls(ClientTls tls) {
		Objects.requireNonNull(tls, "'tls' must not be null");
		if (this.tls.get() == null) {
			throw new IllegalStateException(
					"Client '%s' does not use TLS: call tls(...) before build()".formatted(name()));
		}
		this.tls.set(tls);
	}

	/**
	 * The name of the client.
	 * @return {@code default} unless another name was set
	 */
	public String name() {
		return this.life.name();
	}

	/**
	 * The pool that serves the client.
	 * @return the pool
	 */
	public LeaderFollowersPool pool() {
		return this.life.pool();
	}

	/**
	 * Takes a snapshot of the client. Any thread; cheap enough for a meter.
	 * @return the current state and figures
	 */
	public ClientSnapshot snapshot() {
		return this.life.snapshot();
	}

	@Override
	public String toString() {
		return "TcpClient '" + name() + "'";
	}

	/**
	 * Builds a client.
	 */
	public static final class Builder extends TcpBuilder<Builder> {

		private static final int MOST_CONNECTIONS = 1024;

		private static final int MOST_IN_FLIGHT = 1 << 20;

		private final List<InetSocketAddress> addresses = new ArrayList<>();

		private int connections = 1;

		private @Nullable Correlation correlation;

		private @Nullable MessageHandler handler;

		private int maxInFlight = 1024;

		private Duration requestTimeout = Duration.ofSeconds(5);

		private @Nullable Duration placeTimeout;

		private Duration connectTimeout = Duration.ofSeconds(5);

		private Duration minBackoff = Duration.ofMillis(100);

		private Duration maxBackoff = Duration.ofSeconds(10);

		private Duration heartbeatInterval = Duration.ZERO;

		private @Nullable Supplier<ByteBuffer> heartbeat;

		private Predicate<ByteBuffer> idempotent = (request) -> false;

		private @Nullable ClientTls tls;

		private NameLookup.NameService names = InetAddress::getAllByName;

		private Builder(LeaderFollowersPool pool) {
			super(pool);
		}

		@Override
		Builder self() {
			return this;
		}

		/**
		 * Adds an address to connect to. At least one is required.
		 * @param host a name, which is looked up before each attempt to connect, or an
		 * address
		 * @param port from 1 to 65535
		 * @return this builder
		 */
		public Builder address(String host, int port) {
			Arguments.notBlank("host", host);
			Arguments.inRange("port", port, 1, 65535);
			return address(InetSocketAddress.createUnresolved(host, port));
		}

		/**
		 * Adds an address to connect to.
		 * @param address the address of a peer; if it is unresolved, it is looked up
		 * before each attempt to connect
		 * @return this builder
		 */
		public Builder address(InetSocketAddress address) {
			this.addresses.add(Objects.requireNonNull(address, "'address' must not be null"));
			return this;
		}

		/**
		 * How many connections the client keeps open, over all addresses.
		 * @param connections from 1 to 1024; the default is 1, which is enough for peers
		 * that handle the requests of one connection in parallel
		 * @return this builder
		 */
		public Builder connections(int connections) {
			this.connections = Arguments.inRange("connections", connections, 1, MOST_CONNECTIONS);
			return this;
		}

		/**
		 * Finds the request that a reply belongs to. Required.
		 * @param correlation shared by all connections
		 * @return this builder
		 */
		public Builder correlation(Correlation correlation) {
			this.correlation = correlation;
			return this;
		}

		/**
		 * The handler of messages that are not the reply to a request: notifications of
		 * the peer, and replies that came too late. Its {@link MessageHandler#onOpen
		 * onOpen} is called for each connection before requests are sent on it.
		 * @param handler the default ignores such messages; they are counted in any case
		 * @return this builder
		 */
		public Builder handler(MessageHandler handler) {
			this.handler = handler;
			return this;
		}

		/**
		 * The maximum number of exchanges under way on a connection. An exchange that has
		 * timed out counts until its late reply comes. A connection with more than half
		 * as many late replies is replaced.
		 * @param maxInFlight from 1 to 1048576; the default is 1024
		 * @return this builder
		 */
		public Builder maxInFlight(int maxInFlight) {
			this.maxInFlight = Arguments.inRange("maxInFlight", maxInFlight, 1, MOST_IN_FLIGHT);
			return this;
		}

		/**
		 * How long an exchange may take, from the call to the reply.
		 * @param requestTimeout more than 0; the default is 5 seconds
		 * @return this builder
		 */
		public Builder requestTimeout(Duration requestTimeout) {
			this.requestTimeout = Arguments.positive("requestTimeout", requestTimeout);
			return this;
		}

		/**
		 * How long a caller waits for a connection with a free place, within the request
		 * timeout.
		 * @param placeTimeout 0 rejects at once; the default is the request timeout
		 * @return this builder
		 */
		public Builder placeTimeout(Duration placeTimeout) {
			this.placeTimeout = Arguments.notNegative("placeTimeout", placeTimeout);
			return this;
		}

		/**
		 * How long it may take to establish a connection, including TLS. Before, the
		 * lookup of the name may take as long.
		 * @param connectTimeout more than 0; the default is 5 seconds
		 * @return this builder
		 */
		public Builder connectTimeout(Duration connectTimeout) {
			this.connectTimeout = Arguments.positive("connectTimeout", connectTimeout);
			return this;
		}

		/**
		 * How long the client pauses before it reconnects to an address that failed. The
		 * pause doubles after each failure; half of it is random.
		 * @param min the first pause, at least 1 ms; the default is 100 ms
		 * @param max the longest pause, at least {@code min}; the default is 10 seconds
		 * @return this builder
		 */
		public Builder backoff(Duration min, Duration max) {
			if (min.compareTo(Duration.ofMillis(1)) < 0 || max.compareTo(min) < 0) {
				throw new IllegalArgumentException(
						"'min' must be at least 1 ms, and 'max' at least 'min', but they are %s and %s".formatted(min,
								max));
			}
			this.minBackoff = min;
			this.maxBackoff = max;
			return this;
		}

		/**
		 * Sends a request to a peer that has been silent, and closes the connection if
		 * the reply does not come within the request timeout. The client notices a
		 * silence between one and two intervals after it began.
		 * @param interval at least 1 ms
		 * @param request creates the payload
		 * @return this builder
		 */
		public Builder heartbeat(Duration interval, Supplier<ByteBuffer> request) {
			if (interval.compareTo(Duration.ofMillis(1)) < 0) {
				throw new IllegalArgumentException("'interval' must be at least 1 ms, but is %s".formatted(interval));
			}
			this.heartbeatInterval = interval;
			this.heartbeat = Objects.requireNonNull(request, "'request' must not be null");
			return this;
		}

		/**
		 * Selects requests that may be executed twice. If the connection of such a
		 * request ends before the reply comes, the request is repeated within its
		 * timeout. Only {@code exchange} repeats requests, {@code exchangeAsync} does
		 * not.
		 * @param idempotent decides by the payload; by default, no request is repeated
		 * @return this builder
		 */
		public Builder idempotent(Predicate<ByteBuffer> idempotent) {
			this.idempotent = Objects.requireNonNull(idempotent, "'idempotent' must not be null");
			return this;
		}

		/**
		 * Makes the client use TLS.
		 * @param tls the trust and options; the default is no TLS
		 * @return this builder
		 */
		public Builder tls(ClientTls tls) {
			this.tls = Objects.requireNonNull(tls, "'tls' must not be null");
			return this;
		}

		/** Looks up names instead of the system, for tests. */
		Builder names(NameLookup.NameService names) {
			this.names = names;
			return this;
		}

		/**
		 * Builds the client. It does not connect until it is
		 * {@linkplain TcpClient#start() started}.
		 * @return a new client
		 * @throws IllegalStateException if an address, the framing or the correlation is
		 * missing
		 */
		public TcpClient build() {
			if (this.addresses.isEmpty() || this.framing == null || this.correlation == null) {
				String missing = this.addresses.isEmpty() ? "address"
						: (this.framing == null) ? "framing" : "correlation";
				throw new IllegalStateException("Client '%s' needs %s %s: call %s(...) before build()"
					.formatted(this.name, missing.startsWith("a") ? "an" : "a", missing, missing));
			}
			long requestNanos = Arguments.nanos(this.requestTimeout);
			AtomicReference<@Nullable ClientTls> tls = new AtomicReference<>(this.tls);
			ClientOptions options = new ClientOptions(this.connections, socketOptions(), this.correlation,
					this.maxInFlight, (this.placeTimeout != null) ? Arguments.nanos(this.placeTimeout) : requestNanos,
					requestNanos, Arguments.nanos(this.minBackoff), Arguments.nanos(this.maxBackoff),
					Arguments.nanos(this.heartbeatInterval), this.heartbeat, this.idempotent, tls::get, this.names);
			ConnectionContext.Limits limits = limits(this.framing, false);
			ConnectionTimeouts timeouts = new ConnectionTimeouts(0, Arguments.nanos(this.messageTimeout),
					Arguments.nanos(this.writeTimeout), Arguments.nanos(this.connectTimeout), 0, 0, 0, 0);
			MessageHandler application = (this.handler != null) ? this.handler : new NoHandler();
			LeaderFollowersPool pool = this.pool;
			String name = this.name;
			List<InetSocketAddress> addresses = List.copyOf(this.addresses);
			Framing framing = this.framing;
			ClientCounters counters = new ClientCounters(pool.handleSets().count());
			return new TcpClient(() -> new ClientLifecycle(pool, name, addresses, framing, application, options, limits,
					timeouts, counters), tls);
		}

	}

	/** Ignores messages that are not replies. Log lines name it. */
	private static final class NoHandler implements MessageHandler {

		@Override
		public void onMessage(Connection connection, ByteBuffer message) {
		}

	}

}
