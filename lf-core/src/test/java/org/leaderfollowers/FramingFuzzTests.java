package org.leaderfollowers;

import com.code_intelligence.jazzer.junit.FuzzTest;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Any input, with any built-in framing and maximum message size: the messages, and the
 * end of the connection, do not depend on how the input is split, nor on how the messages
 * are handled.
 */
class FramingFuzzTests {

	@FuzzTest
	void messagesDoNotDependOnTheSplits(byte[] bytes) {
		FuzzInput input = new FuzzInput(bytes);
		FuzzedFraming chosen = FuzzedFraming.choose(input);
		if (chosen == null) {
			return;
		}
		boolean skips = input.flip();
		int bufferSize = 16 << input.below(5);
		FuzzInput splits = new FuzzInput(input.bytes(input.below(16)));
		FuzzInput choices = new FuzzInput(input.bytes(input.below(16)));
		byte[] stream = input.rest();
		FuzzedDecoding whole = FuzzedDecoding.whole(chosen, skips, stream);
		FuzzedDecoding pieces = FuzzedDecoding.inPieces(chosen, skips, bufferSize, stream, () -> splits.below(256),
				choices);
		assertThat(pieces.observed()).as("%s in pieces", chosen.framing).isEqualTo(whole.observed());
		FuzzedDecoding single = FuzzedDecoding.inPieces(chosen, skips, bufferSize, stream, () -> 1, choices);
		assertThat(single.observed()).as("%s in single bytes", chosen.framing).isEqualTo(whole.observed());
	}

}
