package org.leaderfollowers;

import java.io.IOException;
import java.net.InetSocketAddress;
import java.net.StandardSocketOptions;
import java.nio.channels.DatagramChannel;
import java.nio.channels.SelectionKey;
import java.util.Map;

import org.jspecify.annotations.Nullable;
import org.leaderfollowers.internal.promotion.HandlerProfile;

/** The lifecycle of a {@link UdpServer}: its receiver. */
final class UdpLifecycle extends ServerLifecycle<DatagramChannel> {

	private final MessageHandler handler;

	private final String handlerName;

	private final UdpOptions options;

	private final ServerWarnings warnings;

	private final ServerCounters counters;

	private final DatagramCounters datagramCounters = new DatagramCounters();

	private volatile @Nullable DatagramReceiver receiver;

	UdpLifecycle(LeaderFollowersPool pool, String name, InetSocketAddress address, MessageHandler handler,
			String handlerName, UdpOptions options) {
		this(pool, new ServerWarnings(name, handlerName, pool.name()), name, address, handler, handlerName, options);
	}

	private UdpLifecycle(LeaderFollowersPool pool, ServerWarnings warnings, String name, InetSocketAddress address,
			MessageHandler handler, String handlerName, UdpOptions options) {
		super(pool, new ServerState(name, warnings), address);
		this.handler = handler;
		this.handlerName = handlerName;
		this.options = options;
		this.warnings = warnings;
		this.counters = new ServerCounters(pool.handleSets().newProfiles().length);
	}

	@Override
	DatagramChannel openChannel() throws IOException {
		return DatagramChannel.open();
	}

	@Override
	void bind(DatagramChannel channel, InetSocketAddress address) throws IOException {
		String owner = "Server '%s'".formatted(name());
		TcpSocketOptions.setBuffer(channel, StandardSocketOptions.SO_RCVBUF, this.options.receiveBufferSize(), owner,
				"receiveBufferSize");
		TcpSocketOptions.setBuffer(channel, StandardSocketOptions.SO_SNDBUF, this.options.sendBufferSize(), owner,
				"sendBufferSize");
		channel.bind(address);
	}

	@Override
	BoundSocket newSocket(DatagramChannel channel) throws IOException {
		HandleFactory handles = (socket, handler) -> pool().handleSets()
			.newHandle(socket, handler, SelectionKey.OP_READ, new HandlerProfile());
		DatagramReceiver created = new DatagramReceiver(state(), channel, handles, pool().clock, pool().datagramShare,
				this.handler, this.handlerName, this.options, this.counters, this.datagramCounters, this.warnings);
		this.receiver = created;
		return created;
	}

	@Override
	public boolean servesDatagrams() {
		return true;
	}

	@Override
	public void threadsAdded() {
		DatagramReceiver current = this.receiver;
		if (current != null && current.handle.isPaused()) {
			current.look();
		}
	}

	@Override
	@Nullable DatagramReceiver socket() {
		return this.receiver;
	}

	@Override
	void drainInput(long deadlineNanos) {
		DatagramReceiver current = this.receiver;
		if (current != null) {
			current.look();
		}
	}

	@Override
	boolean isDrained(int exceptHandlers) {
		DatagramReceiver current = this.receiver;
		if (current == null) {
			return true;
		}
		// Only a socket that was closed by force may be closed before.
		boolean inputEnded = current.isClosed() || (exceptHandlers > 0 && current.hasInputEnded());
		return inputEnded && current.inFlight() <= exceptHandlers;
	}

	@Override
	boolean isOwn(EngineEventHandler candidate) {
		return candidate == this.receiver;
	}

	@Override
	boolean isDone() {
		DatagramReceiver current = this.receiver;
		return current == null || current.isClosed();
	}

	@Override
	String undone() {
		DatagramReceiver current = this.receiver;
		int inFlight = (current != null) ? current.inFlight() : 0;
		// The socket may hold datagrams that no thread has read.
		return (inFlight > 0) ? inFlight + " datagrams" : "reading from its socket";
	}

	@Override
	void abort(long deadlineNanos) {
		DatagramReceiver current = this.receiver;
		if (current != null) {
			current.abort();
			awaitClosed(current, deadlineNanos);
		}
	}

	ServerSnapshot snapshot() {
		InetSocketAddress bound = boundAddress();
		DatagramReceiver current = this.receiver;
		ServerState state = state();
		String failure = state.listeningFailure();
		return new ServerSnapshot(name(), state.current(), pool().name(),
				(bound != null) ? bound.getAddress().getHostAddress() : null, (bound != null) ? bound.getPort() : -1,
				"datagram", this.handlerName, 0, 0, 0, Map.of(), this.counters.receivedBytes(),
				this.counters.sentBytes(), this.counters.receivedMessages(),
				current != null && current.backoff.isBackingOff(), state.isPaused(), TransportType.UDP,
				this.datagramCounters.snapshot((current != null) ? current.inFlight() : 0, this.options.maxInFlight()),
				null, 0, state.startedAt(), failure == null, failure, this.counters.handling(), null, null);
	}

}
