package org.leaderfollowers.spring.test.client;

import java.nio.BufferOverflowException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;

import javax.net.ssl.SSLContext;
import javax.net.ssl.SSLSession;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;
import org.leaderfollowers.CloseReason;
import org.leaderfollowers.Connection;
import org.leaderfollowers.ConnectionClosedException;
import org.leaderfollowers.EventType;
import org.leaderfollowers.Framing;
import org.leaderfollowers.MessageHandler;
import org.leaderfollowers.OwedReply;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;

/**
 * Tests for {@link InMemoryConnection}: its names, its end and its owed replies.
 */
@Timeout(120)
class InMemoryConnectionTests {

	private final List<String> calls = new ArrayList<>();

	@Test
	void connectionHasAName() {
		try (InMemoryTestClient client = open((connection, text) -> {
		})) {
			Connection connection = client.connection();
			assertThat(connection.name("meter")).isNull();
			assertThat(connection.name()).isEqualTo("meter");
			assertThat(connection.unname("other")).isFalse();
			assertThat(connection.name()).isEqualTo("meter");
			assertThat(connection.unname("meter")).isTrue();
			assertThat(connection.name()).isNull();
			assertThatIllegalArgumentException().isThrownBy(() -> connection.name(" "));
		}
	}

	@Test
	void connectionIsWhatTheBuilderSays() throws Exception {
		SSLSession session = SSLContext.getDefault().createSSLEngine().getSession();
		try (InMemoryTestClient client = LfTestClient.inMemory(new Recorder((connection, text) -> {
		})).sslSession(session).open(); InMemoryTestClient other = open((connection, text) -> {
		})) {
			assertThat(client.connection().sslSession()).isSameAs(session);
			assertThat(client.connection().transportAddress()).isEqualTo(client.connection().remoteAddress());
			assertThat(client.connection().id()).isNotEqualTo(other.connection().id());
		}
	}

	@Test
	void invalidArgumentsAreRejectedAsInAServer() {
		try (InMemoryTestClient client = open((connection, text) -> {
		})) {
			Connection connection = client.connection();
			assertThatIllegalArgumentException().isThrownBy(() -> connection.close(Duration.ofNanos(-1)));
			assertThatIllegalArgumentException()
				.isThrownBy(() -> connection.idleAfter(EventType.ACCEPT, Duration.ofSeconds(1)));
			assertThatIllegalArgumentException()
				.isThrownBy(() -> connection.idleAfter(EventType.READ, Duration.ofNanos(-1)));
			assertThatIllegalArgumentException().isThrownBy(() -> connection.close(CloseReason.IDLE_TIMEOUT));
			assertThat(connection.isOpen()).isTrue();
		}
		InMemoryTestClient.Builder builder = LfTestClient.inMemory(Connection::send);
		assertThatIllegalArgumentException().isThrownBy(() -> builder.maxMessageSize(0));
		assertThatIllegalArgumentException().isThrownBy(() -> builder.maxOutboundSize(0));
		assertThatIllegalArgumentException().isThrownBy(() -> builder.timeout(Duration.ZERO));
	}

	@ParameterizedTest
	@EnumSource(names = { "LOCAL", "TAKEN_OVER", "CLIENT_LIMIT" })
	void applicationMayCloseForTheseReasons(CloseReason reason) {
		InMemoryTestClient client = open((connection, text) -> connection.close(reason));
		CompletableFuture<CloseReason> ended = client.connection().whenClosed();
		// Nobody else is told.
		client.connection().whenClosed().complete(CloseReason.IO_ERROR);
		assertThat(ended).isNotDone();
		client.send("a");
		assertThat(ended).isCompletedWithValue(reason);
		assertThat(client.closeReason()).isEqualTo(reason);
	}

	@ParameterizedTest
	@EnumSource(mode = EnumSource.Mode.EXCLUDE, names = { "LOCAL", "TAKEN_OVER", "CLIENT_LIMIT" })
	void otherReasonsAreThoseOfTheEngine(CloseReason reason) {
		InMemoryTestClient client = open((connection, text) -> {
		});
		assertThatIllegalArgumentException().isThrownBy(() -> client.connection().close(reason))
			.withMessageContaining(reason.name());
		assertThat(client.connection().isOpen()).isTrue();
	}

	@Test
	void messageThatFailedIsReportedWithTheFailure() {
		InMemoryTestClient client = open((connection, text) -> {
			throw new IllegalStateException("broken");
		});
		client.send("a");
		assertThat(this.calls).containsExactly("open", "a", "error broken of a", "close HANDLER_ERROR");
	}

