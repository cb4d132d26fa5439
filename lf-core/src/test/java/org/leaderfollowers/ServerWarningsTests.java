package org.leaderfollowers;

import java.io.IOException;
import java.net.InetAddress;

import javax.net.ssl.SSLException;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;

import static org.assertj.core.api.Assertions.assertThat;

/** Warnings of a server, and how failures are described that end a connection early. */
class ServerWarningsTests {

	@RegisterExtension
	final Engine engine = new Engine();

	/** It may be one of the application. */
	private static final class Indescribable extends IOException {

		private static final long serialVersionUID = 1L;

		@Override
		public String getMessage() {
			throw new IllegalStateException("made for the test");
		}

	}

	/** A flood of one kind must not hide the others. */
	@Test
	void eachKindOfWarningHasItsOwnLimit() throws IOException {
		ServerWarnings warnings = new ServerWarnings("server", "handler", "pool");
		for (int i = 0; i < 2; i++) {
			warnings.tooManyConnections(1);
			warnings.untrusted(InetAddress.getByName("192.0.2.1"), TrustedNetworks.none());
			warnings.guardFailed(new IllegalStateException("made for the test"));
			warnings.truncated(1);
			warnings.tooManyInFlight(1);
			warnings.noRoomForReply();
			warnings.tooManyReplies(1);
		}
		assertThat(this.engine.log()).hasSize(7)
			.satisfiesExactly((line) -> assertThat(line).contains("which is the maximum number of connections"),
					(line) -> assertThat(line).contains("rejected a connection from 192.0.2.1"),
					(line) -> assertThat(line).contains("its guard failed"),
					(line) -> assertThat(line).contains("larger than the maximum message size"),
					(line) -> assertThat(line).contains("reads no datagrams at the moment"),
					(line) -> assertThat(line).contains("the send buffer of the system was full"),
					(line) -> assertThat(line).contains("drops replies to a sender"));
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
		assertThat(ServerWarnings.describe(new SSLException("A task of TLS failed", new IOException(""))))
			.isEqualTo("SSLException: A task of TLS failed (caused by IOException: )");
	}

	@Test
	void aFailureThatCannotBeDescribedIsNamedByItsClass() {
		assertThat(ServerWarnings.describe(new Indescribable())).isEqualTo("Indescribable");
		assertThat(ServerWarnings.describe(new SSLException("TLS failed", new Indescribable())))
			.isEqualTo("SSLException");
	}

}
