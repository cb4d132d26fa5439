package org.leaderfollowers;

import java.nio.channels.ClosedChannelException;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;

import org.jspecify.annotations.Nullable;
import org.leaderfollowers.internal.demultiplexing.HandleState.Claim;
import org.leaderfollowers.internal.logging.RateLimit;

/**
 * The concrete event handler of a listening socket: accepts connections and gives them to
 * the server.
 * <p>
 * When the system is out of descriptors or memory, {@code accept} fails at once and the
 * event stays: waiting again would spin. The acceptor then pauses, for longer each time,
 * and tries again early when a connection of this server is closed.
 */
final class Acceptor implements EngineEventHandler {

	/** Accepted for one event, so that connections already open are not kept waiting. */
	private static final int MAX_ACCEPTS = 64;

	private static final long FIRST_PAUSE_NANOS = TimeUnit.MILLISECONDS.toNanos(100);

	private static final long LONGEST_PAUSE_NANOS = TimeUnit.SECONDS.toNanos(10);

	/** How often a closing thread looks whether the handle set has a leader. */
	private static final long RETRY_NANOS = TimeUnit.MILLISECONDS.toNanos(50);

	private final TcpServer server;

	private final ServerSocketChannel channel;

	private final HandledWork work;

	private final CountDownLatch closed = new CountDownLatch(1);

	private @Nullable SelectableHandle handle;

	/** When to try again, or {@link #NO_DEADLINE} if accepting is not suspended. */
	private volatile long resumeNanos = NO_DEADLINE;

	private volatile boolean closeRequested;

	/** A server at the limit of descriptors would log a line for each connection. */
	private final RateLimit log = new RateLimit(TimeUnit.SECONDS.toNanos(10));

	/** Whether the log says that accepting is suspended. */
	private boolean announced;

	private long pauseNanos = FIRST_PAUSE_NANOS;

	Acceptor(TcpServer server, ServerSocketChannel channel) {
		this.server = server;
		this.channel = channel;
		this.work = new HandledWork(toString(), server.name(), null);
	}

	void open(SelectableHandle handle) {
		this.handle = handle;
		handle.release();
		handle.request(SelectableHandle.REGISTER | SelectableHandle.REARM);
	}

	@Override
	public void handleEvent(Handle handle, EventType type) {
		SelectableHandle own = (SelectableHandle) handle;
		do {
			if (!own.channel().isOpen()) {
				if (!this.closeRequested) {
					this.server.listeningFailed(new ClosedChannelException());
				}
				close(own);
				return;
			}
			boolean more = !this.server.isPaused() && accept();
			if (this.closeRequested) {
				// The peers whose connections the kernel has established already are
				// served.
				for (int i = this.server.backlog() / MAX_ACCEPTS; more && i > 0 && !isSuspended(); i--) {
					more = accept();
				}
				close(own);
				return;
			}
		}
		while (!(acceptsNothing() ? pause(own) : own.releaseOrLookAgain()));
	}

	private void close(SelectableHandle own) {
		own.closeByOwner();
		// Now, by the leader that this is: when closing returns, the port can be bound
		// again.
		own.handleSet().freeClosedChannels();
		this.closed.countDown();
	}

	private boolean pause(SelectableHandle own) {
		if (own.pause() == SelectableHandle.Release.LOOK_AGAIN) {
			return false;
		}
		own.request(SelectableHandle.TIMER);
		if (this.closeRequested || !acceptsNothing()) {
			own.request(SelectableHandle.LOOK);
		}
		return true;
	}

	private boolean acceptsNothing() {
		return isSuspended() || this.server.isPaused();
	}

	/** The server is not paused any more. */
	void resume() {
		SelectableHandle own = this.handle;
		if (own != null) {
			own.request(SelectableHandle.LOOK);
		}
	}

