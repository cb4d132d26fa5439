package org.leaderfollowers.internal.logging;

import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

import static org.assertj.core.api.Assertions.assertThat;

class PrintableTests {

	/**
	 * Line ends of Unicode, an eight-bit escape sequence, and a character that reverses
	 * the following text.
	 */
	@ParameterizedTest
	@ValueSource(strings = { "\n", "\r", "\u001b", "\u007f", "\u0085", "\u009b", "\u2028", "\u2029", "\u202e" })
	void whatHarmsALogIsReplaced(String harmful) {
		assertThat(RateLimit.printable("before" + harmful + "behind")).isEqualTo("before?behind");
	}

	@ParameterizedTest
	@ValueSource(strings = { "plain", "Größe", "日本" })
	void textIsLeftAsItIs(String text) {
		assertThat(RateLimit.printable(text)).isEqualTo(text);
	}

}
