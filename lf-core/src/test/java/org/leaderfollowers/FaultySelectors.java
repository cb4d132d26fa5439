package org.leaderfollowers;

import java.io.IOException;
import java.nio.channels.ClosedChannelException;
import java.nio.channels.SelectionKey;
import java.nio.channels.Selector;
import java.nio.channels.spi.AbstractSelectableChannel;
import java.nio.channels.spi.AbstractSelectionKey;
import java.nio.channels.spi.AbstractSelector;
import java.util.HashSet;
import java.util.Queue;
import java.util.Set;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.function.Consumer;

/** The system's selectors, which may fail in each of their methods. */
final class FaultySelectors extends TestSelectors {

	private final Runnable point;

	private final Runnable keyPoint;

	private final Runnable wakeupPoint;

	private volatile Runnable waitPoint = () -> {
	};

	private volatile Runnable closePoint = () -> {
	};

	private volatile Runnable keysPoint = () -> {
	};

	/**
	 * Creates a provider of selectors that fail.
	 * @param point called by selectors
	 * @param keyPoint called by their keys
	 */
	FaultySelectors(Runnable point, Runnable keyPoint) {
		this(point, keyPoint, () -> {
		});
	}

	/**
	 * Creates a provider of selectors that fail.
	 * @param point called by selectors
	 * @param keyPoint called by their keys
	 * @param wakeupPoint called by threads that wake the leader; must not fail
	 */
	FaultySelectors(Runnable point, Runnable keyPoint, Runnable wakeupPoint) {
		this.point = point;
		this.keyPoint = keyPoint;
		this.wakeupPoint = wakeupPoint;
	}

	/**
	 * Sets what happens while a leader waits.
	 * @param waitPoint called in each wait, but not if a leader looks for events without
	 * waiting; must not fail
	 * @return this object
	 */
	FaultySelectors whileWaiting(Runnable waitPoint) {
		this.waitPoint = waitPoint;
		return this;
	}

	/**
	 * Sets what happens when a selector is closed.
	 * @param closePoint called after each close; may fail
	 * @return this object
	 */
	FaultySelectors whenClosed(Runnable closePoint) {
		this.closePoint = closePoint;
		return this;
	}

	/**
	 * Sets what happens when the keys of a selector are listed.
	 * @param keysPoint called before it; may fail
	 * @return this object
	 */
	FaultySelectors whenListed(Runnable keysPoint) {
		this.keysPoint = keysPoint;
		return this;
	}

	@Override
	public AbstractSelector openSelector() throws IOException {
		return new Faulty(provider().openSelector());
	}

	private final class Key extends AbstractSelectionKey {

		private final Faulty selector;

		private final SelectionKey real;

		Key(Faulty selector, SelectionKey real, Object attachment) {
			this.selector = selector;
			this.real = real;
			attach(attachment);
		}

		/** Registers a channel. Other threads never see a key without its attachment. */
		Key(Faulty selector, AbstractSelectableChannel channel, int ops, Object attachment)
				throws ClosedChannelException {
			this.selector = selector;
			attach(attachment);
			this.real = channel.register(selector.real, ops, this);
		}

		@Override
		public AbstractSelectableChannel channel() {
			return (AbstractSelectableChannel) this.real.channel();
		}

		@Override
		public Selector selector() {
			return this.selector;
		}

		@Override
		public int interestOps() {
			return this.real.interestOps();
		}

		@Override
		public SelectionKey interestOps(int ops) {
			FaultySelectors.this.keyPoint.run();
			this.real.interestOps(ops);
			return this;
		}

		@Override
		public int readyOps() {
			FaultySelectors.this.keyPoint.run();
			return this.real.readyOps();
		}

	}

	private final class Faulty extends AbstractSelector {

		private final Selector real;

		/** Keys of which the channels still know. */
		private final Queue<Key> registered = new ConcurrentLinkedQueue<>();

		Faulty(Selector real) {
			super(FaultySelectors.this);
			this.real = real;
		}

		@Override
		protected SelectionKey register(AbstractSelectableChannel channel, int ops, Object attachment) {
			FaultySelectors.this.point.run();
			try {
				Key key = new Key(this, channel, ops, attachment);
				this.registered.add(key);
				return key;
			}
			catch (ClosedChannelException ex) {
				throw new IllegalStateException("the caller holds its lock", ex);
			}
		}

		@Override
		public int select(Consumer<SelectionKey> action, long timeout) throws IOException {
			FaultySelectors.this.point.run();
			FaultySelectors.this.waitPoint.run();
			forget();
			int count = this.real.select((key) -> action.accept((SelectionKey) key.attachment()), timeout);
			FaultySelectors.this.point.run();
			return count;
		}

		@Override
		public int selectNow(Consumer<SelectionKey> action) throws IOException {
			FaultySelectors.this.point.run();
			forget();
			int count = this.real.selectNow((key) -> action.accept((SelectionKey) key.attachment()));
			FaultySelectors.this.point.run();
			return count;
		}

		/**
		 * A channel closes its descriptor when the system's selector has forgotten its
		 * last key. Nothing would do this for the keys of this class.
		 */
		private void forget() {
			Key key;
			while ((key = this.registered.poll()) != null) {
				deregister(key);
			}
			synchronized (cancelledKeys()) {
				cancelledKeys().clear();
			}
		}

		@Override
		public int selectNow() throws IOException {
			forget();
			return this.real.selectNow();
		}

		@Override
		public int select(long timeout) throws IOException {
			return this.real.select(timeout);
		}

		@Override
		public int select() throws IOException {
			return this.real.select();
		}

		@Override
		public Selector wakeup() {
			// Must not fail, not even by running out of memory: it allocates none.
			FaultySelectors.this.wakeupPoint.run();
			this.real.wakeup();
			return this;
		}

		@Override
		public Set<SelectionKey> keys() {
			FaultySelectors.this.keysPoint.run();
			Set<SelectionKey> keys = new HashSet<>();
			for (SelectionKey known : this.real.keys()) {
				// The keys of this class are no longer valid.
				Key key = new Key(this, known, ((Key) known.attachment()).attachment());
				if (!known.isValid()) {
					key.cancel();
				}
				keys.add(key);
			}
			return keys;
		}

		@Override
		public Set<SelectionKey> selectedKeys() {
			throw new UnsupportedOperationException();
		}

		@Override
		protected void implCloseSelector() throws IOException {
			forget();
			this.real.close();
			FaultySelectors.this.closePoint.run();
		}

	}

}
