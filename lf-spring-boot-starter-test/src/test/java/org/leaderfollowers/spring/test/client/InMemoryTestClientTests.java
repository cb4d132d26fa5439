package org.leaderfollowers.spring.test.client;

import java.io.IOException;
import java.net.InetSocketAddress;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReference;

import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.leaderfollowers.CloseReason;
import org.leaderfollowers.Connection;
import org.leaderfollowers.ConnectionClosedException;
import org.leaderfollowers.EventType;
import org.leaderfollowers.Framing;
import org.leaderfollowers.FramingException;
import org.leaderfollowers.MessageHandler;
import org.leaderfollowers.OwedReply;
import org.leaderfollowers.SlowConsumerException;
import org.leaderfollowers.Suspension;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

/**
 * Tests for {@link InMemoryTestClient}: a handler sees the same behaviour as in a server.
 */
@Timeout(120)
class InMemoryTestClientTests {

	private static final Duration SHORT = Duration.ofMillis(50);

	private final Script script = new Script();

	@Test
	void messagesAreHandledOnTheCallingThreadInOrder() {
		List<Thread> threads = new ArrayList<>();
		this.script.message = (connection, text) -> {
			threads.add(Thread.currentThread());
			reply(connection, text);
		};
		try (InMemoryTestClient client = open()) {
			client.send("a", "b", "c");
			assertThat(threads).containsExactly(Thread.currentThread(), Thread.currentThread(), Thread.currentThread());
			assertThat(client).receives("a", "b", "c").receivesNothing();
			assertThat(client.exchange("d")).isEqualTo("d");
		}
		assertThat(this.script.calls).containsExactly("open", "a", "b", "c", "d", "close PEER");
	}

	@Test
	void messagesAreTakenApartByTheFraming() {
		try (InMemoryTestClient client = LfTestClient.inMemory(this.script).framing(Framing.lengthField(2)).open()) {
			client.sendRaw(new byte[] { 0 });
			client.sendRaw(new byte[] { 3, 'a', 'b' });
			assertThat(client).receivesNothing();
			client.sendRaw(new byte[] { 'c', 0, 0 });
			assertThat(client).receives("abc").receivesBytes(new byte[0]).receivesNothing();
		}
	}

	@Test
	void clientMayFrameDifferently() {
		try (InMemoryTestClient client = LfTestClient.inMemory(this.script)
			.framing(Framing.raw())
			.clientFraming(Framing.line())
			.open()) {
			client.send("a");
			assertThat(client).receives("a");
		}
		assertThat(this.script.calls).contains("a\n");
	}

	@Test
	void textIsInTheCharsetOfTheClient() {
		try (InMemoryTestClient client = LfTestClient.inMemory(Connection::send)
			.charset(StandardCharsets.ISO_8859_1)
			.open()) {
			client.send("\u00e9");
			client.sendRaw("\u00e9\n");
			assertThat(client).receivesBytes((byte) 0xe9).receives("\u00e9");
			assertThat(client.exchange("\u00e9")).isEqualTo("\u00e9");
		}
	}

	@Test
	void jsonIsComparedByItsFields() {
		try (InMemoryTestClient client = LfTestClient.inMemory(this.script).timeout(SHORT).open()) {
			client.send("{\"item\":\"tea\",\"price\":{\"cents\":250}}", "{\"item\":\"tea\"}", "tea");
			assertThat(client).receivesJson("{\"price\":{\"cents\":250}}");
			assertThatExceptionOfType(AssertionError.class)
				.isThrownBy(() -> assertThat(client).receivesJson("{\"price\":1}"))
				.withMessageContaining("the next message of " + client)
				.withMessageContaining("price");
			assertThatExceptionOfType(AssertionError.class)
				.isThrownBy(() -> assertThat(client).nextMessageAsJson().hasPath("$.item"));
			client.send("{\"item\":\"tea\",\"price\":{\"cents\":250}}");
			assertThat(client).nextMessageAsJson().extractingPath("$.price.cents").isEqualTo(250);
			assertThatExceptionOfType(AssertionError.class).isThrownBy(() -> assertThat(client).receivesJson("{}"));
		}
	}

