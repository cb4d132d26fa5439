package org.leaderfollowers;

import java.io.IOException;
import java.net.InetSocketAddress;
import java.nio.ByteBuffer;
import java.nio.channels.SocketChannel;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.function.Function;

import org.jspecify.annotations.Nullable;
import org.leaderfollowers.internal.buffer.RecordBuffers;
import org.leaderfollowers.internal.demultiplexing.HandleState.Release;
import org.leaderfollowers.internal.exchange.Exchange;
import org.leaderfollowers.internal.exchange.Exchange.State;
import org.leaderfollowers.internal.exchange.ExchangeTable.Registration;
import org.leaderfollowers.internal.logging.EngineLog;
import org.leaderfollowers.internal.promotion.HandledWork;
import org.leaderfollowers.internal.promotion.HandlerProfile;
import org.leaderfollowers.internal.transport.PlainTransport;
import org.leaderfollowers.internal.transport.TlsTransport;
import org.leaderfollowers.internal.transport.Transport;

/**
 * Keeps the connections of a client open: it connects, distributes the connections over
 * the addresses, detects when they end, reconnects after a pause, and sends heartbeats.
 * <p>
 * This is a concrete event handler without a channel. Its events are looks, which are
 * requested whenever something changes, and the deadline of its handle. One thread at a
 * time therefore changes all of its state, and it needs neither a thread nor a timer of
 * its own. Connection attempts are dispatched as blocking work. Only a name is looked up
 * on another thread, because that may take long; see {@link NameLookup}.
 */
final class ClientConnections implements EngineEventHandler, Exchanges.ExchangeListener {

	private static final long RECOVERY_NANOS = TimeUnit.SECONDS.toNanos(1);

	private final ClientOptions options;

	private final ClientCounters counters;

	private final ConnectionContext context;

	private final PeerAddress[] addresses;

	private final Slot[] slots;

	private final Places places;

	private final HandledWork work;

	private final RecordBuffers recordBuffers = new RecordBuffers();

	private final SelectableHandle handle;

	private volatile boolean ending;

	/** Whether a request got no reply after {@link #end()} was called. */
	private volatile boolean unanswered;

	/** When the next look is due. Written by the owner. */
	private volatile long nextNanos = NO_DEADLINE;

	// Used by the owner only

	private final List<Slot> due = new ArrayList<>();

	/** The place of one connection. Only the owner of the handle changes it. */
	private static final class Slot {

		private @Nullable PeerAddress address;

		/** When the attempt to connect to the address began. */
		private long attemptNanos;

		/** When the name of the address must be looked up. */
		private long lookupDeadline;

		private volatile @Nullable TcpConnection connection;

		/** Whether requests may be sent on the connection. Any thread may write it. */
		private volatile boolean ready;

		/** Written before the slot becomes ready, and read afterwards. */
		private long establishedNanos;

		/** Whether the success was recorded for the address. */
		private boolean noted;

		private long heartbeatNanos;

		/** The number of bytes received when the latest heartbeat was considered. */
		private long receivedBytes;

	}

	/**
	 * Creates the context that the connections share. The context refers to their
	 * handler, so it is created later.
	 */
	@FunctionalInterface
	interface ContextFactory {

		ConnectionContext create(ClientConnections connections);

	}

	ClientConnections(String name, List<InetSocketAddress> addresses, ClientOptions options, ClientCounters counters,
			Places places, Function<EngineEventHandler, SelectableHandle> timers, ContextFactory contexts) {
		this.options = options;
		this.counters = counters;
		this.places = places;
		this.work = new HandledWork("Connections of client '" + name + "'", null, null);
		this.addresses = addresses.stream()
			.map((address) -> new PeerAddress(name, address, options, this::look))
			.toArray(PeerAddress[]::new);
		this.slots = new Slot[options.connections()];
		for (int i = 0; i < this.slots.length; i++) {
			this.slots[i] = new Slot();
		}
		this.handle = timers.apply(this);
		this.context = contexts.create(this);
	}

	ConnectionContext context() {
		return this.context;
	}

	/** Begins to connect. */
	void open() {
		this.handle.pause();
		look();
	}

	/** Stops making connections. Any thread. */
	void end() {
		this.ending = true;
		this.places.changed();
		look();
	}

	/** Requests a look, because something has changed. Any thread. */
	void look() {
		this.handle.request(SelectableHandle.LOOK);
	}

	// Requests (called by any thread)

