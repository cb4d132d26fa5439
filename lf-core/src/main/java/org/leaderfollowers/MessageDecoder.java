package org.leaderfollowers;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;

import org.jspecify.annotations.Nullable;
import org.leaderfollowers.internal.buffer.MemoryBudget;
import org.leaderfollowers.internal.buffer.PartialMessage;
import org.leaderfollowers.internal.buffer.SpareBuffers;
import org.leaderfollowers.internal.promotion.Clock;

/**
 * Finds the messages in the input of a connection. Like the read buffer, it belongs to a
 * thread and not to a connection. {@link #begin} puts the kept beginning of a message in
 * front of the new input, {@link #next} is called for each message, and {@link #keepRest}
 * keeps the rest.
 */
final class MessageDecoder {

	private static final ByteBuffer NOTHING = ByteBuffer.allocate(0);

	private Framing.Frame frame = new Framing.Frame(0);

	/**
	 * The input to decode. While a message is handled, the limit is the end of this
	 * message.
	 */
	private ByteBuffer input = NOTHING;

	/** The index where the input begins. */
	private int begin;

	/** The index where the input ends. */
	private int end;

	/** The index where the frame of the current message begins. */
	private int frameStart;

	/** The index where the frame of the current message ends. */
	private int frameEnd;

	/** The index where the payload of the current message begins. */
	private int payloadStart;

	private int payloadEnd;

	/** The number of the next bytes that are known to contain no end of a message. */
	private int scanned;

	/** Whether more input follows the current message. */
	private boolean followed;

	/** Whether the input that follows the current message is kept elsewhere. */
	private boolean restTaken;

	/** Whether the current message is too large, and only its beginning is available. */
	private boolean oversized;

	/**
	 * The number of bytes of the frame that are still to be received and skipped; see
	 * {@link #skip}.
	 */
	private long left;

	/** The beginning of the first message, kept from an earlier read, or {@code null}. */
	private @Nullable PartialMessage kept;

	/**
	 * Whether the input lies in the memory of {@link #kept}, because it is too large for
	 * the buffer of the thread.
	 */
	private boolean inPlace;

	/** What to do with the input. */
	enum Decoded {

		/** Handle the {@link MessageDecoder#message()}. */
		MESSAGE,

		/**
		 * Report to the handler that the message is too large, with its beginning in
		 * {@link MessageDecoder#message()}, and {@link MessageDecoder#skip} the rest.
		 */
		OVERSIZED,

		/** Keep the rest until more input arrives. */
		INCOMPLETE,

		/** Close the connection: the message exceeds the maximum message size. */
		TOO_LARGE

	}

