package org.leaderfollowers.benchmarks.servers;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.SelectionKey;
import java.nio.channels.SocketChannel;

import org.jspecify.annotations.Nullable;

/**
 * A connection of a server that waits on a selector and handles messages in the thread
 * that reads them. While it is idle it owns no buffer.
 */
final class NioConnection {

	private final SocketChannel channel;

	/** The beginning of a line. */
	private byte @Nullable [] rest;

	/**
	 * Replies that the socket did not accept. Nothing is read before they have been
	 * written.
	 */
	private @Nullable ByteBuffer unwritten;

	NioConnection(SocketChannel channel) {
		this.channel = channel;
	}

	/**
	 * Does the operations that the channel is ready for. Called by one thread at a time.
	 * @param echo answers the lines
	 * @param buffer the buffer of the thread
	 * @return the operation to wait for next; 0 if the peer has closed the connection
	 * @throws IOException if the connection is to be closed
	 */
	int handle(LineEcho echo, ByteBuffer buffer) throws IOException {
		ByteBuffer waiting = this.unwritten;
		if (waiting != null) {
			this.channel.write(waiting);
			if (waiting.hasRemaining()) {
				return SelectionKey.OP_WRITE;
			}
			this.unwritten = null;
			return SelectionKey.OP_READ;
		}
		buffer.clear();
		byte[] begun = this.rest;
		if (begun != null) {
			buffer.put(begun);
		}
		int scanned = buffer.position();
		if (this.channel.read(buffer) < 0) {
			return 0;
		}
		int end = buffer.position();
		int rest = echo.answer(buffer, scanned);
		if (buffer.hasRemaining()) {
			this.channel.write(buffer);
			if (buffer.hasRemaining()) {
				this.unwritten = ByteBuffer.allocate(buffer.remaining()).put(buffer).flip();
			}
		}
		keep(buffer, rest, end);
		return (this.unwritten != null) ? SelectionKey.OP_WRITE : SelectionKey.OP_READ;
	}

	private void keep(ByteBuffer buffer, int from, int to) {
		if (from == to) {
			this.rest = null;
			return;
		}
		byte[] bytes = new byte[to - from];
		buffer.limit(to).get(from, bytes);
		this.rest = bytes;
	}

	void close() {
		try {
			this.channel.close();
		}
		catch (IOException ex) {
			// The peer has disconnected, or will notice it.
		}
	}

}
