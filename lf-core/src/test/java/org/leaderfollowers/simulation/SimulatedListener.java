package org.leaderfollowers.simulation;

import java.io.IOException;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.SocketAddress;
import java.net.SocketOption;
import java.nio.channels.ClosedChannelException;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.Set;

import org.jspecify.annotations.Nullable;

/** A listening socket of the engine. */
final class SimulatedListener extends ServerSocketChannel implements SimulatedSelector.Selectable {

	private final SimulatedNetwork network;

	private final Deque<SimulatedSocket> backlog = new ArrayDeque<>();

	private int most;

	private int port;

	SimulatedListener(SimulatedNetwork network) {
		super(network);
		this.network = network;
		network.opened(this);
	}

	boolean isFull() {
		return this.backlog.size() >= this.most;
	}

	void add(SimulatedSocket socket) {
		this.backlog.add(socket);
	}

	@Override
	public int readyOps() {
		return this.backlog.isEmpty() ? 0 : 16;
	}

	@Override
	public ServerSocketChannel bind(@Nullable SocketAddress local, int size) throws IOException {
		InetSocketAddress address = (InetSocketAddress) local;
		this.port = (address != null && address.getPort() != 0) ? address.getPort() : this.network.nextPort();
		this.most = (size > 0) ? size : 50;
		this.network.listen(this.port, this);
		return this;
	}

	@Override
	public @Nullable SocketChannel accept() throws IOException {
		if (!isOpen()) {
			throw new ClosedChannelException();
		}
		this.network.failMaybe("accept");
		SimulatedSocket socket = this.backlog.poll();
		return (socket != null) ? new SimulatedSocketChannel(this.network, socket) : null;
	}

	@Override
	protected void implCloseSelectableChannel() {
		this.network.listensNoMore(this.port, this);
		this.backlog.forEach(SimulatedSocket::abort);
		this.backlog.clear();
		this.network.closed(this);
	}

	@Override
	protected void implConfigureBlocking(boolean block) {
	}

	@Override
	public <T> ServerSocketChannel setOption(SocketOption<T> name, T value) {
		return this;
	}

	@Override
	public <T> @Nullable T getOption(SocketOption<T> name) {
		return null;
	}

	@Override
	public Set<SocketOption<?>> supportedOptions() {
		return Set.of();
	}

	@Override
	public ServerSocket socket() {
		throw new UnsupportedOperationException();
	}

	@Override
	public SocketAddress getLocalAddress() {
		return this.network.address(this.port);
	}

	@Override
	public String toString() {
		return "listener " + this.port;
	}

}
