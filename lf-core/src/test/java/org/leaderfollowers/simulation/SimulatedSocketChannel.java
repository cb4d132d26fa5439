package org.leaderfollowers.simulation;

import java.io.IOException;
import java.io.InputStream;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.net.SocketAddress;
import java.net.SocketOption;
import java.nio.ByteBuffer;
import java.nio.channels.ClosedChannelException;
import java.nio.channels.SocketChannel;
import java.util.Set;

import org.jspecify.annotations.Nullable;

/** A channel of the engine to a {@link SimulatedSocket}. */
final class SimulatedSocketChannel extends SocketChannel implements SimulatedSelector.Selectable {

	private final SimulatedNetwork network;

	private final SimulatedSocket socket;

	private boolean pending;

	private @Nullable InetSocketAddress remote;

	SimulatedSocketChannel(SimulatedNetwork network, SimulatedSocket socket) {
		super(network);
		this.network = network;
		this.socket = socket;
		if (socket.isConnected()) {
			this.remote = network.address(socket.otherPort());
		}
		network.opened(this);
	}

	@Override
	public int readyOps() {
		int connect = (this.pending && (this.socket.isConnected() || this.socket.isRefused())) ? 8 : 0;
		return (this.socket.isReadable() ? 1 : 0) | (this.socket.isWritable() ? 4 : 0) | connect;
	}

	private void requireOpen() throws ClosedChannelException {
		if (!isOpen()) {
			throw new ClosedChannelException();
		}
	}

	@Override
	public boolean connect(SocketAddress address) throws IOException {
		requireOpen();
		this.network.failMaybe("connect");
		this.remote = (InetSocketAddress) address;
		this.pending = true;
		this.network.connect(this.socket, this.remote.getPort());
		return false;
	}

	@Override
	public boolean isConnected() {
		return this.socket.isConnected() && !this.pending;
	}

	@Override
	public boolean isConnectionPending() {
		return this.pending;
	}

	@Override
	public boolean finishConnect() throws IOException {
		requireOpen();
		if (this.socket.finishConnect()) {
			this.pending = false;
			return true;
		}
		return !this.pending;
	}

	@Override
	public int read(ByteBuffer target) throws IOException {
		requireOpen();
		this.network.failMaybe("read");
		return this.socket.read(target);
	}

	@Override
	public long read(ByteBuffer[] targets, int offset, int length) throws IOException {
		long count = 0;
		for (int i = offset; i < offset + length; i++) {
			int more = targets[i].hasRemaining() ? read(targets[i]) : 0;
			if (more < 0) {
				return (count > 0) ? count : -1;
			}
			count += more;
		}
		return count;
	}

	@Override
	public int write(ByteBuffer source) throws IOException {
		requireOpen();
		this.network.failMaybe("write");
		return this.socket.write(source);
	}

	@Override
	public long write(ByteBuffer[] sources, int offset, int length) throws IOException {
		long count = 0;
		for (int i = offset; i < offset + length && (count == 0 || !sources[i - 1].hasRemaining()); i++) {
			count += sources[i].hasRemaining() ? write(sources[i]) : 0;
		}
		return count;
	}

	@Override
	public SocketChannel shutdownInput() throws IOException {
		requireOpen();
		return this;
	}

	@Override
	public SocketChannel shutdownOutput() throws IOException {
		requireOpen();
		this.socket.shutdownOutput();
		return this;
	}

	@Override
	protected void implCloseSelectableChannel() {
		this.socket.close();
		this.network.closed(this);
	}

	@Override
	protected void implConfigureBlocking(boolean block) {
	}

	@Override
	public SocketChannel bind(@Nullable SocketAddress local) {
		throw new UnsupportedOperationException();
	}

	@Override
	public <T> SocketChannel setOption(SocketOption<T> name, T value) throws IOException {
		requireOpen();
		return this;
	}

	@Override
	public <T> @Nullable T getOption(SocketOption<T> name) {
		return (name.type() == Integer.class) ? name.type().cast(this.socket.capacity()) : null;
	}

	@Override
	public Set<SocketOption<?>> supportedOptions() {
		return Set.of();
	}

	@Override
	public Socket socket() {
		return new Socket() {

			@Override
			public InputStream getInputStream() {
				return new InputStream() {

					@Override
					public int read() {
						throw new UnsupportedOperationException();
					}

					@Override
					public int available() {
						return SimulatedSocketChannel.this.socket.ask();
					}

				};
			}

		};
	}

	@Override
	public @Nullable SocketAddress getRemoteAddress() throws IOException {
		requireOpen();
		return this.remote;
	}

	@Override
	public SocketAddress getLocalAddress() throws IOException {
		requireOpen();
		return this.network.address(this.socket.port());
	}

	@Override
	public String toString() {
		return this.socket.toString();
	}

}
