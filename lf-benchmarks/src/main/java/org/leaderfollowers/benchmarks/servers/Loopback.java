package org.leaderfollowers.benchmarks.servers;

import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.StandardSocketOptions;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;

import org.jspecify.annotations.Nullable;

/** The address and the socket options of all servers: the same for each of them. */
final class Loopback {

	/** Ten thousand clients connect in a burst. The system may have a lower limit. */
	static final int BACKLOG = 8192;

	private Loopback() {
	}

	static InetAddress address() {
		return InetAddress.getLoopbackAddress();
	}

	static InetSocketAddress anyPort() {
		return new InetSocketAddress(address(), 0);
	}

	static ServerSocketChannel listen() throws IOException {
		ServerSocketChannel channel = ServerSocketChannel.open();
		try {
			channel.bind(anyPort(), BACKLOG);
			channel.configureBlocking(false);
			return channel;
		}
		catch (IOException ex) {
			channel.close();
			throw ex;
		}
	}

	/**
	 * Accepts the next connection, if there is one.
	 * @param listening the listening socket
	 * @return a non-blocking channel, or {@code null} if there is none
	 * @throws IOException if no more connections can be accepted
	 */
	static @Nullable SocketChannel accept(ServerSocketChannel listening) throws IOException {
		for (;;) {
			SocketChannel channel = listening.accept();
			if (channel == null) {
				return null;
			}
			try {
				channel.configureBlocking(false);
				channel.setOption(StandardSocketOptions.TCP_NODELAY, true);
				return channel;
			}
			catch (IOException ex) {
				// The peer has already reset the connection.
				channel.close();
			}
		}
	}

}
