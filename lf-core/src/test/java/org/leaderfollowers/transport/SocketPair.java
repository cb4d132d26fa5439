package org.leaderfollowers.transport;

import java.io.Closeable;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.ByteBuffer;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;

import org.awaitility.Awaitility;

/**
 * Two sockets that are connected: a non-blocking one for a transport, a blocking one for
 * its peer.
 */
final class SocketPair implements Closeable {

	final SocketChannel own;

	final SocketChannel peer;

	SocketPair() throws IOException {
		try (ServerSocketChannel listener = ServerSocketChannel.open()) {
			listener.bind(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0));
			this.peer = SocketChannel.open(listener.getLocalAddress());
			this.own = listener.accept();
			this.own.configureBlocking(false);
		}
	}

	/** Sends as the peer, and returns when it has arrived. */
	void send(byte... bytes) throws IOException {
		this.peer.write(ByteBuffer.wrap(bytes));
		awaitInput();
	}

	/** Waits until there is something to read, or the end. */
	void awaitInput() throws IOException {
		try (var selector = this.own.provider().openSelector()) {
			this.own.register(selector, java.nio.channels.SelectionKey.OP_READ);
			Awaitility.await().until(() -> selector.selectNow() > 0 || !selector.selectedKeys().isEmpty());
		}
	}

	@Override
	public void close() throws IOException {
		this.own.close();
		this.peer.close();
	}

}
