package org.leaderfollowers.spring.autoconfigure;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

/**
 * Tests for {@link Delimiter}.
 */
class DelimiterTests {

	@Test
	void textIsItself() {
		assertThat(Delimiter.parse("END")).asString().isEqualTo("END");
		assertThat(Delimiter.parse("§")).containsExactly(0xC2, 0xA7);
		assertThat(Delimiter.parse("\r\n")).containsExactly('\r', '\n');
	}

	@Test
	void escapesAreResolved() {
		assertThat(Delimiter.parse("\\r\\n\\t\\0\\\\")).containsExactly('\r', '\n', '\t', 0, '\\');
		assertThat(Delimiter.parse("a\\" + "u0003b")).containsExactly('a', 3, 'b');
	}

	@Test
	void hexadecimalDigitsAreBytes() {
		assertThat(Delimiter.parse("0x0d0AfF")).containsExactly(0x0D, 0x0A, 0xFF);
	}

	@Test
	void nothingIsRejected() {
		assertRejected("", "Must not be empty");
	}

	@ParameterizedTest
	@ValueSource(strings = { "0x", "0x1", "0xzz" })
	void incompleteBytesAreRejected(String value) {
		assertRejected(value, "Must have two hexadecimal digits for each byte after '0x'");
	}

	@ParameterizedTest
	@ValueSource(strings = { "\\", "\\x" })
	void unknownEscapesAreRejected(String value) {
		assertRejected(value, "A backslash must be followed by 'r', 'n', 't', '0', another backslash, "
				+ "or 'u' and four hexadecimal digits");
	}

	@ParameterizedTest
	@ValueSource(strings = { "\\" + "u12", "\\" + "u12g4" })
	void incompleteCharactersAreRejected(String value) {
		assertRejected(value, "'\\u' must be followed by four hexadecimal digits");
	}

	private static void assertRejected(String value, String message) {
		assertThatIllegalArgumentException().isThrownBy(() -> Delimiter.parse(value)).withMessage(message);
	}

}
