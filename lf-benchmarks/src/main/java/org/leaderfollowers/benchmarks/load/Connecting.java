package org.leaderfollowers.benchmarks.load;

import java.io.IOException;
import java.net.SocketAddress;
import java.nio.channels.SocketChannel;

/**
 * Opens connections. A server that is out of memory may keep its port and never accept,
 * and the system would only give up after two minutes.
 */
final class Connecting {

	private static final int TIMEOUT_MS = 10_000;

	private Connecting() {
	}

	static SocketChannel to(SocketAddress address) throws IOException {
		SocketChannel channel = SocketChannel.open();
		try {
			channel.socket().connect(address, TIMEOUT_MS);
			return channel;
		}
		catch (IOException ex) {
			channel.close();
			throw ex;
		}
	}

}
