package org.leaderfollowers.internal.logging;

import java.io.IOException;
import java.io.PrintWriter;
import java.io.StringWriter;

import org.junit.jupiter.api.Test;
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

	@Test
	void anExceptionThatQuotesAPeerIsPrintable() {
		Exception cause = new NumberFormatException("For input string: \"1\nERROR forged\"");
		IllegalStateException failure = new IllegalStateException("wrong", cause);
		failure.addSuppressed(new IOException("\u001b[2J"));
		// Circular causes must not be followed for ever.
		cause.addSuppressed(failure);
		Throwable printable = PrintableFailure.of(failure);
		StringWriter text = new StringWriter();
		printable.printStackTrace(new PrintWriter(text));
		assertThat(text.toString()).startsWith("java.lang.IllegalStateException: wrong")
			.contains("Caused by: java.lang.NumberFormatException: For input string: \"1?ERROR forged\"")
			.contains("Suppressed: java.io.IOException: ?[2J")
			.doesNotContain("\nERROR", "\u001b");
		assertThat(printable.getStackTrace()).isEqualTo(failure.getStackTrace());
	}

	@Test
	void anExceptionWhoseMethodsFailIsNamed() {
		Exception failure = new IllegalStateException("plain", new Exception() {
			@Override
			public String getMessage() {
				throw new UnsupportedOperationException();
			}
		});
		assertThat(PrintableFailure.of(failure)).hasToString(
				"java.lang.IllegalStateException, which cannot be described (java.lang.UnsupportedOperationException)");
	}

	@Test
	void anExceptionWithCausesWithoutAnEndIsNamed() {
		Exception endless = endless();
		assertThat(PrintableFailure.of(endless)).asString()
			.startsWith(endless.getClass().getName() + ", which cannot be described (");
	}

	private static Exception endless() {
		return new Exception() {
			@Override
			public Throwable getCause() {
				return endless();
			}
		};
	}

	@Test
	void anExceptionThatIsPrintableIsLoggedItself() {
		Exception failure = new IllegalStateException("plain", new IOException());
		assertThat(PrintableFailure.of(failure)).isSameAs(failure);
		assertThat(PrintableFailure.of(null)).isNull();
	}

}
