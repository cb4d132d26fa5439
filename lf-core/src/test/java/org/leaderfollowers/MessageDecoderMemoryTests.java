package org.leaderfollowers;

import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;

import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.leaderfollowers.internal.buffer.MemoryBudget;
import org.leaderfollowers.internal.buffer.PartialMessage;
import org.leaderfollowers.internal.buffer.SpareBuffers;
import org.leaderfollowers.internal.exchange.Exchange;
import org.leaderfollowers.internal.promotion.Clock;
import org.leaderfollowers.internal.promotion.Follower;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

/**
 * Tests for the memory of a {@link MessageDecoder}: what it keeps of an input, and what
 * it releases, also when allocations fail.
 */
class MessageDecoderMemoryTests {

	private static final int FRAME_LIMIT = 1000;

	private final MemoryBudget budget = new MemoryBudget(1_000_000);

	private final SpareBuffers buffers = new SpareBuffers(this.budget);

	private final MessageDecoder decoder = new MessageDecoder();

	/** Reads a text behind the kept beginning of a message. */
	private void read(@Nullable PartialMessage kept, String text) {
		ByteBuffer input = this.decoder.begin(kept, ByteBuffer.allocate(4096), FRAME_LIMIT, this.buffers);
		assertThat(input).isNotNull();
		input.put(text.getBytes(StandardCharsets.US_ASCII));
		this.decoder.endRead();
	}

	private MessageDecoder.Decoded next() {
		return this.decoder.next(Framing.line(), FRAME_LIMIT, FRAME_LIMIT, false);
	}

	private String message() {
		assertThat(next()).isEqualTo(MessageDecoder.Decoded.MESSAGE);
		return StandardCharsets.US_ASCII.decode(this.decoder.message().duplicate()).toString();
	}

	private @Nullable PartialMessage keepRest() throws MemoryBudget.ExhaustedException {
		return this.decoder.keepRest(Clock.SYSTEM, FRAME_LIMIT, this.buffers);
	}

	@Test
	void beginningOfAMessageIsReleasedWhenItsEndHasCome() throws Exception {
		read(null, "begin");
		assertThat(next()).isEqualTo(MessageDecoder.Decoded.INCOMPLETE);
		PartialMessage kept = keepRest();
		assertThat(kept).isNotNull();
		assertThat(kept.scanned()).isEqualTo(5);
		assertThat(this.budget.used()).isEqualTo(kept.capacity());
		read(kept, "ning\nx\ny\n");
		assertThat(message()).isEqualTo("beginning");
		assertThat(this.decoder.isFollowed()).isTrue();
		assertThat(this.decoder.consume()).isTrue();
		assertThat(this.decoder.isFollowed()).isFalse();
		// Nothing of the next messages is known to contain no delimiter.
		assertThat(message()).isEqualTo("x");
		assertThat(this.decoder.consume()).isTrue();
		assertThat(message()).isEqualTo("y");
		assertThat(this.decoder.consume()).isFalse();
		assertThat(keepRest()).isNull();
		assertThat(this.budget.used()).isZero();
	}

	@Test
	void beginningOfAMessageIsReleasedWhenAnotherMessageHasBegun() throws Exception {
		read(null, "begin");
		assertThat(next()).isEqualTo(MessageDecoder.Decoded.INCOMPLETE);
		read(keepRest(), "ning\nrest");
		assertThat(message()).isEqualTo("beginning");
		assertThat(this.decoder.consume()).isTrue();
		assertThat(next()).isEqualTo(MessageDecoder.Decoded.INCOMPLETE);
		PartialMessage rest = keepRest();
		assertThat(rest).isNotNull();
		assertThat(rest.size()).isEqualTo(4);
		assertThat(this.budget.used()).isEqualTo(rest.capacity());
	}

	@Test
	void beginningOfAMessageIsReleasedAfterTheInputBehindItWasTaken() throws Exception {
		read(null, "begin");
		assertThat(next()).isEqualTo(MessageDecoder.Decoded.INCOMPLETE);
		read(keepRest(), "ning\nrest");
		assertThat(message()).isEqualTo("beginning");
		assertThat(this.decoder.holdsRest()).isTrue();
		assertThat(this.decoder.endMessage(this.buffers)).isFalse();
		PartialMessage rest = this.decoder.takeRest(Clock.SYSTEM, FRAME_LIMIT, this.buffers);
		assertThat(rest).isNotNull();
		assertThat(rest.size()).isEqualTo(4);
		assertThat(this.decoder.holdsRest()).isFalse();
		assertThat(this.decoder.endMessage(this.buffers)).isTrue();
		assertThat(this.budget.used()).isEqualTo(rest.capacity());
	}