	/**
	 * Begins with the kept beginning of a message.
	 * @param partial the beginning of a message, or {@code null}
	 * @param own the buffer of the thread, cleared
	 * @param frameLimit the maximum number of bytes that may have to be kept
	 * @param buffers provides memory
	 * @return the buffer to append to, or {@code null} if the budget does not allow it
	 */
	@Nullable ByteBuffer begin(@Nullable PartialMessage partial, ByteBuffer own, int frameLimit, SpareBuffers buffers) {
		ByteBuffer target = own;
		this.kept = partial;
		this.restTaken = false;
		this.inPlace = false;
		this.begin = 0;
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

	/**
	 * Begins with kept input that may contain whole messages, and decodes it in place
	 * without reading first.
	 */
	void begin(PartialMessage whole) {
		this.kept = whole;
		this.inPlace = true;
		this.scanned = whole.scanned();
		this.input = whole.content();
		this.begin = this.input.position();
		this.end = this.input.limit();
	}

	/**
	 * Called when the input has been read into the buffer that {@link #begin} returned.
	 */
	void endRead() {
		this.input.flip();
		this.end = this.input.limit();
	}

	/**
	 * Decodes the next message. Exceptions of the framing are passed on.
	 * @param skips whether messages that are too large are skipped
	 */
	Decoded next(Framing framing, int maxMessageSize, int frameLimit, boolean skips) {
		this.oversized = false;
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
		if (skips && (complete ? found.payloadLength() > maxMessageSize : found.isTooLarge())) {
			beginToSkip(start, complete);
			return Decoded.OVERSIZED;
		}
		if (found.payloadLength() > maxMessageSize || (!complete && this.end - start >= frameLimit)) {
			return Decoded.TOO_LARGE;
		}
		if (!complete) {
			this.scanned = found.scanned();
			return Decoded.INCOMPLETE;
		}
		beginMessage(start);
		return Decoded.MESSAGE;
	}

	/**
	 * Goes on with a message that was {@linkplain #putBack put back}, and is first in the
	 * input again.
	 */
	Decoded again(Framing.Frame found) {
		this.frame = found;
		this.oversized = false;
		int start = this.input.position();
		if (found.isTooLarge() || found.payloadLength() > found.maxMessageSize()) {
			beginToSkip(start, !found.isTooLarge());
			return Decoded.OVERSIZED;
		}
		beginMessage(start);
		return Decoded.MESSAGE;
	}

	private void beginMessage(int start) {
		Framing.Frame found = this.frame;
		this.scanned = 0;
		this.frameStart = start;
		this.frameEnd = start + found.frameLength();
		this.followed = this.frameEnd < this.end;
		this.payloadStart = start + found.payloadOffset();
		this.payloadEnd = this.payloadStart + found.payloadLength();
		messageAgain();
	}

	private void beginToSkip(int start, boolean complete) {
		Framing.Frame found = this.frame;
		long length = complete ? found.frameLength() : found.tooLargeFrameLength();
		boolean isKnown = length != Framing.Frame.UNKNOWN;
		int there = isKnown ? (int) Math.min(length, this.end - start) : found.scanned();
		this.oversized = true;
		this.left = isKnown ? length - there : Framing.Frame.UNKNOWN;
		this.scanned = 0;
		this.frameStart = start;
		this.frameEnd = start + there;
		this.followed = this.frameEnd < this.end;
		this.payloadStart = Math.min(start + found.payloadOffset(), this.frameEnd);
		this.payloadEnd = complete ? this.payloadStart + found.payloadLength() : this.frameEnd;
		messageAgain();
	}

	/** Whether the current message is the beginning of one that is too large. */
	boolean isOversized() {
		return this.oversized;
	}

	/** The number of bytes to {@link #skip skip} of the message that is too large. */
	long left() {
		return this.left;
	}

	/**
	 * Skips the rest of a message that is too large.
	 * @param rest the number of bytes to skip, or {@link Framing.Frame#UNKNOWN}
	 * @return the number of bytes that remain to be skipped, or
	 * {@link Framing.Frame#UNKNOWN}
	 */
	long skip(long rest, Framing framing, int maxMessageSize, int frameLimit) {
		ByteBuffer bytes = this.input;
		int start = bytes.position();
		int available = this.end - start;
		if (rest != Framing.Frame.UNKNOWN || available == 0) {
			int there = (int) Math.min(rest, available);
			bytes.position(start + Math.max(0, there));
			return (rest == Framing.Frame.UNKNOWN) ? rest : rest - there;
		}
		Framing.Frame found = this.frame;
		found.continueTooLarge(maxMessageSize);
		boolean complete = framing.decode(bytes.order(ByteOrder.BIG_ENDIAN), found);
		bytes.limit(this.end).position(start);
		found.check(complete, available);
		int there = complete ? found.frameLength() : found.scanned();
		if (there == 0 && available >= frameLimit) {
			throw new FramingException("The end of a message that is too large was not found");
		}
		this.scanned = 0;
		bytes.position(start + there);
		return complete ? 0 : rest;
	}

	/** Whether the input is used up. */
	boolean isEmpty() {
		return !this.input.hasRemaining();
	}

	/** The payload of the message, from position to limit. */
	ByteBuffer message() {
		return this.input;
	}

	/**
	 * Like {@link #message}, but restores position and limit, which a handler may have
	 * changed.
	 */
	ByteBuffer messageAgain() {
		return this.input.limit(this.payloadEnd).position(this.payloadStart).mark().order(ByteOrder.BIG_ENDIAN);
	}

	/** Whether more input follows the current message. */
	boolean isFollowed() {
		return this.followed;
	}

	/**
	 * Ends the current message, which has been handled.
	 * @return whether there is more input
	 */
	boolean consume() {
		this.followed = false;
		this.input.limit(this.end).position(this.frameEnd);
		return this.frameEnd < this.end;
	}

	/**
	 * Keeps the current message, like incomplete input, because it is not handled now.
	 * @return where it is: a framing may have rewritten it, or have state, and must not
	 * decode it {@linkplain #again}
	 */
	Framing.Frame putBack() {
		Framing.Frame found = this.frame;
		this.frame = new Framing.Frame(0);
		this.followed = false;
		this.input.limit(this.end).position(this.frameStart);
		return found;
	}

	/**
	 * Keeps the input that was read and not consumed, in separate memory.
	 * @return the kept input, which replaces the input that was kept before
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
		PartialMessage same = (rest.position() == this.begin) ? before : null;
		if (same != null && this.inPlace) {
			same.keepAll(this.scanned);
			return same;
		}
		if (before != null && this.inPlace && before.isWorthKeepingFor(rest.remaining())) {
			before.keepFrom(rest.position(), rest.limit(), this.scanned, clock.nanoTime());
			return before;
		}
		long started = (same != null) ? same.startedNanos() : clock.nanoTime();
		PartialMessage left = PartialMessage.keep(same, rest, this.scanned, started, frameLimit, buffers);
		if (left != before) {
			// Only now, because the rest may lie in this memory.
			discard(before, buffers);
		}
		if (left == null) {
			throw new MemoryBudget.ExhaustedException();
		}
		return left;
	}

	/**
	 * Keeps the input that follows the current message in separate memory; the message
	 * stays where it is. Called at most once for each message.
	 * @return {@code null} if no input follows
	 * @throws MemoryBudget.ExhaustedException if the budget does not allow it; nothing is
	 * kept then
	 */
	@Nullable PartialMessage takeRest(Clock clock, int frameLimit, SpareBuffers buffers) throws MemoryBudget.ExhaustedException {
		ByteBuffer rest = this.input.duplicate().limit(this.end).position(this.frameEnd);
		PartialMessage left = rest.hasRemaining()
				? PartialMessage.keep(null, rest, 0, clock.nanoTime(), frameLimit, buffers) : null;
		// Created before anything changes: if the heap is used up, the input stays here.
		MemoryBudget.ExhaustedException failure = (left == null && rest.hasRemaining())
				? new MemoryBudget.ExhaustedException() : null;
		this.restTaken = true;
		this.followed = false;
		this.end = this.frameEnd;
		if (failure != null) {
			throw failure;
		}
		return left;
	}

	/** Whether a message is being handled and the input that follows it was not taken. */
	boolean holdsRest() {
		return this.input != NOTHING && !this.restTaken;
	}

	/**
	 * If the input that follows the message was taken, the message itself is no longer
	 * needed: releases its memory.
	 * @return whether the input was taken
	 */
	boolean endMessage(SpareBuffers buffers) {
		if (!this.restTaken) {
			return false;
		}
		discard(this.kept, buffers);
		forget();
		return true;
	}

	/**
	 * Separates the current message from the input that follows it, which other threads
	 * will decode. The calling thread keeps only the message, until it
	 * {@linkplain #endDetached has handled it}.
	 * @param me the calling thread
	 * @return the input that follows, in separate memory, or {@code null} if there is
	 * none
	 * @throws MemoryBudget.ExhaustedException if the budget does not allow it; nothing is
	 * kept then
	 */
	@Nullable PartialMessage detach(Participant me, Clock clock, int frameLimit) throws MemoryBudget.ExhaustedException {
		PartialMessage before = this.kept;
		int size = this.end - this.frameEnd;
		this.followed = false;
		if (before != null && this.inPlace) {
			try {
				return detachInPlace(before, size, me, clock, frameLimit);
			}
			catch (Error ex) {
				// The connection still has this memory, and releases it.
				this.kept = null;
				throw ex;
			}
		}
		this.kept = null;
		if (size == 0) {
			discard(before, me.spareBuffers);
			return null;
		}
		return copyRest(before, clock, frameLimit, me.spareBuffers);
	}

	private @Nullable PartialMessage detachInPlace(PartialMessage before, int size, Participant me, Clock clock,
			int frameLimit) throws MemoryBudget.ExhaustedException {
		int length = this.payloadEnd - this.payloadStart;
		ByteBuffer own = (length <= Participant.BUFFER_SIZE && before.isWorthKeepingFor(size)) ? me.input() : null;
		if (size > 0 && own != null) {
			own.put(0, this.input, this.payloadStart, length);
			before.keepFrom(this.frameEnd, this.end, 0, clock.nanoTime());
			this.kept = null;
			this.input = own;
			this.payloadStart = 0;
			this.payloadEnd = length;
			messageAgain();
			return before;
		}
		// The message keeps this memory.
		return (size > 0) ? copyRest(null, clock, frameLimit, me.spareBuffers) : null;
	}

	private PartialMessage copyRest(@Nullable PartialMessage reused, Clock clock, int frameLimit, SpareBuffers buffers)
			throws MemoryBudget.ExhaustedException {
		long now = clock.nanoTime();
		this.input.limit(this.end).position(this.frameEnd);
		PartialMessage rest = PartialMessage.keep(reused, this.input, 0, now, frameLimit, buffers);
		messageAgain();
		if (rest == null) {
			discard(reused, buffers);
			throw new MemoryBudget.ExhaustedException();
		}
		rest.restart(now);
		return rest;
	}

	/** Called when a message that was {@linkplain #detach detached} has been handled. */
	void endDetached(SpareBuffers buffers) {
		discard(this.kept, buffers);
		forget();
	}

	private static void discard(@Nullable PartialMessage partial, SpareBuffers buffers) {
		if (partial != null) {
			partial.discard(buffers);
		}
	}

	/** Forgets all state of the connection. */
	void forget() {
		this.followed = false;
		this.restTaken = false;
		this.kept = null;
		this.input = NOTHING;
	}

}
