package org.leaderfollowers;

import java.net.InetSocketAddress;
import java.nio.ByteBuffer;
import java.nio.channels.SelectionKey;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;

import org.leaderfollowers.internal.exchange.Exchange;
import org.leaderfollowers.internal.exchange.Exchange.State;
import org.leaderfollowers.internal.exchange.ExchangeTable.Registration;
import org.leaderfollowers.internal.logging.EngineLog;
import org.leaderfollowers.internal.promotion.HandledWork;

/**
 * The lifecycle of a {@link TcpClient}, and the path of its requests: {@link #exchange}.
 */
final class ClientLifecycle implements Drainable {

	static final Duration CLOSE_TIMEOUT = Duration.ofSeconds(30);

	/**
	 * How long connections may take to write their last bytes, and how long they may then
	 * take to end by force.
	 */
	private static final long CLOSE_STEP_NANOS = TimeUnit.MILLISECONDS.toNanos(2500);

	/** When a thread that waits for a place looks whether any other thread is free. */
	private static final long FIRST_LOOK_NANOS = TimeUnit.MILLISECONDS.toNanos(10);

	private static final long LATER_LOOK_NANOS = TimeUnit.MILLISECONDS.toNanos(100);

	private final LeaderFollowersPool pool;

	private final ClientOptions options;

	private final ServerState state;

	private final ClientCounters counters;

	private final Places places;

	private final ClientConnections connections;

	private final ConnectionContext context;

	/** Whether the client rejects new requests. Written under the monitor. */
	private volatile boolean closing;

	/** Whether a thread closes the client. Guarded by the monitor. */
	private boolean hasCloser;

	ClientLifecycle(LeaderFollowersPool pool, String name, List<InetSocketAddress> addresses, Framing framing,
			MessageHandler application, ClientOptions options, ConnectionContext.Limits limits,
			ConnectionTimeouts timeouts, ClientCounters counters) {
		this.pool = pool;
		this.counters = counters;
		this.options = options;
		this.places = new Places(pool.clock);
		String handlerName = application.getClass().getName();
		ServerWarnings warnings = new ServerWarnings(name, handlerName, pool.name());
		this.state = new ServerState(name, warnings);
		this.connections = new ClientConnections(name, addresses, options, counters, this.places,
				pool.handleSets()::newTimer,
				(connections) -> new ConnectionContext(this.state,
						new ClientHandler(application, this.counters, connections), framing, limits, timeouts,
						counters.ofConnections, warnings, new ConnectionRegistry(this::connectionClosed), null,
						new PoolHandles(pool, SelectionKey.OP_CONNECT), pool.clock, pool.memory(),
						HandledWork.ofClient(name, handlerName), null, new WireLog("client '%s'".formatted(name)), true,
						null, ConnectionContext.preparation(framing, options.correlation(), null, null)));
		this.context = this.connections.context();
	}

	String name() {
		return this.state.name();
	}

	LeaderFollowersPool pool() {
		return this.pool;
	}

	WireLog wireLog() {
		return this.context.wire();
	}

	long requestNanos() {
		return this.options.requestNanos();
	}

	synchronized void start() {
		if (this.state.current() != ServerSnapshot.State.NEW) {
			throw new IllegalStateException("Client '%s' was started before".formatted(name()));
		}
		this.options.sockets().warnOfLimits("Client '%s'".formatted(name()));
		this.pool.start();
		this.pool.serves(this);
		this.state.started();
		this.connections.open();
	}

	boolean isClosed() {
		return this.state.current() == ServerSnapshot.State.STOPPED;
	}

	boolean awaitConnected(Duration timeout) {
		boolean hasPlace = awaitPlace(this.pool.clock.nanoTime() + Arguments.nanos(timeout));
		// This thread may have been notified of a free place that it does not use, so
		// another one is notified.
		this.places.freed();
		return hasPlace && isRunning();
	}

	private boolean isRunning() {
		return !this.closing && this.state.current() == ServerSnapshot.State.RUNNING;
	}

	// The path of a request

