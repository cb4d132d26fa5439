package org.leaderfollowers.benchmarks.servers;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.CancelledKeyException;
import java.nio.channels.ClosedSelectorException;
import java.nio.channels.SelectionKey;
import java.nio.channels.Selector;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;
import java.util.Iterator;
import java.util.List;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;
import java.util.stream.IntStream;

import org.jspecify.annotations.Nullable;

/**
 * The Leader/Followers pattern as in its paper: followers wait on the condition of a
 * monitor. A leader deactivates the handle in the demultiplexer and promotes a follower
 * before it dispatches. A reactivation interrupts the thread that leads at that time.
 * What our engine does differently is measured against this.
 * <p>
 * Two savings that the paper allows are made: handles that became ready together are
 * handed to the next leaders without another wait, and a thread that is done while nobody
 * leads becomes the leader itself, without interrupting anybody.
 */
final class TextbookServer implements EchoServer {

	private final LineEcho echo;

	private final ServerSocketChannel listening;

	private final Selector selector;

	private final List<Thread> threads;

	private final ReentrantLock monitor = new ReentrantLock();

	private final Condition followers = this.monitor.newCondition();

	/** Guarded by the monitor. */
	private boolean led;

	private volatile boolean closed;

	/**
	 * The keys that the selector found and that no thread has taken yet. Only the leader
	 * touches it.
	 */
	private @Nullable Iterator<SelectionKey> ready;

	TextbookServer(ServerOptions options, Runnable work) throws IOException {
		this.echo = new LineEcho(work, options.maxMessage());
		this.listening = Loopback.listen();
		this.selector = Selector.open();
		this.listening.register(this.selector, SelectionKey.OP_ACCEPT);
		this.threads = IntStream.range(0, options.threads())
			.mapToObj((number) -> new Thread(this::join, "textbook-" + number))
			.toList();
		this.threads.forEach(Thread::start);
	}

	/** The loop of each thread of the pool. */
	private void join() {
		ByteBuffer buffer = this.echo.newBuffer();
		try {
			awaitLeadership();
			while (!this.closed) {
				SelectionKey key = nextEvent();
				if (key == null) {
					break;
				}
				promoteNewLeader();
				int next = dispatch(key, buffer);
				reactivateAndAwaitLeadership(key, next);
			}
		}
		catch (IOException | ClosedSelectorException ex) {
			if (!this.closed) {
				Failures.report("The selector failed", ex);
			}
		}
		// A thread that waits for the leadership must see that the server is closed.
		promoteNewLeader();
	}

	/**
	 * Waits for an event and deactivates its handle.
	 * @return {@code null} when the server is closed
	 */
	private @Nullable SelectionKey nextEvent() throws IOException {
		while (!this.closed) {
			Iterator<SelectionKey> found = this.ready;
			if (found == null || !found.hasNext()) {
				this.selector.select();
				found = this.selector.selectedKeys().iterator();
				this.ready = found;
			}
			while (found.hasNext()) {
				SelectionKey key = found.next();
				found.remove();
				try {
					key.interestOps(0);
					return key;
				}
				catch (CancelledKeyException ex) {
					// The channel was closed after the selector had found it.
				}
			}
		}
		return null;
	}

	private void promoteNewLeader() {
		this.monitor.lock();
		try {
			this.led = false;
			this.followers.signal();
		}
		finally {
			this.monitor.unlock();
		}
	}

	private void awaitLeadership() {
		this.monitor.lock();
		try {
			lead();
		}
		finally {
			this.monitor.unlock();
		}
	}

	private void reactivateAndAwaitLeadership(SelectionKey key, int interest) {
		this.monitor.lock();
		try {
			if (interest != 0) {
				reactivate(key, interest);
			}
			// Only the selector removes a closed handle.
			if (this.led) {
				this.selector.wakeup();
			}
			lead();
		}
		finally {
			this.monitor.unlock();
		}
	}

	private static void reactivate(SelectionKey key, int interest) {
		try {
			key.interestOps(interest);
		}
		catch (CancelledKeyException ex) {
			// The server is being closed.
		}
	}

	private void lead() {
		while (this.led && !this.closed) {
			this.followers.awaitUninterruptibly();
		}
		this.led = true;
	}

	/** Returns the operation to reactivate the handle for; 0 if it was closed. */
	private int dispatch(SelectionKey key, ByteBuffer buffer) {
		if (!(key.attachment() instanceof NioConnection connection)) {
			return accept();
		}
		try {
			int next = connection.handle(this.echo, buffer);
			if (next == 0) {
				connection.close();
			}
			return next;
		}
		catch (IOException ex) {
			connection.close();
			return 0;
		}
	}

	private int accept() {
		try {
			for (;;) {
				SocketChannel channel = Loopback.accept(this.listening);
				if (channel == null) {
					return SelectionKey.OP_ACCEPT;
				}
				channel.register(this.selector, SelectionKey.OP_READ, new NioConnection(channel));
			}
		}
		catch (IOException | ClosedSelectorException ex) {
			if (!this.closed) {
				Failures.report("No more connections are accepted", ex);
			}
			return 0;
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
		this.monitor.lock();
		try {
			this.followers.signalAll();
		}
		finally {
			this.monitor.unlock();
		}
		Threads.join(this.threads);
		try {
			for (SelectionKey key : this.selector.keys()) {
				key.channel().close();
			}
			this.selector.close();
		}
		catch (IOException ex) {
			Failures.report("The selector could not be closed", ex);
		}
	}

}