	@Test
	void repliesAreFramed() {
		try (InMemoryTestClient client = LfTestClient.inMemory(this.script).clientFraming(Framing.raw()).open()) {
			client.sendRaw("a\r\nb\n");
			assertThat(client).receives("a\nb\n");
		}
	}

	@Test
	void eachConnectionHasItsOwnFraming() {
		List<Connection> asked = new ArrayList<>();
		Framing shared = new Framing() {

			@Override
			public Framing forConnection(Connection connection) {
				asked.add(connection);
				return Framing.line();
			}

			@Override
			public boolean decode(ByteBuffer input, Frame frame) {
				throw new IllegalStateException("not the framing of the connection");
			}

			@Override
			public void encode(ByteBuffer payload, ByteBuffer output) {
				throw new IllegalStateException("not the framing of the connection");
			}

			@Override
			public int maxFrameLength(int payloadLength) {
				return Framing.line().maxFrameLength(payloadLength);
			}

		};
		try (InMemoryTestClient client = LfTestClient.inMemory(this.script)
			.framing(shared)
			.clientFraming(Framing.line())
			.open()) {
			assertThat(client.exchange("a")).isEqualTo("a");
			assertThat(asked).containsExactly(client.connection());
		}
	}

	@Test
	void replyThatIsNotWholeIsShown() {
		InMemoryTestClient client = LfTestClient.inMemory(this.script)
			.framing(Framing.raw())
			.clientFraming(Framing.line())
			.open();
		client.sendRaw("part");
		assertThatExceptionOfType(AssertionError.class).isThrownBy(() -> assertThat(client).receivesNothing())
			.withMessageContaining("after 4 bytes of a message that is not whole: \"part\"");
		client.shutdownOutput();
		assertThatExceptionOfType(AssertionError.class).isThrownBy(() -> assertThat(client).isClosedByServer())
			.withMessageContaining("closed the connection for PEER, after 4 bytes");
	}

	@Test
	void malformedReplyIsShown() {
		try (InMemoryTestClient client = LfTestClient.inMemory(this.script)
			.framing(Framing.raw())
			.clientFraming(Framing.lengthField(2).inclusive(true))
			.open()) {
			client.sendRaw(new byte[] { 0, 1 });
			assertThatExceptionOfType(AssertionError.class).isThrownBy(client::receiveBytes)
				.withMessageContaining("is no message of this framing")
				.withCauseInstanceOf(FramingException.class);
		}
	}

	@Test
	void bufferIsLent() {
		AtomicReference<@Nullable ByteBuffer> kept = new AtomicReference<>();
		MessageHandler keeper = (connection, message) -> {
			assertThat(message.isDirect()).isTrue();
			assertThat(message.position()).isNotZero();
			assertThat(message.remaining()).isEqualTo(5);
			assertThat(message.get(0)).isNotZero();
			ByteBuffer start = message.duplicate();
			message.get();
			assertThat(message.reset().position()).isEqualTo(start.position());
			kept.set(message);
		};
		try (InMemoryTestClient client = LfTestClient.inMemory(keeper).open()) {
			client.send("hello");
			assertThat(client.failures()).isEmpty();
			ByteBuffer buffer = kept.get();
			assertThat(buffer).isNotNull();
			assertThat(buffer.remaining()).isEqualTo(buffer.capacity());
			assertThat(StandardCharsets.UTF_8.decode(buffer).toString()).doesNotContain("hello");
		}
	}

	@Test
	void largeMessageIsLentAsWell() {
		try (InMemoryTestClient client = open()) {
			String large = "x".repeat(60_000);
			client.send("a", large, "b");
			assertThat(client).receives("a", large, "b");
		}
	}

	@Test
	void sendLeavesThePayloadAsItWas() {
		this.script.message = (connection, text) -> {
			ByteBuffer payload = ByteBuffer.wrap("-ab-".getBytes(StandardCharsets.UTF_8)).position(1).limit(3);
			connection.send(payload);
			connection.send(payload);
		};
		try (InMemoryTestClient client = open()) {
			client.send("x");
			assertThat(client).receives("ab", "ab");
		}
	}

