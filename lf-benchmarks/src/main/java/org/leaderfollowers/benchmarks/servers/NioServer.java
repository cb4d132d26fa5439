package org.leaderfollowers.benchmarks.servers;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.CancelledKeyException;
import java.nio.channels.SelectionKey;
import java.nio.channels.Selector;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;
import java.util.function.Consumer;

/**
 * One thread with one selector and nothing more: the least work that is possible in Java,
 * and the measure for all other servers. A handler that blocks stops all connections.
 */
final class NioServer implements EchoServer {

	private final LineEcho echo;

	private final ByteBuffer buffer;

	private final ServerSocketChannel listening;

	private final Selector selector;

	private final Consumer<SelectionKey> dispatch = this::dispatch;

	private final Thread thread = new Thread(this::run, "nio");

	private volatile boolean closed;

	NioServer(ServerOptions options, Runnable work) throws IOException {
		this.echo = new LineEcho(work, options.maxMessage());
		this.buffer = this.echo.newBuffer();
		this.listening = Loopback.listen();
		this.selector = Selector.open();
		this.listening.register(this.selector, SelectionKey.OP_ACCEPT);
		this.thread.start();
	}

	private void run() {
		try {
			while (!this.closed) {
				this.selector.select(this.dispatch);
			}
			for (SelectionKey key : this.selector.keys()) {
				key.channel().close();
			}
			this.selector.close();
		}
		catch (IOException ex) {
			Failures.report("The selector failed", ex);
		}
	}

	private void dispatch(SelectionKey key) {
		if (key.attachment() instanceof NioConnection connection) {
			handle(key, connection);
		}
		else {
			accept(key);
		}
	}

	private void handle(SelectionKey key, NioConnection connection) {
		try {
			int next = connection.handle(this.echo, this.buffer);
			if (next == 0) {
				connection.close();
			}
			else if (next != key.interestOps()) {
				key.interestOps(next);
			}
		}
		catch (IOException | CancelledKeyException ex) {
			connection.close();
		}
	}

	private void accept(SelectionKey key) {
		try {
			for (;;) {
				SocketChannel channel = Loopback.accept(this.listening);
				if (channel == null) {
					return;
				}
				channel.register(this.selector, SelectionKey.OP_READ, new NioConnection(channel));
			}
		}
		catch (IOException ex) {
			// While it were selected, it would fail again and again.
			key.cancel();
			Failures.report("No more connections are accepted", ex);
		}
	}

	@Override
	public int port() {
		return this.listening.socket().getLocalPort();
	}

	@Override
	public void close() {
		this.closed = true;
		this.selector.wakeup();
		Threads.join(this.thread);
	}

}
