package org.leaderfollowers.simulation;

import java.io.IOException;
import java.net.DatagramSocket;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.NetworkInterface;
import java.net.SocketAddress;
import java.net.SocketOption;
import java.net.StandardSocketOptions;
import java.nio.ByteBuffer;
import java.nio.channels.ClosedChannelException;
import java.nio.channels.DatagramChannel;
import java.nio.channels.MembershipKey;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.Set;

import org.jspecify.annotations.Nullable;

/**
 * A socket of the engine for datagrams. It drops what arrives while its buffer is full.
 */
final class SimulatedDatagramChannel extends DatagramChannel implements SimulatedSelector.Selectable {

	private static final int BUFFER_SIZE = 65_536;

	private final SimulatedNetwork network;

	private final Deque<Received> received = new ArrayDeque<>();

	/** How many datagrams it holds at most. */
	private final int capacity;

	private int port;

	private record Received(byte[] payload, int sender) {
	}

	SimulatedDatagramChannel(SimulatedNetwork network) {
		super(network);
		this.network = network;
		this.capacity = 4 + network.simulator().choose(30);
		network.opened(this);
	}

	/**
	 * A datagram arrives.
	 * @return whether there was room for it
	 */
	boolean arrived(byte[] payload, int sender) {
		boolean hasRoom = isOpen() && this.received.size() < this.capacity;
		if (hasRoom) {
			this.received.add(new Received(payload, sender));
		}
		return hasRoom;
	}

	@Override
	public int readyOps() {
		return (this.received.isEmpty() ? 0 : 1) | 4;
	}

	private void requireOpen() throws ClosedChannelException {
		if (!isOpen()) {
			throw new ClosedChannelException();
		}
	}

	@Override
	public DatagramChannel bind(@Nullable SocketAddress local) throws IOException {
		InetSocketAddress address = (InetSocketAddress) local;
		this.port = (address != null && address.getPort() != 0) ? address.getPort() : this.network.nextPort();
		this.network.bind(this.port, this);
		return this;
	}

	@Override
	public @Nullable SocketAddress receive(ByteBuffer target) throws IOException {
		requireOpen();
		this.network.failMaybe("receive");
		Received next = this.received.poll();
		if (next == null) {
			return null;
		}
		target.put(next.payload, 0, Math.min(next.payload.length, target.remaining()));
		return this.network.address(next.sender);
	}

	@Override
	public int send(ByteBuffer source, SocketAddress target) throws IOException {
		requireOpen();
		this.network.failMaybe("send");
		if (this.network.simulator().fault(20)) {
			// The system has no room.
			return 0;
		}
		byte[] payload = new byte[source.remaining()];
		source.get(payload);
		this.network.reply(((InetSocketAddress) target).getPort(), payload);
		return payload.length;
	}

	@Override
	protected void implCloseSelectableChannel() {
		this.network.unbind(this.port, this);
		this.network.closed(this);
	}

	@Override
	protected void implConfigureBlocking(boolean block) {
	}

	@Override
	public <T> DatagramChannel setOption(SocketOption<T> name, T value) {
		return this;
	}

	@Override
	public <T> @Nullable T getOption(SocketOption<T> name) {
		return (name == StandardSocketOptions.SO_RCVBUF) ? name.type().cast(BUFFER_SIZE) : null;
	}

	@Override
	public Set<SocketOption<?>> supportedOptions() {
		return Set.of();
	}

	@Override
	public SocketAddress getLocalAddress() {
		return this.network.address(this.port);
	}

	@Override
	public boolean isConnected() {
		return false;
	}

	@Override
	public @Nullable SocketAddress getRemoteAddress() {
		return null;
	}

	@Override
	public DatagramSocket socket() {
		throw new UnsupportedOperationException();
	}

	@Override
	public DatagramChannel connect(SocketAddress remote) {
		throw new UnsupportedOperationException();
	}

	@Override
	public DatagramChannel disconnect() {
		throw new UnsupportedOperationException();
	}

	@Override
	public int read(ByteBuffer target) {
		throw new UnsupportedOperationException();
	}

	@Override
	public long read(ByteBuffer[] targets, int offset, int length) {
		throw new UnsupportedOperationException();
	}

	@Override
	public int write(ByteBuffer source) {
		throw new UnsupportedOperationException();
	}

	@Override
	public long write(ByteBuffer[] sources, int offset, int length) {
		throw new UnsupportedOperationException();
	}

	@Override
	public MembershipKey join(InetAddress group, NetworkInterface networkInterface) {
		throw new UnsupportedOperationException();
	}

	@Override
	public MembershipKey join(InetAddress group, NetworkInterface networkInterface, InetAddress source) {
		throw new UnsupportedOperationException();
	}

	@Override
	public String toString() {
		return "datagrams " + this.port;
	}

}