	@Test
	void failureOfTheHandlerClosesTheConnectionAfterItsReplies() {
		this.script.message = (connection, text) -> {
			reply(connection, "before");
			throw new IOException("no disk");
		};
		this.script.error = (connection, failure) -> reply(connection,
				connection.closeReason() + ": " + failure.getMessage());
		InMemoryTestClient client = open();
		client.send("a", "never handled");
		assertThat(client).receives("before", "HANDLER_ERROR: no disk").isClosedByServer();
		assertThat(client.closeReason()).isEqualTo(CloseReason.HANDLER_ERROR);
		assertThat(client.failures()).singleElement().isInstanceOf(IOException.class);
		assertThat(this.script.calls).containsExactly("open", "a", "error no disk", "close HANDLER_ERROR");
	}

	@Test
	void failureThatNobodyExpectedIsTheCauseOfTheFailedTest() {
		this.script.message = (connection, text) -> {
			throw new IllegalStateException("broken");
		};
		InMemoryTestClient client = open();
		client.send("a");
		assertThatExceptionOfType(AssertionError.class).isThrownBy(() -> assertThat(client).receives("b"))
			.withMessageContaining("\"b\"")
			.withMessageNotContaining("as message")
			.withMessageContaining("the server closed the connection for HANDLER_ERROR")
			.withMessageContaining("IllegalStateException: broken")
			.withCauseInstanceOf(IllegalStateException.class);
		assertThatExceptionOfType(AssertionError.class).isThrownBy(() -> client.send("c"))
			.withMessageContaining("closed the connection for HANDLER_ERROR")
			.withCauseInstanceOf(IllegalStateException.class);
	}

	@Test
	void failureToOpenClosesTheConnection() {
		this.script.open = (connection) -> {
			throw new IllegalStateException("full");
		};
		InMemoryTestClient client = open();
		assertThat(client).isClosedByServer();
		assertThat(this.script.calls).containsExactly("open", "error full", "close HANDLER_ERROR");
	}

	@Test
	void failuresWhileClosingAreKept() {
		this.script.message = (connection, text) -> {
			throw new IllegalStateException("1");
		};
		this.script.error = (connection, failure) -> {
			throw new IllegalStateException("2");
		};
		this.script.close = (connection) -> {
			throw new IllegalStateException("3");
		};
		InMemoryTestClient client = open();
		client.send("a");
		assertThat(client.failures()).extracting(Throwable::getMessage).containsExactly("1", "2", "3");
		assertThat(client).isClosedByServer();
	}

	@Test
	void closedConnectionRefusesMessages() {
		List<Boolean> states = new ArrayList<>();
		this.script.message = (connection, text) -> {
			reply(connection, "last");
			connection.close();
			states.addAll(List.of(connection.isOpen(), connection.isWritable()));
			// As with a server, this exception does not count as a failure of the
			// handler.
			reply(connection, "too late");
		};
		InMemoryTestClient client = open();
		client.send("a", "b");
		assertThat(states).containsExactly(false, false);
		assertThat(client).receives("last").isClosedByServer();
		assertThat(client.closeReason()).isEqualTo(CloseReason.LOCAL);
		assertThat(client.failures()).isEmpty();
		assertThat(this.script.calls).containsExactly("open", "a", "close LOCAL");
		assertThatExceptionOfType(ConnectionClosedException.class)
			.isThrownBy(() -> reply(client.connection(), "too late"))
			.satisfies((ex) -> assertThat(ex.reason()).isEqualTo(CloseReason.LOCAL));
	}

	@Test
	void malformedInputClosesTheConnection() {
		InMemoryTestClient client = LfTestClient.inMemory(this.script)
			.framing(Framing.lengthField(2).inclusive(true))
			.open();
		client.sendRaw(new byte[] { 0, 1 });
		assertThat(client).isClosedByServer();
		assertThat(client.closeReason()).isEqualTo(CloseReason.MALFORMED);
		assertThat(client.failures()).singleElement().isInstanceOf(FramingException.class);
		assertThatExceptionOfType(ConnectionClosedException.class)
			.isThrownBy(() -> reply(client.connection(), "too late"))
			.havingCause()
			.isSameAs(client.failures().get(0));
	}

