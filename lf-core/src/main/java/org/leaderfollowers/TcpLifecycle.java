package org.leaderfollowers;

import java.io.IOException;
import java.net.InetSocketAddress;
import java.net.StandardSocketOptions;
import java.nio.channels.SelectionKey;
import java.nio.channels.ServerSocketChannel;
import java.util.concurrent.TimeUnit;

import org.jspecify.annotations.Nullable;
import org.leaderfollowers.internal.promotion.HandledWork;
import org.leaderfollowers.internal.promotion.HandlerProfile;

/** The lifecycle of a {@link TcpServer}: its acceptor and its connections. */
final class TcpLifecycle extends ServerLifecycle<ServerSocketChannel> {

	/** How long an evacuation waits for a thread that closes the port. */
	private static final long PORT_NANOS = TimeUnit.SECONDS.toNanos(1);

	private final String handlerName;

	private final TcpOptions options;

	private final ConnectionContext context;

	private final ServicePools servicePools;

	private volatile @Nullable Acceptor acceptor;

	/** The first evacuation is the only one. Written under the monitor. */
	private volatile @Nullable Evacuation evacuation;

	TcpLifecycle(LeaderFollowersPool pool, String name, InetSocketAddress address, Framing framing,
			MessageHandler handler, String handlerName, TcpOptions options) {
		this(pool, new ServerWarnings(name, handlerName, pool.name()), name, address, framing, handler, handlerName,
				options);
	}

	private TcpLifecycle(LeaderFollowersPool pool, ServerWarnings warnings, String name, InetSocketAddress address,
			Framing framing, MessageHandler handler, String handlerName, TcpOptions options) {
		super(pool, new ServerState(name, warnings), address);
		this.handlerName = handlerName;
		this.options = options;
		ServerTls tls = options.tls();
		ConnectionContext own = new ConnectionContext(state(), handler, framing, options.limits(), options.timeouts(),
				new ServerCounters(ServicePools.Options.handleSets(pool, options.classes())), warnings,
				new ConnectionRegistry(this::connectionClosed),
				(tls != null) ? new TlsGenerations(tls, pool.memory(),
						new HandshakeGate(tls, pool.clock, warnings, this::handshakeEnded)) : null,
				new PoolHandles(pool, SelectionKey.OP_READ), pool.clock, pool.memory(),
				HandledWork.ofConnections(name, handlerName), options.window(),
				new WireLog("server '%s'".formatted(name)), false, null,
				ConnectionContext.preparation(framing, options.correlation(), options.window(), options.guard()));
		this.servicePools = new ServicePools(pool, own, handlerName, options.classes());
		this.context = this.servicePools.first();
	}

	ConnectionContext context() {
		return this.context;
	}

	@Override
	ServerSocketChannel openChannel() throws IOException {
		return ServerSocketChannel.open();
	}

	@Override
	void bind(ServerSocketChannel channel, InetSocketAddress address) throws IOException {
		channel.setOption(StandardSocketOptions.SO_REUSEADDR, true);
		this.options.sockets().setOn(channel);
		channel.bind(address, this.options.backlog());
		this.options.sockets().warnOfLimits("Server '%s'".formatted(name()));
	}

	@Override
	BoundSocket newSocket(ServerSocketChannel channel) {
		HandleFactory handles = (socket, handler) -> pool().handleSets()
			.newHandle(socket, handler, SelectionKey.OP_ACCEPT, new HandlerProfile());
		Admission admission = new Admission(this.context, this.options);
		Acceptor created = new Acceptor(state(), channel, this.options.backlog(), handles, admission);
		this.acceptor = created;
		pool().memory().add(new ConnectionMemory.All(this.context.registry(), pool().memory()));
		this.servicePools.begin();
		return created;
	}

	@Override
	@Nullable BoundSocket socket() {
		return this.acceptor;
	}

	private void connectionClosed() {
		state().changed();
		this.servicePools.changed();
		Acceptor current = this.acceptor;
		if (current != null) {
			current.connectionClosed();
		}
	}

