package org.leaderfollowers.spring.test.assertion;

import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.leaderfollowers.Framing;

import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.leaderfollowers.spring.test.assertion.LfAssertions.assertThat;

/**
 * Tests for {@link FramingAssert}: built-in framings pass, and every kind of mistake is
 * found.
 */
class FramingAssertTests {

	@Test
	void builtInFramingsPass() {
		assertThat(Framing.line()).roundTrips("a", "", "bc")
			.reads("a\r\nb\n".getBytes(StandardCharsets.UTF_8), "a", "b")
			.writes("a", (byte) 'a', (byte) '\n')
			.waitsFor((byte) 'a', (byte) '\r')
			.withMaxMessageSize(2)
			.rejects("abcde".getBytes(StandardCharsets.UTF_8));
		assertThat(Framing.delimiter("||")).roundTrips("a|b", "c");
		assertThat(Framing.fixedLength(3)).roundTrips("abc", "def");
		assertThat(Framing.lengthField(2)).roundTrips("abc", "", "def")
			.waitsFor((byte) 0, (byte) 2, (byte) 1)
			.withMaxMessageSize(1)
			.rejects((byte) 0, (byte) 2);
		assertThat(Framing.lengthField(2).inclusive(true).offset(1)).roundTrips("abc", "d")
			.rejects((byte) 7, (byte) 0, (byte) 1);
	}

	@Test
	void positionOfTheInputThatIsIgnoredIsFound() {
		assertFails(new Broken() {

			@Override
			public boolean decode(ByteBuffer input, Frame frame) {
				return (input.get(0) == 1) ? frame.complete(0, 1, 1) : frame.incomplete(0);
			}

		}, "but it read");
	}

	@Test
	void messageThatMustComeInOnePieceIsFound() {
		assertFails(new Broken() {

			@Override
			public boolean decode(ByteBuffer input, Frame frame) {
				return frame.complete(0, input.remaining(), input.remaining());
			}

		}, "in one piece");
	}

	@Test
	void scanThatSkipsTheEndIsFound() {
		assertFails(new Broken() {

			@Override
			public boolean decode(ByteBuffer input, Frame frame) {
				for (int i = frame.scanned(); i + 1 < input.remaining(); i++) {
					if (input.get(input.position() + i) == 1 && input.get(input.position() + i + 1) == 2) {
						return frame.complete(0, i, i + 2);
					}
				}
				return frame.incomplete(input.remaining());
			}

			@Override
			public void encode(ByteBuffer payload, ByteBuffer output) {
				output.put(payload).put((byte) 1).put((byte) 2);
			}

		}, "split after");
	}

	@Test
	void scanThatCountsBytesTwiceIsFound() {
		Framing framing = new Broken() {

			@Override
			public boolean decode(ByteBuffer input, Frame frame) {
				int scanned = frame.scanned();
				return super.decode(input, frame) || frame.incomplete(scanned + input.remaining());
			}

		};
		assertThatExceptionOfType(AssertionError.class)
			.isThrownBy(() -> assertThat(framing).roundTrips(new byte[] { 9, 8 }))
			.withMessageContaining("the input byte by byte");
	}

	@Test
	void payloadThatIsNotWrittenEntirelyIsFound() {
		assertFails(new Broken() {

			@Override
			public void encode(ByteBuffer payload, ByteBuffer output) {
				output.put((byte) 1);
			}

		}, "but it wrote 1 and left 1 bytes of the payload");
	}

	@Test
	void frameThatIsTooLongIsFound() {
		assertFails(new Broken() {

			@Override
			public void encode(ByteBuffer payload, ByteBuffer output) {
				output.put(payload).put(new byte[3]);
			}

		}, "in a frame of at most 3, but it wrote 4");
	}

	@ParameterizedTest
	@CsvSource({ "0, 1, 100", "0, 0, 0", "1, 1, 1" })
	void frameThatDoesNotFitTheInputIsFound(int payloadOffset, int payloadLength, int frameLength) {
		assertFails(new Broken() {

			@Override
			public boolean decode(ByteBuffer input, Frame frame) {
				return frame.complete(payloadOffset, payloadLength, frameLength);
			}

		}, "The framing found a complete frame of %d bytes".formatted(frameLength));
	}

	@Test
	void acceptedInputThatShouldBeRejectedIsFound() {
		assertThatExceptionOfType(AssertionError.class)
			.isThrownBy(() -> assertThat(Framing.line()).rejects((byte) 'a', (byte) '\n'))
			.withMessageContaining("to reject the input in one piece")
			.withMessageContaining("[61]");
		assertThatExceptionOfType(AssertionError.class)
			.isThrownBy(() -> assertThat(Framing.line()).waitsFor((byte) 'a', (byte) '\n'));
		assertThatExceptionOfType(AssertionError.class)
			.isThrownBy(() -> assertThat(Framing.line()).writes("a", (byte) 'b'))
			.withMessageContaining("61 0a");
		assertThatExceptionOfType(AssertionError.class)
			.isThrownBy(() -> assertThat(Framing.line()).reads(new byte[] { 'a', '\n', 'b' }, "a"))
			.withMessageContaining("but it left 1 bytes");
		assertThatExceptionOfType(AssertionError.class).isThrownBy(() -> assertThat(Framing.line()).roundTrips("a\nb"))
			.withMessageContaining("contains the delimiter");
	}

	private static void assertFails(Framing framing, String message) {
		assertThatExceptionOfType(AssertionError.class)
			.isThrownBy(() -> assertThat(framing).as("mistaken").roundTrips(new byte[] { 9 }, new byte[] { 8 }))
			.withMessageContaining(message);
	}

	/** Messages that end with a 1; each subclass makes a mistake. */
	private static class Broken implements Framing {

		@Override
		public boolean decode(ByteBuffer input, Frame frame) {
			for (int i = 0; i < input.remaining(); i++) {
				if (input.get(input.position() + i) == 1) {
					return frame.complete(0, i, i + 1);
				}
			}
			return frame.incomplete(0);
		}

		@Override
		public void encode(ByteBuffer payload, ByteBuffer output) {
			output.put(payload).put((byte) 1);
		}

		@Override
		public int maxFrameLength(int payloadLength) {
			return payloadLength + 2;
		}

		@Override
		public String toString() {
			return "broken";
		}

	}

}
