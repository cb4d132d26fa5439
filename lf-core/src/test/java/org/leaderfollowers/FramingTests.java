package org.leaderfollowers;

import java.io.ByteArrayOutputStream;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.List;
import java.util.Random;
import java.util.stream.Stream;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;

/**
 * The framings by themselves: they return the same messages wherever the bytes are cut.
 */
class FramingTests {

	private static final int MAX = 512;

	private static final HexFormat hex = HexFormat.of();

	static Stream<Framing> framings() {
		return Stream.of(Framing.line(), Framing.delimiter((byte) 0), Framing.delimiter("||"),
				Framing.delimiter("\r\n\r\n"), Framing.delimiter("aab"), Framing.delimiter("abab"),
				Framing.fixedLength(1), Framing.fixedLength(5), Framing.lengthField(1), Framing.lengthField(2),
				Framing.lengthField(3), Framing.lengthField(4), Framing.lengthField(2).offset(3),
				Framing.lengthField(4).offset(2).inclusive(true), Framing.lengthField(2).order(ByteOrder.LITTLE_ENDIAN),
				Framing.lengthField(3).order(ByteOrder.LITTLE_ENDIAN).inclusive(true).offset(1),
				Framing.lengthField(2).adjustment(-2), Framing.lengthField(2).adjustment(2).offset(4),
				Framing.decimalLength(4), Framing.decimalLength(3).inclusive(true).offset(2), EnclosedFramingTests.MLLP,
				EnclosedFramingTests.JT808, Framing.enclosed("aab".getBytes(), "ab".getBytes()),
				Framing.enclosed("ab".getBytes(), "ab".getBytes()));
	}

	/** Decodes as a connection does, without the connection. */
	private static final class Decoder {

		private final Framing framing;

		private final Framing.Frame frame = new Framing.Frame(0);

		private byte[] kept = new byte[0];

		private int scanned;

		final List<byte[]> messages = new ArrayList<>();

		Decoder(Framing framing) {
			this.framing = framing;
		}

		void receive(byte[] bytes, int from, int to) {
			// Neither at the beginning nor at the end of a buffer, to catch absolute
			// indexes.
			int size = this.kept.length + to - from;
			ByteBuffer input = ByteBuffer.allocate(size + 20);
			input.position(7);
			input.put(this.kept).put(bytes, from, to - from).flip().position(7);
			int already = this.scanned;
			this.scanned = 0;
			while (input.hasRemaining()) {
				int start = input.position();
				int end = input.limit();
				this.frame.begin(MAX, already);
				already = 0;
				boolean complete = this.framing.decode(input, this.frame);
				assertThat(input.position()).isEqualTo(start);
				assertThat(input.limit()).isEqualTo(end);
				this.frame.check(complete, end - start);
				assertThat(this.frame.payloadLength()).isLessThanOrEqualTo(MAX);
				if (!complete) {
					this.scanned = this.frame.scanned();
					break;
				}
				byte[] payload = new byte[this.frame.payloadLength()];
				input.get(start + this.frame.payloadOffset(), payload);
				this.messages.add(payload);
				input.position(start + this.frame.frameLength());
			}
			this.kept = new byte[input.remaining()];
			input.get(this.kept);
		}

	}

	private static byte[] encode(Framing framing, byte[] payload) {
		ByteBuffer output = ByteBuffer.allocate(framing.maxFrameLength(payload.length));
		framing.encode(ByteBuffer.wrap(payload), output);
		return Arrays.copyOf(output.array(), output.position());
	}

	private static byte[] stream(Framing framing, List<byte[]> payloads) {
		ByteArrayOutputStream stream = new ByteArrayOutputStream();
		payloads.forEach((payload) -> stream.writeBytes(encode(framing, payload)));
		return stream.toByteArray();
	}

	private static List<String> text(List<byte[]> messages) {
		return messages.stream().map(hex::formatHex).toList();
	}

