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
 * table by their hash. Addresses with the same hash share a limit. Each byte is hashed
 * with the seed, so an attacker cannot choose an address and port that share the limit of
 * another one: those that do are others for each seed.
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

	private final long seed = ThreadLocalRandom.current().nextLong();

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
		long hash = mix(this.seed ^ target.getPort());
		for (byte part : target.getAddress().getAddress()) {
			hash = mix(hash ^ part);
		}
		return (int) hash & (CELLS - 1);
	}

	/** Lets each bit depend on all bits, as the end of MurmurHash3 does (fmix64). */
	private static long mix(long value) {
		long bits = (value ^ (value >>> 33)) * 0xFF51AFD7ED558CCDL;
		bits = (bits ^ (bits >>> 33)) * 0xC4CEB9FE1A85EC53L;
		return bits ^ (bits >>> 33);
	}

}
