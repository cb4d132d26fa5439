package org.leaderfollowers;

import java.util.ArrayList;
import java.util.concurrent.locks.LockSupport;

import org.jspecify.annotations.Nullable;

/**
 * The connections whose handlers are running on a thread while that thread waits: the
 * bound handle/thread association (the paper, section 10.1). The thread owns the handles
 * of these connections, so no other thread can read them. The waiting thread itself reads
 * the next message of a conversation, and replies to requests that were sent on these
 * connections.
 * <p>
 * The thread calls {@link #bind} before it waits, {@link #read} whenever a leader has
 * called {@link #look}, and {@link #unbind} after the wait. No event is lost: when a
 * handle fires, the leader first changes its state and then looks for the thread that
 * reads it, while the thread first registers itself as the reader and then looks at the
 * state.
 */
final class BoundInput {

	private final Participant me;

	/**
	 * The innermost one is last, because a thread may run handlers on top of each other.
	 */
	private final ArrayList<BoundConnection> connections = new ArrayList<>(1);

	/** Whether there may be something to read. */
	private volatile boolean wanted;

	/** Wakes the thread if it is not parked but waits as a leader, or {@code null}. */
	private volatile @Nullable Runnable waker;

	/**
	 * A connection that a thread reads while it runs the handler of this connection. Only
	 * the owner calls these methods.
	 */
	interface BoundConnection {

		/** The handle, which the thread owns. */
		SelectableHandle handle();

		/**
		 * Sets the thread that is told when the handle needs a look, or {@code null} for
		 * none.
		 */
		void readBy(@Nullable BoundInput reader);

		/**
		 * Whether input is kept that no event will report. Also saves the bytes that
		 * follow the message being handled, and does not touch that message.
		 */
		boolean keepsInput(Participant me);

		/**
		 * Reads: passes replies and the next message to the threads that wait for them,
		 * and keeps other messages for the handler. If the connection closes, ends the
		 * waits.
		 * @return whether there are tasks to run before the next call
		 */
		boolean readBound(Participant me);

		/** Runs tasks that may block. */
		void runTasks();

		/** Whether the socket may hold more bytes than were read. */
		boolean hasMoreToRead();

		/** Whether there is room for another message. */
		boolean mayReadOn();

	}

	BoundInput(Participant me) {
		this.me = me;
	}

	/** There may be something to read. Any thread, usually a leader. */
	void look() {
		this.wanted = true;
		if (this.me.thread() != Thread.currentThread()) {
			LockSupport.unpark(this.me.thread());
			// The thread sets the waker before it checks whether something is wanted, so
			// one of the two sees the other.
			Runnable wakes = this.waker;
			if (wakes != null) {
				wakes.run();
			}
		}
	}

	// The following methods are called only by the thread itself

	/** Whether there is something to {@link #read}. */
	boolean isWanted() {
		return this.wanted;
	}

	/**
	 * Makes {@link #look} run another action that wakes the thread. Returns the previous
	 * action.
	 */
	@Nullable Runnable wakeBy(@Nullable Runnable wakes) {
		Runnable former = this.waker;
		this.waker = wakes;
		return former;
	}

	/**
	 * Begins to read the connection whose handler waits, if input may arrive that must
	 * not wait for the end of the handler.
	 * @return whether to {@link #unbind} it
	 */
	boolean bind() {
		SelectableHandle handle = this.me.handle();
		BoundConnection connection = (handle != null) ? handle.handler.boundConnection() : null;
		if (connection == null) {
			return false;
		}
		// Either may fail if memory is short, and then the connection is not read.
		this.connections.ensureCapacity(this.connections.size() + 1);
		connection.readBy(this);
		this.connections.add(connection);
		this.wanted = true;
		return true;
	}

	/** The wait is over and the handler continues. */
	void unbind() {
		this.connections.remove(this.connections.size() - 1).readBy(null);
	}

	/** Reads the input of all bound connections. */
	void read() {
		// Reset before the handles are checked, so that a later call of look is not lost.
		this.wanted = false;
		for (BoundConnection connection : this.connections) {
			SelectableHandle handle = connection.handle();
			// Kept input comes first, because it is older than bytes that have arrived
			// since.
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
