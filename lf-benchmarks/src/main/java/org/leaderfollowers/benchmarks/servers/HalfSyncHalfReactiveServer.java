package org.leaderfollowers.benchmarks.servers;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.CancelledKeyException;
import java.nio.channels.SelectionKey;
import java.nio.channels.Selector;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;
import java.util.List;
import java.util.Queue;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Consumer;
import java.util.stream.IntStream;

import org.jspecify.annotations.Nullable;

/**
 * Half-Sync/Half-Reactive, the design that the paper compares its own with: one thread
 * reads and decodes, and hands the messages through a queue to the threads that handle
 * them and write the replies.
 * <p>
 * What is queued is the connection, with the messages in an inbox of its own. It is in
 * the queue or with a worker at most once: that keeps the messages of one connection in
 * order, and takes one hand-over for all that arrived together.
 */
final class HalfSyncHalfReactiveServer implements EchoServer {

	/** More than there can be connections, so the reader never waits for room. */
	private static final int QUEUE_CAPACITY = 1 << 17;

	/** When this many bytes are unanswered, the connection is no longer read. */
	private static final int INBOX_LIMIT = 1024 * 1024;

	private final Runnable work;

	private final LineEcho limits;

	private final int maxMessage;

	private final ByteBuffer buffer;

	private final ServerSocketChannel listening;

	private final Selector selector;

	private final BlockingQueue<Connection> queue = new LinkedBlockingQueue<>(QUEUE_CAPACITY);

	private final Consumer<SelectionKey> dispatch = this::dispatch;

	private final Thread reader = new Thread(this::read, "hshr-reader");

	private final List<Thread> workers;

	private volatile boolean closed;

	HalfSyncHalfReactiveServer(ServerOptions options, Runnable work) throws IOException {
		this.work = work;
		this.maxMessage = options.maxMessage();
		this.limits = new LineEcho(work, this.maxMessage);
		this.buffer = this.limits.newBuffer();
		this.listening = Loopback.listen();
		this.selector = Selector.open();
		this.listening.register(this.selector, SelectionKey.OP_ACCEPT);
		this.workers = IntStream.range(0, options.threads())
			.mapToObj((number) -> new Thread(this::work, "hshr-worker-" + number))
			.toList();
		this.workers.forEach(Thread::start);
		this.reader.start();
	}

	// The reader

	private void read() {
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
		if (!(key.attachment() instanceof Connection connection)) {
			accept(key);
			return;
		}
		try {
			if (key.isWritable()) {
				connection.writeAgain();
			}
			if (key.isReadable()) {
				connection.read();
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
				SelectionKey accepted = channel.register(this.selector, SelectionKey.OP_READ);
				accepted.attach(new Connection(channel, accepted));
			}
		}
		catch (IOException ex) {
			key.cancel();
			Failures.report("No more connections are accepted", ex);
		}
	}

	// The workers

