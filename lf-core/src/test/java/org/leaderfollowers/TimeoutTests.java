package org.leaderfollowers;

import java.io.UncheckedIOException;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

import static org.assertj.core.api.Assertions.assertThat;

/** Timeouts of connections: for silence, and for incomplete messages. */
@Timeout(120)
class TimeoutTests {

	private static final Duration SHORT = Duration.ofMillis(500);

	@RegisterExtension
	final Engine engine = new Engine();

	private TcpServer.Builder builder(LeaderFollowersPool pool, MessageHandler handler) {
		return TcpServer.builder(pool).framing(Framing.line()).handler(handler);
	}

	@Test
	void aSilentConnectionIsClosedAfterTheIdleTimeoutAndNotBefore() {
		Recorder recorder = new Recorder();
		TcpServer server = this.engine
			.start(builder(this.engine.pool(2, 4), recorder).idleTimeout(Duration.ofSeconds(2)));
		long start = System.nanoTime();
		Peer never = this.engine.connect(server);
		Peer once = this.engine.connect(server).send("x\n");
		assertThat(once.readLine()).isEqualTo("x");
		assertThat(never.readLine()).isNull();
		assertThat(System.nanoTime() - start).isGreaterThanOrEqualTo(2_000_000_000L);
		assertThat(once.readLine()).isNull();
		never.close();
		once.close();
		assertThat(recorder.awaitClose(1)).containsExactly("open", "close IDLE_TIMEOUT");
		assertThat(recorder.awaitClose(2)).containsExactly("open", "x", "close IDLE_TIMEOUT");
		// The connection is counted after the handler has been told.
		Engine.eventually()
			.untilAsserted(() -> assertThat(server.snapshot().closedConnections())
				.containsEntry(CloseReason.IDLE_TIMEOUT, 2L));
	}

	@Test
	void aConnectionInUseIsNotIdle() {
		Recorder recorder = new Recorder();
		TcpServer server = this.engine
			.start(builder(this.engine.pool(2, 4), recorder).idleTimeout(Duration.ofSeconds(5)));
		Peer reads = this.engine.connect(server);
		Peer writes = this.engine.connect(server);
		recorder.await(1);
		Connection pushed = recorder.await(2);
		for (int i = 0; i < 13; i++) {
			Engine.elapse(Duration.ofMillis(450));
			assertThat(reads.send("x\n").readLine()).isEqualTo("x");
			pushed.send(Engine.bytes("push"));
			assertThat(writes.readLine()).isEqualTo("push");
		}
		assertThat(recorder.of(1)).doesNotContain("close IDLE_TIMEOUT");
		// As documented, the connection must be silent in both directions.
		assertThat(recorder.of(2)).containsExactly("open");
	}

	/** Whether or not something else of the connection is timed. */
	@ParameterizedTest
	@ValueSource(strings = { "PT0S", "PT1H" })
	void aConnectionWithoutAMessageThatHasBegunIsNotLate(Duration readIdle) {
		TcpServer server = this.engine.start(builder(this.engine.pool(2, 4), new Recorder()).readIdle(readIdle)
			.messageTimeout(Duration.ofMillis(100)));
		Peer peer = this.engine.connect(server);
		assertThat(peer.send("x\n").readLine()).isEqualTo("x");
		Engine.elapse(Duration.ofMillis(500));
		assertThat(peer.send("y\n").readLine()).isEqualTo("y");
	}

	@ParameterizedTest
	@ValueSource(strings = { "PT0S", "PT1H" })
	void aMessageThatHasBegunHasItsTime(Duration readIdle) {
		TcpServer server = this.engine
			.start(builder(this.engine.pool(2, 4), new Recorder()).readIdle(readIdle).messageTimeout(Engine.DEADLINE));
		Peer peer = this.engine.connect(server).send("first\nsec");
		assertThat(peer.readLine()).isEqualTo("first");
		Engine.eventually().until(() -> server.pool().snapshot().bufferedBytes() > 0);
		assertThat(peer.send("ond\n").readLine()).isEqualTo("second");
	}

