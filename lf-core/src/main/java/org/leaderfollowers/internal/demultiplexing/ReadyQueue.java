package org.leaderfollowers.internal.demultiplexing;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;

import org.jspecify.annotations.Nullable;
import org.leaderfollowers.internal.linkage.Linkage;

/**
 * The handles that the leader has claimed because they fired, and that no thread has
 * taken yet. They belong to the handle set, not to a thread: the leader adds them, and
 * any thread that is awake takes the next one. A handler that blocks therefore delays
 * only its own handle.
 * <p>
 * There is one producer, the leader, and many consumers, which compete for {@code next}.
 * Both positions only increase, so an unchanged position stands for the same handle:
 * <ul>
 * <li>the leader writes a slot <em>before</em> it moves {@code end} past it;</li>
 * <li>a consumer reads the slot <em>before</em> it moves {@code next} past it, and uses
 * the handle only if it was the thread that moved it. The leader overwrites a slot only
 * after {@code next} has passed it, so a handle that was read too late is not used;</li>
 * <li>the ring grows by copying. The old ring is not written any more, so a consumer that
 * still uses it finds the same handles.</li>
 * </ul>
 * The ring grows to the largest batch and never shrinks, so events allocate nothing.
 *
 * @param <H> the type of the handles
 */
public final class ReadyQueue<H> {

	private static final int INITIAL_LENGTH = 64;

	private static final VarHandle NEXT;

	private static final VarHandle END;

	static {
		try {
			MethodHandles.Lookup lookup = MethodHandles.lookup();
			NEXT = lookup.findVarHandle(ReadyQueue.class, "next", long.class);
			END = lookup.findVarHandle(ReadyQueue.class, "end", long.class);
		}
		catch (ReflectiveOperationException ex) {
			throw new ExceptionInInitializerError(ex);
		}
		Linkage.link(() -> NEXT.compareAndSet((ReadyQueue<?>) null, 0L, 0L), () -> {
			long ignored = (long) END.get((ReadyQueue<?>) null);
		}, () -> END.setRelease((ReadyQueue<?>) null, 0L));
	}

	/** The length is a power of two. Replaced by the leader only. */
	private volatile @Nullable Object[] slots;

	/** The position of the next handle to take. */
	@SuppressWarnings("FieldMayBeFinal") // changed through NEXT
	private volatile long next;

	/** The position behind the last handle. Written by the leader only. */
	@SuppressWarnings("FieldMayBeFinal") // changed through END
	private volatile long end;

	/** The slots before this position are empty. Used by the leader only. */
	private long cleared;

	/** Creates an empty queue. */
	public ReadyQueue() {
		this(INITIAL_LENGTH);
	}

	/**
	 * Creates an empty queue.
	 * @param length the initial capacity, a power of two
	 */
	ReadyQueue(int length) {
		this.slots = new @Nullable Object[length];
	}

	/**
	 * Whether all handles have been taken. Any thread.
	 * @return whether the queue is empty; for the leader, it stays empty until it adds a
	 * handle
	 */
	public boolean isEmpty() {
		return this.next == this.end;
	}

	/**
	 * How many handles have not been taken. Any thread.
	 * @return a number, which is exact if no thread takes or adds a handle meanwhile
	 */
	public int size() {
		// Read in this order, because positions never decrease.
		long taken = this.next;
		return (int) Math.max(0, this.end - taken);
	}

	/**
	 * Makes room for one more handle, so that {@link #add} cannot fail. Called by the
	 * leader.
	 */
	public void reserve() {
		@Nullable Object[] current = this.slots;
		long taken = this.next;
		if (this.end - taken < current.length) {
			return;
		}
		@Nullable Object[] longer = new @Nullable Object[2 * current.length];
		for (long position = taken; position < this.end; position++) {
			longer[(int) position & (longer.length - 1)] = current[(int) position & (current.length - 1)];
		}
		this.cleared = taken;
		this.slots = longer;
	}

	/**
	 * Adds a handle for which room was {@linkplain #reserve reserved}. Called by the
	 * leader.
	 * @param handle the handle that is ready
	 */
	public void add(H handle) {
		long position = (long) END.get(this);
		@Nullable Object[] current = this.slots;
		current[(int) position & (current.length - 1)] = handle;
		END.setRelease(this, position + 1);
	}

	/**
	 * Takes the next handle. Any thread.
	 * @return {@code null} if there is none
	 */
	@SuppressWarnings("unchecked") // only add stores handles
	public @Nullable H take() {
		for (;;) {
			long position = this.next;
			if (position == this.end) {
				return null;
			}
			@Nullable Object[] current = this.slots;
			Object handle = current[(int) position & (current.length - 1)];
			if (NEXT.compareAndSet(this, position, position + 1)) {
				return (H) handle;
			}
		}
	}

	/**
	 * Clears the slots of handles that have been taken, so that closed connections can be
	 * garbage-collected. Called by the leader while the queue is empty.
	 */
	public void clear() {
		@Nullable Object[] current = this.slots;
		long taken = this.next;
		// Handles that go round the queue pass each slot many times.
		this.cleared = Math.max(this.cleared, taken - current.length);
		for (; this.cleared < taken; this.cleared++) {
			current[(int) this.cleared & (current.length - 1)] = null;
		}
	}

}