	/** A few payloads that the framing can express. */
	private static List<byte[]> samples(Framing framing) {
		List<byte[]> samples = new ArrayList<>();
		Random random = new Random(42);
		int[] lengths = { 5, 1, 0, 6, 17, 2, 5, 40 };
		for (int length : lengths) {
			samples.add(payload(framing, random, length));
		}
		return samples;
	}

	/** A random payload, rich in bytes that delimiters are made of. */
	private static byte[] payload(Framing framing, Random random, int wanted) {
		for (;;) {
			int length = wanted;
			String name = framing.toString();
			if (name.startsWith("fixed-length")) {
				length = Integer.parseInt(name.substring(13, name.length() - 1));
			}
			if (name.contains("offset")) {
				length = Math.max(length, 4);
			}
			if (name.contains("adjustment 2")) {
				// A shorter body would need a negative length field.
				length = Math.max(length, 6);
			}
			byte[] payload = new byte[length];
			byte[] alphabet = { 'a', 'b', '\r', '\n', '|', 0, (byte) 0xFF, 'x' };
			for (int i = 0; i < length; i++) {
				payload[i] = random.nextBoolean() ? alphabet[random.nextInt(alphabet.length)] : (byte) random.nextInt();
			}
			if (name.equals("line") && length > 0 && payload[length - 1] == '\r') {
				payload[length - 1] = 'x';
			}
			try {
				encode(framing, payload);
				return payload;
			}
			catch (IllegalArgumentException ex) {
				// The payload contains the delimiter, or is empty: try again.
				wanted += (wanted == 0) ? 1 : 0;
			}
		}
	}

	@ParameterizedTest
	@MethodSource("framings")
	void everyMessageComesOutOfAPipelineInOrder(Framing framing) {
		List<byte[]> payloads = samples(framing);
		byte[] stream = stream(framing, payloads);
		Decoder decoder = new Decoder(framing);
		decoder.receive(stream, 0, stream.length);
		assertThat(text(decoder.messages)).isEqualTo(text(payloads));
		assertThat(decoder.kept).isEmpty();
	}

	@ParameterizedTest
	@MethodSource("framings")
	void messagesMayComeByteByByte(Framing framing) {
		List<byte[]> payloads = samples(framing);
		byte[] stream = stream(framing, payloads);
		Decoder decoder = new Decoder(framing);
		for (int i = 0; i < stream.length; i++) {
			decoder.receive(stream, i, i + 1);
		}
		assertThat(text(decoder.messages)).isEqualTo(text(payloads));
		assertThat(decoder.kept).isEmpty();
	}

	@ParameterizedTest
	@MethodSource("framings")
	void messagesMayBeSplitAnywhere(Framing framing) {
		List<byte[]> payloads = samples(framing);
		byte[] stream = stream(framing, payloads);
		for (int first = 0; first <= stream.length; first++) {
			for (int second = first; second <= stream.length; second++) {
				Decoder decoder = new Decoder(framing);
				if (first > 0) {
					decoder.receive(stream, 0, first);
				}
				if (second > first) {
					decoder.receive(stream, first, second);
				}
				if (stream.length > second) {
					decoder.receive(stream, second, stream.length);
				}
				assertThat(text(decoder.messages)).as("split at %d and %d", first, second).isEqualTo(text(payloads));
			}
		}
	}

	@ParameterizedTest
	@MethodSource("framings")
	void whatIsEncodedIsDecoded(Framing framing) {
		long seed = System.nanoTime();
		Random random = new Random(seed);
		for (int round = 0; round < 300; round++) {
			List<byte[]> payloads = new ArrayList<>();
			for (int i = 0; i < 5; i++) {
				// Often short ones: they end close to the delimiter, and the check of
				// encode must refuse an ambiguous one.
				payloads.add(payload(framing, random, random.nextInt(random.nextBoolean() ? 6 : 60)));
			}
			byte[] stream = stream(framing, payloads);
			Decoder decoder = new Decoder(framing);
			for (int at = 0; at < stream.length;) {
				int next = Math.min(stream.length, at + 1 + random.nextInt(30));
				decoder.receive(stream, at, next);
				at = next;
			}
			assertThat(text(decoder.messages)).as("%s, seed %d, round %d", framing, seed, round)
				.isEqualTo(text(payloads));
		}
	}

