package org.leaderfollowers;

import java.io.IOException;
import java.nio.channels.SelectableChannel;
import java.nio.channels.SelectionKey;
import java.util.Objects;

import org.jspecify.annotations.Nullable;
import org.leaderfollowers.internal.demultiplexing.HandleState;
import org.leaderfollowers.internal.logging.EngineLog;
import org.leaderfollowers.internal.promotion.HandledWork;
import org.leaderfollowers.internal.promotion.HandlerProfile;

/**
 * A handle over a selectable channel, registered with one handle set at a time.
 * <p>
 * Fields are grouped by who may touch them; the state word in {@link HandleState} decides
 * who that is.
 */
final class SelectableHandle extends HandleState implements Handle, HandledWork.Source {

	/** Register the channel with the selector. */
	static final int REGISTER = 1;

	/** Activate the handle again; see the state DISARMED. */
	static final int REARM = 1 << 1;

	/** What the handle is interested in has changed. */
	static final int INTEREST = 1 << 2;

	/** Some deadline is earlier than {@link #timerDeadline}. */
	static final int TIMER = 1 << 3;

	/** The handle is closed: forget its timer, let the selector free its descriptor. */
	static final int GONE = 1 << 4;

	/**
	 * Activate the handle, whose owner waits for its next event; see CLAIMED_DISARMED.
	 */
	static final int ARM_OWNED = 1 << 5;

	/**
	 * Dispatch to the handler although nothing fired. Apart from the selector's
	 * operations, since it is kept among them in the ready ring.
	 */
	static final int LOOK = 1 << 6;

	/** {@code null} if only its timer and looks are wanted. */
	private final @Nullable SelectableChannel channel;

	/** Changed by the leader of the set, while nobody owns the handle. */
	private volatile HandleSet handleSet;

	final EngineEventHandler handler;

	/** How long the handler runs, as far as each handle set has seen; or one for all. */
	private final HandlerProfile[] profiles;

	/**
	 * What the handler wants to be told of, other than room to write. Any thread. A byte,
	 * so that idle connections are small; no operation of a selector takes more.
	 */
	private volatile byte operations;

	/** Asked for by {@link #close()}; done by the next owner. */
	volatile boolean closeRequested;

	/** When the timer comes up. Written by the leader, read by owners. */
	volatile long timerDeadline = Long.MAX_VALUE;

	// The leader's

	@Nullable SelectionKey key;

	/** Whether the handle is active in the demultiplexer but for write events. */
	boolean active;

	/** What the selector was told last. */
	byte registeredOperations;

	// The owner's

	/** The events for which it was claimed. A byte, like what they are made of. */
	byte claimedEvents;

	/** Decides to which handle set it is dealt. */
	final short number;

	SelectableHandle(@Nullable SelectableChannel channel, short number, HandleSet handleSet, EngineEventHandler handler,
			HandlerProfile[] profiles, int operations) {
		this.channel = channel;
		this.number = number;
		this.handleSet = handleSet;
		this.handler = handler;
		this.profiles = profiles;
		this.operations = (byte) operations;
	}

	/** What is known of the handler in the set of the handle. */
	HandlerProfile profile() {
		return this.profiles[Math.min(this.handleSet.leadership.index(), this.profiles.length - 1)];
	}

	/**
	 * Leaves its handle set for another one, whose leader is then asked to register it.
	 * Called by the leader of the set, in which it is not scheduled any more, after it
	 * has {@linkplain #disarm disarmed} the handle.
	 */
	void moveTo(HandleSet other) {
		SelectionKey former = this.key;
		this.key = null;
		this.active = false;
		this.registeredOperations = 0;
		this.timerDeadline = EngineEventHandler.NO_DEADLINE;
		this.handleSet = other;
		request(REGISTER | REARM | TIMER);
		if (former != null) {
			former.cancel();
		}
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
	 * @return {@code false} if the owner has to look at it again and still owns it
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
	 * Releases the handle without a look, for it is going to be abandoned, or the caller
	 * requests a look.
	 */
	void giveBack() {
		Release released;
		do {
			released = release();
		}
		while (released == Release.LOOK_AGAIN);
	}

	/**
	 * Closes the handle for good. Called by its owner.
	 */
	void closeByOwner() {
		markClosed();
		closeChannel();
		// The descriptor of a registered channel is freed by the next select.
		request(GONE);
	}

	/**
	 * Puts the handle in order after its handler has failed. Called by its owner.
	 * @return whether it is closed; {@code false} if its handler is to go round again to
	 * end in good order
	 */
	boolean closeAfterFailure(Participant me, Throwable failure) {
		try {
			return !this.handler.failed(me, failure);
		}
		catch (Throwable ex) {
			// Not even that: no memory, or no class. The handle must not stay claimed.
			if (ex != failure) {
				failure.addSuppressed(ex);
			}
			if (!isMarkedClosed()) {
				closeByOwner();
			}
			return true;
		}
	}

	/**
	 * Closes the channel under whoever works on it. Any thread.
	 */
	void closeChannel() {
		try {
			if (this.channel != null) {
				this.channel.close();
			}
		}
		catch (IOException ex) {
			EngineLog.INSTANCE.debug("Closing {} failed", this, ex);
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
		this.closeRequested = true;
		request(LOOK);
	}

	@Override
	public String toString() {
		return this.handler + "[" + stateName() + "]";
	}

}
