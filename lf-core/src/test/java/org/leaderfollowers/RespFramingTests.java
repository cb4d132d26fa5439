package org.leaderfollowers;

import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

/**
 * Requests and replies of Redis.
 */
class RespFramingTests {

	private static final int MAX = 200;

	private static final List<String> MESSAGES = List.of("*2\r\n$3\r\nGET\r\n$4\r\n\r\n*1\r\n", "PING\r\n", "+OK\r\n",
			"-ERR no\r\n", ":-12\r\n", "$5\r\nhello\r\n", "$0\r\n\r\n", "$-1\r\n", "*0\r\n", "*-1\r\n", "\r\n",
			"set key value\n", "*1\r\n*1\r\n*1\r\n$1\r\n\n\r\n", "*3\r\n*2\r\n:1\r\n+a\r\n$-1\r\n*-1\r\n",
			"*12\r\n" + ":0\r\n".repeat(12));

	/** Only the instance for one connection remembers how far it has read. */
	@SuppressWarnings("NullAway")
	private static Framing ofConnection() {
		return Framing.resp().forConnection(null);
	}

	/** Decodes the pieces as a connection does. */
	private static List<String> decode(Framing framing, String... pieces) {
		List<String> messages = new ArrayList<>();
		Framing.Frame frame = new Framing.Frame(MAX);
		String kept = "";
		for (String piece : pieces) {
			kept += piece;
			while (!kept.isEmpty()) {
				ByteBuffer input = ByteBuffer.wrap(("12345" + kept).getBytes(StandardCharsets.ISO_8859_1)).position(5);
				frame.begin(MAX, frame.scanned());
				boolean complete = framing.decode(input, frame);
				frame.check(complete, kept.length());
				if (!complete) {
					break;
				}
				messages.add(kept.substring(frame.payloadOffset(), frame.payloadOffset() + frame.payloadLength()));
				kept = kept.substring(frame.frameLength());
				frame.begin(MAX, 0);
			}
		}
		assertThat(kept).as("left over").isEmpty();
		return messages;
	}

	@Test
	void messagesAreFoundAtEverySplit() {
		String stream = String.join("", MESSAGES);
		for (Framing framing : List.of(Framing.resp(), ofConnection())) {
			assertThat(decode(framing, stream)).isEqualTo(MESSAGES);
			assertThat(decode(framing, stream.split(""))).isEqualTo(MESSAGES);
			for (int i = 0; i <= stream.length(); i++) {
				assertThat(decode(framing, stream.substring(0, i), stream.substring(i))).as("split at %d", i)
					.isEqualTo(MESSAGES);
			}
		}
	}

	@Test
	void whatWasReadIsNotReadAgain() {
		Framing framing = ofConnection();
		Framing.Frame frame = new Framing.Frame(MAX);
		byte[] begun = "*3\r\n$1\r\na\r\n:1".getBytes();
		assertThat(framing.decode(ByteBuffer.wrap(begun), frame)).isFalse();
		byte[] rest = "xx\r\n$1\r\na\r\n:1\r\n+\r\n".getBytes();
		assertThat(framing.decode(ByteBuffer.wrap(rest), frame)).as("the beginning is not looked at").isTrue();
		assertThat(frame.frameLength()).isEqualTo(rest.length);
	}

	@ParameterizedTest
	@ValueSource(strings = { "$201\r\n", "$2147483647\r\n", "*200\r\n", "*2147483647\r\n", "*2\r\n$190\r\n",
			"*9\r\n*99\r\n*99\r\n" })
	void aLengthThatIsTooLargeIsFoundAtOnce(String beginning) {
		Framing.Frame frame = new Framing.Frame(MAX);
		assertThat(Framing.resp().decode(ByteBuffer.wrap(beginning.getBytes()), frame)).isFalse();
		frame.check(false, beginning.length());
		assertThat(frame.isTooLarge()).isTrue();
	}

	@Test
	void aLineWithoutEndIsTooLarge() {
		Framing.Frame frame = new Framing.Frame(MAX);
		assertThat(Framing.resp().decode(ByteBuffer.allocate(MAX + 1), frame)).isFalse();
		assertThat(frame.isTooLarge()).isTrue();
	}

	@ParameterizedTest
	@ValueSource(strings = { "$\r\n", "$-2\r\n", "*x\r\n", "*1x\r\n", "$2147483648\r\n", "$99999999999999" })
	void aLengthThatIsNoNumberIsMalformed(String input) {
		assertThatExceptionOfType(FramingException.class).isThrownBy(() -> decode(ofConnection(), input))
			.withMessageContaining("A length must");
	}

	@ParameterizedTest
	@ValueSource(strings = { "$1\n", "$1\r\nab\r\n", "$1\r\na\n\n", "*1\n" })
	void aLineEndThatIsMissingIsMalformed(String input) {
		assertThatExceptionOfType(FramingException.class).isThrownBy(() -> decode(ofConnection(), input))
			.withMessage("A length, and the bytes of a string, must end with \\r\\n");
	}

	@ParameterizedTest
	@ValueSource(strings = { "*1\r\nPING\r\n", "*2\r\n$1\r\na\r\n\r\n" })
	void anElementOfAnotherTypeIsMalformed(String input) {
		assertThatExceptionOfType(FramingException.class).isThrownBy(() -> decode(ofConnection(), input))
			.withMessageContaining("An element of an array must begin with");
	}

}
