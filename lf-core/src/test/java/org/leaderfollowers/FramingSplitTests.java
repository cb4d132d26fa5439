package org.leaderfollowers;

import java.util.HexFormat;

import org.junit.jupiter.api.Test;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Streams whose messages once depended on how they were split, found by
 * {@link FramingFuzzTests}.
 */
class FramingSplitTests {

	private static String decoded(FuzzedFraming framing, boolean skips, String stream) {
		byte[] bytes = HexFormat.of().parseHex(stream);
		FuzzedDecoding whole = FuzzedDecoding.whole(framing, skips, bytes);
		FuzzedDecoding single = FuzzedDecoding.inPieces(framing, skips, 64, bytes, () -> 1, new FuzzInput(new byte[0]));
		assertThat(single.observed()).isEqualTo(whole.observed());
		return whole.observed();
	}

	@Test
	void repeatedDelimitersDoNotCountToTheSizeOfAMessage() {
		FuzzedFraming framing = new FuzzedFraming(EnclosedFramingTests.JT808, 3);
		assertThat(decoded(framing, false, "7e".repeat(64) + "4142437e")).isEqualTo("[414243], open");
	}

	@Test
	void escapesOfAMessageThatIsTooLargeAreNotChecked() {
		FuzzedFraming framing = new FuzzedFraming(EnclosedFramingTests.JT808, 3);
		String tooLarge = "7d00" + "41".repeat(6) + "7e";
		assertThat(decoded(framing, false, "7e" + tooLarge)).isEqualTo("[], too large");
		assertThat(decoded(framing, true, "7e" + tooLarge + "427e")).isEqualTo("[oversized, 42], open");
	}

}