	@Test
	void largerMessageThanAllowedClosesTheConnection() {
		InMemoryTestClient client = LfTestClient.inMemory(this.script).maxMessageSize(10).open();
		client.send("0123456789");
		assertThat(client).receives("0123456789");
		client.send("01234567890");
		assertThat(client).isClosedByServer();
		assertThat(client.closeReason()).isEqualTo(CloseReason.MESSAGE_TOO_LARGE);
	}

	@Test
	void suspensionHoldsUpTheNextMessage() throws InterruptedException {
		List<Suspension> suspensions = new ArrayList<>();
		this.script.message = (connection, text) -> {
			if (text.equals("slow")) {
				suspensions.add(connection.suspend());
			}
			else {
				reply(connection, text);
			}
		};
		try (InMemoryTestClient client = open()) {
			client.send("slow", "next");
			assertThat(client).receivesNothing();
			Thread elsewhere = new Thread(() -> {
				reply(client.connection(), "slow");
				suspensions.get(0).resume();
				suspensions.get(0).resume();
			});
			elsewhere.start();
			assertThat(client).receives("slow", "next");
			elsewhere.join();
			client.send("slow", "again");
			assertThat(client).receivesNothing();
			suspensions.get(1).resume();
			assertThat(client).receives("again");
		}
	}

	@Test
	void replyOfAnotherThreadIsWaitedFor() {
		CountDownLatch go = new CountDownLatch(1);
		this.script.message = (connection, text) -> new Thread(() -> {
			await(go);
			reply(connection, text);
		}).start();
		// Longer than the test: the client is woken.
		try (InMemoryTestClient client = LfTestClient.inMemory(this.script).timeout(Duration.ofHours(1)).open()) {
			client.send("later");
			assertThat(client).receivesNothing();
			go.countDown();
			assertThat(client).receives("later");
		}
	}

	@Test
	void clientThatDoesNotReadHoldsUpTheHandler() {
		this.script.message = (connection, text) -> {
			while (connection.isWritable()) {
				reply(connection, "0123456789");
			}
		};
		this.script.writable = (connection) -> reply(connection, "writable");
		try (InMemoryTestClient client = LfTestClient.inMemory(this.script).maxOutboundSize(110).open()) {
			client.stopReading();
			client.send("go", "held up");
			assertThat(client.connection().pendingBytes()).isEqualTo(55);
			assertThat(client).receivesNothing();
			for (int i = 0; i < 5; i++) {
				reply(client.connection(), "0123456789");
			}
			assertThatExceptionOfType(SlowConsumerException.class)
				.isThrownBy(() -> reply(client.connection(), "0123456789"));
			assertThat(this.script.calls).containsExactly("open", "go");
			this.script.message = InMemoryTestClientTests::reply;
			client.startReading();
			assertThat(client.receive(10)).containsOnly("0123456789");
			assertThat(client).receives("writable", "held up");
			assertThat(client.connection().isWritable()).isTrue();
		}
	}

	@Test
	void repliesThatWaitedAreReadOnce() {
		try (InMemoryTestClient client = open()) {
			for (String message : List.of("a", "b")) {
				client.stopReading();
				client.send(message);
				assertThat(client).receivesNothing();
				client.startReading();
				assertThat(client).receives(message).receivesNothing();
			}
		}
	}

	@Test
	void repliesAcceptedAreReadBeforeTheConnectionIsClosed() {
		this.script.message = (connection, text) -> {
			reply(connection, "last");
			connection.close();
		};
		InMemoryTestClient client = open();
		client.stopReading();
		client.send("a");
		assertThat(client.closeReason()).isNull();
		client.startReading();
		assertThat(client).receives("last").isClosedByServer();
	}

	@Test
	void halfCloseIsAnsweredBeforeTheEnd() {
		InMemoryTestClient client = open();
		client.send("a", "b");
		client.sendRaw("incomplete");
		client.shutdownOutput();
		assertThat(client).receives("a", "b").isClosedByServer();
		assertThat(client.closeReason()).isEqualTo(CloseReason.PEER);
	}

