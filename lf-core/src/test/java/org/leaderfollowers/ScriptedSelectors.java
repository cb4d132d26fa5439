package org.leaderfollowers;

import java.io.IOException;
import java.net.InetSocketAddress;
import java.net.SocketAddress;
import java.net.SocketOption;
import java.nio.ByteBuffer;
import java.nio.channels.ClosedChannelException;
import java.nio.channels.SelectionKey;
import java.nio.channels.Selector;
import java.nio.channels.SocketChannel;
import java.nio.channels.spi.AbstractSelectableChannel;
import java.nio.channels.spi.AbstractSelectionKey;
import java.nio.channels.spi.AbstractSelector;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CopyOnWriteArraySet;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.LockSupport;
import java.util.function.Consumer;

import org.jspecify.annotations.Nullable;
import org.leaderfollowers.internal.promotion.Clock;

/**
 * Selectors whose events are made by the test, and whose time is that of its clock.
 */
final class ScriptedSelectors extends TestSelectors {

	private final Clock clock;

	private final List<Scripted> selectors = new CopyOnWriteArrayList<>();

	ScriptedSelectors(Clock clock) {
		this.clock = clock;
	}

	/** Whether a thread waits for events of a handle set, or begins to. */
	boolean isWaitedOn(int handleSet, Thread thread) {
		return this.selectors.get(handleSet).waiter == thread;
	}

	@Override
	public AbstractSelector openSelector() {
		Scripted selector = new Scripted();
		this.selectors.add(selector);
		return selector;
	}

	/** A channel that is ready to be read when the test says so. */
	final class Source extends AbstractSelectableChannel {

		private volatile @Nullable Key key;

		private volatile boolean firesUntilRead;

		Source() throws IOException {
			super(ScriptedSelectors.this);
			configureBlocking(false);
		}

		boolean isActive() {
			Key current = this.key;
			return current != null && (current.interest & SelectionKey.OP_READ) != 0;
		}

		/** Makes the channel ready; this is reported once. */
		void fire() {
			Key current = this.key;
			if (current == null) {
				throw new IllegalStateException("not registered");
			}
			current.ready = SelectionKey.OP_READ;
			((Scripted) current.selector()).unpark();
		}

		/** Makes the channel ready; this is reported until the channel is read. */
		void fireUntilRead() {
			this.firesUntilRead = true;
			fire();
		}

		void read() {
			this.key.ready = 0;
		}

		@Override
		public int validOps() {
			return SelectionKey.OP_READ;
		}

		@Override
		protected void implCloseSelectableChannel() {
			// nothing to close
		}

		@Override
		protected void implConfigureBlocking(boolean block) {
			// it never blocks
		}

	}

	/**
	 * A connected socket. The test provides its input and decides how many bytes it
	 * accepts.
	 */
	class Socket extends UnconnectedChannel {

		private final ByteBuffer output;

		private volatile @Nullable Key key;

		private volatile byte[] input = new byte[0];

		/** Whether nothing follows the input. */
		private volatile boolean ends;

		/** Whether the peer has accepted a connection that is not finished. */
		private volatile boolean connects;

		/** How many bytes it accepts. */
		private final AtomicInteger room = new AtomicInteger();

		/**
		 * Creates a socket.
		 * @param capacity how many bytes are written at most
		 */
		Socket(int capacity) throws IOException {
			super(ScriptedSelectors.this);
			this.output = ByteBuffer.allocate(capacity);
			configureBlocking(false);
		}

		/** The peer sends something. */
		void receive(String text) {
			this.input = Engine.bytes(text).array();
			wakeUp();
		}

		/** The socket accepts so many bytes more. */
		void makeRoom(int bytes) {
			this.room.addAndGet(bytes);
			wakeUp();
		}

		/** What was written. */
		String written() {
			return new String(this.output.array(), 0, this.output.position(), StandardCharsets.US_ASCII);
		}

		private void wakeUp() {
			Key current = this.key;
			if (current != null) {
				((Scripted) current.selector()).unpark();
			}
		}

		private int ready() {
			return ((this.input.length > 0 || this.ends) ? SelectionKey.OP_READ : 0)
					| ((this.room.get() > 0) ? SelectionKey.OP_WRITE : 0)
					| (this.connects ? SelectionKey.OP_CONNECT : 0);
		}

		@Override
		public int read(ByteBuffer destination) {
			byte[] bytes = this.input;
			if (bytes.length == 0) {
				return this.ends ? -1 : 0;
			}
			destination.put(bytes);
			this.input = new byte[0];
			return bytes.length;
		}