	@Test
	void aHandlerThatRunsForLongIsNotIdleNorIsItsConnectionAfterwards() {
		CountDownLatch gate = this.engine.gate();
		Recorder recorder = new Recorder() {
			@Override
			void message(Connection connection, ByteBuffer message) {
				if (Engine.text(message).equals("block")) {
					Engine.pass(gate);
				}
				connection.send(message);
			}
		};
		TcpServer server = this.engine
			.start(builder(this.engine.pool(2, 4), recorder).idleTimeout(Duration.ofMillis(1200)));
		Peer peer = this.engine.connect(server).send("block\nsecond\n");
		Engine.eventually().until(() -> recorder.of(1).contains("block"));
		Engine.elapse(Duration.ofMillis(2000));
		gate.countDown();
		assertThat(peer.readLine()).isEqualTo("block");
		assertThat(peer.readLine()).isEqualTo("second");
		assertThat(peer.send("x\n").readLine()).isEqualTo("x");
		assertThat(peer.readLine()).isNull();
		peer.close();
		assertThat(recorder.awaitClose(1)).containsExactly("open", "block", "second", "x", "close IDLE_TIMEOUT");
	}

	@Test
	void aMessageMustBeWholeInTimeHoweverOftenBytesCome() {
		Recorder recorder = new Recorder();
		TcpServer server = this.engine.start(builder(this.engine.pool(2, 4), recorder).messageTimeout(SHORT));
		List<Peer> slow = new ArrayList<>();
		for (int i = 1; i <= 20; i++) {
			slow.add(this.engine.connect(server).send("whole\n"));
			assertThat(slow.get(i - 1).readLine()).isEqualTo("whole");
		}
		Peer other = this.engine.connect(server);
		Engine.eventually().until(() -> {
			for (Peer peer : slow) {
				try {
					peer.send("s");
				}
				catch (UncheckedIOException ex) {
					peer.close();
				}
			}
			assertThat(other.send("other\n").readLine()).isEqualTo("other");
			Engine.elapse(Duration.ofMillis(50));
			return server.snapshot().closedConnections().get(CloseReason.MESSAGE_TIMEOUT) == 20;
		});
		for (int i = 1; i <= 20; i++) {
			assertThat(recorder.awaitClose(i)).containsExactly("open", "whole", "close MESSAGE_TIMEOUT");
		}
	}

	@Test
	void aLargeMessageThatTricklesIsLateAsWell() {
		Recorder recorder = new Recorder();
		TcpServer server = this.engine.start(builder(this.engine.pool(2, 4), recorder).messageTimeout(SHORT)
			.maxMessageSize(10_000_000)
			.idleTimeout(Duration.ZERO));
		Peer peer = this.engine.connect(server).send("x".repeat(200_000));
		Engine.eventually().until(() -> {
			try {
				peer.send("x");
			}
			catch (UncheckedIOException ex) {
				peer.close();
			}
			Engine.elapse(Duration.ofMillis(50));
			return server.snapshot().closedConnections().get(CloseReason.MESSAGE_TIMEOUT) == 1;
		});
	}

	@Test
	void theTimeOfAMessageBeginsWithItsFirstByteNotWithThatOfTheLastMessage() {
		Recorder recorder = new Recorder();
		Duration timeout = Duration.ofSeconds(5);
		TcpServer server = this.engine.start(builder(this.engine.pool(2, 4), recorder).messageTimeout(timeout));
		Peer peer = this.engine.connect(server).send("a");
		for (int i = 0; i < 5; i++) {
			Engine.elapse(Duration.ofMillis(1200));
			// Completes one message and begins another one with the same bytes.
			peer.send("b\na");
			assertThat(peer.readLine()).isEqualTo("ab");
		}
		assertThat(recorder.of(1)).hasSize(6);
	}

	@Test
	void aMessageThatIsNotReadBecauseItsPeerDoesNotReadIsNotLate() {
		Duration timeout = Duration.ofMillis(1500);
		String filler = "x".repeat(8_000_000);
		Recorder recorder = new Recorder() {
			@Override
			void message(Connection connection, ByteBuffer message) {
				connection.send(Engine.bytes(message.remaining() == 1 ? filler : "done"));
			}
		};
		TcpServer server = this.engine
			.start(builder(this.engine.pool(2, 4), recorder).messageTimeout(timeout).maxOutboundSize(64 * 1024));
		// The beginning of the second message is read together with the request whose
		// reply pauses reading.
		Peer peer = this.engine.connect(server, 4096).send("a\nbegun");
		Connection connection = recorder.await(1);
		Engine.eventually().until(() -> connection.pendingBytes() > 0);
		Engine.elapse(timeout.multipliedBy(2));
		assertThat(recorder.of(1)).containsExactly("open", "a");
		assertThat(peer.readLine()).hasSize(8_000_000);
		peer.send(" and done\n");
		assertThat(peer.readLine()).isEqualTo("done");
		assertThat(recorder.of(1)).containsExactly("open", "a", "begun and done");
	}