	@Test
	void nothingCanBeSentAfterAHalfClose() {
		this.script.message = (connection, text) -> connection.suspend();
		InMemoryTestClient client = open();
		client.send("a");
		client.shutdownOutput();
		assertThatExceptionOfType(AssertionError.class).isThrownBy(() -> client.send("b"))
			.withMessageContaining("its output was shut down");
		assertThat(this.script.calls).containsExactly("open", "a");
	}

	@Test
	void resetIsAFailureOfTheSocket() {
		this.script.error = (connection, failure) -> reply(connection, "unheard");
		InMemoryTestClient client = open();
		client.reset();
		assertThat(this.script.calls).containsExactly("open", "error Connection reset", "close IO_ERROR");
		assertThat(client).isClosedByServer();
	}

	@Test
	void timeoutsAreSimulated() {
		InMemoryTestClient client = open();
		client.simulateClose(CloseReason.IDLE_TIMEOUT);
		assertThat(client).isClosedByServer();
		assertThat(this.script.calls).containsExactly("open", "close IDLE_TIMEOUT");
	}

	@Test
	void silenceIsSimulated() {
		this.script.idle = (connection, type) -> {
			connection.idleAfter(EventType.READ, Duration.ofSeconds(1));
			reply(connection, "nothing to " + type);
		};
		InMemoryTestClient client = open();
		client.simulateIdle(EventType.READ);
		client.simulateIdle(EventType.WRITE);
		assertThat(client).receives("nothing to READ", "nothing to WRITE");
		this.script.message = (connection, text) -> {
			client.simulateIdle(EventType.WRITE);
			client.simulateIdle(EventType.READ);
			reply(connection, text);
		};
		client.send("busy");
		assertThat(client).receives("busy", "nothing to WRITE", "nothing to READ");
	}

	@Test
	void owedReplyHoldsUpTheEndAndNoMessage() {
		AtomicReference<@Nullable OwedReply> owed = new AtomicReference<>();
		this.script.message = (connection, text) -> {
			if (text.equals("slow")) {
				owed.set(connection.owe());
			}
			else {
				reply(connection, text);
			}
		};
		InMemoryTestClient client = open();
		client.send("slow", "next");
		assertThat(client).receives("next");
		client.simulateDrain();
		assertThat(client.closeReason()).isNull();
		assertThat(this.script.calls).containsExactly("open", "slow", "next");
		OwedReply reply = Objects.requireNonNull(owed.get());
		reply.send(ByteBuffer.wrap("slow".getBytes(StandardCharsets.UTF_8)));
		reply.close();
		reply.close();
		assertThat(client).receives("slow").isClosedByServer();
		assertThat(this.script.calls).containsExactly("open", "slow", "next", "drain", "close SHUTDOWN");
	}

	@Test
	void drainWaitsForAClientThatDoesNotRead() {
		this.script.writable = (connection) -> reply(connection, "writable");
		this.script.drain = (connection) -> reply(connection, "bye");
		InMemoryTestClient client = LfTestClient.inMemory(this.script).maxOutboundSize(20).open();
		client.stopReading();
		reply(client.connection(), "0123456789");
		client.simulateDrain();
		assertThat(this.script.calls).containsExactly("open");
		assertThat(client.closeReason()).isNull();
		client.startReading();
		assertThat(client).receives("0123456789", "writable", "bye").isClosedByServer();
	}

	@Test
	void drainIsSimulated() {
		AtomicReference<@Nullable Suspension> suspension = new AtomicReference<>();
		this.script.message = (connection, text) -> {
			suspension.set(connection.suspend());
			assertThat(connection.isDraining()).isFalse();
		};
		this.script.drain = (connection) -> {
			assertThat(connection.isDraining()).isTrue();
			reply(connection, "bye");
		};
		InMemoryTestClient client = open();
		client.send("later");
		client.sendRaw("beg");
		client.simulateDrain();
		assertThat(this.script.calls).containsExactly("open", "later");
		this.script.message = (connection, text) -> reply(connection, text);
		Objects.requireNonNull(suspension.get()).resume();
		assertThat(client.closeReason()).isNull();
		client.sendRaw("un\n");
		assertThat(client).receives("bye", "begun").isClosedByServer();
		assertThat(this.script.calls).containsExactly("open", "later", "drain", "begun", "close SHUTDOWN");
	}