		@Override
		public int write(ByteBuffer source) throws IOException {
			if (!isOpen()) {
				throw new ClosedChannelException();
			}
			int count = Math.min(source.remaining(), this.room.get());
			if (count > 0) {
				this.output.put(source.slice().limit(count));
				source.position(source.position() + count);
				this.room.addAndGet(-count);
			}
			return count;
		}

		/** The peer closes its side. */
		void end() {
			this.ends = true;
			wakeUp();
		}

		/** The peer closes its side, too. */
		@Override
		public SocketChannel shutdownOutput() {
			end();
			return this;
		}

		@Override
		public boolean connect(SocketAddress remote) {
			this.connects = true;
			return false;
		}

		@Override
		public boolean finishConnect() {
			this.connects = false;
			return true;
		}

		@Override
		public SocketAddress getLocalAddress() {
			return new InetSocketAddress(1);
		}

		@Override
		public SocketAddress getRemoteAddress() {
			return new InetSocketAddress(2);
		}

		@Override
		public <T> SocketChannel setOption(SocketOption<T> name, T value) {
			return this;
		}

	}

	private static final class Key extends AbstractSelectionKey {

		private final AbstractSelectableChannel channel;

		private final Scripted selector;

		private volatile int interest;

		private volatile int ready;

		private int reported;

		Key(AbstractSelectableChannel channel, Scripted selector) {
			this.channel = channel;
			this.selector = selector;
		}

		@Override
		public AbstractSelectableChannel channel() {
			return this.channel;
		}

		@Override
		public Selector selector() {
			return this.selector;
		}

		@Override
		public int interestOps() {
			return this.interest;
		}

		@Override
		public SelectionKey interestOps(int ops) {
			this.interest = ops;
			return this;
		}

		@Override
		public int readyOps() {
			return this.reported;
		}

	}

	private final class Scripted extends AbstractSelector {

		/** In the order of registration, so that an execution can be repeated. */
		private final Set<SelectionKey> keys = new CopyOnWriteArraySet<>();

		private volatile @Nullable Thread waiter;

		private volatile boolean woken;

		Scripted() {
			super(ScriptedSelectors.this);
		}

		@Override
		protected SelectionKey register(AbstractSelectableChannel channel, int ops, Object attachment) {
			Key key = new Key(channel, this);
			key.interestOps(ops);
			key.attach(attachment);
			this.keys.add(key);
			if (channel instanceof Source source) {
				source.key = key;
			}
			else {
				((Socket) channel).key = key;
			}
			return key;
		}

		@Override
		public int select(Consumer<SelectionKey> action, long timeout) {
			long until = ScriptedSelectors.this.clock.nanoTime() + TimeUnit.MILLISECONDS.toNanos(timeout);
			this.waiter = Thread.currentThread();
			int count = report(action);
			long left = until - ScriptedSelectors.this.clock.nanoTime();
			while (count == 0 && !this.woken && left > 0) {
				ScriptedSelectors.this.clock.parkNanos(this, left);
				count = report(action);
				left = until - ScriptedSelectors.this.clock.nanoTime();
			}
			this.waiter = null;
			this.woken = false;
			return count;
		}

		private int report(Consumer<SelectionKey> action) {
			int count = 0;
			for (SelectionKey any : this.keys) {
				Key key = (Key) any;
				if (!key.isValid()) {
					this.keys.remove(key);
					deregister(key);
					continue;
				}
				int ready = (key.channel instanceof Socket socket) ? socket.ready() : key.ready;
				key.reported = ready & key.interest;
				if (key.reported != 0) {
					if (key.channel instanceof Source source && !source.firesUntilRead) {
						key.ready = 0;
					}
					action.accept(key);
					count++;
				}
			}
			return count;
		}

		void unpark() {
			Thread thread = this.waiter;
			if (thread != null) {
				LockSupport.unpark(thread);
			}
		}

		@Override
		public int selectNow(Consumer<SelectionKey> action) {
			this.woken = false;
			return report(action);
		}

		@Override
		public int selectNow() {
			return selectNow((key) -> {
			});
		}

		@Override
		public int select(long timeout) {
			throw new UnsupportedOperationException();
		}

		@Override
		public int select() {
			throw new UnsupportedOperationException();
		}

		@Override
		public Selector wakeup() {
			this.woken = true;
			unpark();
			return this;
		}

		@Override
		public Set<SelectionKey> keys() {
			return this.keys;
		}

		@Override
		public Set<SelectionKey> selectedKeys() {
			throw new UnsupportedOperationException();
		}

		@Override
		protected void implCloseSelector() {
			wakeup();
		}

	}

}
