package org.leaderfollowers;

import java.io.IOException;

import javax.net.ssl.SSLException;

import org.junit.jupiter.api.Test;

import static org.assertj.core.api.Assertions.assertThat;

/** How failures are described that end a connection before it is established. */
class ServerWarningsTests {

	/** It may be one of the application. */
	private static final class Indescribable extends IOException {

		private static final long serialVersionUID = 1L;

		@Override
		public String getMessage() {
			throw new IllegalStateException("made for the test");
		}

	}

	@Test
	void aFailureIsDescribedWithItsCause() {
		Throwable cause = new NoClassDefFoundError("a/Library");
		assertThat(ServerWarnings.describe(new SSLException("A task of TLS failed", cause)))
			.isEqualTo("SSLException: A task of TLS failed (caused by NoClassDefFoundError: a/Library)");
	}

	@Test
	void aCauseThatTheFailureNamesIsNotRepeated() {
		Throwable cause = new IOException("expired");
		assertThat(ServerWarnings.describe(new SSLException("validation failed: expired", cause)))
			.isEqualTo("SSLException: validation failed: expired");
		assertThat(ServerWarnings.describe(new SSLException(cause))).isEqualTo("SSLException: " + cause);
	}

	@Test
	void aCauseWithoutAMessageIsNamedByItsClass() {
		assertThat(ServerWarnings.describe(new SSLException("A task of TLS failed", new StackOverflowError())))
			.isEqualTo("SSLException: A task of TLS failed (caused by StackOverflowError)");
	}

	@Test
	void aFailureThatCannotBeDescribedIsNamedByItsClass() {
		assertThat(ServerWarnings.describe(new Indescribable())).isEqualTo("Indescribable");
		assertThat(ServerWarnings.describe(new SSLException("TLS failed", new Indescribable())))
			.isEqualTo("SSLException");
	}

}
