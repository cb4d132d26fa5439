package org.leaderfollowers.internal.promotion;

import java.lang.invoke.VarHandle;
import java.time.Instant;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicLongArray;
import java.util.concurrent.atomic.AtomicReferenceArray;

import org.jspecify.annotations.Nullable;

/**
 * The latest hand-offs of one handle set. The leader writes and any thread reads; neither
 * waits for the other.
 * <p>
 * There is only one writer at a time: the leader, immediately after it took the
 * leadership. A leader sees everything that earlier leaders wrote ({@link Leadership}). A
 * hand-off therefore costs a dozen plain stores: no allocation, no compare-and-set, and
 * no fence that costs anything on a processor with strongly ordered stores.
 * <p>
 * Each slot contains the sequence number of its hand-off. The writer writes, in this
 * order,
 * <ol>
 * <li>the sequence number, which invalidates the old contents of the slot,</li>
 * <li>the fields, which become visible after the sequence number,</li>
 * <li>the number of hand-offs, which becomes visible after the fields.</li>
 * </ol>
 * A reader reads the number of hand-offs, then the fields of one of them, and
 * <em>then</em> the sequence number of the slot. If the sequence number is that of the
 * hand-off, no writer had begun to overwrite it, and the copy is complete. Otherwise this
 * reader has missed the hand-off and continues with the next one. Sequence numbers are
 * never reused.
 * <p>
 * The ring stores numbers, and references to objects that live as long as a server or the
 * name of a thread.
 *
 * @param <W> the type of the work that old leaders process after the hand-off
 */
public final class HandOffRing<W> {

	/** The number of hand-offs that are kept. A power of two. */
	public static final int CAPACITY = 256;

	private static final long ANCHOR_NANOS = TimeUnit.SECONDS.toNanos(1);

	private static final int SEQUENCE = 0;

	private static final int NANOS = 1;

	private static final int EPOCH_NANOS = 2;

	private static final int VACANCY_NANOS = 3;

	private static final int KIND = 4;

	private static final int WORK_NUMBER = 5;

	/** The numbers of a slot fill one line of the processor's cache. */
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

	// Used by the leader only

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
	 * @param kind how it became leader, any number
	 * @param from the name of the old leader
	 * @param to the name of the new leader
	 * @param work the work that the old leader processes, or {@code null}
	 * @param workNumber the number of this work
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

	/**
	 * Writes a reference only if it has changed, which saves work of the garbage
	 * collector.
	 */
	private void refer(int index, @Nullable Object object) {
		if (this.references.getOpaque(index) != object) {
			this.references.setOpaque(index, object);
		}
	}

	/**
	 * The time of day at a time of {@code nanoTime}. The calendar clock is read once a
	 * second, because it may be set.
	 */
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
	 * @param sequence from 1 to a value that {@link #latest()} has returned to the caller
	 * @param copy receives the hand-off; undefined if the result is {@code false}
	 * @return {@code false} if the hand-off was overwritten
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
		// The sequence number must be read after the fields.
		VarHandle.acquireFence();
		return this.numbers.getOpaque(number + SEQUENCE) == sequence;
	}

	/**
	 * A copy of a hand-off. Used by one thread.
	 *
	 * @param <W> the type of the work
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

		/** Creates an empty copy. */
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
		 * The same moment as a time of day.
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
		 * The number of the work.
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
		 * The work that the old leader processes after the hand-off.
		 * @return {@code null} if there was none
		 */
		public @Nullable W work() {
			return this.work;
		}

	}

}