	/** The acceptor waits for the end of handshakes. */
	private void handshakeEnded() {
		Acceptor current = this.acceptor;
		if (current != null) {
			current.look();
		}
	}

	/** See {@link TcpServer#evacuate}. */
	boolean evacuate(CloseRate rate) {
		Participant.promoteBeforeBlocking();
		Evacuation begun;
		Acceptor current;
		synchronized (this) {
			Evacuation earlier = this.evacuation;
			current = this.acceptor;
			if (earlier != null) {
				return earlier.rate(rate);
			}
			if (current == null || !state().evacuate()) {
				return false;
			}
			begun = new Evacuation(this.context, pool().handleSets(), rate);
			this.evacuation = begun;
		}
		current.requestClose();
		awaitClosed(current, System.nanoTime() + PORT_NANOS);
		begun.begin();
		return true;
	}

	@Override
	void drainInput(long deadlineNanos) {
		Evacuation evacuating = this.evacuation;
		if (evacuating != null) {
			evacuating.end();
		}
		Acceptor current = this.acceptor;
		if (current != null) {
			current.requestClose();
			awaitClosed(current, deadlineNanos);
		}
		// After the last connection was accepted. Each connection either sees the new
		// state when it is released, or is looked at because of this request.
		this.context.registry().all().forEach(TcpConnection::drain);
	}

	@Override
	boolean isDrained(int exceptHandlers) {
		if (exceptHandlers == 0) {
			return isDone();
		}
		// A connection ends only when its handlers have returned, and one of them may be
		// waiting here.
		int left = 0;
		for (TcpConnection connection : this.context.registry().all()) {
			left += connection.undone();
		}
		return left <= exceptHandlers;
	}

	@Override
	boolean isOwn(EngineEventHandler handler) {
		return handler instanceof TcpConnection connection && connection.context.registry() == this.context.registry();
	}

	@Override
	boolean isDone() {
		return this.context.registry().open() == 0;
	}

	@Override
	String undone() {
		int unanswered = this.context.registry().all().stream().mapToInt(TcpConnection::unanswered).sum();
		String connections = this.context.registry().open() + " connections";
		return (unanswered > 0) ? connections + " (" + unanswered + " messages unanswered)" : connections;
	}

	@Override
	void abort(long deadlineNanos) {
		this.context.registry().all().forEach(TcpConnection::abort);
		if (!awaitDrained(deadlineNanos)) {
			this.context.registry().all().forEach(TcpConnection::abandon);
		}
	}

	@Override
	void ended() {
		pool().memory().remove(new ConnectionMemory.All(this.context.registry(), pool().memory()));
		this.servicePools.end();
	}

	ServerSnapshot snapshot() {
		InetSocketAddress bound = boundAddress();
		Acceptor current = this.acceptor;
		ServerState state = state();
		String failure = state.listeningFailure();
		ConnectionRegistry registry = this.context.registry();
		ServerCounters counters = this.context.counters();
		TlsGenerations tls = this.context.tls();
		ServerExchanges asked = this.options.exchanges();
		Evacuation evacuating = this.evacuation;
		return new ServerSnapshot(name(), state.current(), pool().name(),
				(bound != null) ? bound.getAddress().getHostAddress() : null, (bound != null) ? bound.getPort() : -1,
				this.context.framing().toString(), this.handlerName, registry.open(), registry.acceptedConnections(),
				registry.rejectedConnections(), registry.closedConnections(), counters.receivedBytes(),
				counters.sentBytes(), counters.receivedMessages(), current != null && current.isBackingOff(),
				state.isPaused(), TransportType.TCP, null, (tls != null) ? tls.snapshot() : null,
				this.options.maxConnections(), state.startedAt(), failure == null, failure, counters.handling(),
				(asked != null) ? asked.snapshot() : null, (evacuating != null) ? evacuating.snapshot() : null);
	}

}
