package org.leaderfollowers.internal.buffer;

import java.nio.ByteBuffer;

import org.jspecify.annotations.Nullable;

/**
 * The bytes of a connection that wait for the rest of their message while no thread works
 * on it. Right-sized: its memory grows with what has arrived, never with what a length
 * field promises. Only the owner of the connection touches it.
 */
public final class PartialMessage {

	private static final int SMALLEST = 64;

	private ByteBuffer bytes;

	private long startedNanos;

	private int scanned;

	/** Where the bytes begin: others before them have been handled. */
	private int start;

	private PartialMessage(ByteBuffer bytes, long startedNanos) {
		this.bytes = bytes;
		this.startedNanos = startedNanos;
	}

	/**
	 * Keeps what is left of an input.
	 * @param previous what was kept before, reused if its message still is not whole
	 * @param left what to keep, from position to limit; read entirely
	 * @param scanned how many of these bytes are known not to end the message
	 * @param startedNanos when the first of these bytes came, {@link System#nanoTime()}
	 * @param limit the most that will ever have to be kept, in bytes
	 * @param buffers where the memory comes from
	 * @return what is kept now, or {@code null} if the budget does not allow it: the
	 * previous one is to be discarded, too
	 */
	public static @Nullable PartialMessage keep(@Nullable PartialMessage previous, ByteBuffer left, int scanned,
			long startedNanos, int limit, SpareBuffers buffers) {
		int size = left.remaining();
		PartialMessage partial = previous;
		if (partial == null) {
			ByteBuffer bytes = buffers.take(capacityFor(size, limit));
			if (bytes == null) {
				return null;
			}
			partial = new PartialMessage(bytes, startedNanos);
		}
		else if (partial.bytes.capacity() < size && !partial.grow(capacityFor(size, limit), false, buffers)) {
			return null;
		}
		partial.bytes.clear();
		partial.bytes.put(left);
		partial.start = 0;
		partial.scanned = scanned;
		return partial;
	}

	private static int capacityFor(int size, int limit) {
		int doubled = (size < SMALLEST) ? SMALLEST : (int) Math.min(Integer.highestOneBit(size) * 2L, limit);
		return Math.max(size, doubled);
	}

	private boolean grow(int capacity, boolean copy, SpareBuffers buffers) {
		ByteBuffer larger = buffers.take(capacity);
		if (larger == null) {
			return false;
		}
		if (copy) {
			larger.put(this.bytes.flip());
		}
		buffers.giveBack(this.bytes);
		this.bytes = larger;
		return true;
	}

	/**
	 * Gives the memory back. Nothing else is to be called afterwards.
	 * @param buffers where it goes to
	 */
	public void discard(SpareBuffers buffers) {
		buffers.giveBack(this.bytes);
	}

	/**
	 * Gives the memory back without a thread to use it again. Nothing else is to be
	 * called afterwards.
	 * @param budget where it is accounted for
	 */
	public void discard(MemoryBudget budget) {
		budget.release(this.bytes.capacity());
	}

	/**
	 * How many bytes are kept.
	 * @return bytes
	 */
	public int size() {
		return this.bytes.position() - this.start;
	}

	/**
	 * Puts what is kept into a buffer. It is kept until the next {@link #keep}.
	 * @param buffer has room for {@link #size()} bytes
	 */
	public void restore(ByteBuffer buffer) {
		buffer.put(this.bytes.array(), this.start, size());
	}

	/**
	 * What is kept, to be decoded where it lies. Afterwards either {@link #keepAll} or
	 * {@link #keepFrom} is called.
	 * @return the memory itself, position and limit around what is kept
	 */
	public ByteBuffer content() {
		return this.bytes.limit(this.bytes.position()).position(this.start);
	}

	/**
	 * The memory of a message that is too large to be assembled in the buffer of a
	 * thread: position after the bytes kept, limit at the capacity, so that a read
	 * appends to them.
	 * @param room how many more bytes to make room for, if the limit allows
	 * @param limit the most that will ever have to be kept, in bytes
	 * @param buffers where the memory comes from
	 * @return the buffer itself, or {@code null} if the budget does not allow it to grow
	 */
	public @Nullable ByteBuffer appendable(int room, int limit, SpareBuffers buffers) {
		if (this.start > 0) {
			content().compact();
			this.start = 0;
		}
		if (this.bytes.remaining() < room && this.bytes.capacity() < limit) {
			int wanted = (int) Math.min(Math.max(this.bytes.capacity() * 2L, this.bytes.position() + (long) room),
					limit);
			if (!grow(wanted, true, buffers)) {
				return null;
			}
		}
		return this.bytes;
	}

	/**
	 * Keeps all of {@link #appendable} after a read that did not complete the message.
	 * @param scanned how many bytes are known not to end the message
	 */
	public void keepAll(int scanned) {
		this.bytes.position(this.bytes.limit());
		this.bytes.limit(this.bytes.capacity());
		this.scanned = scanned;
	}

	/**
	 * Whether keeping the rest of an input that lies in this memory wastes little of it.
	 * @param size how much is left, in bytes
	 * @return {@code false} if it is to be copied, so that the memory is given back
	 */
	public boolean isWorthKeepingFor(int size) {
		return size >= this.bytes.capacity() / 4;
	}

	/**
	 * Keeps the rest of {@link #content} or {@link #appendable}, when what lies before it
	 * has been handled.
	 * @param position where the rest begins
	 * @param end where it ends
	 * @param scanned how many of these bytes are known not to end the message
	 * @param startedNanos when the first of these bytes came, {@link System#nanoTime()}
	 */
	public void keepFrom(int position, int end, int scanned, long startedNanos) {
		this.bytes.limit(this.bytes.capacity()).position(end);
		this.start = position;
		this.scanned = scanned;
		this.startedNanos = startedNanos;
	}

	/**
	 * How many of the bytes kept are known not to end the message.
	 * @return bytes, counted from the first
	 */
	public int scanned() {
		return this.scanned;
	}

	/**
	 * Counts the time of the message from now on, since nobody was willing to read its
	 * rest before.
	 * @param nowNanos the time, {@link System#nanoTime()}
	 */
	public void restart(long nowNanos) {
		this.startedNanos = nowNanos;
	}

	/**
	 * When the first byte came, or the time was {@linkplain #restart restarted}.
	 * @return {@link System#nanoTime()}
	 */
	public long startedNanos() {
		return this.startedNanos;
	}

}
