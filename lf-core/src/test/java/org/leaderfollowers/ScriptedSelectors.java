package org.leaderfollowers;

import java.io.IOException;
import java.nio.channels.SelectionKey;
import java.nio.channels.Selector;
import java.nio.channels.spi.AbstractSelectableChannel;
import java.nio.channels.spi.AbstractSelectionKey;
import java.nio.channels.spi.AbstractSelector;
import java.util.List;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.TimeUnit;
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

	private static final class Key extends AbstractSelectionKey {

		private final Source source;

		private final Scripted selector;

		private volatile int interest;

		private volatile int ready;

		private int reported;

		Key(Source source, Scripted selector) {
			this.source = source;
			this.selector = selector;
		}

		@Override
		public Source channel() {
			return this.source;
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

		private final Set<SelectionKey> keys = ConcurrentHashMap.newKeySet();

		private volatile @Nullable Thread waiter;

		private volatile boolean woken;

		Scripted() {
			super(ScriptedSelectors.this);
		}

		@Override
		protected SelectionKey register(AbstractSelectableChannel channel, int ops, Object attachment) {
			Source source = (Source) channel;
			Key key = new Key(source, this);
			key.interestOps(ops);
			key.attach(attachment);
			this.keys.add(key);
			source.key = key;
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
				key.reported = key.ready & key.interest;
				if (key.reported != 0) {
					if (!key.source.firesUntilRead) {
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
