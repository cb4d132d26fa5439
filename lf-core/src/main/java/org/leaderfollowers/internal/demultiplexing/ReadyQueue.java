package org.leaderfollowers.internal.demultiplexing;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;

import org.jspecify.annotations.Nullable;

/**
 * The handles that the leader has claimed because they fired, and that no thread has
 * taken yet. They belong to the handle set, not to a thread: the leader adds them, and
 * any thread that is awake takes the next one, so a handler that blocks holds up no
 * handle but its own.
 * <p>
 * One producer, the leader; many consumers, who race for {@code next}. Both positions
 * only ever grow, so a position that compares equal is the same handle:
 * <ul>
 * <li>the leader writes a slot <em>before</em> it moves {@code end} past it;</li>
 * <li>a consumer reads the slot <em>before</em> it moves {@code next} past it, and keeps
 * what it has read only if it was the one to move it. The leader overwrites a slot after
 * {@code next} has passed it, so a slot that was read late is not kept;</li>
 * <li>the ring grows by a copy. The old one is not written any more, so a consumer that
 * has read it finds the same handles there.</li>
 * </ul>
 * It grows to the largest batch and stays there: nothing is allocated per event.
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
	}

	/** The length is a power of two. Replaced by the leader. */
	private volatile @Nullable Object[] slots;

	/** The position of the handle that is taken next. */
	@SuppressWarnings("FieldMayBeFinal") // by NEXT
	private volatile long next;

	/** The position behind the last handle. Written by the leader. */
	@SuppressWarnings("FieldMayBeFinal") // by END
	private volatile long end;

	/** Slots before this position hold nothing. The leader's. */
	private long cleared;

	/** Creates an empty queue. */
	public ReadyQueue() {
		this(INITIAL_LENGTH);
	}

	/**
	 * Creates an empty queue.
	 * @param length for how many handles it has room at first, a power of two
	 */
	ReadyQueue(int length) {
		this.slots = new @Nullable Object[length];
	}

	/**
	 * Whether all handles have been taken. Any thread.
	 * @return whether there is none; for the leader it stays so until it adds one
	 */
	public boolean isEmpty() {
		return this.next == this.end;
	}

	/**
	 * How many handles have not been taken. Any thread.
	 * @return a number, exact if nobody takes or adds meanwhile
	 */
	public int size() {
		// In this order: a position never moves backwards.
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
	 * @param handle what is ready
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
	@SuppressWarnings("unchecked") // only add puts handles in
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
	 * Forgets the handles that have been taken, so that a connection that is closed can
	 * be collected. Called by the leader.
	 */
	public void clear() {
		@Nullable Object[] current = this.slots;
		long taken = this.next;
		for (; this.cleared < taken; this.cleared++) {
			current[(int) this.cleared & (current.length - 1)] = null;
		}
	}

}
