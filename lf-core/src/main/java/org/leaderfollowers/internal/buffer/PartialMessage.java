package org.leaderfollowers.internal.buffer;

import java.nio.ByteBuffer;

import org.jspecify.annotations.Nullable;

/**
 * The bytes of an incomplete message, kept while no thread works on its connection. Its
 * memory grows with the bytes that have arrived, never with the length that a length
 * field promises. Only the owner of the connection uses it.
 */
public final class PartialMessage {

	private static final int SMALLEST = 64;

	private static final ByteBuffer NONE = ByteBuffer.allocate(0);

	private ByteBuffer bytes = NONE;

	private long startedNanos;

	private int scanned;

	/** Where the bytes begin. Bytes before this index have been handled. */
	private int start;

	private PartialMessage(long startedNanos) {
		this.startedNanos = startedNanos;
	}

	/**
	 * Keeps the rest of an input.
	 * @param previous the bytes that were kept before, whose memory is reused if their
	 * message is still incomplete
	 * @param left the bytes to keep, from position to limit; all of them are read
	 * @param scanned how many of these bytes are known to contain no end of the message
	 * @param startedNanos when the first of these bytes arrived,
	 * {@link System#nanoTime()}
	 * @param limit the maximum number of bytes that may have to be kept
	 * @param buffers provides memory
	 * @return the kept bytes, or {@code null} if the budget does not allow them; the
	 * caller must then discard the previous ones as well
	 */
	public static @Nullable PartialMessage keep(@Nullable PartialMessage previous, ByteBuffer left, int scanned,
			long startedNanos, int limit, SpareBuffers buffers) {
		int size = left.remaining();
		PartialMessage partial = previous;
		if (partial == null) {
			// Before memory is reserved, which would be lost if this failed.
			partial = new PartialMessage(startedNanos);
			ByteBuffer bytes = buffers.take(capacityFor(size, limit));
			if (bytes == null) {
				return null;
			}
			partial.bytes = bytes;
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
	 * Releases the memory. No other method may be called afterwards. A second call has no
	 * effect: memory that is returned twice would be handed out for two messages.
	 * @param buffers receives the memory
	 */
	public void discard(SpareBuffers buffers) {
		ByteBuffer released = this.bytes;
		if (released != NONE) {
			this.bytes = NONE;
			buffers.giveBack(released);
		}
	}

	/**
	 * Releases the memory when no thread can reuse it. No other method may be called
	 * afterwards. A second call has no effect.
	 * @param budget accounts for the memory
	 */
	public void discard(MemoryBudget budget) {
		int released = this.bytes.capacity();
		this.bytes = NONE;
		budget.release(released);
	}

	/**
	 * How much memory is reserved. Any thread, which may see an earlier value.
	 * @return bytes
	 */
	public int capacity() {
		ByteBuffer seen = this.bytes;
		// Another thread may see this object before its fields.
		return (seen != null) ? seen.capacity() : 0;
	}

	/**
	 * How many bytes are kept.
	 * @return bytes
	 */
	public int size() {
		return this.bytes.position() - this.start;
	}

	/**
	 * Copies the kept bytes into a buffer. They stay valid until the next {@link #keep}.
	 * @param buffer has room for {@link #size()} bytes
	 */
	public void restore(ByteBuffer buffer) {
		buffer.put(this.bytes.array(), this.start, size());
	}

	/**
	 * The kept bytes, to be decoded in place. The caller then calls either
	 * {@link #keepAll} or {@link #keepFrom}.
	 * @return the memory itself, with position and limit around the kept bytes
	 */
	public ByteBuffer content() {
		return this.bytes.limit(this.bytes.position()).position(this.start);
	}

	/**
	 * The memory of a message that is too large for the buffer of a thread. The position
	 * is behind the kept bytes and the limit is the capacity, so that a read appends to
	 * them.
	 * @param room how many more bytes to make room for, within the limit
	 * @param limit the maximum number of bytes that may have to be kept
	 * @param buffers provides memory
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
	 * Keeps all bytes of {@link #appendable} after a read that did not complete the
	 * message.
	 * @param scanned how many bytes are known to contain no end of the message
	 */
	public void keepAll(int scanned) {
		this.bytes.position(this.bytes.limit());
		this.bytes.limit(this.bytes.capacity());
		this.scanned = scanned;
	}

	/**
	 * Whether the rest of an input uses at least half of this memory. A rest is shorter
	 * than the largest frame, so what is kept for it is at most twice that frame, as if
	 * it had been copied.
	 * @param size the length of the rest, in bytes
	 * @return {@code false} if the rest should be copied, so that this memory is released
	 */
	public boolean isWorthKeepingFor(int size) {
		return size >= this.bytes.capacity() - size;
	}

	/**
	 * Keeps the rest of {@link #content} or {@link #appendable}, after the bytes before
	 * it have been handled.
	 * @param position where the rest begins
	 * @param end where it ends
	 * @param scanned how many of these bytes are known to contain no end of the message
	 * @param startedNanos when the first of these bytes arrived,
	 * {@link System#nanoTime()}
	 */
	public void keepFrom(int position, int end, int scanned, long startedNanos) {
		this.bytes.limit(this.bytes.capacity()).position(end);
		this.start = position;
		this.scanned = scanned;
		this.startedNanos = startedNanos;
	}

	/**
	 * How many of the kept bytes are known to contain no end of the message.
	 * @return bytes, counted from the first
	 */
	public int scanned() {
		return this.scanned;
	}

	/**
	 * Restarts the time of the message, because the server was not reading its rest
	 * before.
	 * @param nowNanos the current time, {@link System#nanoTime()}
	 */
	public void restart(long nowNanos) {
		this.startedNanos = nowNanos;
	}

	/**
	 * When the first byte arrived, or the time was {@linkplain #restart restarted}.
	 * @return {@link System#nanoTime()}
	 */
	public long startedNanos() {
		return this.startedNanos;
	}

}