	@Test
	void zeroMeansNoTimeout() {
		Recorder recorder = new Recorder();
		TcpServer server = this.engine.start(builder(this.engine.pool(2, 4), recorder).idleTimeout(Duration.ZERO)
			.messageTimeout(Duration.ZERO)
			.writeTimeout(Duration.ZERO));
		Peer silent = this.engine.connect(server);
		Peer begun = this.engine.connect(server).send("be");
		Engine.elapse(Duration.ofMillis(800));
		assertThat(begun.send("gun\n").readLine()).isEqualTo("begun");
		assertThat(silent.send("x\n").readLine()).isEqualTo("x");
	}

	@Test
	void hugeTimeoutsDoNotOverflow() {
		Duration huge = Duration.ofSeconds(Long.MAX_VALUE);
		LeaderFollowersPool pool = this.engine.pool(LeaderFollowersPool.builder().threads(2, 4).keepAlive(huge));
		TcpServer server = this.engine
			.start(builder(pool, (connection, message) -> connection.send(message)).idleTimeout(huge)
				.messageTimeout(huge)
				.writeTimeout(huge));
		Peer peer = this.engine.connect(server).send("be");
		Engine.eventually().until(() -> server.snapshot().receivedBytes() == 2);
		assertThat(peer.send("gun\n").readLine()).isEqualTo("begun");
		peer.close();
		assertThat(server.close(huge)).isTrue();
		assertThat(pool.close(huge)).isTrue();
	}

	@Test
	void aRequestThatArrivedInTimeIsServedEvenIfEveryThreadWasBusyUntilTheTimeout() {
		CountDownLatch gate = this.engine.gate();
		Recorder recorder = new Recorder() {
			@Override
			void message(Connection connection, ByteBuffer message) {
				if (Engine.text(message).equals("block")) {
					Engine.pass(gate);
				}
				connection.send(message);
			}
		};
		Duration timeout = Duration.ofSeconds(5);
		TcpServer server = this.engine
			.start(builder(this.engine.pool(1, 1), recorder).idleTimeout(timeout).messageTimeout(timeout));
		Peer idle = this.engine.connect(server);
		recorder.await(1);
		Peer begun = this.engine.connect(server).send("be");
		recorder.await(2);
		Engine.eventually().until(() -> server.snapshot().receivedBytes() == 2);
		Peer blocks = this.engine.connect(server).send("block\n");
		Engine.eventually().until(() -> recorder.of(3).contains("block"));
		// Both messages are in time, but no thread is free to read them.
		idle.send("request\n");
		begun.send("gun\n");
		Engine.elapse(timeout.plusSeconds(1));
		gate.countDown();
		assertThat(blocks.readLine()).isEqualTo("block");
		assertThat(idle.readLine()).as("the one that was idle before").isEqualTo("request");
		assertThat(begun.readLine()).as("the one that had begun before").isEqualTo("begun");
	}

	@Test
	void aMessageThatIsReadLateBecauseEveryThreadWasBusyGetsTheFullTimeForItsRest() {
		CountDownLatch gate = this.engine.gate();
		Recorder recorder = new Recorder() {
			@Override
			void message(Connection connection, ByteBuffer message) {
				if (Engine.text(message).equals("block")) {
					Engine.pass(gate);
				}
				connection.send(message);
			}
		};
		Duration timeout = Duration.ofSeconds(5);
		TcpServer server = this.engine.start(builder(this.engine.pool(1, 1), recorder).messageTimeout(timeout));
		Peer silent = this.engine.connect(server).send("s");
		Peer begun = this.engine.connect(server).send("be");
		Engine.eventually().until(() -> server.snapshot().receivedBytes() == 3);
		Peer blocks = this.engine.connect(server).send("block\n");
		Engine.eventually().until(() -> recorder.of(3).contains("block"));
		// The socket is full: the peer can send the rest only when the server has read.
		begun.send("gu");
		Engine.elapse(timeout.plusSeconds(1));
		gate.countDown();
		assertThat(blocks.readLine()).isEqualTo("block");
		assertThat(silent.readLine()).as("the one that has sent nothing meanwhile").isNull();
		Engine.eventually().until(() -> server.snapshot().receivedBytes() == 11);
		assertThat(begun.send("n\n").readLine()).isEqualTo("begun");
	}