	ByteBuffer exchange(ByteBuffer request, long timeoutNanos) {
		StackReserve.requireToLead();
		long deadline = this.pool.clock.nanoTime() + timeoutNanos;
		ExchangeException lost = null;
		for (;;) {
			Exchange exchange = Exchange.ofCaller(deadline);
			Exchanges connection;
			try {
				connection = send(exchange, request, placeDeadline(deadline));
			}
			catch (ExchangeRejectedException ex) {
				// An earlier attempt was sent and may have been executed, so its failure
				// is the one to report.
				throw (lost != null) ? lost : ex;
			}
			try {
				ByteBuffer reply = connection.await(exchange);
				if (reply != null) {
					return reply;
				}
				if (exchange.refusal() == Registration.CONGESTED) {
					this.counters.ended(ClientSnapshot.Outcome.REJECTED);
					throw connection.rejected(Registration.CONGESTED);
				}
			}
			catch (ExchangeLostException ex) {
				boolean again = exchange.state() == State.LOST
						&& this.options.idempotent().test(request.asReadOnlyBuffer());
				if (!again || deadline - this.pool.clock.nanoTime() <= 0 || !isRunning()) {
					throw ex;
				}
				lost = ex;
			}
		}
	}

	private long placeDeadline(long deadline) {
		long place = this.pool.clock.nanoTime() + this.options.placeNanos();
		return (place - deadline < 0) ? place : deadline;
	}

	private boolean isOwnHandler() {
		Participant me = Participant.current();
		SelectableHandle handle = (me != null) ? me.handle() : null;
		return handle != null && handle.handler instanceof TcpConnection connection
				&& connection.context == this.context;
	}

	/** Sends the request as soon as there is a connection with a free place. */
	private Exchanges send(Exchange exchange, ByteBuffer request, long deadline) {
		try {
			for (;;) {
				requireRunning();
				Exchanges connection = this.connections.send(exchange, request);
				if (connection != null) {
					return connection;
				}
				if (deadline - this.pool.clock.nanoTime() <= 0) {
					throw noPlace("");
				}
				if (!awaitPlace(deadline)) {
					throw noPlace(whyNotAwaited(deadline));
				}
			}
		}
		catch (ExchangeRejectedException ex) {
			this.counters.ended(ClientSnapshot.Outcome.REJECTED);
			// This caller may have been notified of a free place that it does not use, so
			// another caller is notified.
			this.places.freed();
			throw ex;
		}
		catch (RuntimeException | Error ex) {
			this.places.freed();
			throw ex;
		}
	}

	/**
	 * Waits for a place. Returns {@code false} at the deadline, after an interrupt, or
	 * soon if no thread of the pool is left that could make a place free.
	 */
	private boolean awaitPlace(long deadline) {
		Participant.promoteBeforeBlocking();
		Participant me = this.pool.threads.self();
		if (me == null) {
			return this.places.await(this.connections::hasPlace, deadline);
		}
		boolean free = false;
		boolean waits = true;
		me.waitsForPlace = true;
		try {
			for (long look = FIRST_LOOK_NANOS; !free && waits; look = LATER_LOOK_NANOS) {
				long next = this.pool.clock.nanoTime() + look;
				free = this.places.await(this.connections::hasPlace, (next - deadline < 0) ? next : deadline);
				waits = deadline - this.pool.clock.nanoTime() > 0 && !Thread.currentThread().isInterrupted()
						&& (free || !this.pool.threads.mustGiveUp(me, this.connections.ready() == 0));
			}
			return free;
		}
		finally {
			me.waitsForPlace = false;
		}
	}

	private String whyNotAwaited(long deadline) {
		if (Thread.currentThread().isInterrupted()) {
			return ". The thread was interrupted while it waited for a place";
		}
		return (deadline - this.pool.clock.nanoTime() <= 0) ? ""
				: ". All threads of pool '%s' wait, so none is left to connect or to read replies. Give the client a pool of its own, or the pool more threads"
					.formatted(this.pool.name());
	}

	private void requireRunning() {
		if (!isRunning()) {
			throw new ExchangeRejectedException("The request was not sent: client '%s' is %s".formatted(name(),
					(this.state.current() == ServerSnapshot.State.NEW) ? "not started: call start() before" : "closed"),
					null);
		}
	}

	private ExchangeRejectedException noPlace(String end) {
		String why = (this.connections.ready() == 0)
				? this.connections.addresses()
					.stream()
					.map((address) -> "%s (%s)".formatted(address.address(),
							(address.failure() != null) ? address.failure() : "no connection is ready yet"))
					.collect(Collectors.joining(", ", "is connected to none of its addresses: ", ""))
				: "has the maximum number of exchanges under way on each of its %d connections, %d (maxInFlight)"
					.formatted(this.connections.ready(), this.options.maxInFlight());
		return new ExchangeRejectedException("The request was not sent: client '%s' %s".formatted(name(), why + end),
				null);
	}

