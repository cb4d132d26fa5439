package org.leaderfollowers;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.locks.LockSupport;

import org.jspecify.annotations.Nullable;

/**
 * The connections whose handlers a thread is in the middle of while it waits: the bound
 * handle/thread association (the paper, section 10.1). The thread owns their handles, so
 * nobody else can read them. It reads them itself: the next message of a conversation,
 * and replies to requests that were sent on them.
 * <p>
 * {@link #bind} comes before the wait, {@link #read} whenever a leader has called
 * {@link #look} since, and {@link #unbind} after it. A leader that finds a handle fired
 * changes its state before it looks for the thread that reads it; the thread makes itself
 * known before it looks at that state. So no event is overlooked.
 */
final class BoundInput {

	private final Participant me;

	/** Innermost last: a thread may run handlers on top of each other. */
	private final List<BoundConnection> connections = new ArrayList<>(1);

	/** Whether something is to be read. */
	private volatile boolean wanted;

	/** Ends the wait of the thread if it is not parked, but leads. */
	private volatile @Nullable Runnable waker;

	/**
	 * What a thread reads in the middle of a handler. All methods are its owner's.
	 */
	interface BoundConnection {

		/** The handle that the thread owns. */
		SelectableHandle handle();

		/** Has looks at the handle told to a thread, or to none. */
		void readBy(@Nullable BoundInput reader);

		/**
		 * Whether there is input that no event will tell of. Keeps what is behind the
		 * message that is being handled, and leaves that alone.
		 */
		boolean keepsInput(Participant me);

		/**
		 * Reads: gives replies and the next message to the threads that wait for them,
		 * and puts the rest aside for the handler. Ends what waits if the connection
		 * closes.
		 * @return whether there are tasks to run before the next call
		 */
		boolean readBound(Participant me);

		/** Does what may block. */
		void runTasks();

		/** Whether the socket may hold more than was read. */
		boolean hasMoreToRead();

		/** Whether there is room for another message. */
		boolean mayReadOn();

	}

	BoundInput(Participant me) {
		this.me = me;
	}

	/** Something is to be read. Any thread, mostly a leader. */
	void look() {
		this.wanted = true;
		if (this.me.thread() != Thread.currentThread()) {
			LockSupport.unpark(this.me.thread());
			// The thread sets this first, and then looks whether something is wanted.
			Runnable wakes = this.waker;
			if (wakes != null) {
				wakes.run();
			}
		}
	}

	// The rest is of the thread itself

	/** Whether there is something to {@link #read}. */
	boolean isWanted() {
		return this.wanted;
	}

	/** Has {@link #look} wake the thread in another way as well. Returns the former. */
	@Nullable Runnable wakeBy(@Nullable Runnable wakes) {
		Runnable former = this.waker;
		this.waker = wakes;
		return former;
	}

	/**
	 * Begins to read the connection whose handler waits, if something may come on it that
	 * does not wait for the end of the handler.
	 * @return whether to {@link #unbind} it
	 */
	boolean bind() {
		SelectableHandle handle = this.me.handle();
		BoundConnection connection = (handle != null) ? handle.handler.boundConnection() : null;
		if (connection == null) {
			return false;
		}
		this.connections.add(connection);
		connection.readBy(this);
		this.wanted = true;
		return true;
	}

	/** The handler goes on. */
	void unbind() {
		this.connections.remove(this.connections.size() - 1).readBy(null);
	}

	/** Reads what is to be read. */
	void read() {
		// Before the handles are looked at.
		this.wanted = false;
		for (BoundConnection connection : this.connections) {
			SelectableHandle handle = connection.handle();
			// First: what was read before is older than what has arrived since.
			boolean keeps = connection.keepsInput(this.me);
			boolean looks = handle.takeLook() || keeps;
			while (looks) {
				read(connection);
				looks = handle.takeLook() || connection.hasMoreToRead();
			}
			if (connection.mayReadOn() && handle.isOwnedDisarmed()) {
				handle.request(SelectableHandle.ARM_OWNED);
			}
		}
	}

	private void read(BoundConnection connection) {
		boolean hasTasks = true;
		while (hasTasks) {
			this.me.nest();
			try {
				hasTasks = connection.readBound(this.me);
			}
			finally {
				this.me.unnest();
			}
			if (hasTasks) {
				Participant.promoteBeforeBlocking();
				connection.runTasks();
			}
		}
	}

}