	private void work() {
		ByteBuffer replies = this.limits.newBuffer();
		try {
			while (!this.closed) {
				Connection connection = this.queue.take();
				try {
					connection.answer(replies);
				}
				catch (IOException | CancelledKeyException ex) {
					connection.close();
				}
			}
		}
		catch (InterruptedException ex) {
			// The server is being closed.
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
		Threads.join(this.reader);
		this.workers.forEach(Thread::interrupt);
		Threads.join(this.workers);
	}

	private final class Connection {

		private final SocketChannel channel;

		private final SelectionKey key;

		private final Queue<byte[]> inbox = new ConcurrentLinkedQueue<>();

		private final AtomicInteger inboxBytes = new AtomicInteger();

		/**
		 * Whether the connection is in the queue, with a worker, or waiting to be written
		 * again.
		 */
		private final AtomicBoolean claimed = new AtomicBoolean();

		/** Whether the reader does not read because the inbox is full. */
		private volatile boolean paused;

		/** Whether the peer has closed; received messages are still answered. */
		private volatile boolean ended;

		/** The beginning of a line; only used by the reader. */
		private byte @Nullable [] rest;

		/**
		 * Replies that the socket did not accept; only used by the thread with the claim.
		 */
		private volatile @Nullable ByteBuffer unwritten;

		Connection(SocketChannel channel, SelectionKey key) {
			this.channel = channel;
			this.key = key;
		}

		// By the reader

		void read() throws IOException {
			ByteBuffer input = HalfSyncHalfReactiveServer.this.buffer.clear();
			if (this.rest != null) {
				input.put(this.rest);
			}
			int scanned = input.position();
			if (this.channel.read(input) < 0) {
				this.ended = true;
				this.key.interestOpsAnd(~SelectionKey.OP_READ);
				hand();
				return;
			}
			int received = decode(input.flip(), scanned);
			if (received == 0) {
				return;
			}
			if (this.inboxBytes.addAndGet(received) > INBOX_LIMIT) {
				this.key.interestOpsAnd(~SelectionKey.OP_READ);
				// Before the hand-over, so that the thread that answers sees it.
				this.paused = true;
			}
			hand();
		}

		/** Moves whole lines to the inbox, and returns the size of the replies. */
		private int decode(ByteBuffer input, int scanned) throws IOException {
			int line = 0;
			int received = 0;
			int end = input.limit();
			for (int i = LineFeed.find(input, scanned, end); i >= 0; i = LineFeed.find(input, line, end)) {
				int length = i - line;
				if (length > 0 && input.get(i - 1) == '\r') {
					length--;
				}
				if (length > HalfSyncHalfReactiveServer.this.maxMessage) {
					throw new IOException("A line of " + length + " bytes is too long");
				}
				byte[] message = new byte[length];
				input.get(line, message);
				this.inbox.add(message);
				received += length + 1;
				line = i + 1;
			}
			int incomplete = end - line;
			if (incomplete >= HalfSyncHalfReactiveServer.this.limits.maxLine()) {
				throw new IOException("A line of " + incomplete + " bytes, and more to come, is too long");
			}
			if (incomplete == 0) {
				this.rest = null;
			}
			else {
				byte[] begun = new byte[incomplete];
				input.get(line, begun);
				this.rest = begun;
			}
			return received;
		}

		void writeAgain() throws IOException {
			ByteBuffer waiting = this.unwritten;
			if (waiting == null) {
				return;
			}
			this.channel.write(waiting);
			if (!waiting.hasRemaining()) {
				this.unwritten = null;
				this.key.interestOpsAnd(~SelectionKey.OP_WRITE);
				// The claim goes to the worker with the connection.
				HalfSyncHalfReactiveServer.this.queue.add(this);
			}
		}

		private void hand() {
			if (!this.claimed.get() && this.claimed.compareAndSet(false, true)) {
				HalfSyncHalfReactiveServer.this.queue.add(this);
			}
		}

		// By the worker that has the claim

		void answer(ByteBuffer replies) throws IOException {
			do {
				if (!answerInbox(replies)) {
					// The reader continues to write, and keeps the claim.
					return;
				}
				if (this.ended && this.inbox.isEmpty()) {
					close();
					return;
				}
				if (this.paused) {
					this.paused = false;
					this.key.interestOpsOr(SelectionKey.OP_READ);
					HalfSyncHalfReactiveServer.this.selector.wakeup();
				}
				this.claimed.set(false);
				// A reader that added messages before this did not hand the connection
				// over, because it was claimed: look again.
			}
			while ((!this.inbox.isEmpty() || this.paused || this.ended) && this.claimed.compareAndSet(false, true));
		}

		/** Returns whether everything has been written. */
		private boolean answerInbox(ByteBuffer replies) throws IOException {
			replies.clear();
			for (byte[] message = this.inbox.poll(); message != null; message = this.inbox.poll()) {
				HalfSyncHalfReactiveServer.this.work.run();
				this.inboxBytes.addAndGet(-message.length - 1);
				replies.put(message).put((byte) '\n');
				if (replies.remaining() < HalfSyncHalfReactiveServer.this.limits.maxLine()) {
					if (!write(replies)) {
						return false;
					}
					replies.clear();
				}
			}
			return write(replies);
		}

		private boolean write(ByteBuffer replies) throws IOException {
			replies.flip();
			if (replies.hasRemaining()) {
				this.channel.write(replies);
			}
			if (!replies.hasRemaining()) {
				return true;
			}
			this.unwritten = ByteBuffer.allocate(replies.remaining()).put(replies).flip();
			this.key.interestOpsOr(SelectionKey.OP_WRITE);
			HalfSyncHalfReactiveServer.this.selector.wakeup();
			return false;
		}

		void close() {
			try {
				this.channel.close();
				// Only the selector closes the descriptor.
				HalfSyncHalfReactiveServer.this.selector.wakeup();
			}
			catch (IOException ex) {
				// The peer has disconnected, or will notice it.
			}
		}

	}

}
