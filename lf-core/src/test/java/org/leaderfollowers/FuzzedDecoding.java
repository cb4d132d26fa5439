package org.leaderfollowers;

import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.List;
import java.util.function.IntSupplier;

import org.leaderfollowers.MessageDecoder.Decoded;
import org.leaderfollowers.internal.buffer.MemoryBudget;
import org.leaderfollowers.internal.buffer.PartialMessage;
import org.leaderfollowers.internal.exchange.Exchange;
import org.leaderfollowers.internal.promotion.Clock;
import org.leaderfollowers.internal.promotion.Follower;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Decodes a stream with a {@link MessageDecoder}, as a connection does: in pieces, and
 * between them only the beginning of a message is kept. Choices decide in which of the
 * ways of a connection a message is handled. Checks the memory at every step.
 */
final class FuzzedDecoding {

	/** The capacity of a kept beginning that is small, and twice that for a spare. */
	private static final int SMALLEST_KEPT = 2 * 64;

	/** The messages in hexadecimal digits, or {@code oversized}. */
	final List<String> messages = new ArrayList<>();

	/** Why the connection is closed, or {@code open}. */
	String end = "open";

	private final FuzzedFraming chosen;

	private final Framing framing;

	private final boolean skips;

	private final int frameLimit;

	private final ByteBuffer own;

	private final FuzzInput choices;

	private final MessageDecoder decoder = new MessageDecoder();

	private final MemoryBudget budget = new MemoryBudget(1 << 30);

	private final Participant me = new Participant(1, new Follower(1, Thread.currentThread()), Thread.currentThread(),
			true, null, (participant, exchange) -> Exchange.State.REPLIED, this.budget, 0);

	private PartialMessage kept;

	/** A message that was put back. */
	private Framing.Frame found;

	private long skipped;

	/** How often the decoder may be called until the stream must be used up. */
	private int calls;

	private FuzzedDecoding(FuzzedFraming chosen, boolean skips, int bufferSize, FuzzInput choices) {
		this.chosen = chosen;
		this.framing = chosen.framing.forConnection(null);
		this.skips = skips;
		this.frameLimit = chosen.framing.maxFrameLength(chosen.maxMessageSize);
		this.own = ByteBuffer.allocate(bufferSize);
		this.choices = choices;
	}

	/** Decodes a stream that arrives as a whole. */
	static FuzzedDecoding whole(FuzzedFraming chosen, boolean skips, byte[] stream) {
		FuzzedDecoding decoding = new FuzzedDecoding(chosen, skips, stream.length + 1, new FuzzInput(new byte[0]));
		decoding.receive(stream, () -> stream.length);
		return decoding;
	}

	/**
	 * Decodes a stream that arrives in pieces.
	 * @param bufferSize the capacity of the thread's buffer
	 * @param pieces the lengths of the pieces
	 * @param choices how messages are handled
	 */
	static FuzzedDecoding inPieces(FuzzedFraming chosen, boolean skips, int bufferSize, byte[] stream,
			IntSupplier pieces, FuzzInput choices) {
		FuzzedDecoding decoding = new FuzzedDecoding(chosen, skips, bufferSize, choices);
		decoding.receive(stream, pieces);
		return decoding;
	}

	private void receive(byte[] stream, IntSupplier pieces) {
		this.calls = 8 * stream.length + 8;
		try {
			for (int at = 0; at < stream.length && isOpen();) {
				int length = Math.min(stream.length - at, Math.max(1, pieces.getAsInt()));
				at += receive(stream, at, length);
			}
		}
		catch (MemoryBudget.ExhaustedException ex) {
			throw new AssertionError("The budget is larger than all input", ex);
		}
		if (this.kept != null) {
			this.kept.discard(this.me.spareBuffers);
		}
		assertThat(this.budget.used()).as("memory at the end").isZero();
	}

