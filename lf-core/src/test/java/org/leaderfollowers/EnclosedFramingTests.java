package org.leaderfollowers;

import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

/**
 * Messages between a start and an end, with and without escapes.
 */
class EnclosedFramingTests {

	private static final HexFormat hex = HexFormat.of();

	static final Framing MLLP = Framing.enclosed(hex.parseHex("0b"), hex.parseHex("1c0d"));

	/** The framing of JT/T 808. */
	static final Framing JT808 = Framing.enclosed(hex.parseHex("7e"), hex.parseHex("7e"),
			Map.of((byte) 0x7E, hex.parseHex("7d02"), (byte) 0x7D, hex.parseHex("7d01")));

	/** Returns the messages, and "..." if bytes of another one are left. */
	private static List<String> decode(Framing framing, String stream) {
		List<String> messages = new ArrayList<>();
		ByteBuffer input = ByteBuffer.wrap(hex.parseHex(stream));
		Framing.Frame frame = new Framing.Frame(100);
		while (input.hasRemaining()) {
			frame.begin(100, 0);
			boolean complete = framing.decode(input, frame);
			frame.check(complete, input.remaining());
			if (!complete) {
				messages.add("...");
				break;
			}
			int from = input.position() + frame.payloadOffset();
			messages.add(hex.formatHex(input.array(), from, from + frame.payloadLength()));
			input.position(input.position() + frame.frameLength());
		}
		return messages;
	}

	private static String encode(Framing framing, String payload) {
		byte[] bytes = hex.parseHex(payload);
		ByteBuffer output = ByteBuffer.allocate(framing.maxFrameLength(bytes.length));
		framing.encode(ByteBuffer.wrap(bytes), output);
		return hex.formatHex(Arrays.copyOf(output.array(), output.position()));
	}

	@Test
	void startAndEndAreRemovedAndAdded() {
		assertThat(decode(MLLP, "0b41421c0d0b1c0d0b1c421c0d0b")).containsExactly("4142", "", "1c42", "...");
		assertThat(encode(MLLP, "4142")).isEqualTo("0b41421c0d");
		assertThat(encode(MLLP, "")).isEqualTo("0b1c0d");
	}

	/** The example of the standard. */
	@Test
	void escapesAreRemovedAndAdded() {
		assertThat(encode(JT808, "307e087d55")).isEqualTo("7e307d02087d01557e");
		assertThat(decode(JT808, "7e307d02087d01557e")).containsExactly("307e087d55");
	}

	@ParameterizedTest
	@CsvSource({ "7e417e7e427e", "7e417e427e", "7e7e7e417e7e7e427e", "417e427e" })
	void messagesMayShareWhatStartsAndEndsThem(String stream) {
		assertThat(decode(JT808, stream)).containsExactly("41", "42");
	}

	@Test
	void anEmptyMessageBetweenEqualBytesIsRefused() {
		assertThatIllegalArgumentException().isThrownBy(() -> encode(JT808, "")).withMessageContaining("empty");
	}

	@ParameterizedTest
	@ValueSource(strings = { "41", "000b41", "0b411c0d0d", "0b411c0d41" })
	void bytesBeforeAMessageAreMalformed(String stream) {
		assertThatExceptionOfType(FramingException.class).isThrownBy(() -> decode(MLLP, stream))
			.withMessage("A message must begin with 0x0b");
	}

	@Test
	void theStartMayHaveSeveralBytes() {
		Framing framing = Framing.enclosed(hex.parseHex("2424"), hex.parseHex("0d0a"));
		assertThat(decode(framing, "24")).containsExactly("...");
		assertThat(decode(framing, "242424240d0a")).containsExactly("2424");
		assertThatExceptionOfType(FramingException.class).isThrownBy(() -> decode(framing, "2425"))
			.withMessage("A message must begin with 0x2424");
	}

	@ParameterizedTest
	@ValueSource(strings = { "7e7d037e", "7e417d7e" })
	void anUnknownEscapeIsMalformed(String stream) {
		assertThatExceptionOfType(FramingException.class).isThrownBy(() -> decode(JT808, stream))
			.withMessageMatching("The byte 0x7d at offset [01] of a message does not begin a known escape");
	}

	@Test
	void endlessStartsAreMalformed() {
		assertThat(decode(JT808, "7e".repeat(64))).containsExactly("...");
		assertThatExceptionOfType(FramingException.class).isThrownBy(() -> decode(JT808, "7e".repeat(65)))
			.withMessage("0x7e occurs more than 64 times between two messages");
	}

	@ParameterizedTest
	@CsvSource({ "0b,1c0d,411c0d42", "02,0303,4103", "7e,7e,417e" })
	void aPayloadThatHoldsTheEndIsRefused(String start, String end, String payload) {
		Framing framing = Framing.enclosed(hex.parseHex(start), hex.parseHex(end));
		assertThatIllegalArgumentException().isThrownBy(() -> encode(framing, payload))
			.withMessageContaining("0x" + end);
	}

	@Test
	void escapesMayDoubleTheLength() {
		assertThat(decode(JT808, "7e" + "7d02".repeat(100) + "7e")).containsExactly("7e".repeat(100));
		Framing.Frame frame = new Framing.Frame(100);
		assertThat(JT808.decode(ByteBuffer.wrap(hex.parseHex("7e" + "7d02".repeat(100))), frame)).isFalse();
		assertThat(frame.isTooLarge()).isFalse();
		assertThat(JT808.decode(ByteBuffer.wrap(hex.parseHex("7e" + "7d02".repeat(100) + "7d")), frame)).isFalse();
		assertThat(frame.isTooLarge()).isTrue();
		assertThat(JT808.maxFrameLength(1 << 30)).isEqualTo(Integer.MAX_VALUE);
	}

	@Test
	void scannedBytesAreNotLookedAtAgain() {
		Framing.Frame frame = new Framing.Frame(100);
		ByteBuffer input = ByteBuffer.wrap(hex.parseHex("0b41421c"));
		assertThat(MLLP.decode(input, frame)).isFalse();
		assertThat(frame.scanned()).as("the last byte may belong to the end").isEqualTo(3);
	}

	@Test
	void impossibleOnesAreRefused() {
		byte[] one = { 1 };
		assertThatIllegalArgumentException().isThrownBy(() -> Framing.enclosed(new byte[0], one));
		assertThatIllegalArgumentException().isThrownBy(() -> Framing.enclosed(one, new byte[0]));
		assertThatIllegalArgumentException().isThrownBy(() -> Framing.enclosed(one, one, Map.of()))
			.withMessageContaining("two bytes");
		assertThatIllegalArgumentException()
			.isThrownBy(() -> Framing.enclosed(one, one, Map.of((byte) 1, hex.parseHex("7d"))))
			.withMessageContaining("two bytes");
		assertThatIllegalArgumentException()
			.isThrownBy(() -> Framing.enclosed(one, one, Map.of((byte) 1, hex.parseHex("7d02"))))
			.withMessageContaining("0x7d");
		assertThatIllegalArgumentException()
			.isThrownBy(() -> Framing.enclosed(one, one,
					Map.of((byte) 1, hex.parseHex("7d02"), (byte) 0x7D, hex.parseHex("7d02"))))
			.withMessageContaining("differ");
		assertThatIllegalArgumentException()
			.isThrownBy(() -> Framing.enclosed(one, one,
					Map.of((byte) 1, hex.parseHex("7d02"), (byte) 0x7D, hex.parseHex("7e01"))))
			.withMessageContaining("same first byte");
	}

}