	@Test
	void failureOfAnotherCallIsReportedWithoutAMessage() {
		InMemoryTestClient client = open((connection, text) -> {
		});
		client.send("a");
		client.simulateIdle(EventType.READ);
		assertThat(this.calls).containsExactly("open", "a", "error idle", "close HANDLER_ERROR");
	}

	@Test
	void firstFailureIsReportedAndTheMessageIsNotItsCause() {
		InMemoryTestClient client = open((connection, text) -> {
			connection.fail(new IllegalStateException("first"));
			throw new IllegalStateException("second");
		});
		client.send("a");
		assertThat(this.calls).containsExactly("open", "a", "error first", "close HANDLER_ERROR");
	}

	@Test
	void failureOfAnotherThreadClosesTheConnectionAtOnce() {
		InMemoryTestClient client = open((connection, text) -> {
		});
		client.connection().fail(new IllegalStateException("elsewhere"));
		assertThat(this.calls).containsExactly("open", "error elsewhere", "close HANDLER_ERROR");
	}

	@Test
	void framingThatFailsClosesTheConnection() {
		InMemoryTestClient client = framed((input, frame) -> {
			throw new IllegalStateException("no framing");
		});
		client.sendRaw("a");
		assertThat(this.calls).containsExactly("open", "error no framing", "close MALFORMED");
	}

	@Test
	void framingCannotFindMoreThanHasArrived() {
		InMemoryTestClient client = framed((input, frame) -> frame.incomplete(input.remaining() + 1));
		client.sendRaw("a");
		assertThat(client.closeReason()).isEqualTo(CloseReason.MALFORMED);
	}

	@Test
	void inputBeginsAtAnyIndex() {
		InMemoryTestClient client = framed((input, frame) -> {
			assertThat(input.position()).isPositive();
			return frame.complete(0, 1, 1);
		});
		client.sendRaw("ab");
		assertThat(this.calls).containsExactly("open", "a", "b");
	}

	@Test
	void messageWithoutAnEndIsTooLargeAtTheLimitOfTheFraming() {
		int limit = Framing.line().maxFrameLength(10);
		InMemoryTestClient client = LfTestClient.inMemory(new Recorder((connection, text) -> {
		})).framing(new TestFraming((input, frame) -> frame.incomplete(input.remaining()))).maxMessageSize(10).open();
		client.sendRaw("x".repeat(limit - 1));
		assertThat(client.closeReason()).isNull();
		client.sendRaw("x");
		assertThat(client.closeReason()).isEqualTo(CloseReason.MESSAGE_TOO_LARGE);
	}

	@Test
	void frameThatIsLongerThanItsFramingSaysIsRejected() {
		Framing framing = new TestFraming((input, frame) -> frame.incomplete(input.remaining()), 2);
		try (InMemoryTestClient client = LfTestClient.inMemory(new Recorder((connection, text) -> {
		})).framing(framing).open()) {
			assertThatExceptionOfType(BufferOverflowException.class)
				.isThrownBy(() -> client.connection().send(ByteBuffer.allocate(1)));
		}
	}

	@Test
	void refusedMessageLosesNoReplyThatWaits() {
		List<ConnectionClosedException> refusals = new ArrayList<>();
		InMemoryTestClient client = open((connection, text) -> {
			send(connection, "last");
			connection.close();
			try {
				send(connection, "too late");
			}
			catch (ConnectionClosedException ex) {
				refusals.add(ex);
				throw ex;
			}
		});
		client.stopReading();
		client.send("a");
		client.connection().fail(refusals.get(0));
		assertThat(client.closeReason()).isNull();
		client.startReading();
		assertThat(client).receives("last").isClosedByServer();
		assertThat(client.closeReason()).isEqualTo(CloseReason.LOCAL);
		assertThat(client.failures()).isEmpty();
	}

	@Test
	void refusalWithinTheLastCallIsNoFailure() {
		InMemoryTestClient client = LfTestClient.inMemory(new MessageHandler() {

			@Override
			public void onMessage(Connection connection, ByteBuffer message) {
			}

			@Override
			public void onError(Connection connection, Throwable failure) {
			}

			@Override
			public void onClose(Connection connection, CloseReason reason) {
				send(connection, "too late");
			}

		}).open();
		IllegalStateException failure = new IllegalStateException("broken");
		client.connection().fail(failure);
		assertThat(client).isClosedByServer();
		assertThat(client.failures()).containsExactly(failure);
	}

	@Test
	void repliesThatWaitAreLostIfTheConnectionBreaks() {
		InMemoryTestClient client = open((connection, text) -> {
			send(connection, text);
			connection.close();
		});
		client.stopReading();
		client.send("lost");
		assertThat(client.closeReason()).isNull();
		client.reset();
		assertThat(client.closeReason()).isEqualTo(CloseReason.IO_ERROR);
		client.startReading();
		assertThat(client).isClosedByServer();
	}