	/**
	 * Sends a request on the connection that has the least to do.
	 * @return the connection, or {@code null} if there is none with a free place
	 * @throws ExchangeRejectedException if the request could not be sent even after a
	 * wait
	 */
	@Nullable Exchanges send(Exchange exchange, ByteBuffer request) {
		boolean duplicate = false;
		for (int i = 0; i <= this.slots.length; i++) {
			Exchanges chosen = choose(i);
			if (chosen == null) {
				continue;
			}
			Registration registration = chosen.send(exchange, request);
			if (registration == Registration.REGISTERED || exchange.state() != State.PENDING) {
				return chosen;
			}
			if (registration == Registration.CONGESTED) {
				throw chosen.rejected(Registration.CONGESTED);
			}
			duplicate |= registration == Registration.DUPLICATE;
		}
		if (duplicate) {
			throw new ExchangeRejectedException(
					"The request was not sent: client '%s' waits for the reply to a request with the same key, or this reply may still come late. Use keys that are not repeated, or more connections"
						.formatted(this.context.server().name()),
					null);
		}
		return null;
	}

	/**
	 * Chooses the least loaded connection in the first attempt, and then each connection
	 * in turn.
	 */
	private @Nullable Exchanges choose(int attempt) {
		if (attempt > 0) {
			return exchanges(this.slots[attempt - 1]);
		}
		Exchanges least = null;
		for (Slot slot : this.slots) {
			Exchanges candidate = exchanges(slot);
			if (candidate != null && (least == null || candidate.taken() < least.taken())) {
				least = candidate;
			}
		}
		return least;
	}

	private static @Nullable Exchanges exchanges(Slot slot) {
		TcpConnection connection = slot.connection;
		Exchanges exchanges = (connection != null && slot.ready && connection.isOpen()) ? connection.exchanges : null;
		return (exchanges != null && exchanges.hasPlace()) ? exchanges : null;
	}

	boolean hasPlace() {
		return this.ending || choose(0) != null;
	}

	/**
	 * Whether a request was lost, timed out or was given up after {@link #end()} was
	 * called. Any thread. Complete when nothing is {@link #pending} any more.
	 */
	boolean hasUnanswered() {
		return this.unanswered;
	}

	int pending() {
		int pending = 0;
		for (Slot slot : this.slots) {
			TcpConnection connection = slot.connection;
			pending += (connection != null && connection.exchanges != null) ? connection.exchanges.pending() : 0;
		}
		return pending;
	}

	int ready() {
		int ready = 0;
		for (Slot slot : this.slots) {
			TcpConnection connection = slot.connection;
			boolean isUsable = slot.ready && connection != null && connection.isOpen() && connection.exchanges != null
					&& !connection.exchanges.isClosed();
			ready += isUsable ? 1 : 0;
		}
		return ready;
	}

	List<ClientSnapshot.Address> addresses() {
		List<ClientSnapshot.Address> snapshots = new ArrayList<>();
		for (PeerAddress address : this.addresses) {
			snapshots.add(address.snapshot());
		}
		return snapshots;
	}

	// Called by connections

	/** A connection is established, and the application has seen it. */
	void opened(Connection opened) {
		for (Slot slot : this.slots) {
			if (slot.connection == opened) {
				slot.establishedNanos = this.context.clock().nanoTime();
				slot.ready = true;
			}
		}
		this.places.changed();
		look();
	}

	@Override
	public void ended(State state) {
		if (state == State.TIMED_OUT || state == State.CANCELLED) {
			// The exchange still counts as pending, so the thread that closes sees this.
			unanswered();
		}
		this.counters.ended(state);
	}

	@Override
	public void lost() {
		unanswered();
	}

	private void unanswered() {
		if (this.ending) {
			this.unanswered = true;
		}
	}

	@Override
	public void late() {
		this.counters.lateReplies.increment();
	}

	@Override
	public void changed() {
		if (this.ending) {
			// Threads that close the client wait for different conditions, so it does not
			// suffice to wake one of them.
			this.places.changed();
		}
		else {
			this.places.freed();
		}
	}

	@Override
	public int maxOverdue() {
		return this.options.maxInFlight() / 2;
	}

	// The event handler

	@Override
	public boolean prepare(Participant me) {
		long now = this.context.clock().nanoTime();
		this.due.clear();
		for (PeerAddress address : this.addresses) {
			address.beginRound();
		}
		long next = NO_DEADLINE;
		// First: slots without a connection may wait for an address that is proven now.
		for (Slot slot : this.slots) {
			next = EngineEventHandler.earlier(next, record(slot, now));
		}
		for (Slot slot : this.slots) {
			next = EngineEventHandler.earlier(next, look(slot, now));
		}
		this.nextNanos = next;
		return !this.due.isEmpty();
	}