	private int receive(byte[] stream, int at, int length) throws MemoryBudget.ExhaustedException {
		ByteBuffer input = this.decoder.begin(this.kept, this.own.clear(), this.frameLimit, this.me.spareBuffers);
		int count = Math.min(length, input.remaining());
		assertThat(count).as("room").isPositive();
		input.put(stream, at, count);
		this.decoder.endRead();
		boolean decoded = decode();
		while (decoded) {
			decoded = handle();
		}
		if (isOpen()) {
			this.kept = this.decoder.keepRest(Clock.SYSTEM, this.frameLimit, this.me.spareBuffers);
			assertThat(this.budget.used()).as("memory between two pieces")
				.isLessThanOrEqualTo(Math.max(2L * this.frameLimit, SMALLEST_KEPT));
		}
		this.decoder.forget();
		return count;
	}

	private boolean isOpen() {
		return this.end.equals("open");
	}

	/** As the class {@link FramedConnection}. */
	private boolean decode() {
		assertThat(this.calls--).as("progress").isPositive();
		try {
			if (this.skipped != 0) {
				this.skipped = this.decoder.skip(this.skipped, this.framing, this.chosen.maxMessageSize,
						this.frameLimit);
				if (this.skipped != 0 || this.decoder.isEmpty()) {
					return false;
				}
			}
			Decoded decoded = (this.found != null) ? this.decoder.again(this.found)
					: this.decoder.next(this.framing, this.chosen.maxMessageSize, this.frameLimit, this.skips);
			this.found = null;
			if (decoded == Decoded.OVERSIZED) {
				assertThat(this.skips).isTrue();
				this.skipped = this.decoder.left();
			}
			if (decoded == Decoded.TOO_LARGE) {
				this.end = "too large";
			}
			return decoded == Decoded.MESSAGE || decoded == Decoded.OVERSIZED;
		}
		catch (FramingException ex) {
			assertThat(ex.getMessage()).as("what an operator reads").matches("[ -~]{10,200}");
			this.end = "malformed";
			return false;
		}
	}

	/** Handles one message. Returns whether there is another. */
	private boolean handle() throws MemoryBudget.ExhaustedException {
		int way = this.choices.below(8);
		if (way == 1) {
			this.found = this.decoder.putBack();
			this.skipped = 0;
			this.kept = this.decoder.keepRest(Clock.SYSTEM, this.frameLimit, this.me.spareBuffers);
			this.decoder.begin(this.kept);
			assertThat(decode()).as("a message that was put back").isTrue();
		}
		boolean separated = way == 2 || way == 3;
		if (way == 2) {
			this.kept = this.decoder.takeRest(Clock.SYSTEM, this.frameLimit, this.me.spareBuffers);
		}
		else if (way == 3) {
			this.kept = this.decoder.detach(this.me, Clock.SYSTEM, this.frameLimit);
		}
		note();
		checkMemory();
		if (!separated) {
			return this.decoder.consume() && decode();
		}
		this.decoder.consume();
		if (way == 2) {
			assertThat(this.decoder.endMessage(this.me.spareBuffers)).isTrue();
		}
		else {
			this.decoder.endDetached(this.me.spareBuffers);
		}
		if (this.kept == null) {
			return false;
		}
		this.decoder.begin(this.kept);
		return decode();
	}

	private void note() {
		ByteBuffer message = this.decoder.message();
		byte[] bytes = new byte[message.remaining()];
		message.get(bytes);
		if (this.decoder.isOversized()) {
			// How much of it is there depends on the pieces.
			this.messages.add("oversized");
			return;
		}
		assertThat(bytes.length).isLessThanOrEqualTo(this.chosen.maxMessageSize);
		this.messages.add(HexFormat.of().formatHex(bytes));
	}

	/** A message and the input behind it, which may have filled the thread's buffer. */
	private void checkMemory() {
		assertThat(this.budget.used()).as("memory while a message is handled")
			.isLessThanOrEqualTo(4L * (this.frameLimit + this.own.capacity()) + 2 * SMALLEST_KEPT);
	}

	/** What the application and the peer can observe. */
	String observed() {
		List<String> seen = this.chosen.separates ? this.messages : List.of(String.join("", this.messages));
		return seen + ", " + this.end;
	}

}
