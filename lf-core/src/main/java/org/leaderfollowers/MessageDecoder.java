package org.leaderfollowers;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;

import org.jspecify.annotations.Nullable;
import org.leaderfollowers.internal.buffer.MemoryBudget;
import org.leaderfollowers.internal.buffer.PartialMessage;
import org.leaderfollowers.internal.buffer.SpareBuffers;
import org.leaderfollowers.internal.promotion.Clock;

/**
 * Finds the messages in the input of a connection. It belongs to a thread, not to a
 * connection, like the buffer that is read into: {@link #begin} puts the beginning of a
 * message that was kept in front of what is read, {@link #next} is called for each
 * message, and {@link #keepRest} keeps what is left.
 */
final class MessageDecoder {

	private static final ByteBuffer NOTHING = ByteBuffer.allocate(0);

	private final Framing.Frame frame = new Framing.Frame(0);

	/** What is decoded. Its limit is that of the message while that is handled. */
	private ByteBuffer input = NOTHING;

	/** The end of what was read. */
	private int end;

	/** The end of the message that is handled. */
	private int frameEnd;

	/** How many of the next bytes are known not to end a message. */
	private int scanned;

	/** Whether there is more input behind the message that is handled. */
	private boolean followed;

	/** The beginning of the first message, kept since an earlier read. */
	private @Nullable PartialMessage kept;

	/**
	 * Whether what is decoded lies in the memory of {@link #kept}, since it is too large
	 * for the buffer of the thread.
	 */
	private boolean inPlace;

	/**
	 * What there is to do with the input.
	 */
	enum Decoded {

		/** Handle the {@link MessageDecoder#message()}. */
		MESSAGE,

		/** Keep the rest until there is more. */
		INCOMPLETE,

		/** Close the connection: the message exceeds the maximum message size. */
		TOO_LARGE

	}

	/**
	 * Begins with what was kept.
	 * @param partial the beginning of a message, if there is one
	 * @param own the buffer of the thread, cleared
	 * @param frameLimit the most that will ever have to be kept, in bytes
	 * @param buffers where memory comes from
	 * @return the buffer to append to, or {@code null} if the budget does not allow it
	 */
	@Nullable ByteBuffer begin(@Nullable PartialMessage partial, ByteBuffer own, int frameLimit, SpareBuffers buffers) {
		ByteBuffer target = own;
		this.kept = partial;
		this.inPlace = false;
		this.scanned = 0;
		if (partial != null) {
			this.scanned = partial.scanned();
			this.inPlace = partial.size() > own.capacity() / 2;
			if (this.inPlace) {
				target = partial.appendable(own.capacity(), frameLimit, buffers);
			}
			else {
				partial.restore(own);
			}
		}
		this.input = (target != null) ? target : NOTHING;
		return target;
	}

	/** All has been read into the buffer that {@link #begin} returned. */
	void endRead() {
		this.input.flip();
		this.end = this.input.limit();
	}

	/**
	 * Decodes the next message. Whatever the framing throws is thrown.
	 */
	Decoded next(Framing framing, int maxMessageSize, int frameLimit) {
		ByteBuffer bytes = this.input;
		if (!bytes.hasRemaining()) {
			return Decoded.INCOMPLETE;
		}
		int start = bytes.position();
		Framing.Frame found = this.frame;
		found.begin(maxMessageSize, this.scanned);
		boolean complete = framing.decode(bytes.order(ByteOrder.BIG_ENDIAN), found);
		bytes.limit(this.end).position(start);
		found.check(complete, this.end - start);
		if (found.payloadLength() > maxMessageSize || (!complete && this.end - start >= frameLimit)) {
			return Decoded.TOO_LARGE;
		}
		if (!complete) {
			this.scanned = found.scanned();
			return Decoded.INCOMPLETE;
		}
		this.scanned = 0;
		this.frameEnd = start + found.frameLength();
		this.followed = this.frameEnd < this.end;
		int payload = start + found.payloadOffset();
		bytes.limit(payload + found.payloadLength()).position(payload).mark().order(ByteOrder.BIG_ENDIAN);
		return Decoded.MESSAGE;
	}

	/** The payload of the message, from position to limit. */
	ByteBuffer message() {
		return this.input;
	}

	/** Whether there is more input behind the message that is being handled. */
	boolean isFollowed() {
		return this.followed;
	}

	/**
	 * The message has been handled.
	 * @return whether there is more input
	 */
	boolean consume() {
		this.followed = false;
		this.input.limit(this.end).position(this.frameEnd);
		return this.frameEnd < this.end;
	}

	/**
	 * Keeps what was read and not consumed, in memory of its own.
	 * @return what is kept now instead of what was kept before
	 * @throws MemoryBudget.ExhaustedException if the budget does not allow it; nothing is
	 * kept then
	 */
	@Nullable PartialMessage keepRest(Clock clock, int frameLimit, SpareBuffers buffers) throws MemoryBudget.ExhaustedException {
		PartialMessage before = this.kept;
		ByteBuffer rest = this.input;
		forget();
		if (!rest.hasRemaining()) {
			discard(before, buffers);
			return null;
		}
		PartialMessage same = (rest.position() == 0) ? before : null;
		if (same != null && this.inPlace) {
			same.keepAll(this.scanned);
			return same;
		}
		long started = (same != null) ? same.startedNanos() : clock.nanoTime();
		PartialMessage left = PartialMessage.keep(same, rest, this.scanned, started, frameLimit, buffers);
		if (left != before) {
			// Not before: the rest may lie in its memory.
			discard(before, buffers);
		}
		if (left == null) {
			throw new MemoryBudget.ExhaustedException();
		}
		return left;
	}

	private static void discard(@Nullable PartialMessage partial, SpareBuffers buffers) {
		if (partial != null) {
			partial.discard(buffers);
		}
	}

	/** Has nothing to do with the connection any more. */
	void forget() {
		this.followed = false;
		this.kept = null;
		this.input = NOTHING;
	}

}