	CompletableFuture<ByteBuffer> exchangeAsync(ByteBuffer request, long timeoutNanos) {
		StackReserve.require();
		Reply reply = new Reply(this.pool.clock.nanoTime() + timeoutNanos, false);
		try {
			requireRunning();
			Exchanges connection = this.connections.send(reply.exchange, request);
			if (connection == null) {
				throw noPlace("");
			}
			reply.begin(connection);
		}
		catch (ExchangeRejectedException ex) {
			this.counters.ended(ClientSnapshot.Outcome.REJECTED);
			reply.completeExceptionally(ex);
		}
		return reply;
	}

	// Shutdown

	@Override
	public boolean isClient() {
		return true;
	}

	/**
	 * Does nothing, because handlers of servers may need the client until the servers are
	 * drained.
	 */
	@Override
	public void beginDrain(long deadlineNanos) {
	}

	@Override
	public boolean close(Duration grace) {
		Participant.promoteBeforeBlocking();
		long deadline = this.pool.clock.nanoTime() + Arguments.nanos(grace);
		if (!beginClose()) {
			return this.places.await(() -> this.state.current() == ServerSnapshot.State.STOPPED, deadline)
					&& !this.connections.hasUnanswered();
		}
		try {
			return end(deadline);
		}
		finally {
			synchronized (this) {
				// It may have failed, for example because memory is short. Then the next
				// thread continues.
				this.hasCloser = false;
			}
		}
	}

	/** Returns whether the calling thread is to close the client. */
	private synchronized boolean beginClose() {
		this.closing = true;
		if (this.state.current() == ServerSnapshot.State.NEW) {
			this.state.drain();
		}
		boolean closes = !this.hasCloser && this.state.current() != ServerSnapshot.State.STOPPED;
		this.hasCloser |= closes;
		return closes;
	}

	private boolean end(long deadline) {
		this.connections.end();
		boolean replied = this.places.await(() -> this.connections.pending() == 0, deadline);
		if (!replied) {
			EngineLog.INSTANCE.warnOfClose("Client '{}' is closed with {} exchanges under way; they are lost", name(),
					this.connections.pending());
		}
		// Only now: while a server drains, its connections end as soon as they are quiet.
		this.state.drain();
		this.context.registry().all().forEach(Connection::close);
		if (!awaitClosed(deadline - this.pool.clock.nanoTime())) {
			this.context.registry().all().forEach(TcpConnection::abort);
			if (!awaitClosed(CLOSE_STEP_NANOS)) {
				this.context.registry().all().forEach(TcpConnection::abandon);
			}
		}
		this.state.stopped();
		this.places.changed();
		this.pool.servesNoMore(this);
		return replied && !this.connections.hasUnanswered();
	}

	private boolean awaitClosed(long nanos) {
		long deadlineNanos = System.nanoTime() + Math.min(nanos, CLOSE_STEP_NANOS);
		return this.state.awaitRest((exceptHandlers) -> this.context.registry().open() <= exceptHandlers,
				isOwnHandler(), deadlineNanos);
	}

	private void connectionClosed() {
		this.state.changed();
		this.connections.look();
	}

	ClientSnapshot snapshot() {
		ServerCounters bytes = this.counters.ofConnections;
		return new ClientSnapshot(name(), this.pool.name(), state(), this.connections.addresses(),
				this.options.connections(), this.connections.ready(), this.counters.connects.sum(),
				this.counters.disconnects.sum(), this.counters.failedConnects.sum(), this.connections.pending(),
				this.places.waiting(), this.counters.outcomes(), this.counters.lateReplies.sum(),
				this.counters.unexpectedMessages.sum(), bytes.receivedBytes(), bytes.sentBytes());
	}

	private ClientSnapshot.State state() {
		return switch (this.state.current()) {
			case NEW -> ClientSnapshot.State.NEW;
			case RUNNING -> this.closing ? ClientSnapshot.State.CLOSING : ClientSnapshot.State.RUNNING;
			case DRAINING -> ClientSnapshot.State.CLOSING;
			case STOPPED -> ClientSnapshot.State.CLOSED;
		};
	}

}
