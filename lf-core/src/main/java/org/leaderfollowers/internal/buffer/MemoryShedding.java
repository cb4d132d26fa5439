package org.leaderfollowers.internal.buffer;

import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CopyOnWriteArraySet;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Supplier;
import java.util.stream.Stream;

/**
 * Decides which connections pay if the memory of a {@link MemoryBudget} becomes short:
 * those that hold most of it, and not the one that happens to need a few bytes next.
 * Otherwise peers that begin long messages and never end them could keep all others out.
 * <table border="1">
 * <caption>What happens, by how much of the limit is used</caption>
 * <tr>
 * <th>used</th>
 * <th>what happens</th>
 * </tr>
 * <tr>
 * <td>more than 3/4: scarce</td>
 * <td>no connection is accepted; connections that have made no progress for a second are
 * closed</td>
 * </tr>
 * <tr>
 * <td>more than 3/4 for ten seconds</td>
 * <td>connections are closed, however long they have held their memory</td>
 * </tr>
 * <tr>
 * <td>more than 7/8: short</td>
 * <td>connections are closed, however long they have held their memory; a connection that
 * needs more than a {@linkplain #SHARE share} at once is closed</td>
 * </tr>
 * <tr>
 * <td>all</td>
 * <td>a connection that needs more is closed</td>
 * </tr>
 * </table>
 * Connections are closed until half of the limit is used, so that others find room for
 * some time: the largest holders first, and of those that hold about the same, the one
 * without progress for the longest time. A connection that holds less than its
 * {@linkplain #SHARE share} is never closed for this: an eighth of the limit is kept for
 * such connections, because large holders could otherwise use all of it between two
 * rounds.
 */
final class MemoryShedding {

	/** What every connection may hold, in bytes. */
	static final int SHARE = 4 * 1024;

	/** How long a connection may make no progress while memory is scarce. */
	static final long PATIENCE_NANOS = TimeUnit.SECONDS.toNanos(1);

	/**
	 * How long memory may be scarce before connections with progress are closed, too.
	 * Otherwise peers that make a little progress each second could keep out all new
	 * clients.
	 */
	static final long MOST_SCARCE_NANOS = TimeUnit.SECONDS.toNanos(10);

	/**
	 * The least time between two rounds. A round visits all connections, and those that
	 * it closes need some time to release their memory.
	 */
	static final long INTERVAL_NANOS = TimeUnit.MILLISECONDS.toNanos(10);

	private final long limit;

	private final Set<Supplier<? extends Stream<? extends MemoryHolder>>> sources = new CopyOnWriteArraySet<>();

	private final AtomicLong nextNanos = new AtomicLong(System.nanoTime());

	/** Written by the thread that begins a round; the next one may be another thread. */
	private volatile long scarceSinceNanos;

	private record Candidate(MemoryHolder holder, long bytes, long sinceNanos) {

		/** About the same size: within a factor of two. */
		int magnitude() {
			return Long.SIZE - Long.numberOfLeadingZeros(this.bytes);
		}

	}

	MemoryShedding(long limit) {
		this.limit = limit;
		this.scarceSinceNanos = this.nextNanos.get();
	}

	void add(Supplier<? extends Stream<? extends MemoryHolder>> holders) {
		this.sources.add(holders);
	}

	void remove(Supplier<? extends Stream<? extends MemoryHolder>> holders) {
		this.sources.remove(holders);
	}

	private long most() {
		return this.limit - this.limit / 4;
	}

	boolean isScarce(long used) {
		return used > most();
	}

	private long kept() {
		return this.limit - this.limit / 8;
	}

	private boolean isShort(long used) {
		return used > kept();
	}

	/**
	 * How much may be used after a reservation. The first one may take all.
	 * @param used how much was used before, in bytes
	 * @param bytes the size of the reservation
	 * @return bytes
	 */
	long ceiling(long used, long bytes) {
		return (bytes <= SHARE || used == 0) ? this.limit : kept();
	}

	/**
	 * Closes connections if memory is scarce and the last round was long enough ago. Any
	 * thread; one at a time does it.
	 * @param used how much memory is used, in bytes
	 */
	void relieve(long used) {
		if (isScarce(used)) {
			relieve(used, System.nanoTime());
		}
	}

	/**
	 * Like {@link #relieve(long)}, for memory that is scarce.
	 * @param used how much memory is used, in bytes
	 * @param nowNanos the current time, {@link System#nanoTime()}
	 */
	void relieve(long used, long nowNanos) {
		long due = this.nextNanos.get();
		if (nowNanos - due >= 0 && this.nextNanos.compareAndSet(due, nowNanos + INTERVAL_NANOS)) {
			if (nowNanos - due >= PATIENCE_NANOS) {
				// Acceptors look several times a second while memory is scarce.
				this.scarceSinceNanos = nowNanos;
			}
			shed(used, nowNanos);
		}
	}

	private void shed(long used, long nowNanos) {
		boolean isPatient = !isShort(used) && nowNanos - this.scarceSinceNanos < MOST_SCARCE_NANOS;
		long patience = isPatient ? PATIENCE_NANOS : 0;
		long excess = used - this.limit / 2;
		List<Candidate> candidates = new ArrayList<>();
		for (Supplier<? extends Stream<? extends MemoryHolder>> source : this.sources) {
			excess -= collect(source.get(), nowNanos - patience, candidates);
		}
		candidates.sort(Comparator.comparingInt(Candidate::magnitude)
			.reversed()
			.thenComparingLong((candidate) -> candidate.sinceNanos() - nowNanos));
		for (Candidate candidate : candidates) {
			if (excess <= 0) {
				return;
			}
			candidate.holder().shed();
			excess -= candidate.bytes();
		}
	}

	/** Returns how many bytes will be released anyway. */
	private static long collect(Stream<? extends MemoryHolder> holders, long latestNanos, List<Candidate> candidates) {
		long released = 0;
		for (MemoryHolder holder : (Iterable<MemoryHolder>) holders.map(MemoryHolder.class::cast)::iterator) {
			long bytes = holder.heldBytes();
			if (bytes > 0 && holder.isClosing()) {
				released += bytes;
			}
			else if (bytes > SHARE && holder.heldSinceNanos() - latestNanos <= 0) {
				candidates.add(new Candidate(holder, bytes, holder.heldSinceNanos()));
			}
		}
		return released;
	}

}
