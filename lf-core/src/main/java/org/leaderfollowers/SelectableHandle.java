package org.leaderfollowers;

import java.io.IOException;
import java.nio.channels.SelectableChannel;
import java.nio.channels.SelectionKey;
import java.util.Objects;
import java.util.concurrent.TimeUnit;

import org.jspecify.annotations.Nullable;
import org.leaderfollowers.internal.demultiplexing.HandleState;
import org.leaderfollowers.internal.logging.EngineLog;
import org.leaderfollowers.internal.promotion.HandledWork;
import org.leaderfollowers.internal.promotion.HandlerProfile;

/**
 * A handle with a selectable channel, which is registered with one handle set at a time.
 * <p>
 * The fields are grouped by the threads that may access them; {@link HandleState} decides
 * which thread owns the handle.
 */
final class SelectableHandle extends HandleState implements Handle, HandledWork.Source, Ready {

	/** Register the channel with the selector. */
	static final int REGISTER = 1;

	/** Activate the handle again; see the state DISARMED. */
	static final int REARM = 1 << 1;

	/** The interest of the handle has changed. */
	static final int INTEREST = 1 << 2;

	/** A deadline may be earlier than {@link #timerDeadline}. */
	static final int TIMER = 1 << 3;

	/**
	 * The handle is closed: remove its timer, and make the selector free its descriptor.
	 */
	static final int GONE = 1 << 4;

	/**
	 * Activate the handle although it is owned, because the owner waits for its next
	 * event; see CLAIMED_DISARMED.
	 */
	static final int ARM_OWNED = 1 << 5;

	/**
	 * Dispatch to the handler although no event has occurred. Differs from all operations
	 * of a selector, because both are stored together in the ready ring.
	 */
	static final int LOOK = 1 << 6;

	/**
	 * Move the handle to the pool that its handler has chosen. The owner requests this
	 * instead of a release: the leader then acts for the owner.
	 */
	static final int MOVE = 1 << 7;

	/** After this time, a failure that could not be handled is handled once more. */
	private static final long RETRY_NANOS = TimeUnit.MILLISECONDS.toNanos(10);

	/** {@code null} if the handle only has a timer and looks. */
	private final @Nullable SelectableChannel channel;

	/**
	 * Changed by the leader of the set after it has {@linkplain #disarm disarmed} the
	 * handle, or on behalf of its owner.
	 */
	private volatile HandleSet handleSet;

	final EngineEventHandler handler;

	/**
	 * The learned duration of the handler: one profile for each handle set, or one for
	 * all. Changed when the handle moves to another pool.
	 */
	private HandlerProfile[] profiles;

	/**
	 * The operations that the handler is interested in, except writing. Any thread. A
	 * byte, so that idle connections are small; all operations of a selector fit into it.
	 */
	private volatile byte operations;

	/** Set by {@link #close()}; the next owner closes the handle. */
	volatile boolean closeRequested;

	/** When the timer expires. Written by the leader, read by owners. */
	volatile long timerDeadline = Long.MAX_VALUE;

	// Used by the leader only

	@Nullable SelectionKey key;

	/** Whether the selector watches the handle, apart from write events. */
	boolean active;

	/**
	 * Whether memory was too short to handle a failure of the handler, so that the next
	 * owner does it. Any thread.
	 */
	private volatile boolean failurePending;

	/** The operations that are registered with the selector. */
	byte registeredOperations;

	// Used by the owner only

	/**
	 * The events that the handle was claimed for. A byte is enough, as for the
	 * operations.
	 */
	byte claimedEvents;

	/**
	 * Determines the handle set that the handle is assigned to. Changed when the handle
	 * moves to another pool.
	 */
	short number;

	SelectableHandle(@Nullable SelectableChannel channel, short number, HandleSet handleSet, EngineEventHandler handler,
			HandlerProfile[] profiles, int operations) {
		this.channel = channel;
		this.number = number;
		this.handleSet = handleSet;
		this.handler = handler;
		this.profiles = profiles;
		this.operations = (byte) operations;
	}

	/** The profile of the handler in the current handle set. */
	HandlerProfile profile() {
		return this.profiles[Math.min(this.handleSet.leadership.index(), this.profiles.length - 1)];
	}

	/**
	 * Moves the handle to another handle set, and asks the leader of that set to register
	 * it. Called by the leader of the current set, after it has {@linkplain #disarm
	 * disarmed} the handle and removed it from the ready queue.
	 */
	void moveTo(HandleSet other) {
		moveTo(other, REGISTER | REARM | TIMER);
	}

	/**
	 * Moves the handle to a set of another pool, whose leader looks at it, because it may
	 * have missed events and requests. Called by the leader of the current set on behalf
	 * of the owner. The handle is released before it leaves the set: until then, no other
	 * thread can claim it.
	 * @param newNumber the number of the handle in that pool
	 * @param newProfiles the profiles of the handler in that pool
	 */
	void moveTo(HandleSet other, short newNumber, HandlerProfile[] newProfiles) {
		this.number = newNumber;
		this.profiles = newProfiles;
		Release released;
		do {
			released = pause();
		}
		while (released == Release.LOOK_AGAIN);
		moveTo(other, REGISTER | LOOK | TIMER);
	}

	private void moveTo(HandleSet other, int requests) {
		SelectionKey former = this.key;
		this.key = null;
		this.active = false;
		this.registeredOperations = 0;
		this.timerDeadline = EngineEventHandler.NO_DEADLINE;
		HandleSet set = this.handleSet;
		this.handleSet = other;
		requestThere(requests, set);
		if (former != null) {
			former.cancel();
		}
	}