	@Test
	void messagesReceivedBeforeAGracefulCloseAreAnswered() {
		this.script.message = (connection, text) -> {
			if (text.equals("last")) {
				connection.close(Duration.ofSeconds(1));
				assertThat(connection.isDraining()).isTrue();
				assertThat(connection.isOpen()).isTrue();
			}
			reply(connection, text);
		};
		this.script.drain = (connection) -> reply(connection, "bye");
		InMemoryTestClient client = open();
		client.send("last", "received");
		assertThat(client).receives("last", "bye", "received").isClosedByServer();
		assertThat(this.script.calls).containsExactly("open", "last", "drain", "received", "close LOCAL");
	}

	@Test
	void drainOfTheServerGivesAGracefulCloseItsReason() {
		this.script.message = (connection, text) -> connection.close(Duration.ofSeconds(1));
		InMemoryTestClient client = open();
		client.sendRaw("close\nbeg");
		client.simulateDrain();
		client.sendRaw("un\n");
		assertThat(this.script.calls).containsExactly("open", "close", "drain", "begun", "close SHUTDOWN");
	}

	@Test
	void closeWithoutGraceIsAtOnce() {
		this.script.message = (connection, text) -> connection.close(Duration.ZERO);
		InMemoryTestClient client = open();
		client.send("last", "late");
		assertThat(this.script.calls).containsExactly("open", "last", "close LOCAL");
	}

	@Test
	void messageSentWithinAHandlerIsHandledAfterIt() {
		AtomicReference<@Nullable InMemoryTestClient> self = new AtomicReference<>();
		this.script.message = (connection, text) -> {
			InMemoryTestClient client = self.get();
			if (text.equals("first") && client != null) {
				client.send("second");
				assertThat(this.script.calls).containsExactly("open", "first");
			}
		};
		try (InMemoryTestClient client = open()) {
			self.set(client);
			client.send("first");
			assertThat(client.failures()).isEmpty();
			assertThat(this.script.calls).containsExactly("open", "first", "second");
		}
	}

	@Test
	void oneMessageAtATimeWhicheverThreadsSend() throws InterruptedException {
		CountDownLatch entered = new CountDownLatch(1);
		CountDownLatch leave = new CountDownLatch(1);
		this.script.message = (connection, text) -> {
			if (text.equals("1")) {
				entered.countDown();
				await(leave);
			}
			reply(connection, text);
		};
		try (InMemoryTestClient client = open()) {
			Thread sender = new Thread(() -> client.send("1"));
			sender.start();
			await(entered);
			client.send("2");
			assertThat(client).receivesNothing();
			leave.countDown();
			sender.join();
			assertThat(client).receives("1", "2");
		}
	}

	@Test
	void connectionIsWhatTheBuilderSays() {
		InetSocketAddress remote = InetSocketAddress.createUnresolved("client", 1);
		InetSocketAddress balancer = InetSocketAddress.createUnresolved("balancer", 2);
		try (InMemoryTestClient client = LfTestClient.inMemory(this.script)
			.server("orders")
			.remoteAddress(remote)
			.transportAddress(balancer)
			.open()) {
			Connection connection = client.connection();
			assertThat(connection.server()).isEqualTo("orders");
			assertThat(connection.remoteAddress()).isEqualTo(remote);
			assertThat(connection.transportAddress()).isEqualTo(balancer);
			assertThat(connection.attributes()).isEmpty();
			assertThat(connection.isOpen()).isTrue();
			assertThat(connection).hasToString("Connection %d of server 'orders' in memory".formatted(connection.id()));
		}
	}

