package org.leaderfollowers;

import org.leaderfollowers.internal.buffer.OutboundBuffer;

/**
 * The timeouts of the connections of a server in nanoseconds, or 0 for none, and the
 * deadlines that follow from them.
 *
 * @param idleNanos how long a connection may be silent in both directions
 * @param messageNanos how long a message may take from its first byte to its last
 * @param writeNanos how long a peer may take to accept the next byte
 * @param handshakeNanos how long a connection may take to be established
 * @param readIdleNanos after how long without input the handler is called
 * @param writeIdleNanos after how long without output the handler is called
 * @param loginNanos how long a client may take to log in
 * @param drainNanos how long the rest of a message may take when the connection drains; 0
 * for no time, not for no timeout
 */
record ConnectionTimeouts(long idleNanos, long messageNanos, long writeNanos, long handshakeNanos, long readIdleNanos,
		long writeIdleNanos, long loginNanos, long drainNanos) {

	/** Whether every connection needs a {@link ConnectionWatch} from the beginning. */
	boolean watchAll() {
		return this.readIdleNanos != 0 || this.writeIdleNanos != 0 || this.loginNanos != 0;
	}

	/** When a connection that begins now must be established. */
	long handshakeDeadline(long nowNanos) {
		return (this.handshakeNanos != 0) ? nowNanos + this.handshakeNanos : EngineEventHandler.NO_DEADLINE;
	}

	/** When a message that began at this time must be complete. */
	long messageDeadline(long startedNanos) {
		return (this.messageNanos != 0) ? startedNanos + this.messageNanos : EngineEventHandler.NO_DEADLINE;
	}

	/** When the peer must have accepted the next byte. */
	private long writeDeadline(OutboundBuffer outbound, long nowNanos) {
		return (this.writeNanos != 0 && outbound.waitingBytes() > 0)
				? outbound.progressNanos(nowNanos) + this.writeNanos : EngineEventHandler.NO_DEADLINE;
	}

	/**
	 * When the connection will have been silent for too long. While bytes wait for the
	 * peer, the write timeout applies instead.
	 */
	private long idleDeadline(OutboundBuffer outbound, long sinceNanos) {
		boolean counts = this.idleNanos != 0 && (this.writeNanos == 0 || outbound.waitingBytes() == 0);
		return counts ? sinceNanos + this.idleNanos : EngineEventHandler.NO_DEADLINE;
	}

	boolean isIdle(OutboundBuffer outbound, long sinceNanos, long nowNanos) {
		return isPast(idleDeadline(outbound, sinceNanos), nowNanos);
	}

	boolean isWriteLate(OutboundBuffer outbound, long nowNanos) {
		return isPast(writeDeadline(outbound, nowNanos), nowNanos);
	}

	static boolean isPast(long deadline, long nowNanos) {
		return deadline != EngineEventHandler.NO_DEADLINE && nowNanos - deadline >= 0;
	}

	/** The earliest deadline of an open connection. */
	long earliest(OutboundBuffer outbound, long idleSinceNanos, long messageDeadline, long nowNanos) {
		long first = EngineEventHandler.earlier(writeDeadline(outbound, nowNanos),
				idleDeadline(outbound, idleSinceNanos));
		return EngineEventHandler.earlier(first, messageDeadline);
	}

	/** The earliest deadline of a connection that is closing. */
	long earliestOfClosing(OutboundBuffer outbound, long lingerDeadline, long nowNanos) {
		return EngineEventHandler.earlier(writeDeadline(outbound, nowNanos), lingerDeadline);
	}

}