	/**
	 * Requests something of the set that the handle has moved to. If that set is closed,
	 * the handle returns, and another thread of the former set ends it: the calling
	 * thread leads, so it must not run code of the application. A set is first marked as
	 * closed and then abandons the handles on its list, so one of the two threads sees
	 * the other. If both do, the claim decides.
	 * @param former the set whose leader calls
	 */
	void requestThere(int requests, HandleSet former) {
		HandleSet set = this.handleSet;
		set.request(this, requests);
		if (set.closed && former.closed) {
			this.handler.abandon();
		}
		else if (set.closed) {
			this.handleSet = former;
			this.handler.abort();
			former.demultiplex(this, LOOK);
		}
	}

	@Override
	public SelectableHandle own() {
		return this;
	}

	int operations() {
		return this.operations;
	}

	synchronized void operations(int remove, int add) {
		this.operations = (byte) (this.operations & ~remove | add);
	}

	void request(int requests) {
		this.handleSet.request(this, requests);
	}

	/**
	 * Releases the handle.
	 * @return {@code false} if the caller still owns the handle and has to look at it
	 * again
	 */
	boolean releaseOrLookAgain() {
		return switch (release()) {
			case RELEASED -> true;
			case REARM_NEEDED -> {
				request(REARM);
				yield true;
			}
			case LOOK_AGAIN -> false;
		};
	}

	/**
	 * Releases the handle without another look, because it will be abandoned or the
	 * caller requests a look.
	 */
	void giveBack() {
		Release released;
		do {
			released = release();
		}
		while (released == Release.LOOK_AGAIN);
	}

	/**
	 * Releases the handle until the deadline of its handler, because the handler has
	 * failed and is to try again later. A look that was requested meanwhile waits too.
	 * Called by the owner, after it has set the deadline. Allocates nothing.
	 */
	void pauseUntilDeadline() {
		Release released;
		do {
			released = pause();
		}
		while (released == Release.LOOK_AGAIN);
		request(TIMER);
	}

	/**
	 * Abandons the handle, because its set is closed.
	 * @param requests the requests that will not be executed any more
	 */
	void abandon(int requests) {
		if ((requests & MOVE) != 0 && isOwned()) {
			giveBack();
		}
		this.handler.abandon();
	}

	/** Closes the handle permanently. Called by its owner. */
	void closeByOwner() {
		markClosed();
		try {
			closeChannel();
		}
		finally {
			// The next select frees the descriptor of a registered channel.
			request(GONE);
		}
	}

	/**
	 * Handles a failure of the handler. Called by its owner.
	 * @return whether the handle is closed; {@code false} if the handler has to run
	 * another round to close in good order
	 */
	boolean closeAfterFailure(Participant me, Throwable failure) {
		// Handled now, too.
		this.failurePending = false;
		try {
			return !this.handler.failed(me, failure);
		}
		catch (OutOfMemoryError ex) {
			// The handle must neither stay claimed nor be left half closed.
			this.failurePending = true;
			leaveToNextOwner();
			request(TIMER);
			return true;
		}
		catch (Throwable ex) {
			// Even the handling of the failure has failed, for example because a class
			// cannot be loaded. The handle must not stay claimed.
			if (!isMarkedClosed()) {
				closeByOwner();
			}
			// Last, because it needs memory.
			if (ex != failure) {
				failure.addSuppressed(ex);
			}
			return true;
		}
	}

	/**
	 * Fails if an earlier owner could not handle a failure of the handler, so that it is
	 * handled now. Called by the owner before it uses the handler.
	 */
	void failIfPending() {
		if (this.failurePending) {
			this.failurePending = false;
			throw new OutOfMemoryError("An earlier failure could not be handled");
		}
	}

	/**
	 * Lets the next owner handle a failure of the handler, because memory is too short
	 * now. Any thread. Allocates nothing.
	 */
	void failLater() {
		this.failurePending = true;
		request(TIMER);
	}

	/** Whether a failure of the handler is still to be handled. Any thread. */
	boolean isFailurePending() {
		return this.failurePending;
	}

	/** When the leader has to act on the handle. Called by the leader. */
	long deadline(long nowNanos) {
		return this.failurePending ? nowNanos + RETRY_NANOS : this.handler.deadline(nowNanos);
	}

	/** Closes the channel even if another thread works on it. Any thread. */
	void closeChannel() {
		try {
			if (this.channel != null) {
				this.channel.close();
			}
		}
		catch (IOException ex) {
			EngineLog.INSTANCE.debug("Closing {} failed", this, ex);
		}
		catch (Error ex) {
			// The channel counts as closed, but its key may not be cancelled.
			this.handleSet.doubtKeys();
			throw ex;
		}
	}

	@Override
	public HandledWork work() {
		return this.handler.work();
	}

	@Override
	public long workNumber() {
		return this.handler.workNumber();
	}

	@Override
	public void uncork() {
		this.handler.uncork();
	}

	@Override
	public SelectableChannel channel() {
		return Objects.requireNonNull(this.channel, "the handle has no channel");
	}

	@Override
	public HandleSet handleSet() {
		return this.handleSet;
	}

	@Override
	public boolean isOpen() {
		return channel().isOpen() && !this.closeRequested;
	}

	@Override
	public void close() {
		StackReserve.require();
		this.closeRequested = true;
		request(LOOK);
	}

	@Override
	public String toString() {
		return this.handler + "[" + stateName() + "]";
	}

}