	/** Records what has become of a connection. Returns when its address is proven. */
	private long record(Slot slot, long now) {
		TcpConnection connection = slot.connection;
		// Read before the readiness of the slot: a connection becomes ready before it
		// ends, so a connection that has ended is seen as ready too.
		boolean hasEnded = connection != null && connection.handle.isMarkedClosed();
		if (slot.ready && !slot.noted && slot.address != null) {
			// Even if the connection has ended since: the application has seen it.
			slot.noted = true;
			slot.heartbeatNanos = now + this.options.heartbeatNanos();
			this.counters.connects.increment();
		}
		if (connection != null && hasEnded) {
			ended(slot, connection, now);
		}
		else if (slot.noted && slot.address != null) {
			return slot.address.established(slot, slot.establishedNanos, now);
		}
		return NO_DEADLINE;
	}

	/** Looks at a slot. Returns when the next look is due. */
	private long look(Slot slot, long now) {
		TcpConnection connection = slot.connection;
		return (connection != null) ? lookAtSilence(slot, connection, now) : lookAtAttempt(slot, now);
	}

	/**
	 * Decides whether to connect: there is an address, and its name is not being looked
	 * up. Returns when the next look is due.
	 */
	private long lookAtAttempt(Slot slot, long now) {
		if (this.ending) {
			giveUp(slot);
			return NO_DEADLINE;
		}
		long retry = (slot.address == null) ? choose(slot, now) : NO_DEADLINE;
		PeerAddress address = slot.address;
		if (address == null) {
			return retry;
		}
		if (!address.isBeingLookedUp()) {
			this.due.add(slot);
			return NO_DEADLINE;
		}
		if (!ConnectionTimeouts.isPast(slot.lookupDeadline, now)) {
			return slot.lookupDeadline;
		}
		attemptFailed(slot, address, "the lookup of its name takes longer than the connect timeout", now);
		// Another address may be usable.
		return lookAtAttempt(slot, now);
	}

	private void attemptFailed(Slot slot, PeerAddress address, String why, long now) {
		giveUp(slot);
		address.failed(why, slot.attemptNanos, now);
		this.counters.failedConnects.increment();
	}

	private static void giveUp(Slot slot) {
		if (slot.address != null) {
			slot.address.ended(slot);
			slot.address = null;
		}
	}

	/** Decides whether a heartbeat is due. Returns when the next look is due. */
	private long lookAtSilence(Slot slot, TcpConnection connection, long now) {
		if (!slot.noted || this.options.heartbeatNanos() == 0) {
			return NO_DEADLINE;
		}
		if (now - slot.heartbeatNanos >= 0) {
			slot.heartbeatNanos = now + this.options.heartbeatNanos();
			long received = connection.receivedBytes();
			Exchanges exchanges = connection.exchanges;
			// The reply to a heartbeat would come late if an earlier request takes long.
			boolean isBehind = exchanges != null && exchanges.isInOrder() && exchanges.pending() > 0;
			if (received == slot.receivedBytes && !isBehind) {
				this.due.add(slot);
			}
			slot.receivedBytes = received;
		}
		return slot.heartbeatNanos;
	}

	/** The connection of a slot has ended. */
	private void ended(Slot slot, TcpConnection connection, long now) {
		PeerAddress address = slot.address;
		CloseSequence end = connection.closing;
		CloseReason reason = (end != null) ? end.reason() : CloseReason.IO_ERROR;
		if (slot.noted) {
			this.counters.disconnects.increment();
			EngineLog.INSTANCE.debug("{} to {} ended: {}", connection, address, reason);
		}
		else {
			this.counters.failedConnects.increment();
		}
		if (address != null) {
			address.ended(slot);
			// A proxy whose server is down accepts connections and closes them at once,
			// so this counts as a failure.
			boolean atOnce = slot.noted && now - slot.establishedNanos < this.options.minBackoffNanos();
			if ((!slot.noted || atOnce) && !this.ending) {
				Throwable cause = (end != null) ? end.cause() : null;
				address.failed(
						(cause != null) ? ServerWarnings.describe(cause) : (slot.noted
								? "the connection ended at once: " : "the connection was not established: ") + reason,
						slot.attemptNanos, now);
			}
		}
		slot.connection = null;
		slot.address = null;
		slot.ready = false;
		slot.noted = false;
		slot.receivedBytes = 0;
		// Callers may be waiting for a place on this connection.
		this.places.changed();
	}

	/**
	 * Chooses an address to connect to: among those that are reachable, the one with the
	 * fewest connections.
	 */
	private long choose(Slot slot, long now) {
		PeerAddress chosen = null;
		long retry = NO_DEADLINE;
		for (PeerAddress address : this.addresses) {
			if (address.isUsable(now)) {
				chosen = isBetter(address, chosen) ? address : chosen;
			}
			else {
				retry = EngineEventHandler.earlier(retry, address.retryNanos());
			}
		}
		if (chosen == null) {
			return retry;
		}
		chosen.attempt(slot);
		slot.address = chosen;
		slot.attemptNanos = now;
		slot.lookupDeadline = this.context.timeouts().handshakeDeadline(now);
		return NO_DEADLINE;
	}

