package org.leaderfollowers.simulation;

import java.io.IOException;
import java.net.BindException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ProtocolFamily;
import java.net.UnknownHostException;
import java.nio.ByteBuffer;
import java.nio.channels.DatagramChannel;
import java.nio.channels.Pipe;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;
import java.nio.channels.spi.AbstractSelector;
import java.nio.channels.spi.SelectorProvider;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashSet;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;

import org.jspecify.annotations.Nullable;

/**
 * A network in memory. The {@link Simulator} chooses how long bytes are under way, how
 * many of them a read or write moves, which connection attempts are refused, and which
 * calls fail.
 */
public final class SimulatedNetwork extends SelectorProvider {

	private static final int CLIENT_PORTS = 30_000;

	private final Simulator simulator;

	private final InetAddress host = host(1);

	private final InetAddress proxy = host(2);

	/** The ports of the connections that come from a proxy. */
	private final Set<Integer> proxied = new HashSet<>();

	private final Map<Integer, SimulatedListener> listeners = new HashMap<>();

	private final Map<Integer, SimulatedDatagramChannel> datagramChannels = new HashMap<>();

	private final Map<Integer, Consumer<ByteBuffer>> datagramPeers = new HashMap<>();

	/** Channels and selectors of the engine that are not closed. */
	private final Set<Object> open = new LinkedHashSet<>();

	private int ports = CLIENT_PORTS;

	/** Of a thousand calls, how many fail. */
	private int failures;

	private int allocationFailures;

	private boolean readsAll;

	SimulatedNetwork(Simulator simulator) {
		this.simulator = simulator;
	}

	private static InetAddress host(int number) {
		try {
			return InetAddress.getByAddress(new byte[] { 10, 0, 0, (byte) number });
		}
		catch (UnknownHostException ex) {
			throw new IllegalStateException(ex);
		}
	}

	Simulator simulator() {
		return this.simulator;
	}

	/**
	 * Sets how often calls fail.
	 * @param calls of a thousand calls of a channel
	 * @param allocations of a thousand allocations of buffers
	 */
	public void failures(int calls, int allocations) {
		this.failures = calls;
		this.allocationFailures = allocations;
	}

	/**
	 * Lets each read take all bytes that have arrived, as the systems do. TLS takes a
	 * read that does not fill its buffer for one that has emptied the socket.
	 */
	public void readAll() {
		this.readsAll = true;
	}

	boolean readsAll() {
		return this.readsAll;
	}

	boolean failsToAllocate() {
		return this.simulator.fault(this.allocationFailures);
	}

	void failMaybe(String call) throws IOException {
		if (this.simulator.fault(this.failures)) {
			this.simulator.note(call + " fails");
			throw new IOException("simulated failure of " + call);
		}
	}

	/** The time that bytes or a connection attempt are under way. */
	long delay() {
		int kind = this.simulator.choose(20);
		return this.simulator
			.choose((kind == 0) ? (int) TimeUnit.MILLISECONDS.toNanos(20) : (kind < 10) ? 200_000 : 10_000);
	}

	/** Returns the address of a port: that of the proxy, or of the host of all others. */
	public InetSocketAddress address(int port) {
		return new InetSocketAddress(this.proxied.contains(port) ? this.proxy : this.host, port);
	}

	/** Returns the host from which the connections of the proxy come. */
	public String proxy() {
		return this.proxy.getHostAddress();
	}

	/** Lets the connection from a port come from the proxy. */
	void comesFromProxy(int port) {
		this.proxied.add(port);
	}

	int nextPort() {
		return ++this.ports;
	}

	void listen(int port, SimulatedListener listener) throws IOException {
		if (this.listeners.putIfAbsent(port, listener) != null) {
			throw new BindException("Address already in use (simulated)");
		}
	}

	void listensNoMore(int port, SimulatedListener listener) {
		this.listeners.remove(port, listener);
	}

	/**
	 * Connects a socket after a while, or refuses it.
	 * @param socket the socket
	 * @param port the port of the server
	 */
	public void connect(SimulatedSocket socket, int port) {
		this.simulator.at(this.simulator.nanoTime() + delay(), "connect to " + port, () -> {
			SimulatedListener listener = this.listeners.get(port);
			if (listener == null || listener.isFull() || this.simulator.fault(10)) {
				socket.refused();
			}
			else if (!socket.isClosed()) {
				SimulatedSocket accepted = new SimulatedSocket(this, port);
				SimulatedSocket.connect(socket, accepted);
				listener.add(accepted);
			}
		});
	}

	void bind(int port, SimulatedDatagramChannel channel) throws IOException {
		if (this.datagramChannels.putIfAbsent(port, channel) != null) {
			throw new BindException("Address already in use (simulated)");
		}
	}

	void unbind(int port, SimulatedDatagramChannel channel) {
		this.datagramChannels.remove(port, channel);
	}

	/**
	 * Creates a peer that sends datagrams.
	 * @param replies takes the replies
	 * @return its port
	 */
	public int datagramPeer(Consumer<ByteBuffer> replies) {
		int port = nextPort();
		this.datagramPeers.put(port, replies);
		return port;
	}

	/**
	 * Sends a datagram to the engine, which may overtake others.
	 * @param from the port of the peer
	 * @param to the port of the server
	 * @param arrival gets {@code false} if the server has no room for it or is closed
	 */
	public void sendDatagram(int from, int to, byte[] payload, Consumer<Boolean> arrival) {
		this.simulator.at(this.simulator.nanoTime() + delay(), "datagram for " + to, () -> {
			SimulatedDatagramChannel channel = this.datagramChannels.get(to);
			arrival.accept(channel != null && channel.arrived(payload, from));
		});
	}

	void reply(int to, byte[] payload) {
		Consumer<ByteBuffer> replies = this.datagramPeers.get(to);
		this.simulator.at(this.simulator.nanoTime() + delay(), "datagram for " + to,
				() -> replies.accept(ByteBuffer.wrap(payload)));
	}

	void opened(Object resource) {
		this.open.add(resource);
	}

	void closed(Object resource) {
		this.open.remove(resource);
	}

	/** Returns the channels and selectors of the engine that are not closed. */
	public Set<Object> open() {
		return this.open;
	}

	@Override
	public SocketChannel openSocketChannel() throws IOException {
		failMaybe("socket");
		return new SimulatedSocketChannel(this, new SimulatedSocket(this, nextPort()));
	}

	@Override
	public ServerSocketChannel openServerSocketChannel() {
		return new SimulatedListener(this);
	}

	@Override
	public AbstractSelector openSelector() {
		return new SimulatedSelector(this);
	}

	@Override
	public DatagramChannel openDatagramChannel() {
		return new SimulatedDatagramChannel(this);
	}

	@Override
	public DatagramChannel openDatagramChannel(@Nullable ProtocolFamily family) {
		throw new UnsupportedOperationException();
	}

	@Override
	public Pipe openPipe() {
		throw new UnsupportedOperationException();
	}

}
