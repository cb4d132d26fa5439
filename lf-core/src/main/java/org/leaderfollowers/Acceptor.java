package org.leaderfollowers;

import java.io.IOException;
import java.nio.channels.ClosedChannelException;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;

import org.jspecify.annotations.Nullable;
import org.leaderfollowers.internal.buffer.MemoryBudget;
import org.leaderfollowers.internal.lifecycle.RetryBackoff;
import org.leaderfollowers.internal.logging.EngineLog;
import org.leaderfollowers.internal.promotion.HandledWork;
import org.leaderfollowers.internal.promotion.HandlerProfile;
import org.slf4j.event.Level;

/**
 * The concrete event handler of a listening socket. It accepts connections and passes
 * them to the {@link Admission}.
 * <p>
 * If the system is out of descriptors or memory, {@code accept} fails at once and the
 * socket stays ready, so an immediate retry would spin. The acceptor therefore backs off.
 * It retries early when a connection of this server is closed.
 */
final class Acceptor extends BoundSocket {

	/**
	 * The maximum number of connections accepted for one event, so that open connections
	 * do not have to wait.
	 */
	private static final int MAX_ACCEPTS = 64;

	private final ServerSocketChannel channel;

	private final int backlog;

	private final Admission admission;

	private final @Nullable HandshakeGate gate;

	private volatile boolean closeRequested;

	/** How often memory was too short for an accepted socket. Written by the owner. */
	private volatile int lostSockets;

	/** How many of these were logged. Used by the owner only. */
	private int lostSocketsLogged;

	Acceptor(ServerState server, ServerSocketChannel channel, int backlog, HandleFactory handles, Admission admission) {
		super(server, channel, handles,
				new HandledWork("acceptor of server '" + server.name() + "'", server.name(), null),
				new RetryBackoff(server.name(), 0,
						"Server '{}' cannot accept connections now ({}). It serves open connections, and retries "
								+ "after pauses. If descriptors are short, raise the limit of the process or lower "
								+ "the maximum number of connections (maxConnections). If memory is short, see "
								+ "maxBufferedBytes",
						"Server '{}' accepts connections again"));
		this.channel = channel;
		this.backlog = backlog;
		this.admission = admission;
		this.gate = admission.gate();
	}

	/** Accepts connections. Nothing is left to dispatch to the application. */
	@Override
	public boolean prepare(Participant me) {
		acceptAll();
		return false;
	}

	/**
	 * Accepts even if all threads of the pool wait for replies or messages: otherwise no
	 * client could connect meanwhile, and the socket of a server that drains would stay
	 * open.
	 */
	@Override
	public boolean prepareReplies(Participant me) {
		acceptAll();
		return true;
	}

	@Override
	public @Nullable HandlerProfile preparation() {
		return this.admission.isGuarded() ? this.handle.profile() : null;
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
			this.server.listeningFailed(new ClosedChannelException());
			this.handle.closeByOwner();
			return;
		}
		// Read once: a request that comes while this accepts is followed by another look,
		// and that look must not find the socket closed and the backlog lost.
		boolean last = this.closeRequested;
		boolean more = !this.server.isPaused() && accept(last);
		if (last) {
			// The kernel has already established the connections in the backlog. Their
			// clients are still served.
			for (int i = this.backlog / MAX_ACCEPTS; more && i > 0; i--) {
				more = accept(last);
			}
			this.handle.closeByOwner();
		}
		endWaitsThatAreOver();
	}

	/**
	 * A paused server has not tried to accept, and neither has one whose gate is closed
	 * or whose memory is short. A time for another attempt that has passed would make the
	 * leader look again and again.
	 */
	private void endWaitsThatAreOver() {
		this.backoff.endPauseIfOver(System.nanoTime());
		if (this.gate != null) {
			this.gate.endWaitIfOver();
		}
	}

	private boolean releaseOrPause() {
		return this.handle.isMarkedClosed() || (wantsInput() ? this.handle.releaseOrLookAgain() : pause());
	}

	/**
	 * Accepts connections that are waiting.
	 * @param last whether the socket is closed afterwards, so nothing may be left in its
	 * backlog
	 * @return whether there may be more
	 */
	private boolean accept(boolean last) {
		try {
			if (!this.admission.hasMemory()) {
				// Connections of any server, and of other pools, may release memory, also
				// without being closed, and do not tell this acceptor.
				this.backoff.postponed(new MemoryBudget.ExhaustedException());
				return false;
			}
			for (int i = 0; i < MAX_ACCEPTS; i++) {
				if (this.gate != null && !last && !this.gate.tryPass()) {
					return false;
				}
				HeapReserve.require();
				SocketChannel accepted = acceptOne();
				if (accepted == null) {
					this.backoff.succeeded();
					logLostSockets();
					return false;
				}
				this.admission.accepted(accepted);
			}
			this.backoff.succeeded();
			return true;
		}
		catch (Throwable ex) {
			// Errors are caught too: the system may be out of memory for a while, and a
			// listening socket that is closed cannot be reopened.
			if (this.channel.isOpen()) {
				this.backoff.failed(ex);
			}
			return false;
		}
	}

	private @Nullable SocketChannel acceptOne() throws IOException {
		try {
			return this.channel.accept();
		}
		catch (Error ex) {
			// The JDK closes the socket after an exception, but not after an error.
			this.lostSockets++;
			throw ex;
		}
	}

	/** Later than the failure, which leaves no memory for a line. */
	private void logLostSockets() {
		int lost = this.lostSockets;
		if (lost != this.lostSocketsLogged) {
			EngineLog.INSTANCE.withoutBlocking(Level.ERROR,
					"Server '{}' has lost up to {} sockets since its start, because memory was too short when it accepted "
							+ "them. Their clients are neither served nor closed, and their descriptors stay open until "
							+ "the process ends",
					this.server.name(), lost);
			this.lostSocketsLogged = lost;
		}
	}

	/**
	 * How many clients at most have been accepted, but are neither served nor closed: the
	 * JDK was out of memory when it accepted them. Any thread.
	 */
	int lostSockets() {
		return this.lostSockets;
	}

	@Override
	boolean wantsInput() {
		return !this.backoff.isBackingOff() && !this.server.isPaused() && (this.gate == null || this.gate.isOpen());
	}

	@Override
	boolean waitsForTime() {
		return super.waitsForTime() || (this.gate != null && this.gate.retryNanos() != NO_DEADLINE);
	}

	@Override
	boolean isOver() {
		return this.closeRequested;
	}

	boolean isBackingOff() {
		return this.backoff.isBackingOff();
	}

	/** A connection was closed, so a descriptor may be available again. */
	void connectionClosed() {
		if (isBackingOff()) {
			look();
		}
	}

	@Override
	public boolean lookAtOnce() {
		if (isBackingOff()) {
			// The selector frees the descriptors of closed channels only when it is asked
			// to.
			this.handle.handleSet().freeClosedChannels();
		}
		if (this.admission.isGuarded() && !this.closeRequested) {
			// The guard is code of the application, and may block.
			return false;
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
		// Expiry needs no action, because the look that follows it retries.
		return (this.gate != null) ? EngineEventHandler.earlier(this.backoff.retryNanos(), this.gate.retryNanos())
				: this.backoff.retryNanos();
	}

	/**
	 * Makes the owner accept the connections that are established already, and then close
	 * the socket. Any thread.
	 */
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