	@ParameterizedTest
	@MethodSource("framings")
	void garbageEitherFailsOrIsConsumedAndNeverLoops(Framing framing) {
		long seed = System.nanoTime();
		Random random = new Random(seed);
		for (int round = 0; round < 300; round++) {
			byte[] garbage = new byte[random.nextInt(400)];
			random.nextBytes(garbage);
			if (garbage.length > 2 && random.nextBoolean()) {
				// Length fields that are small enough to be accepted.
				garbage[0] = 0;
				garbage[1] = 0;
			}
			Framing.Frame frame = new Framing.Frame(0);
			ByteBuffer input = ByteBuffer.wrap(garbage);
			while (input.hasRemaining()) {
				frame.begin(MAX, 0);
				boolean complete;
				try {
					complete = framing.decode(input, frame);
				}
				catch (FramingException ex) {
					break;
				}
				frame.check(complete, input.remaining());
				if (!complete) {
					break;
				}
				input.position(input.position() + frame.frameLength());
			}
		}
	}

	@Test
	void aLineEndsWithALineFeedAndMayHaveACarriageReturnBeforeIt() {
		Decoder decoder = new Decoder(Framing.line());
		byte[] bytes = "a\r\nb\n\r\n\nc\rd\n\r\r\n".getBytes();
		decoder.receive(bytes, 0, bytes.length);
		assertThat(decoder.messages.stream().map(String::new)).containsExactly("a", "b", "", "", "c\rd", "\r");
	}

	/** The carriage return is no part of the message. */
	@Test
	void aLineOfTheMaximumSizeMayHaveACarriageReturn() {
		Framing.Frame frame = new Framing.Frame(5);
		assertThat(Framing.line().decode(ByteBuffer.wrap("12345\r".getBytes()), frame)).isFalse();
		assertThat(frame.isTooLarge()).isFalse();
		assertThat(Framing.line().decode(ByteBuffer.wrap("12345\r\n".getBytes()), frame)).isTrue();
		assertThat(frame.payloadLength()).isEqualTo(5);
		assertThat(Framing.line().maxFrameLength(5)).isEqualTo(7);
	}

	@Test
	void aDelimiterMayBeginWithinItsOwnBeginning() {
		Decoder decoder = new Decoder(Framing.delimiter("aab"));
		byte[] bytes = "aaabxaabaabaaaab".getBytes();
		decoder.receive(bytes, 0, bytes.length);
		assertThat(decoder.messages.stream().map(String::new)).containsExactly("a", "x", "", "aa");
	}

	@ParameterizedTest
	@CsvSource({ "||,a||b", "||,||", "aab,xaaby", "aab,aab", "ab,ab" })
	void aPayloadThatContainsTheDelimiterIsRefused(String delimiter, String payload) {
		assertThatIllegalArgumentException().isThrownBy(() -> encode(Framing.delimiter(delimiter), payload.getBytes()))
			.withMessageContaining("delimiter");
	}

	@Test
	void aLineFeedInALineIsRefusedWithItsPlace() {
		assertThatIllegalArgumentException().isThrownBy(() -> encode(Framing.line(), "ab\nc".getBytes()))
			.withMessageContaining("0x0a")
			.withMessageContaining("offset 2");
	}

	@ParameterizedTest
	@CsvSource({ "aa,a", "aa,xa", "abab,ab", "abab,xab", "aba,xab", "||,x|" })
	void aPayloadWhoseEndMakesADelimiterWithTheDelimiterIsRefused(String delimiter, String payload) {
		assertThatIllegalArgumentException().as("the peer would take %s%s for something else", payload, delimiter)
			.isThrownBy(() -> encode(Framing.delimiter(delimiter), payload.getBytes()));
	}

	@Test
	void anEmptyHeaderBlockEndsWhereItsBlankLineDoes() {
		assertThatIllegalArgumentException()
			.isThrownBy(() -> encode(Framing.delimiter("\r\n\r\n"), "Header: x\r\n".getBytes()));
	}

