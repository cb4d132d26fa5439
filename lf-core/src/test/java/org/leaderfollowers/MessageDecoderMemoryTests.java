package org.leaderfollowers;

import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;

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
 * Tests for the memory of a {@link MessageDecoder} when allocations fail.
 */
class MessageDecoderMemoryTests {

	@Test
	void memoryIsReleasedOnceIfTheInputBehindADetachedMessageCannotBeKept() throws Exception {
		MemoryBudget budget = new MemoryBudget(1_000_000);
		SpareBuffers buffers = new SpareBuffers(budget);
		ByteBuffer input = ByteBuffer.wrap(("m".repeat(200) + "\nrest\n").getBytes(StandardCharsets.US_ASCII));
		PartialMessage kept = PartialMessage.keep(null, input, 0, 0, 1000, buffers);
		assertThat(kept).isNotNull();
		MessageDecoder decoder = new MessageDecoder();
		decoder.begin(kept);
		assertThat(decoder.next(Framing.line(), 1000, 1000, false)).isEqualTo(MessageDecoder.Decoded.MESSAGE);
		Participant me = new Participant(1, new Follower(1, Thread.currentThread()), Thread.currentThread(), true, null,
				(participant, exchange) -> Exchange.State.REPLIED, budget, 0);
		Clock noMemory = new Clock() {

			@Override
			public long nanoTime() {
				throw new OutOfMemoryError("in a test");
			}

		};
		assertThatExceptionOfType(OutOfMemoryError.class).isThrownBy(() -> decoder.detach(me, noMemory, 1000));
		// The thread gives up the message, and the connection then what it has kept.
		decoder.endDetached(buffers);
		kept.discard(budget);
		assertThat(budget.used()).isZero();
	}

}
