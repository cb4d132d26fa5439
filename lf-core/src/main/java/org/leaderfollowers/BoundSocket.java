package org.leaderfollowers;

import java.nio.channels.SelectableChannel;
import java.util.Objects;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;

import org.leaderfollowers.internal.demultiplexing.HandleState.Claim;
import org.leaderfollowers.internal.demultiplexing.HandleState.Release;
import org.leaderfollowers.internal.lifecycle.RetryBackoff;
import org.leaderfollowers.internal.promotion.HandledWork;
import org.leaderfollowers.internal.promotion.HandlerProfile;

/**
 * The concrete event handler of the socket that a server is bound to. It holds the code
 * that listening sockets and datagram sockets share.
 */
abstract class BoundSocket implements EngineEventHandler {

	final ServerState server;

	final SelectableHandle handle;

	/** Pauses between attempts to accept or receive after a failure. */
	final RetryBackoff backoff;

	private final HandledWork work;

	private final CountDownLatch closed = new CountDownLatch(1);

	BoundSocket(ServerState server, SelectableChannel channel, HandleFactory handles, HandledWork work,
			RetryBackoff backoff) {
		this.server = server;
		this.work = work;
		this.backoff = backoff;
		this.handle = handles.newHandle(channel, this);
	}

	/** Registers the socket with its handle set. */
	void open() {
		this.handle.release();
		this.handle.request(SelectableHandle.REGISTER | SelectableHandle.REARM);
	}

	/**
	 * Makes the owner look at the socket again, because state that it checks has changed.
	 * Any thread.
	 */
	final void look() {
		this.handle.request(SelectableHandle.LOOK);
	}

	/** Whether events of the socket are wanted now. */
	abstract boolean wantsInput();

	/** Whether the socket is to be closed. */
	abstract boolean isOver();

	/** Whether the socket is looked at again at its {@linkplain #deadline deadline}. */
	boolean waitsForTime() {
		return this.backoff.isBackingOff();
	}

	/** Ignores further events until there is a reason to look again. */
	final boolean pause() {
		if (this.handle.pause() == Release.LOOK_AGAIN) {
			return false;
		}
		if (waitsForTime()) {
			this.handle.request(SelectableHandle.TIMER);
		}
		// A reason may have come between the last check and the pause.
		if (isOver() || wantsInput()) {
			look();
		}
		return true;
	}

	/**
	 * Works on the handle at once, without dispatching: this work never blocks, so it
	 * need not wait behind events whose handlers may block. Called by the leader.
	 */
	final void workAtOnce() {
		// No switch statement: its synthetic class would be loaded now, and loading fails
		// if there are no descriptors left.
		Claim claim = this.handle.claimForLook();
		if (claim == Claim.CLAIMED) {
			try {
				workAlone();
			}
			catch (Throwable ex) {
				// Otherwise the handle would stay claimed.
				this.handle.closeAfterFailure(Objects.requireNonNull(Participant.current()), ex);
			}
		}
		else if (claim == Claim.OWNER_LOOKS_AGAIN) {
			this.handle.handleSet().deactivate(this.handle);
		}
	}

	/** Works on the handle without running code of the application, and releases it. */
	abstract void workAlone();

	/** Once the close of a server has returned, its port can be bound again. */
	@Override
	public final void gone() {
		try {
			this.handle.handleSet().freeClosedChannels();
		}
		finally {
			// The leader does not repeat this call.
			noteClosed();
		}
	}

	/** Reports that the socket is closed. */
	void noteClosed() {
		this.closed.countDown();
		this.server.changed();
	}

	final boolean isClosed() {
		return this.closed.getCount() == 0;
	}

	final boolean awaitClosed(long nanos) throws InterruptedException {
		return this.closed.await(nanos, TimeUnit.NANOSECONDS);
	}

	/** Closes the socket even if no thread of the pool is free to do this. Any thread. */
	abstract void closeByForce();

	@Override
	public final HandlerProfile profile() {
		return this.handle.profile();
	}

	@Override
	public boolean failed(Participant me, Throwable failure) {
		if (this.handle.isMarkedClosed()) {
			return false;
		}
		if (isOver() || !this.handle.channel().isOpen()) {
			this.server.listeningFailed(failure);
			this.handle.closeByOwner();
			return false;
		}
		// Usually memory is short for a while, and a socket that is closed cannot be
		// opened again.
		this.backoff.failed(failure);
		boolean paused;
		do {
			paused = pause();
		}
		while (!paused);
		return false;
	}

	@Override
	public void registrationFailed(Throwable failure) {
		this.server.listeningFailed(failure);
	}

	@Override
	public final HandledWork work() {
		return this.work;
	}

	@Override
	public final String toString() {
		return this.work.handle();
	}

}
