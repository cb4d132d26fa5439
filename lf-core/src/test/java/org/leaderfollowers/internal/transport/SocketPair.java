package org.leaderfollowers.internal.transport;

import java.io.Closeable;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.StandardSocketOptions;
import java.nio.ByteBuffer;
import java.nio.channels.SelectionKey;
import java.nio.channels.Selector;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Two connected sockets: a non-blocking one for a transport, and a blocking one for its
 * peer.
 */
final class SocketPair implements Closeable {

	private static final long DEADLINE_MILLIS = 30_000;

	private static final int RECEIVE_BUFFER = 64 * 1024;

	final SocketChannel own;

	final SocketChannel peer;

	SocketPair() throws IOException {
		try (ServerSocketChannel listener = ServerSocketChannel.open()) {
			listener.bind(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0));
			this.peer = SocketChannel.open();
			// A fixed size: otherwise the buffer would grow as long as the peer does not
			// read.
			this.peer.setOption(StandardSocketOptions.SO_RCVBUF, RECEIVE_BUFFER);
			this.peer.connect(listener.getLocalAddress());
			this.own = listener.accept();
			this.own.configureBlocking(false);
		}
	}

	/** Sends bytes as the peer, and returns when they have arrived. */
	void send(byte... bytes) throws IOException {
		this.peer.write(ByteBuffer.wrap(bytes));
		awaitInput();
	}

	/** Waits until there is something to read, or the end. */
	void awaitInput() throws IOException {
		try (Selector selector = this.own.provider().openSelector()) {
			this.own.register(selector, SelectionKey.OP_READ);
			assertThat(selector.select(DEADLINE_MILLIS)).isOne();
		}
	}

	@Override
	public void close() throws IOException {
		this.own.close();
		this.peer.close();
	}

}
