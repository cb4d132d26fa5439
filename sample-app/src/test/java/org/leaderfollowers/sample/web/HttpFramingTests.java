package org.leaderfollowers.sample.web;

import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;
import org.leaderfollowers.Framing;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

/**
 * Tests for {@link HttpFraming}.
 */
class HttpFramingTests {

	private static final int LIMIT = 256;

	private static final String GET = "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n";

	private final HttpFraming framing = new HttpFraming();

	private final Framing.Frame frame = new Framing.Frame(LIMIT);

	@ParameterizedTest
	@CsvSource({ "GET / HTTP/1.1~Host: a~~,                          27, 27",
			"GET / HTTP/1.1~Host: a~~GET / HTTP/1.1~,              27, 27",
			"GET / HTTP/1.0~~,                                     18, 18",
			"POST / HTTP/1.1~Host: a~Content-Length: 3~~xyzGET,    47, 50",
			"POST / HTTP/1.1~Host: a~Content-Length: 3~~~~~,       47, 50" })
	void findsRequestHoweverItArrives(String input, int head, int length) {
		byte[] bytes = input.replace("~", "\r\n").getBytes(StandardCharsets.ISO_8859_1);
		for (int available = 1; available < length; available++) {
			assertThat(decode(bytes, available)).isFalse();
		}
		assertThat(decode(bytes, bytes.length)).isTrue();
		assertThat(this.frame.payloadOffset()).isZero();
		assertThat(this.frame.payloadLength()).isEqualTo(head);
		assertThat(this.frame.frameLength()).isEqualTo(length);
	}

	@Test
	void ignoresEmptyLinesBeforeRequest() {
		assertThat(decode("\r\n\r\n" + GET)).isTrue();
		assertThat(this.frame.payloadOffset()).isEqualTo(4);
		assertThat(this.frame.payloadLength()).isEqualTo(GET.length());
		assertThat(this.frame.frameLength()).isEqualTo(4 + GET.length());
	}

	@Test
	void acceptsLargestRequestAndRefusesLarger() {
		String start = "GET / HTTP/1.1\r\nHost: localhost\r\nX: ";
		assertThat(decode(start + "x".repeat(LIMIT - start.length() - 4) + "\r\n\r\n")).isTrue();
		assertRefused(start + "x".repeat(LIMIT - start.length()), HttpStatus.HEADER_FIELDS_TOO_LARGE);
		assertRefused("\r\n".repeat(LIMIT / 2), HttpStatus.HEADER_FIELDS_TOO_LARGE);
	}

	@ParameterizedTest
	@ValueSource(strings = { "250", "2147483647", "4294967296", "999999999999999999", "99999999999999999999999" })
	void refusesBodyThatIsTooLarge(String length) {
		assertRefused("GET / HTTP/1.0\r\nContent-Length: " + length + "\r\n\r\n", HttpStatus.CONTENT_TOO_LARGE);
	}

	/** Fuzzing found that these were refused for other reasons if they came at once. */
	@ParameterizedTest
	@ValueSource(strings = { "\n", "\r\n\r\n" })
	void looksForNoEndOfTheHeadBehindTheMaximumSize(String end) {
		assertRefused("GET / HTTP/1.0\r\nA: " + "a".repeat(250) + end, HttpStatus.HEADER_FIELDS_TOO_LARGE);
	}

	@ParameterizedTest
	@ValueSource(strings = { "\n", "GET / HTTP/1.0\n", "GET / HTTP/1.0\r\nHost: a\n", "GET / HTTP/1.0\r\n\n" })
	void refusesLineFeedAlone(String input) {
		assertRefused(input, HttpStatus.BAD_REQUEST);
	}

	@Test
	void refusesBodyWithoutLength() {
		assertRefused("GET / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n", HttpStatus.LENGTH_REQUIRED);
	}

	@Test
	void sendsResponsesAsTheyAre() {
		ByteBuffer output = ByteBuffer.allocate(this.framing.maxFrameLength(3));
		this.framing.encode(ByteBuffer.wrap(new byte[] { 1, 2, 3 }), output);
		assertThat(output.array()).containsExactly(1, 2, 3);
	}

	private void assertRefused(String input, HttpStatus status) {
		assertThatExceptionOfType(HttpException.class).isThrownBy(() -> decode(input))
			.satisfies((ex) -> assertThat(ex.status()).isEqualTo(status));
	}

	private boolean decode(String input) {
		byte[] bytes = input.getBytes(StandardCharsets.ISO_8859_1);
		return decode(bytes, bytes.length);
	}

	/** At an offset, as in a buffer of the engine. */
	private boolean decode(byte[] bytes, int available) {
		ByteBuffer input = ByteBuffer.allocate(available + 7).position(7).put(bytes, 0, available).position(7);
		boolean complete = this.framing.decode(input, this.frame);
		assertThat(input.position()).isEqualTo(7);
		return complete;
	}

}
