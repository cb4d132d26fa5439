package org.leaderfollowers.spring.internal;

import java.io.IOException;
import java.io.PrintWriter;
import java.io.StringWriter;

import org.junit.jupiter.api.Test;

import static org.assertj.core.api.Assertions.assertThat;

class PrintableTests {

	@Test
	void anExceptionThatQuotesAClientIsPrintable() {
		Exception cause = new NumberFormatException("For input string: \"1\nERROR forged\"");
		IllegalStateException failure = new IllegalStateException("wrong", cause);
		failure.addSuppressed(new IOException("\u001b[2J"));
		// Circular causes must not be followed for ever.
		cause.addSuppressed(failure);
		Throwable printable = Printable.of(failure);
		StringWriter text = new StringWriter();
		printable.printStackTrace(new PrintWriter(text));
		assertThat(text.toString()).startsWith("java.lang.IllegalStateException: wrong")
			.contains("Caused by: java.lang.NumberFormatException: For input string: \"1?ERROR forged\"")
			.contains("Suppressed: java.io.IOException: ?[2J")
			.doesNotContain("\nERROR", "\u001b");
		assertThat(printable.getStackTrace()).isEqualTo(failure.getStackTrace());
	}

	@Test
	void anExceptionThatIsPrintableIsLoggedItself() {
		Exception failure = new IllegalStateException("plain", new IOException());
		assertThat(Printable.of(failure)).isSameAs(failure);
	}

}
