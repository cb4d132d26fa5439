package org.leaderfollowers.internal.promotion;

import java.lang.invoke.VarHandle;
import java.time.Instant;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicLongArray;
import java.util.concurrent.atomic.AtomicReferenceArray;

import org.jspecify.annotations.Nullable;

/**
 * The latest hand-offs of one handle set. The leader writes, anybody reads; neither waits
 * for the other.
 * <p>
 * There is one writer: the leader, right after it took the leadership, and what one
 * leader wrote the next one sees ({@link Leadership}). So no word is ever moved by two,
 * and a hand-off costs a dozen ordinary stores: nothing is allocated, no compare-and-set,
 * no fence that a processor with strongly ordered stores notices.
 * <p>
 * Each slot carries the sequence number of the hand-off in it. The writer writes
 * <ol>
 * <li>the sequence number, which says that what was in the slot is there no more,</li>
 * <li>the fields, none of which can be seen before the sequence number can,</li>
 * <li>how many hand-offs there are, which cannot be seen before the fields can.</li>
 * </ol>
 * A reader reads how many there are, then the fields of one of these, and <em>then</em>
 * the sequence number of the slot. If it is that of the hand-off, nobody had begun to
 * overwrite it, and the copy is whole; if it is another, that hand-off is lost to this
 * reader, who goes on with the next. Sequence numbers are never used again.
 * <p>
 * Kept are numbers, and references to what lives as long as a server or a thread's name.
 *
 * @param <W> the type of what old leaders went off to process
 */
public final class HandOffRing<W> {

	/** How many hand-offs are kept. A power of two. */
	public static final int CAPACITY = 256;

	private static final long ANCHOR_NANOS = TimeUnit.SECONDS.toNanos(1);

	private static final int SEQUENCE = 0;

	private static final int NANOS = 1;

	private static final int EPOCH_NANOS = 2;

	private static final int VACANCY_NANOS = 3;

	private static final int KIND = 4;

	private static final int WORK_NUMBER = 5;

	/** With the next power of two, each slot is a line of the cache. */
	private static final int NUMBERS = 8;

	private static final int FROM = 0;

	private static final int TO = 1;

	private static final int WORK = 2;

	private static final int REFERENCES = 4;

	private final AtomicLongArray numbers;

	private final AtomicReferenceArray<@Nullable Object> references;

	private final int capacity;

	/** The sequence number of the latest hand-off. Written by the leader. */
	private final AtomicLong latest = new AtomicLong();

	// The leader's

	private long anchorNanos;

	private long anchorEpochNanos;

	/** Creates an empty ring. */
	public HandOffRing() {
		this(CAPACITY);
	}

	HandOffRing(int capacity) {
		this.capacity = capacity;
		this.numbers = new AtomicLongArray(capacity * NUMBERS);
		this.references = new AtomicReferenceArray<>(capacity * REFERENCES);
	}

	/**
	 * Adds a hand-off. Called by the new leader.
	 * @param nanos when it took the leadership, {@link System#nanoTime()}
	 * @param vacancyNanos how long there was no leader, in nanoseconds
	 * @param kind how it came to it, any number
	 * @param from the name of the old leader
	 * @param to the name of the new one
	 * @param work what the old one went off to process
	 * @param workNumber which one of these it is
	 */
	public void add(long nanos, long vacancyNanos, int kind, @Nullable String from, String to, @Nullable W work,
			long workNumber) {
		long sequence = this.latest.getPlain() + 1;
		int number = slot(sequence) * NUMBERS;
		int reference = slot(sequence) * REFERENCES;
		this.numbers.setOpaque(number + SEQUENCE, sequence);
		VarHandle.storeStoreFence();
		this.numbers.setOpaque(number + NANOS, nanos);
		this.numbers.setOpaque(number + EPOCH_NANOS, epochNanos(nanos));
		this.numbers.setOpaque(number + VACANCY_NANOS, vacancyNanos);
		this.numbers.setOpaque(number + KIND, kind);
		this.numbers.setOpaque(number + WORK_NUMBER, workNumber);
		refer(reference + FROM, from);
		refer(reference + TO, to);
		refer(reference + WORK, work);
		this.latest.setRelease(sequence);
	}