	/**
	 * Compares two addresses. An address that failed is preferred as soon as its pause is
	 * over.
	 */
	private static boolean isBetter(PeerAddress address, @Nullable PeerAddress than) {
		if (than == null || address.isFailing() != than.isFailing()) {
			return than == null || address.isFailing();
		}
		return address.connections() < than.connections();
	}

	@Override
	public void dispatch(Participant me) {
		for (Slot slot : this.due) {
			if (slot.connection != null) {
				sendHeartbeat(slot);
			}
			else if (slot.address != null) {
				connect(slot, slot.address);
			}
		}
	}

	private void connect(Slot slot, PeerAddress address) {
		SocketChannel channel = null;
		try {
			if (this.ending) {
				giveUp(slot);
				return;
			}
			InetSocketAddress peer = address.next();
			if (peer == null) {
				return;
			}
			channel = SocketChannel.open();
			channel.configureBlocking(false);
			this.options.sockets().setOnConnecting(channel);
			channel.connect(peer);
			TcpConnection connection = new TcpConnection(this.context, channel, newTransport(channel, peer), null,
					peer);
			connection.exchanges = new Exchanges(this.options.correlation(), this.options.maxInFlight(), connection,
					this);
			this.context.registry().add(connection);
			slot.connection = connection;
			connection.open();
		}
		catch (Throwable ex) {
			// Errors are caught too, such as a lack of memory: the address is retried.
			closeQuietly(channel);
			attemptFailed(slot, address, ServerWarnings.describe(ex), this.context.clock().nanoTime());
		}
	}

	private Transport newTransport(SocketChannel channel, InetSocketAddress peer) {
		ClientTls tls = this.options.tls().get();
		return (tls != null)
				? new TlsTransport(channel, tls.newEngine(peer), this.recordBuffers, this.context.memory(), 1)
				: new PlainTransport(channel);
	}

	private static void closeQuietly(@Nullable SocketChannel channel) {
		try {
			if (channel != null) {
				channel.close();
			}
		}
		catch (IOException ex) {
			EngineLog.INSTANCE.debug("Closing a socket failed", ex);
		}
	}

	private void sendHeartbeat(Slot slot) {
		TcpConnection connection = slot.connection;
		if (connection == null || connection.exchanges == null || this.options.heartbeat() == null) {
			return;
		}
		CompletableFuture<ByteBuffer> reply = new CompletableFuture<>();
		Exchange exchange = Exchange.ofFuture(this.context.clock().nanoTime() + this.options.requestNanos(), reply);
		Registration sent;
		try {
			sent = connection.exchanges.send(exchange, this.options.heartbeat().get());
		}
		catch (Throwable ex) {
			connection.fail(ex);
			return;
		}
		if (sent == Registration.REGISTERED) {
			reply.exceptionally((failure) -> {
				connection.requestCloseAndLook(CloseReason.EXCHANGE_TIMEOUT, null);
				return null;
			});
		}
	}

	@Override
	public boolean release(Participant me) {
		if (!this.due.isEmpty()) {
			// The attempts have changed the time of the next look, so another round is
			// needed.
			return false;
		}
		if (this.ending && this.context.registry().open() == 0) {
			for (Slot slot : this.slots) {
				// Since the round began, its connection or the client may have ended.
				record(slot, this.context.clock().nanoTime());
				giveUp(slot);
			}
			this.handle.closeByOwner();
			return true;
		}
		long scheduled = this.handle.timerDeadline;
		long next = this.nextNanos;
		if (next != NO_DEADLINE && (scheduled == NO_DEADLINE || next - scheduled < 0)) {
			this.handle.request(SelectableHandle.TIMER);
		}
		return this.handle.pause() == Release.RELEASED;
	}

	@Override
	public long deadline(long nowNanos) {
		return this.nextNanos;
	}

	/** Connection attempts may block. */
	@Override
	public HandlerProfile profile() {
		return HandlerProfile.BLOCKING;
	}

	@Override
	public boolean failed(Participant me, Throwable failure) {
		this.nextNanos = this.context.clock().nanoTime() + RECOVERY_NANOS;
		this.handle.pauseUntilDeadline();
		EngineLog.INSTANCE.error("{} failed; the client retries", this.work.handle(0), failure);
		return false;
	}

	@Override
	public void abandon() {
		this.ending = true;
	}

	@Override
	public HandledWork work() {
		return this.work;
	}

	@Override
	public String toString() {
		return this.work.handle();
	}

}