	@Test
	void unexpectedMessageIsShown() {
		try (InMemoryTestClient client = open()) {
			client.send("a\tb");
			assertThatExceptionOfType(AssertionError.class).isThrownBy(() -> assertThat(client).receives("A", "B"))
				.withMessageContaining("as message 1 of 2")
				.withMessageContaining("\"A\"")
				.withMessageContaining("but received \"a\\tb\"");
			client.send("c");
			assertThatExceptionOfType(AssertionError.class).isThrownBy(() -> assertThat(client).receivesNothing())
				.withMessageContaining("but received \"c\"");
			client.send("d");
			assertThatExceptionOfType(AssertionError.class).isThrownBy(() -> assertThat(client).isClosedByServer())
				.withMessageContaining("but received \"d\"");
			client.send("e");
			assertThat(client).nextMessage().startsWith("e").hasSize(1);
		}
	}

	@Test
	void silenceIsReportedAfterTheTimeout() {
		this.script.message = (connection, text) -> {
		};
		try (InMemoryTestClient client = LfTestClient.inMemory(this.script).timeout(SHORT).open()) {
			client.send("a");
			assertThatExceptionOfType(AssertionError.class).isThrownBy(client::receive)
				.withMessageContaining("expected a message within 0.05s, but received nothing");
			assertThatExceptionOfType(AssertionError.class).isThrownBy(() -> assertThat(client).isClosedByServer())
				.withMessageContaining("to be closed by the server within 0.05s, but received nothing");
		}
	}

	@Test
	void threadThatWaitsStaysInterrupted() {
		try (InMemoryTestClient client = open()) {
			Thread.currentThread().interrupt();
			assertThatExceptionOfType(AssertionError.class).isThrownBy(client::receive)
				.withMessageContaining("was interrupted");
			assertThat(Thread.interrupted()).isTrue();
		}
	}

	private InMemoryTestClient open() {
		return LfTestClient.inMemory(this.script).open();
	}

	private static void reply(Connection connection, String text) {
		connection.send(StandardCharsets.UTF_8.encode(text));
	}

	private static void await(CountDownLatch latch) {
		try {
			assertThat(latch.await(30, TimeUnit.SECONDS)).isTrue();
		}
		catch (InterruptedException ex) {
			throw new IllegalStateException(ex);
		}
	}

	@FunctionalInterface
	private interface Action {

		void run(Connection connection) throws Exception;

	}

	@FunctionalInterface
	private interface MessageAction {

		void run(Connection connection, String text) throws Exception;

	}

	@FunctionalInterface
	private interface IdleAction {

		void run(Connection connection, EventType type) throws Exception;

	}

	@FunctionalInterface
	private interface ErrorAction {

		void run(Connection connection, Throwable failure) throws Exception;

	}

	/** Does what a test tells it, and records its calls. */
	private static final class Script implements MessageHandler {

		private final List<String> calls = new ArrayList<>();

		private Action open = (connection) -> {
		};

		private MessageAction message = InMemoryTestClientTests::reply;

		private Action writable = (connection) -> {
		};

		private IdleAction idle = (connection, type) -> {
		};

		private Action drain = (connection) -> {
		};

		private ErrorAction error = (connection, failure) -> {
		};

		private Action close = (connection) -> {
		};

		@Override
		public void onOpen(Connection connection) throws Exception {
			this.calls.add("open");
			this.open.run(connection);
		}

		@Override
		public void onMessage(Connection connection, ByteBuffer message) throws Exception {
			String text = StandardCharsets.UTF_8.decode(message).toString();
			this.calls.add(text);
			this.message.run(connection, text);
		}

		@Override
		public void onWritable(Connection connection) throws Exception {
			this.writable.run(connection);
		}

		@Override
		public void onIdle(Connection connection, EventType type) throws Exception {
			this.idle.run(connection, type);
		}

		@Override
		public void onDrain(Connection connection) throws Exception {
			this.calls.add("drain");
			this.drain.run(connection);
		}

		@Override
		public void onError(Connection connection, Throwable failure) throws Exception {
			this.calls.add("error " + failure.getMessage());
			this.error.run(connection, failure);
		}

		@Override
		public void onClose(Connection connection, CloseReason reason) throws Exception {
			this.calls.add("close " + reason);
			this.close.run(connection);
		}

	}

}
