package org.leaderfollowers;

import java.nio.channels.ClosedChannelException;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;

import org.leaderfollowers.internal.lifecycle.RetryBackoff;
import org.leaderfollowers.internal.promotion.HandledWork;

/**
 * The concrete event handler of a listening socket: accepts connections and gives them to
 * the {@link Admission}.
 * <p>
 * When the system is out of descriptors or memory, {@code accept} fails at once and the
 * event stays: waiting again would spin. The acceptor then backs off, and tries again
 * early when a connection of this server is closed.
 */
final class Acceptor extends BoundSocket {

	/** Accepted for one event, so that connections already open are not kept waiting. */
	private static final int MAX_ACCEPTS = 64;

	private final ServerSocketChannel channel;

	private final int backlog;

	private final Admission admission;

	private volatile boolean closeRequested;

	Acceptor(ServerState server, ServerSocketChannel channel, int backlog, HandleFactory handles, Admission admission) {
		super(server, channel, handles, new HandledWork("acceptor of server '" + server.name() + "'", server
			.name(), null), new RetryBackoff(
					server.name(), 0,
					"Server '{}' cannot accept connections now ({}); open connections are served, and accepting is "
							+ "tried again with growing pauses. If it is out of descriptors, raise the limit of the "
							+ "process or lower the maximum of connections",
					"Server '{}' accepts connections again"));
		this.channel = channel;
		this.backlog = backlog;
		this.admission = admission;
	}

	/** Nothing that it does is for the application to go on with. */
	@Override
	public boolean prepare(Participant me) {
		acceptAll();
		return false;
	}

	@Override
	public void dispatch(Participant me) {
		throw new IllegalStateException("nothing was prepared");
	}

	@Override
	public boolean release(Participant me) {
		return releaseOrPause();
	}

	private void acceptAll() {
		if (!this.channel.isOpen()) {
			if (!this.closeRequested) {
				this.server.listeningFailed(new ClosedChannelException());
			}
			this.handle.closeByOwner();
			return;
		}
		boolean more = !this.server.isPaused() && accept();
		if (this.closeRequested) {
			// The peers whose connections the kernel has established already are served.
			for (int i = this.backlog / MAX_ACCEPTS; more && i > 0 && !this.backoff.isBackingOff(); i--) {
				more = accept();
			}
			this.handle.closeByOwner();
		}
	}

	private boolean releaseOrPause() {
		return this.handle.isMarkedClosed() || (wantsInput() ? this.handle.releaseOrLookAgain() : pause());
	}

	/** Accepts what there is. Returns whether there may be more. */
	private boolean accept() {
		try {
			for (int i = 0; i < MAX_ACCEPTS; i++) {
				SocketChannel accepted = this.channel.accept();
				if (accepted == null) {
					this.backoff.succeeded();
					return false;
				}
				this.admission.accepted(accepted);
			}
			this.backoff.succeeded();
			return true;
		}
		catch (Throwable ex) {
			// An error, too: the system may be out of memory for a while, and a listening
			// socket that is closed stays closed.
			if (this.channel.isOpen()) {
				this.backoff.failed(ex);
			}
			return false;
		}
	}

	@Override
	boolean wantsInput() {
		return !this.backoff.isBackingOff() && !this.server.isPaused();
	}

	@Override
	boolean isOver() {
		return this.closeRequested;
	}

	boolean isBackingOff() {
		return this.backoff.isBackingOff();
	}

	/** A connection was closed: its descriptor may be the missing one. */
	void connectionClosed() {
		if (isBackingOff()) {
			look();
		}
	}

	@Override
	public boolean lookAtOnce() {
		if (isBackingOff()) {
			// It waits for the descriptor that a closed connection gives back.
			this.handle.handleSet().freeClosedChannels();
		}
		workAtOnce();
		return true;
	}

	@Override
	void workAlone() {
		do {
			acceptAll();
		}
		while (!releaseOrPause());
	}

	@Override
	public long deadline(long nowNanos) {
		// Nothing is to be done when it expires: the look that follows tries again.
		return this.backoff.retryNanos();
	}

	/** Has the owner accept what is established already, and close. Any thread. */
	void requestClose() {
		this.closeRequested = true;
		look();
	}

	@Override
	void closeByForce() {
		this.handle.closeChannel();
		look();
	}

	@Override
	public void abandon() {
		this.handle.closeChannel();
		noteClosed();
	}

}