	/** Accepts what there is. Returns whether there may be more. */
	private boolean accept() {
		try {
			for (int i = 0; i < MAX_ACCEPTS; i++) {
				SocketChannel accepted = this.channel.accept();
				if (accepted == null) {
					recovered();
					return false;
				}
				this.server.accepted(accepted);
			}
			recovered();
			return true;
		}
		catch (Throwable ex) {
			// An error, too: the system may be out of memory for a while, and a listening
			// socket that is closed stays closed.
			if (this.channel.isOpen()) {
				suspend(ex);
			}
			return false;
		}
	}

	private void suspend(Throwable cause) {
		if (isSuspended() && System.nanoTime() - this.resumeNanos < 0) {
			// An early try, because a connection was closed, does not make the pause
			// longer.
			return;
		}
		if (this.pauseNanos == FIRST_PAUSE_NANOS && this.log.tryAcquire() >= 0) {
			this.announced = true;
			HandleSet.logger
				.warn("Server '{}' cannot accept connections now ({}); open connections are served, and accepting is "
						+ "tried again with growing pauses. If it is out of descriptors, raise the limit of the "
						+ "process or lower the maximum of connections", this.server.name(), cause.toString());
		}
		this.resumeNanos = System.nanoTime() + this.pauseNanos;
		this.pauseNanos = Math.min(this.pauseNanos * 2, LONGEST_PAUSE_NANOS);
	}

	private void recovered() {
		if (this.announced) {
			this.announced = false;
			HandleSet.logger.info("Server '{}' accepts connections again", this.server.name());
		}
		this.resumeNanos = NO_DEADLINE;
		this.pauseNanos = FIRST_PAUSE_NANOS;
	}

	boolean isSuspended() {
		return this.resumeNanos != NO_DEADLINE;
	}

	/** A connection was closed: its descriptor may be what was missing. */
	void connectionClosed() {
		SelectableHandle own = this.handle;
		if (isSuspended() && own != null) {
			own.request(SelectableHandle.LOOK);
		}
	}

	@Override
	public boolean lookAtOnce(SelectableHandle own) {
		if (isSuspended()) {
			// The descriptor that a closed connection gives back is what it waits for.
			own.handleSet().freeClosedChannels();
		}
		// Accepting never blocks, so it need not wait behind events whose handlers may.
		// No switch: its class would be loaded now, which fails without descriptors.
		Claim claim = own.claimForLook();
		if (claim == Claim.CLAIMED) {
			handleEvent(own, EventType.ACCEPT);
		}
		else if (claim == Claim.OWNER_LOOKS_AGAIN) {
			own.handleSet().deactivate(own);
		}
		return true;
	}

	@Override
	public long deadline(long nowNanos) {
		return this.resumeNanos;
	}

	@Override
	public void expire(long nowNanos) {
		// The look that follows tries again.
	}

	/**
	 * Closes the listening socket.
	 * @param deadlineNanos when to close it even though no thread is free to do it
	 */
	void close(long deadlineNanos) {
		SelectableHandle own = this.handle;
		this.closeRequested = true;
		if (own == null) {
			return;
		}
		own.request(SelectableHandle.LOOK);
		boolean done = false;
		long leftNanos;
		do {
			// If every thread is busy, the port must not stay open until one is free.
			this.server.pool().attendIfVacant(own.handleSet());
			leftNanos = deadlineNanos - System.nanoTime();
			try {
				done = this.closed.await(Math.min(leftNanos, RETRY_NANOS), TimeUnit.NANOSECONDS);
			}
			catch (InterruptedException ex) {
				Thread.currentThread().interrupt();
				break;
			}
		}
		while (!done && leftNanos > 0);
		if (!done) {
			own.closeChannel();
			own.request(SelectableHandle.LOOK);
		}
	}

	@Override
	public HandledWork work() {
		return this.work;
	}

	@Override
	public void closedByFailure(Throwable failure) {
		this.server.listeningFailed(failure);
		this.closed.countDown();
	}

	@Override
	public String toString() {
		return "acceptor of server '" + this.server.name() + "'";
	}

}