	/** Mostly it is the same as before: the collector need not hear of it. */
	private void refer(int index, @Nullable Object object) {
		if (this.references.getOpaque(index) != object) {
			this.references.setOpaque(index, object);
		}
	}

	/** The clock on the wall is looked at once a second: it may be set meanwhile. */
	private long epochNanos(long nanos) {
		if (this.anchorEpochNanos == 0 || nanos - this.anchorNanos >= ANCHOR_NANOS) {
			Instant now = Instant.now();
			this.anchorNanos = nanos;
			this.anchorEpochNanos = TimeUnit.SECONDS.toNanos(now.getEpochSecond()) + now.getNano();
		}
		return this.anchorEpochNanos + (nanos - this.anchorNanos);
	}

	private int slot(long sequence) {
		return (int) sequence & (this.capacity - 1);
	}

	/**
	 * How many hand-offs there have been. Any thread.
	 * @return the sequence number of the latest one, or 0
	 */
	public long latest() {
		return this.latest.getAcquire();
	}

	/**
	 * Copies a hand-off. Any thread.
	 * @param sequence from 1 to what {@link #latest()} has returned to the caller before
	 * @param copy where to; undefined if there is nothing to copy
	 * @return {@code false} if that hand-off is kept no more
	 */
	@SuppressWarnings("unchecked")
	public boolean read(long sequence, Copy<W> copy) {
		int number = slot(sequence) * NUMBERS;
		int reference = slot(sequence) * REFERENCES;
		copy.nanos = this.numbers.getOpaque(number + NANOS);
		copy.epochNanos = this.numbers.getOpaque(number + EPOCH_NANOS);
		copy.vacancyNanos = this.numbers.getOpaque(number + VACANCY_NANOS);
		copy.kind = (int) this.numbers.getOpaque(number + KIND);
		copy.workNumber = this.numbers.getOpaque(number + WORK_NUMBER);
		copy.from = (String) this.references.getOpaque(reference + FROM);
		copy.to = (String) this.references.getOpaque(reference + TO);
		copy.work = (W) this.references.getOpaque(reference + WORK);
		// What follows must not be read before the fields.
		VarHandle.acquireFence();
		return this.numbers.getOpaque(number + SEQUENCE) == sequence;
	}

	/**
	 * A hand-off. One thread.
	 *
	 * @param <W> the type of what old leaders went off to process
	 */
	public static final class Copy<W> {

		private long nanos;

		private long epochNanos;

		private long vacancyNanos;

		private int kind;

		private long workNumber;

		private @Nullable String from;

		private @Nullable String to;

		private @Nullable W work;

		/** Creates a copy of nothing. */
		public Copy() {
		}

		/**
		 * When the new leader took the leadership.
		 * @return {@link System#nanoTime()}
		 */
		public long nanos() {
			return this.nanos;
		}

		/**
		 * The same by the clock on the wall.
		 * @return nanoseconds since the epoch
		 */
		public long epochNanos() {
			return this.epochNanos;
		}

		/**
		 * How long there was no leader.
		 * @return nanoseconds
		 */
		public long vacancyNanos() {
			return this.vacancyNanos;
		}

		/**
		 * How the new leader came to lead.
		 * @return as it was recorded
		 */
		public int kind() {
			return this.kind;
		}

		/**
		 * Which of the works it is.
		 * @return as it was recorded
		 */
		public long workNumber() {
			return this.workNumber;
		}

		/**
		 * The name of the old leader.
		 * @return {@code null} if there was none
		 */
		public @Nullable String from() {
			return this.from;
		}

		/**
		 * The name of the new leader.
		 * @return a name
		 */
		public String to() {
			return (this.to != null) ? this.to : "";
		}

		/**
		 * What the old leader went off to process.
		 * @return {@code null} if there was nothing
		 */
		public @Nullable W work() {
			return this.work;
		}

	}

}
