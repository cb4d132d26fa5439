package org.leaderfollowers;

import java.io.IOException;
import java.net.Socket;
import java.net.SocketAddress;
import java.net.SocketOption;
import java.nio.ByteBuffer;
import java.nio.channels.SocketChannel;
import java.nio.channels.spi.SelectorProvider;
import java.util.Set;

/** A channel without a socket, for tests. It fails at what transports do not call. */
public abstract class UnconnectedChannel extends SocketChannel {

	/**
	 * Creates a channel.
	 * @param provider of its selectors
	 */
	protected UnconnectedChannel(SelectorProvider provider) {
		super(provider);
	}

	@Override
	public SocketChannel shutdownOutput() throws IOException {
		return this;
	}

	@Override
	protected void implCloseSelectableChannel() {
		// nothing to close
	}

	@Override
	protected void implConfigureBlocking(boolean block) {
		// it never blocks
	}

	@Override
	public long read(ByteBuffer[] targets, int offset, int length) {
		throw new UnsupportedOperationException();
	}

	@Override
	public long write(ByteBuffer[] sources, int offset, int length) {
		throw new UnsupportedOperationException();
	}

	@Override
	public SocketChannel shutdownInput() {
		throw new UnsupportedOperationException();
	}

	@Override
	public SocketChannel bind(SocketAddress local) {
		throw new UnsupportedOperationException();
	}

	@Override
	public <T> SocketChannel setOption(SocketOption<T> name, T value) {
		throw new UnsupportedOperationException();
	}

	@Override
	public <T> T getOption(SocketOption<T> name) {
		throw new UnsupportedOperationException();
	}

	@Override
	public Set<SocketOption<?>> supportedOptions() {
		throw new UnsupportedOperationException();
	}

	@Override
	public Socket socket() {
		throw new UnsupportedOperationException();
	}

	@Override
	public boolean isConnected() {
		throw new UnsupportedOperationException();
	}

	@Override
	public boolean isConnectionPending() {
		throw new UnsupportedOperationException();
	}

	@Override
	public boolean connect(SocketAddress remote) {
		throw new UnsupportedOperationException();
	}

	@Override
	public boolean finishConnect() {
		throw new UnsupportedOperationException();
	}

	@Override
	public SocketAddress getRemoteAddress() {
		throw new UnsupportedOperationException();
	}

	@Override
	public SocketAddress getLocalAddress() {
		throw new UnsupportedOperationException();
	}

}
