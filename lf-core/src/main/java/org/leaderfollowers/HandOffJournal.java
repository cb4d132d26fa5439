package org.leaderfollowers;

import java.time.Duration;
import java.time.Instant;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.Deque;
import java.util.List;
import java.util.concurrent.TimeUnit;

import org.leaderfollowers.internal.promotion.HandOffRing;
import org.leaderfollowers.internal.promotion.HandOffs;
import org.leaderfollowers.internal.promotion.HandledWork;

/**
 * The hand-offs of all handle sets and event sources of a pool, in one sequence, as far
 * as they have been read.
 * <p>
 * The leaders of different handle sets know nothing of each other, so the reader sorts
 * and numbers their hand-offs. Readers exclude each other, but never block a leader.
 */
final class HandOffJournal {

	private static final long NANOS_PER_SECOND = TimeUnit.SECONDS.toNanos(1);

	private static final PromotionKind[] KINDS = PromotionKind.values();

	private final List<Led> all = new ArrayList<>();

	/** How many hand-offs are kept: as many as all rings of the pool can hold. */
	private final int capacity;

	/** The sequence number of the latest hand-off that was read, for each leadership. */
	private final long[] known;

	private final HandOffRing.Copy<HandledWork> copy = new HandOffRing.Copy<>();

	private final Deque<HandOff> kept = new ArrayDeque<>();

	/** The number of the latest hand-off. */
	private long number;

	HandOffJournal(HandleSets handleSets, EventSources sources) {
		handleSets.forEach((set) -> this.all.add(new Led(set.name(), set.leadership.handOffs())));
		sources.all().forEach((source) -> this.all.add(new Led(source.name(), source.leadership.handOffs())));
		this.capacity = Math.max(2, this.all.size()) * HandOffRing.CAPACITY;
		this.known = new long[this.all.size()];
	}

	/** The latest hand-offs, oldest first. */
	synchronized List<HandOff> peek() {
		collect();
		return List.copyOf(this.kept);
	}

	/** Like {@link #peek}, and removes the hand-offs. */
	synchronized List<HandOff> drain() {
		List<HandOff> drained = peek();
		this.kept.clear();
		return drained;
	}

	private void collect() {
		List<Entry> entries = new ArrayList<>();
		for (int i = 0; i < this.known.length; i++) {
			HandOffRing<HandledWork> ring = this.all.get(i).handOffs().latest();
			long latest = ring.latest();
			for (long sequence = Math.max(this.known[i], latest - HandOffRing.CAPACITY)
					+ 1; sequence <= latest; sequence++) {
				if (ring.read(sequence, this.copy)) {
					entries.add(new Entry(this.copy.nanos(), handOff(this.all.get(i).name())));
				}
			}
			this.number += latest - this.known[i];
			this.known[i] = latest;
		}
		// Hand-offs that were overwritten are older than those that were read, so they
		// get the lower numbers.
		long next = this.number - entries.size();
		entries.sort(Comparator.naturalOrder());
		for (Entry entry : entries) {
			if (this.kept.size() == this.capacity) {
				this.kept.removeFirst();
			}
			this.kept.addLast(entry.numbered(++next));
		}
	}

	private HandOff handOff(String handleSet) {
		HandledWork work = this.copy.work();
		return new HandOff(0,
				Instant.ofEpochSecond(this.copy.epochNanos() / NANOS_PER_SECOND,
						this.copy.epochNanos() % NANOS_PER_SECOND),
				handleSet, this.copy.from(), this.copy.to(), KINDS[this.copy.kind()],
				Duration.ofNanos(this.copy.vacancyNanos()), (work != null) ? work.server() : null,
				(work != null) ? work.handle(this.copy.workNumber()) : null, (work != null) ? work.handler() : null);
	}

	/** A handle set or event source, and the hand-offs between its leaders. */
	private record Led(String name, HandOffs handOffs) {
	}

	/**
	 * A hand-off that has no number yet. Times of {@code nanoTime} must be compared by
	 * their difference.
	 */
	private record Entry(long nanos, HandOff handOff) implements Comparable<Entry> {

		@Override
		public int compareTo(Entry other) {
			return Long.signum(this.nanos - other.nanos);
		}

		HandOff numbered(long number) {
			return new HandOff(number, this.handOff.at(), this.handOff.handleSet(), this.handOff.from(),
					this.handOff.to(), this.handOff.kind(), this.handOff.vacancy(), this.handOff.server(),
					this.handOff.handle(), this.handOff.handler());
		}

	}

}
