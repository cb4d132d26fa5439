package org.leaderfollowers;

import java.nio.charset.StandardCharsets;
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

	@Test
	void lineWithALengthMayPassTheSizeOfAMessage() {
		FuzzedFraming framing = new FuzzedFraming(Framing.resp(), 10);
		// An array of a number and a string, whose length begins at the maximum size.
		String array = HexFormat.of().formatHex("*2\r\n:12\r\n$3\r\nabc\r\n".getBytes(StandardCharsets.US_ASCII));
		assertThat(decoded(framing, true, array + "2b0d0a")).isEqualTo("[oversized, 2b0d0a], open");
	}

	@Test
	void restOfAMessageThatIsTooLargeIsReadAfterItIsReported() {
		FuzzedFraming framing = new FuzzedFraming(Framing.resp(), 10);
		String array = HexFormat.of().formatHex("*2\r\n$8\r\nabcdefgh__".getBytes(StandardCharsets.US_ASCII));
		assertThat(decoded(framing, true, array)).isEqualTo("[oversized], malformed");
		assertThat(decoded(framing, false, array)).isEqualTo("[], too large");
	}

}