	@Test
	void lengthFieldsOfAllSizesAreUnsigned() {
		for (int size = 1; size <= 4; size++) {
			Framing framing = Framing.lengthField(size);
			Framing.Frame frame = new Framing.Frame(0);
			byte[] head = new byte[size];
			Arrays.fill(head, (byte) 0xFF);
			frame.begin(1 << 30, 0);
			assertThat(framing.decode(ByteBuffer.wrap(head), frame)).isFalse();
			long declared = (1L << (8 * size)) - 1;
			assertThat(frame.payloadLength()).isEqualTo((int) Math.min(Integer.MAX_VALUE, declared));
		}
	}

	@Test
	void aLengthFieldIsWrittenInItsOrder() {
		byte[] payload = new byte[0x0102];
		assertThat(encode(Framing.lengthField(2), payload)).startsWith(1, 2);
		assertThat(encode(Framing.lengthField(2).order(ByteOrder.LITTLE_ENDIAN), payload)).startsWith(2, 1);
		assertThat(encode(Framing.lengthField(3), payload)).startsWith(0, 1, 2);
		assertThat(encode(Framing.lengthField(4).order(ByteOrder.LITTLE_ENDIAN), payload)).startsWith(2, 1, 0, 0);
	}

	@Test
	void theHeaderBeforeALengthFieldIsPartOfThePayload() {
		Framing framing = Framing.lengthField(2).offset(3);
		byte[] frame = encode(framing, "HDRbody".getBytes());
		assertThat(hex.formatHex(frame)).isEqualTo(hex.formatHex("HDR\0\4body".getBytes()));
		Decoder decoder = new Decoder(framing);
		decoder.receive(frame, 0, frame.length);
		assertThat(new String(decoder.messages.get(0))).isEqualTo("HDRbody");
	}

	@Test
	void anInclusiveLengthCountsHeaderAndField() {
		assertThat(encode(Framing.lengthField(2).inclusive(true), "body".getBytes())).startsWith(0, 6);
		assertThat(encode(Framing.lengthField(2).inclusive(true).offset(1), "Hbody".getBytes())).startsWith('H', 0, 7);
	}

	@Test
	void aDecimalLengthHasLeadingZeros() {
		assertThat(encode(Framing.decimalLength(4), "body".getBytes())).isEqualTo("0004body".getBytes());
		assertThat(encode(Framing.decimalLength(4).inclusive(true), "body".getBytes()))
			.isEqualTo("0008body".getBytes());
		assertThat(encode(Framing.decimalLength(3), new byte[999])).hasSize(1002);
		assertThatIllegalArgumentException().isThrownBy(() -> encode(Framing.decimalLength(3), new byte[1000]))
			.withMessage("A body of 1000 bytes needs the length 1000, which does not fit into a field of 3 digits");
	}

	@ParameterizedTest
	@ValueSource(strings = { "00x4body", "-001body", " 123", "    ", "12:4" })
	void aDecimalLengthOfOtherCharactersIsMalformed(String input) {
		assertThatExceptionOfType(FramingException.class)
			.isThrownBy(
					() -> Framing.decimalLength(4).decode(ByteBuffer.wrap(input.getBytes()), new Framing.Frame(MAX)))
			.withMessage("The length field has 4 bytes, which must all be decimal digits");
	}

	@Test
	void anAdjustmentIsAddedToTheFieldWhenReading() {
		assertThat(encode(Framing.lengthField(1).adjustment(-2), "body".getBytes())).startsWith(6);
		assertThat(encode(Framing.lengthField(1).adjustment(1), "body".getBytes())).startsWith(3);
	}