	@Test
	void clientThatDoesNotReadBreaksTheConnectionWhenItIsClosed() {
		InMemoryTestClient client = open(InMemoryConnectionTests::send);
		client.stopReading();
		client.send("lost");
		client.close();
		assertThat(this.calls).containsExactly("open", "lost", "error Connection reset", "close IO_ERROR");
	}

	@ParameterizedTest
	@CsvSource({ "IO_ERROR, LOCAL", "SHUTDOWN_TIMEOUT, SHUTDOWN_TIMEOUT" })
	void closeWithoutRepliesThatWaitKeepsItsReasonUnlessTheTimeIsOver(CloseReason later, CloseReason reason) {
		List<InMemoryTestClient> self = new ArrayList<>();
		InMemoryTestClient client = open((connection, text) -> {
			connection.close();
			self.get(0).simulateClose(later);
		});
		self.add(client);
		client.send("a");
		assertThat(this.calls).containsExactly("open", "a", "close " + reason);
	}

	@Test
	void owedReplyIsClosedOnce() {
		List<OwedReply> owed = new ArrayList<>();
		InMemoryTestClient client = open((connection, text) -> owed.add(connection.owe()));
		client.send("first");
		owed.get(0).close();
		owed.get(0).close();
		assertThatIllegalStateException().isThrownBy(() -> owed.get(0).send(ByteBuffer.allocate(1)));
		owed.get(0).fail(new IllegalStateException("too late"));
		client.send("second");
		client.simulateDrain();
		assertThat(client.closeReason()).isNull();
		owed.get(1).close();
		assertThat(client.closeReason()).isEqualTo(CloseReason.SHUTDOWN);
		assertThat(client.failures()).isEmpty();
	}

	@Test
	void owedReplyThatFailsClosesTheConnection() {
		List<OwedReply> owed = new ArrayList<>();
		InMemoryTestClient client = open((connection, text) -> owed.add(connection.owe()));
		client.send("a");
		owed.get(0).fail(new IllegalStateException("broken"));
		assertThat(this.calls).containsExactly("open", "a", "error broken", "close HANDLER_ERROR");
		assertThatIllegalStateException().isThrownBy(() -> owed.get(0).run(() -> {
		}));
	}

	private InMemoryTestClient open(MessageAction action) {
		return LfTestClient.inMemory(new Recorder(action)).open();
	}

	private InMemoryTestClient framed(Decoding decoding) {
		return LfTestClient.inMemory(new Recorder((connection, text) -> {
		})).framing(new TestFraming(decoding)).open();
	}

	private static void send(Connection connection, String text) {
		connection.send(StandardCharsets.UTF_8.encode(text));
	}

	@FunctionalInterface
	private interface MessageAction {

		void run(Connection connection, String text) throws Exception;

	}

	private final class Recorder implements MessageHandler {

		private final MessageAction action;

		private Recorder(MessageAction action) {
			this.action = action;
		}

		@Override
		public void onOpen(Connection connection) {
			InMemoryConnectionTests.this.calls.add("open");
		}

		@Override
		public void onMessage(Connection connection, ByteBuffer message) throws Exception {
			String text = StandardCharsets.UTF_8.decode(message).toString();
			InMemoryConnectionTests.this.calls.add(text);
			this.action.run(connection, text);
		}

		@Override
		public void onIdle(Connection connection, EventType type) {
			throw new IllegalStateException("idle");
		}

		@Override
		public void onError(Connection connection, Throwable failure) {
			InMemoryConnectionTests.this.calls.add("error " + failure.getMessage());
		}

		@Override
		public void onError(Connection connection, ByteBuffer message, Throwable failure) {
			InMemoryConnectionTests.this.calls
				.add("error %s of %s".formatted(failure.getMessage(), StandardCharsets.UTF_8.decode(message)));
		}

		@Override
		public void onClose(Connection connection, CloseReason reason) {
			InMemoryConnectionTests.this.calls.add("close " + reason);
		}

	}

	@FunctionalInterface
	private interface Decoding {

		boolean decode(ByteBuffer input, Framing.Frame frame);

	}

	private record TestFraming(Decoding decoding, int missing) implements Framing {

		private TestFraming(Decoding decoding) {
			this(decoding, 0);
		}

		@Override
		public boolean decode(ByteBuffer input, Frame frame) {
			return this.decoding.decode(input, frame);
		}

		@Override
		public void encode(ByteBuffer payload, ByteBuffer output) {
			Framing.line().encode(payload, output);
		}

		@Override
		public int maxFrameLength(int payloadLength) {
			return Framing.line().maxFrameLength(payloadLength) - this.missing;
		}

	}

}
