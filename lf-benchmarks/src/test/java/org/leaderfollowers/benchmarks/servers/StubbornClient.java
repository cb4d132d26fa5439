package org.leaderfollowers.benchmarks.servers;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.StandardSocketOptions;
import java.nio.ByteBuffer;
import java.nio.channels.SelectionKey;
import java.nio.channels.Selector;
import java.nio.channels.SocketChannel;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.concurrent.TimeUnit;

/**
 * A client that does not read before it cannot write any more: by then the server has
 * stopped to read, because its replies are not read.
 */
final class StubbornClient {

	private static final long TIMEOUT_NANOS = TimeUnit.SECONDS.toNanos(30);

	private static final int RECEIVE_BUFFER_SIZE = 8 * 1024;

	private StubbornClient() {
	}

	/** Sends lines, and returns as many replies as soon as they have arrived. */
	static List<String> exchange(EchoServer server, String lines) throws IOException {
		ByteBuffer output = ByteBuffer.wrap(lines.getBytes(StandardCharsets.ISO_8859_1));
		ByteBuffer input = ByteBuffer.allocate(64 * 1024);
		ByteArrayOutputStream replies = new ByteArrayOutputStream();
		int expected = output.remaining();
		try (Selector selector = Selector.open(); SocketChannel channel = SocketChannel.open()) {
			// The less it holds itself, the sooner the server feels it.
			channel.setOption(StandardSocketOptions.SO_RCVBUF, RECEIVE_BUFFER_SIZE);
			channel.connect(new InetSocketAddress(InetAddress.getLoopbackAddress(), server.port()));
			channel.configureBlocking(false);
			int written = 1;
			while (written > 0 && output.hasRemaining()) {
				written = channel.write(output);
			}
			SelectionKey key = channel.register(selector, 0);
			long deadline = System.nanoTime() + TIMEOUT_NANOS;
			while (replies.size() < expected) {
				key.interestOps(SelectionKey.OP_READ | (output.hasRemaining() ? SelectionKey.OP_WRITE : 0));
				long left = TimeUnit.NANOSECONDS.toMillis(deadline - System.nanoTime());
				if (left <= 0) {
					throw new IOException("%d of %d bytes were written, and %d received, in time"
						.formatted(output.position(), expected, replies.size()));
				}
				selector.select(left);
				selector.selectedKeys().clear();
				channel.write(output);
				if (channel.read(input.clear()) < 0) {
					throw new IOException("closed after %d of %d bytes".formatted(replies.size(), expected));
				}
				replies.write(input.array(), 0, input.position());
			}
		}
		return replies.toString(StandardCharsets.ISO_8859_1).lines().toList();
	}

}