	@Test
	void aLengthThatMakesANegativeBodyIsMalformed() {
		Framing.Frame frame = new Framing.Frame(0);
		frame.begin(MAX, 0);
		assertThatExceptionOfType(FramingException.class).isThrownBy(
				() -> Framing.lengthField(2).inclusive(true).decode(ByteBuffer.wrap(new byte[] { 0, 1 }), frame));
		assertThatExceptionOfType(FramingException.class)
			.isThrownBy(() -> Framing.lengthField(1).adjustment(-5).decode(ByteBuffer.wrap(new byte[] { 4 }), frame));
	}

	@Test
	void aPayloadThatItsLengthFieldCannotExpressIsRefused() {
		assertThat(encode(Framing.lengthField(1), new byte[255])).hasSize(256);
		assertThatIllegalArgumentException().isThrownBy(() -> encode(Framing.lengthField(1), new byte[256]))
			.withMessageContaining("256");
		assertThatIllegalArgumentException()
			.isThrownBy(() -> encode(Framing.lengthField(1).inclusive(true), new byte[255]));
		assertThatIllegalArgumentException()
			.isThrownBy(() -> encode(Framing.lengthField(1).adjustment(5), new byte[4]));
		assertThatIllegalArgumentException().isThrownBy(() -> encode(Framing.lengthField(1).offset(5), new byte[4]));
	}

	@Test
	void aFixedLengthRefusesAnyOther() {
		assertThatIllegalArgumentException().isThrownBy(() -> encode(Framing.fixedLength(4), new byte[3]))
			.withMessageContaining("exactly 4");
		assertThatIllegalArgumentException().isThrownBy(() -> encode(Framing.fixedLength(4), new byte[5]));
	}

	@Test
	void rawTakesWhatIsThereUpToTheMaximum() {
		Framing.Frame frame = new Framing.Frame(0);
		frame.begin(10, 0);
		assertThat(Framing.raw().decode(ByteBuffer.wrap(new byte[25]), frame)).isTrue();
		assertThat(frame.frameLength()).isEqualTo(10);
		assertThat(frame.payloadLength()).isEqualTo(10);
	}

	@Test
	void aFrameForgetsThePreviousMessage() {
		Framing.Frame frame = new Framing.Frame(0);
		frame.begin(MAX, 0);
		frame.incomplete(0, Integer.MAX_VALUE);
		frame.begin(MAX, 0);
		// A framing without a check accepts everything.
		frame.check(false, 1);
		assertThat(frame.payloadLength()).as("what another connection was told to be too large").isZero();
	}

	@Test
	void aFrameOutsideOfItsInputIsRefused() {
		Framing.Frame frame = new Framing.Frame(0);
		int[][] nonsense = { { 0, 0, 0 }, { 0, 1, 11 }, { -1, 1, 5 }, { 0, -1, 5 }, { 5, 1, 5 }, { 0, 6, 5 },
				{ Integer.MAX_VALUE, 1, 5 }, { 1, Integer.MAX_VALUE, 5 }, { 0, 0, -1 }, { 0, 0, Integer.MIN_VALUE },
				{ Integer.MIN_VALUE, Integer.MAX_VALUE, 5 } };
		for (int[] wrong : nonsense) {
			frame.begin(MAX, 0);
			boolean complete = frame.complete(wrong[0], wrong[1], wrong[2]);
			assertThatIllegalStateException().as(Arrays.toString(wrong)).isThrownBy(() -> frame.check(complete, 10));
		}
		for (int scanned : new int[] { -1, 11, Integer.MIN_VALUE, Integer.MAX_VALUE }) {
			frame.begin(MAX, 0);
			boolean complete = frame.incomplete(scanned);
			assertThatIllegalStateException().isThrownBy(() -> frame.check(complete, 10));
		}
		frame.begin(MAX, 0);
		boolean complete = frame.incomplete(0, -1L);
		assertThatIllegalStateException().isThrownBy(() -> frame.check(complete, 10));
	}

