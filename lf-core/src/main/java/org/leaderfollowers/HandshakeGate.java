package org.leaderfollowers;

import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.LongAdder;

import org.leaderfollowers.internal.promotion.Clock;
import org.leaderfollowers.internal.transport.TlsTransport;

/**
 * Limits how many TLS handshakes of a server are under way, and how many begin in a
 * second, because a handshake costs its server far more than the peer. At a limit, the
 * acceptor accepts nothing: new connections wait in the backlog of the system, and are
 * not rejected.
 * <p>
 * Only the owner of the listening socket begins handshakes; any thread ends them. No
 * wake-up is lost: the acceptor notes that the gate is closed, pauses its handle, and
 * then checks the gate again. A thread that ends a handshake removes it first, and then
 * checks whether the gate was closed.
 */
final class HandshakeGate {

	/** A period with few handshakes may be followed by a second's worth at once. */
	private static final long BURST_NANOS = TimeUnit.SECONDS.toNanos(1);

	private final Clock clock;

	private final ServerWarnings warnings;

	private final Runnable onRoom;

	private final Set<TlsTransport> underWay = ConcurrentHashMap.newKeySet();

	private final LongAdder limitReached = new LongAdder();

	private volatile ServerTls limits;

	/** Whether the acceptor waits until a handshake has ended. */
	private volatile boolean full;

	/** When the rate allows the next handshake, if the acceptor waits for this. */
	private volatile long retryNanos = EngineEventHandler.NO_DEADLINE;

	/**
	 * When the handshakes so far would have begun at the maximum rate. Used by the owner
	 * of the listening socket only.
	 */
	private long usedNanos;

	/**
	 * Creates an open gate.
	 * @param limits the configuration with the limits
	 * @param clock the clock of the pool
	 * @param onRoom makes the acceptor look at the gate again
	 */
	HandshakeGate(ServerTls limits, Clock clock, ServerWarnings warnings, Runnable onRoom) {
		this.limits = limits;
		this.clock = clock;
		this.warnings = warnings;
		this.onRoom = onRoom;
		this.usedNanos = clock.nanoTime();
	}

	/** Replaces the limits. Any thread. */
	void limits(ServerTls replaced) {
		this.limits = replaced;
		this.onRoom.run();
	}

	/**
	 * Whether another handshake may begin. If not, the gate is closed until it may.
	 * Called by the owner of the listening socket.
	 */
	boolean tryPass() {
		ServerTls current = this.limits;
		this.full = isFull(current);
		boolean isFast = this.usedNanos - this.clock.nanoTime() > BURST_NANOS && current.maxHandshakeRate() != 0;
		this.retryNanos = isFast ? this.usedNanos - BURST_NANOS : EngineEventHandler.NO_DEADLINE;
		if (this.full || isFast) {
			this.limitReached.increment();
			this.warnings.tooManyHandshakes(this.full, current);
		}
		return !this.full && !isFast;
	}

	private boolean isFull(ServerTls current) {
		return current.maxHandshakes() != 0 && this.underWay.size() >= current.maxHandshakes();
	}

	/** Whether the acceptor may try again, or need not have stopped. Any thread. */
	boolean isOpen() {
		return (!this.full || !isFull(this.limits))
				&& (this.retryNanos == EngineEventHandler.NO_DEADLINE || this.clock.nanoTime() - this.retryNanos >= 0);
	}

	/**
	 * Forgets the time at which the rate allows another handshake if it has passed.
	 * Called by the owner of the listening socket.
	 */
	void endWaitIfOver() {
		if (this.retryNanos != EngineEventHandler.NO_DEADLINE && this.clock.nanoTime() - this.retryNanos >= 0) {
			this.retryNanos = EngineEventHandler.NO_DEADLINE;
		}
	}

	/** When to try again, apart from the end of a handshake. */
	long retryNanos() {
		return this.retryNanos;
	}

	/** A handshake begins. Called by the owner of the listening socket. */
	void begin(TlsTransport transport) {
		this.underWay.add(transport);
		int rate = this.limits.maxHandshakeRate();
		if (rate != 0) {
			long now = this.clock.nanoTime();
			long from = (this.usedNanos - now > 0) ? this.usedNanos : now;
			this.usedNanos = from + TimeUnit.SECONDS.toNanos(1) / rate;
		}
	}

	/** A handshake has ended, or its connection was closed. Any thread. */
	void end(TlsTransport transport) {
		if (this.underWay.remove(transport) && this.full) {
			this.onRoom.run();
		}
	}

	/** How many handshakes are under way. Any thread. */
	int underWay() {
		return this.underWay.size();
	}

	/** How many handshakes may be under way, or 0 for no limit. Any thread. */
	int maxHandshakes() {
		return this.limits.maxHandshakes();
	}

	/** How often accepting stopped for a while. Any thread. */
	long limitReached() {
		return this.limitReached.sum();
	}

}