	@Test
	void aPeerThatReadsIsNotClosedBecauseNobodyWasThereToWrite() {
		CountDownLatch gate = this.engine.gate();
		Recorder recorder = new Recorder() {
			@Override
			void message(Connection connection, ByteBuffer message) {
				Engine.pass(gate);
			}
		};
		Duration timeout = Duration.ofMillis(700);
		TcpServer server = this.engine
			.start(builder(this.engine.pool(1, 1), recorder).writeTimeout(timeout).maxOutboundSize(32 * 1024 * 1024));
		Peer peer = this.engine.connect(server, 4096);
		Connection connection = recorder.await(1);
		Peer blocks = this.engine.connect(server).send("block\n");
		Engine.eventually().until(() -> recorder.of(2).contains("block"));
		int size = 8_000_000;
		connection.send(ByteBuffer.allocate(size));
		assertThat(connection.pendingBytes()).isPositive();
		// The peer reads everything from the kernel; then the kernel has room for the
		// rest.
		peer.read(size - (int) connection.pendingBytes());
		Engine.elapse(timeout.plusSeconds(1));
		gate.countDown();
		peer.read((int) connection.pendingBytes());
		assertThat(blocks).isNotNull();
		assertThat(recorder.of(1)).containsExactly("open");
	}

	@Test
	void aMessageThatArrivesTooSlowlyIsNotAwaited() {
		TestClock clock = new TestClock();
		Recorder recorder = new Recorder();
		TcpServer server = this.engine
			.start(builder(this.engine.pool(LeaderFollowersPool.builder().threads(2, 4).clock(clock)), recorder)
				.idleTimeout(Duration.ZERO)
				.messageTimeout(Duration.ofHours(1))
				.minReadRate(2));
		Peer slow = this.engine.connect(server);
		recorder.await(1);
		Peer fast = this.engine.connect(server);
		recorder.await(2);
		slow.send("1234");
		fast.send("1".repeat(100));
		Engine.eventually().until(() -> server.snapshot().receivedBytes() == 104);
		Engine.awaitIdle(server.pool());
		// The slow message may take 30 s and 2.5 s for its bytes, the other one 80 s. If
		// it were read later, its peer would get more time.
		clock.advance(Duration.ofMillis(32_550));
		slow.send("5");
		fast.send("1");
		assertThat(slow.readLine()).isNull();
		slow.close();
		assertThat(recorder.awaitClose(1)).containsExactly("open", "close MESSAGE_TIMEOUT");
		Engine.eventually().until(() -> server.snapshot().receivedBytes() == 106);
		Engine.awaitIdle(server.pool());
		fast.send("\n");
		assertThat(fast.readLine()).isEqualTo("1".repeat(101));
	}

	@Test
	void manyTimersComeAndGo() {
		AtomicInteger closed = new AtomicInteger();
		TcpServer server = this.engine
			.start(builder(this.engine.pool(LeaderFollowersPool.builder().threads(3, 6).handleSets(3)),
					new MessageHandler() {
						@Override
						public void onMessage(Connection connection, ByteBuffer message) {
							connection.send(message);
						}

						@Override
						public void onClose(Connection connection, CloseReason reason) {
							if (reason == CloseReason.IDLE_TIMEOUT) {
								closed.incrementAndGet();
							}
						}
					})
				.idleTimeout(Duration.ofMillis(300)));
		int count = 1500;
		for (int i = 0; i < count; i++) {
			Peer peer = this.engine.connect(server).send("x\n");
			if (i % 3 == 0) {
				peer.close();
			}
		}
		Engine.eventually().until(() -> server.snapshot().openConnections() == 0);
		assertThat(closed.get()).isLessThanOrEqualTo(count);
		assertThat(server.snapshot().acceptedConnections()).isEqualTo(count);
	}

	/**
	 * The owner requests a timer and then releases the connection. The leader may set the
	 * timer in between, and no other request would follow.
	 */
	@Test
	void aTimerThatIsSetBeforeTheReleaseKnowsTheDeadlineOfTheOwner() {
		AtomicLong tooLate = new AtomicLong(Long.MAX_VALUE);
		TcpServer server = this.engine.start(TcpServer.builder(this.engine.pool(2, 4))
			.framing(Framing.line())
			.idleTimeout(Duration.ZERO)
			.messageTimeout(Duration.ofHours(1))
			.minReadRate(0)
			.handler((connection, message) -> {
				StreamConnection own = (StreamConnection) connection;
				tooLate.set(own.deadline(own.nanoTime()) - own.messageDeadline);
				connection.send(message);
			}));
		Peer peer = this.engine.connect(server).send("in two ");
		Engine.eventually().until(() -> server.snapshot().receivedBytes() > 0);
		assertThat(peer.send("parts\n").readLine()).isEqualTo("in two parts");
		assertThat(tooLate.get()).isNotPositive();
	}

}