	@Test
	void aDeclaredLengthBeyondAnIntIsNotTakenForASmallOne() {
		Framing.Frame frame = new Framing.Frame(0);
		for (long declared : new long[] { 1L << 31, 1L << 32, (1L << 32) + 5, Long.MAX_VALUE }) {
			frame.begin(MAX, 0);
			frame.incomplete(0, declared);
			assertThat(frame.payloadLength()).isEqualTo(Integer.MAX_VALUE);
		}
		for (long declared : new long[] { -(1L << 31) - 1, -(1L << 32), -(1L << 32) + 5, Long.MIN_VALUE }) {
			frame.begin(MAX, 0);
			boolean complete = frame.incomplete(0, declared);
			assertThatIllegalStateException().as("%d", declared).isThrownBy(() -> frame.check(complete, 10));
		}
	}

	@ParameterizedTest
	@ValueSource(ints = { -1, 0, 5, 100 })
	void aLengthFieldHasOneToFourBytes(int bytes) {
		assertThatIllegalArgumentException().isThrownBy(() -> Framing.lengthField(bytes))
			.withMessage("'lengthFieldBytes' must be 1, 2, 3 or 4, but is " + bytes);
	}

	static Stream<Arguments> descriptions() {
		return Stream.of(Arguments.of(Framing.line(), "line"), Arguments.of(Framing.raw(), "raw"),
				Arguments.of(Framing.delimiter("||"), "delimiter(0x7c7c)"),
				Arguments.of(Framing.fixedLength(8), "fixed-length(8)"),
				Arguments.of(
						Framing.lengthField(2).offset(1).adjustment(-3).inclusive(true).order(ByteOrder.LITTLE_ENDIAN),
						"length-field(2, offset 1, adjustment -3, inclusive, little-endian)"),
				Arguments.of(Framing.decimalLength(4).inclusive(true), "decimal-length(4, inclusive)"),
				Arguments.of(EnclosedFramingTests.MLLP, "enclosed(0x0b, 0x1c0d)"),
				Arguments.of(EnclosedFramingTests.JT808, "enclosed(0x7e, 0x7e, escapes)"),
				Arguments.of(Framing.resp(), "resp"));
	}

	@ParameterizedTest
	@MethodSource("descriptions")
	void framingsDescribeThemselves(Framing framing, String description) {
		assertThat(framing).hasToString(description);
	}

	@Test
	void impossibleFramingsAreRefused() {
		assertThatIllegalArgumentException().isThrownBy(() -> Framing.delimiter(""));
		assertThatIllegalArgumentException().isThrownBy(() -> Framing.fixedLength(0));
		assertThatIllegalArgumentException().isThrownBy(() -> Framing.decimalLength(0));
		assertThatIllegalArgumentException().isThrownBy(() -> Framing.decimalLength(10));
		assertThatIllegalArgumentException().isThrownBy(() -> Framing.lengthField(2).offset(-1));
		assertThatIllegalArgumentException().isThrownBy(() -> Framing.lengthField(2).offset(1025));
		assertThatIllegalArgumentException().isThrownBy(() -> Framing.lengthField(2).adjustment(65537));
		assertThatIllegalArgumentException().isThrownBy(() -> Framing.lengthField(2).adjustment(Integer.MIN_VALUE));
	}

	@Test
	void aDelimiterIsCopied() {
		byte[] delimiter = { '|' };
		Framing framing = Framing.delimiter(delimiter);
		delimiter[0] = 'x';
		assertThat(encode(framing, "ab".getBytes())).isEqualTo("ab|".getBytes());
	}

	/** A framing of the application would make the connection never advance. */
	@ParameterizedTest
	@CsvSource({ "0, 0, -1", "0, 11, -1", "0, -1, 20", "-1, 5, 20", "11, 5, 20", "0, 5, -3" })
	void reportOfAMessageThatIsTooLargeMustMakeSense(int payloadOffset, int scanned, long frameLength) {
		Framing.Frame frame = new Framing.Frame(MAX);
		assertThat(frame.tooLarge(0, 10, Framing.Frame.UNKNOWN)).isFalse();
		frame.check(false, 10);
		assertThat(frame.tooLarge(payloadOffset, scanned, frameLength)).isFalse();
		assertThatIllegalStateException().isThrownBy(() -> frame.check(false, 10)).withMessageContaining("too large");
	}

}