	/** The thread may have decoded messages of other connections meanwhile. */
	@Test
	void messageThatWasPutBackIsFoundAgainAfterAnotherOne() throws Exception {
		read(null, "first\n");
		assertThat(message()).isEqualTo("first");
		Framing.Frame found = this.decoder.putBack();
		PartialMessage kept = keepRest();
		assertThat(kept).isNotNull();
		read(null, "another\n");
		assertThat(message()).isEqualTo("another");
		this.decoder.forget();
		this.decoder.begin(kept);
		assertThat(this.decoder.again(found)).isEqualTo(MessageDecoder.Decoded.MESSAGE);
		assertThat(StandardCharsets.US_ASCII.decode(this.decoder.message()).toString()).isEqualTo("first");
	}

	@Test
	void inputBehindAMessageThatCannotBeTakenIsNotLostSilently() {
		read(null, "first\nrest");
		assertThat(message()).isEqualTo("first");
		assertThat(this.budget.reserve(this.budget.limit())).isTrue();
		assertThatExceptionOfType(MemoryBudget.ExhaustedException.class)
			.isThrownBy(() -> this.decoder.takeRest(Clock.SYSTEM, FRAME_LIMIT, this.buffers));
	}

	@Test
	void anIncompleteMessageKeepsAtMostTwiceTheLargestFrame() throws Exception {
		// Whole messages and then the beginning of one, kept behind a longer message.
		String whole = "m".repeat(850) + "\n";
		byte[] behind = (whole + whole + "b".repeat(800)).getBytes(StandardCharsets.US_ASCII);
		PartialMessage kept = PartialMessage.keep(null, ByteBuffer.wrap(behind), 0, 0, FRAME_LIMIT, this.buffers);
		assertThat(kept).isNotNull();
		assertThat(kept.capacity()).isEqualTo(behind.length);
		this.decoder.begin(kept);
		assertThat(message()).hasSize(850);
		assertThat(this.decoder.consume()).isTrue();
		assertThat(message()).hasSize(850);
		assertThat(this.decoder.consume()).isTrue();
		assertThat(next()).isEqualTo(MessageDecoder.Decoded.INCOMPLETE);
		PartialMessage rest = keepRest();
		assertThat(rest).isNotNull();
		assertThat(rest.size()).isEqualTo(800);
		assertThat(rest.scanned()).isEqualTo(800);
		assertThat(this.budget.used()).isEqualTo(rest.capacity()).isLessThanOrEqualTo(2 * FRAME_LIMIT);
	}

	@Test
	void inputThatReachesTheLargestFrameWithoutAMessageIsTooLarge() {
		read(null, "m".repeat(99));
		assertThat(this.decoder.next(Framing.line(), FRAME_LIMIT, 100, false))
			.isEqualTo(MessageDecoder.Decoded.INCOMPLETE);
		read(null, "m".repeat(100));
		assertThat(this.decoder.next(Framing.line(), FRAME_LIMIT, 100, false))
			.isEqualTo(MessageDecoder.Decoded.TOO_LARGE);
	}

	@Test
	void memoryIsReleasedOnceIfTheInputBehindADetachedMessageCannotBeKept() throws Exception {
		ByteBuffer input = ByteBuffer.wrap(("m".repeat(200) + "\nrest\n").getBytes(StandardCharsets.US_ASCII));
		PartialMessage kept = PartialMessage.keep(null, input, 0, 0, 1000, this.buffers);
		assertThat(kept).isNotNull();
		this.decoder.begin(kept);
		assertThat(next()).isEqualTo(MessageDecoder.Decoded.MESSAGE);
		Participant me = new Participant(1, new Follower(1, Thread.currentThread()), Thread.currentThread(), true, null,
				(participant, exchange) -> Exchange.State.REPLIED, this.budget, 0);
		Clock noMemory = new Clock() {

			@Override
			public long nanoTime() {
				throw new OutOfMemoryError("in a test");
			}

		};
		assertThatExceptionOfType(OutOfMemoryError.class).isThrownBy(() -> this.decoder.detach(me, noMemory, 1000));
		// The thread gives up the message, and the connection then what it has kept.
		this.decoder.endDetached(this.buffers);
		kept.discard(this.budget);
		assertThat(this.budget.used()).isZero();
	}

}
