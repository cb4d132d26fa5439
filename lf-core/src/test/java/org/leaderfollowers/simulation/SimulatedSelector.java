package org.leaderfollowers.simulation;

import java.io.IOException;
import java.nio.channels.CancelledKeyException;
import java.nio.channels.ClosedSelectorException;
import java.nio.channels.SelectableChannel;
import java.nio.channels.SelectionKey;
import java.nio.channels.Selector;
import java.nio.channels.spi.AbstractSelectableChannel;
import java.nio.channels.spi.AbstractSelectionKey;
import java.nio.channels.spi.AbstractSelector;
import java.util.ArrayList;
import java.util.Collections;

import java.util.List;
import java.util.Set;
import java.util.concurrent.CopyOnWriteArraySet;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;

import org.jspecify.annotations.Nullable;

/**
 * A selector that waits in virtual time. As with epoll, an interest that changes during a
 * wait counts from the next wait on. Checks that only one thread uses it: the leader.
 */
final class SimulatedSelector extends AbstractSelector {

	private final SimulatedNetwork network;

	private final Simulator simulator;

	private final Set<SelectionKey> keys = new CopyOnWriteArraySet<>();

	private boolean wakeup;

	private @Nullable Thread leader;

	/** A channel that can be registered. */
	interface Selectable {

		int readyOps();

	}

	SimulatedSelector(SimulatedNetwork network) {
		super(network);
		this.network = network;
		this.simulator = network.simulator();
		network.opened(this);
	}

	@Override
	public int select(Consumer<SelectionKey> action, long timeoutMillis) throws IOException {
		return select(action, (timeoutMillis == 0) ? Simulator.NEVER
				: this.simulator.nanoTime() + TimeUnit.MILLISECONDS.toNanos(timeoutMillis), true);
	}

	@Override
	public int selectNow(Consumer<SelectionKey> action) throws IOException {
		return select(action, 0, false);
	}

	private int select(Consumer<SelectionKey> action, long deadlineNanos, boolean waits) throws IOException {
		if (!isOpen()) {
			throw new ClosedSelectorException();
		}
		Thread self = SimulatedThread.current();
		if (this.leader != null && this.leader != self) {
			this.simulator.fail("two leaders of a handle set: " + this.leader.getName() + " and " + self.getName());
		}
		this.leader = self;
		try {
			deregisterCancelled();
			this.network.failMaybe("select");
			for (SelectionKey key : this.keys) {
				((Key) key).watched = key.isValid() ? key.interestOps() : 0;
			}
			if (waits) {
				boolean early = this.simulator.chance(3);
				this.simulator.await("selects " + this.keys.size() + " keys",
						() -> early || this.wakeup || !isOpen() || isAnyReady(), deadlineNanos);
			}
			this.wakeup = false;
			return report(action);
		}
		finally {
			deregisterCancelled();
			this.leader = null;
		}
	}

	private boolean isAnyReady() {
		for (SelectionKey key : this.keys) {
			if (((Key) key).ready() != 0) {
				return true;
			}
		}
		return false;
	}

	private int report(Consumer<SelectionKey> action) {
		List<Key> ready = new ArrayList<>();
		for (SelectionKey each : this.keys) {
			Key key = (Key) each;
			key.reported = key.ready();
			if (key.reported != 0) {
				ready.add(this.simulator.choose(ready.size() + 1), key);
			}
		}
		for (Key key : ready) {
			action.accept(key);
		}
		return ready.size();
	}

	private void deregisterCancelled() {
		Set<SelectionKey> cancelled = cancelledKeys();
		synchronized (cancelled) {
			for (SelectionKey key : cancelled) {
				this.keys.remove(key);
				deregister((AbstractSelectionKey) key);
			}
			cancelled.clear();
		}
	}

	@Override
	public int selectNow() throws IOException {
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
		this.wakeup = true;
		return this;
	}

	@Override
	protected SelectionKey register(AbstractSelectableChannel channel, int operations, @Nullable Object attachment) {
		Key key = new Key(channel);
		key.attach(attachment);
		key.interest = operations;
		this.keys.add(key);
		return key;
	}

	@Override
	protected void implCloseSelector() {
		this.wakeup = true;
		for (SelectionKey key : List.copyOf(this.keys)) {
			deregister((AbstractSelectionKey) key);
		}
		this.keys.clear();
		this.network.closed(this);
	}

	@Override
	public Set<SelectionKey> keys() {
		if (!isOpen()) {
			throw new ClosedSelectorException();
		}
		return Collections.unmodifiableSet(this.keys);
	}

	@Override
	public Set<SelectionKey> selectedKeys() {
		return Set.of();
	}

	@Override
	public String toString() {
		return "selector of " + this.keys;
	}

	private final class Key extends AbstractSelectionKey {

		private final AbstractSelectableChannel channel;

		private int interest;

		/** The interest since the wait began. */
		private int watched;

		private int reported;

		Key(AbstractSelectableChannel channel) {
			this.channel = channel;
		}

		private int ready() {
			return isValid() ? ((Selectable) this.channel).readyOps() & this.watched : 0;
		}

		private void requireValid() {
			if (!isValid()) {
				throw new CancelledKeyException();
			}
		}

		@Override
		public SelectableChannel channel() {
			return this.channel;
		}

		@Override
		public Selector selector() {
			return SimulatedSelector.this;
		}

		@Override
		public int interestOps() {
			requireValid();
			return this.interest;
		}

		@Override
		public SelectionKey interestOps(int operations) {
			requireValid();
			this.interest = operations;
			return this;
		}

		@Override
		public int readyOps() {
			requireValid();
			return this.reported;
		}

		@Override
		public String toString() {
			return this.channel + " interest " + this.interest;
		}

	}

}
