package org.leaderfollowers;

import java.net.InetSocketAddress;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLongArray;

import org.leaderfollowers.internal.promotion.Clock;

/**
 * Limits how many replies a server of datagrams sends to one address and port. Any
 * thread.
 * <p>
 * If a datagram is forged in the name of another server that answers everything, the two
 * servers answer each other without end. Each of their datagrams is the consequence of
 * the one before, so the loop ends for good as soon as one reply is not sent.
 * <p>
 * The memory is fixed, because senders can be forged: the addresses are counted in a
 * table by their hash. Addresses with the same hash share a limit. The hash is seeded, so
 * that an attacker cannot predict which addresses share one.
 */
final class ReplyRate {

	/** A period with few replies may be followed by this many seconds' worth at once. */
	static final int BURST_SECONDS = 10;

	private static final int CELLS = 1 << 12;

	private static final long BURST_NANOS = TimeUnit.SECONDS.toNanos(BURST_SECONDS);

	/** The time that one reply takes at the maximum rate. */
	private final long nanosPerReply;

	private final Clock clock;

	/** The time of the clock at which its cells were 0. */
	private final long startNanos;

	private final int seed = ThreadLocalRandom.current().nextInt();

	/**
	 * By hash of an address, the time since the start at which the replies so far would
	 * have ended if they had been sent at the maximum rate. A time in the past means the
	 * same as the present.
	 */
	private final AtomicLongArray used = new AtomicLongArray(CELLS);

	/**
	 * Creates a limit.
	 * @param perSecond how many replies an address gets in the long run, from 1
	 * @param clock the clock of the pool
	 */
	ReplyRate(int perSecond, Clock clock) {
		this.nanosPerReply = TimeUnit.SECONDS.toNanos(1) / perSecond;
		this.clock = clock;
		this.startNanos = clock.nanoTime();
	}

	/** Counts a reply, unless the address has had too many. */
	boolean tryAcquire(InetSocketAddress target) {
		int cell = cellOf(target);
		long now = this.clock.nanoTime() - this.startNanos;
		long before;
		long after;
		do {
			before = this.used.get(cell);
			after = Math.max(before, now) + this.nanosPerReply;
			if (after - now > BURST_NANOS) {
				return false;
			}
		}
		while (!this.used.compareAndSet(cell, before, after));
		return true;
	}

	private int cellOf(InetSocketAddress target) {
		int hash = (target.getAddress().hashCode() * 31 + target.getPort()) ^ this.seed;
		hash = (hash ^ (hash >>> 16)) * 0x85EBCA6B;
		hash = (hash ^ (hash >>> 13)) * 0xC2B2AE35;
		return (hash ^ (hash >>> 16)) & (CELLS - 1);
	}

}
