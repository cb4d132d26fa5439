package org.leaderfollowers.internal.demultiplexing;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.util.Arrays;

import org.jspecify.annotations.Nullable;

/**
 * The events that the demultiplexer reported and nobody has taken yet. It belongs to the
 * handle set, not to the leader that waited for them: when the leader promotes another,
 * the next one takes the rest from here without another wait.
 * <p>
 * Only the leader touches it. It grows to the largest batch and stays there, so that
 * nothing is allocated per event.
 *
 * @param <H> the type of the handles
 */
public final class ReadyQueue<H> {

	private static final int GLANCES = 4;

	private static final VarHandle NEXT;

	private static final VarHandle END;

	static {
		try {
			MethodHandles.Lookup lookup = MethodHandles.lookup();
			NEXT = lookup.findVarHandle(ReadyQueue.class, "next", int.class);
			END = lookup.findVarHandle(ReadyQueue.class, "end", int.class);
		}
		catch (ReflectiveOperationException ex) {
			throw new ExceptionInInitializerError(ex);
		}
	}

	private @Nullable Object[] handles = new Object[64];

	private int[] events = new int[64];

	// Written by the leader, and read by whoever looks at the pool: opaque

	@SuppressWarnings("FieldMayBeFinal") // by NEXT
	private int next;

	@SuppressWarnings("FieldMayBeFinal") // by END
	private int end;

	/**
	 * Whether all events have been taken.
	 * @return whether the ring is empty
	 */
	public boolean isEmpty() {
		return this.next == this.end;
	}

	/**
	 * How many events have not been taken.
	 * @return the number of handles that are ready
	 */
	public int size() {
		return this.end - this.next;
	}

	/**
	 * About how many events have not been taken. Any thread.
	 * @return a number that is right unless the leader goes round the ring meanwhile
	 */
	public int glance() {
		int waiting = 0;
		for (int i = 0; i < GLANCES; i++) {
			int before = (int) NEXT.getOpaque(this);
			waiting = Math.max(0, (int) END.getOpaque(this) - before);
			if ((int) NEXT.getOpaque(this) == before) {
				break;
			}
		}
		return waiting;
	}

	/**
	 * Adds a handle with its events.
	 * @param handle what is ready
	 * @param readyEvents what for, a set of bits other than 0
	 */
	public void add(H handle, int readyEvents) {
		if (this.next == this.end) {
			NEXT.setOpaque(this, 0);
			END.setOpaque(this, 0);
		}
		if (this.end == this.handles.length) {
			this.handles = Arrays.copyOf(this.handles, this.end * 2);
			this.events = Arrays.copyOf(this.events, this.end * 2);
		}
		this.handles[this.end] = handle;
		this.events[this.end] = readyEvents;
		END.setOpaque(this, this.end + 1);
	}

	/**
	 * The events of the handle that {@link #take()} returns next.
	 * @return a set of bits
	 */
	public int peekEvents() {
		return this.events[this.next];
	}

	/**
	 * Takes the next handle. The ring must not be empty.
	 * @return the handle
	 */
	@SuppressWarnings("unchecked")
	public H take() {
		Object handle = this.handles[this.next];
		if (handle == null) {
			throw new IllegalStateException("nothing is ready");
		}
		this.handles[this.next] = null;
		NEXT.setOpaque(this, this.next + 1);
		return (H) handle;
	}

}
