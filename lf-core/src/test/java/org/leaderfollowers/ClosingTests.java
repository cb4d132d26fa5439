package org.leaderfollowers;

import java.io.UncheckedIOException;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReference;
import java.util.concurrent.locks.LockSupport;
import java.util.stream.IntStream;

import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.condition.EnabledOnOs;
import org.junit.jupiter.api.condition.OS;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

/**
 * Connections that end at every step, closed by either side, release everything that
 * belonged to them.
 */
@Timeout(120)
class ClosingTests {

	@RegisterExtension
	final Engine engine = new Engine();

	@ParameterizedTest
	@ValueSource(ints = { 1, 4 })
	void aPeerThatShutsDownItsOutputGetsEveryReplyAndThenTheEnd(int threads) {
		Recorder recorder = new Recorder() {
			@Override
			void message(Connection connection, ByteBuffer message) {
				LockSupport.parkNanos(100_000);
				connection.send(message);
			}
		};
		TcpServer server = this.engine.lines(this.engine.pool(threads, threads), recorder);
		StringBuilder burst = new StringBuilder();
		IntStream.range(0, 300).forEach((i) -> burst.append(i).append('\n'));
		for (int round = 1; round <= 5; round++) {
			Peer peer = this.engine.connect(server).send(burst.toString()).shutdownOutput();
			assertThat(peer.readTextToEnd()).isEqualTo(burst.toString());
			assertThat(recorder.awaitClose(round)).hasSize(302).endsWith("close PEER");
		}
	}

	@ParameterizedTest
	@CsvSource({ "TAKEN_OVER, 1, false", "CLIENT_LIMIT, 1, true", "TAKEN_OVER, 4, false", "TAKEN_OVER, 4, true" })
	void theApplicationGivesAReasonForWhichItCloses(CloseReason reason, int window, boolean within) {
		Recorder recorder = new Recorder() {
			@Override
			void message(Connection connection, ByteBuffer message) {
				connection.send(message);
				if (within) {
					connection.close(reason);
				}
			}
		};
		TcpServer server = this.engine.start(TcpServer.builder(this.engine.pool(2, 4))
			.port(0)
			.framing(Framing.line())
			.maxInFlightPerConnection(window)
			.replyOrder(ReplyOrder.ARRIVAL)
			.handler(recorder));
		Peer peer = this.engine.connect(server).send("hello\n");
		assertThat(peer.readLine()).isEqualTo("hello");
		if (!within) {
			recorder.await(1).close(reason);
		}
		assertThat(peer.readTextToEnd()).as("what follows the reply").isEmpty();
		assertThat(recorder.awaitClose(1)).containsExactly("open", "hello", "close " + reason);
		Engine.eventually().until(() -> server.snapshot().closedConnections().get(reason) == 1);
	}

	@ParameterizedTest
	@CsvSource({ "close, LOCAL", "fail, HANDLER_ERROR" })
	void theReasonIsKnownFromTheMomentOfTheClose(String message, CloseReason reason) {
		List<@Nullable CloseReason> reasons = new CopyOnWriteArrayList<>();
		Recorder recorder = new Recorder() {
			@Override
			void message(Connection connection, ByteBuffer message) {
				reasons.add(connection.closeReason());
				if (Engine.text(message).equals("fail")) {
					throw new IllegalArgumentException("made for the test");
				}
				connection.close();
				reasons.add(connection.closeReason());
			}

			@Override
			void error(Connection connection, Throwable failure) {
				reasons.add(connection.closeReason());
			}
		};
		TcpServer server = this.engine.lines(this.engine.pool(1, 1), recorder);
		this.engine.connect(server).send(message + "\n").awaitClosed();
		recorder.awaitClose(1);
		assertThat(reasons).containsExactly(null, reason);
	}

	@Test
	void whoeverWantsToKnowIsToldOfTheEndAfterTheHandler() {
		List<String> order = new CopyOnWriteArrayList<>();
		Recorder recorder = new Recorder() {
			@Override
			void close(Connection connection, CloseReason reason) {
				order.add("handler");
			}
		};
		TcpServer server = this.engine.lines(this.engine.pool(1, 2), recorder);
		Peer peer = this.engine.connect(server);
		Connection connection = recorder.await(1);
		CompletableFuture<CloseReason> spoilt = connection.whenClosed();
		spoilt.complete(CloseReason.LOCAL);
		CompletableFuture<Void> told = connection.whenClosed()
			.thenAccept((reason) -> order.add(reason + " " + server.connection(1)));
		assertThat(told).isNotDone();
		peer.close();
		Engine.eventually().until(told::isDone);
		assertThat(order).containsExactly("handler", "PEER null");
		assertThat(connection.whenClosed()).as("asked later").isCompletedWithValue(CloseReason.PEER);
	}

	@Test
	void theEndIsNeverMissedByWhoeverAsksWhileItComes() {
		Recorder recorder = new Recorder();
		TcpServer server = this.engine.lines(this.engine.pool(2, 4), recorder);
		for (int round = 1; round <= 300; round++) {
			Peer peer = this.engine.connect(server);
			Connection connection = recorder.await(round);
			peer.close();
			Engine.eventually().until(connection.whenClosed()::isDone);
		}
	}

	@ParameterizedTest
	@EnumSource(names = { "LOCAL", "TAKEN_OVER", "CLIENT_LIMIT" }, mode = EnumSource.Mode.EXCLUDE)
	void theApplicationCannotGiveAReasonThatOnlyTheEngineKnows(CloseReason reason) {
		Recorder recorder = new Recorder();
		Peer peer = this.engine.connect(this.engine.lines(this.engine.pool(1, 2), recorder));
		Connection connection = recorder.await(1);
		assertThatIllegalArgumentException().isThrownBy(() -> connection.close(reason))
			.withMessageContaining("cannot be closed for the reason " + reason);
		assertThat(connection.isOpen()).isTrue();
		peer.close();
	}

	@Test
	void aPeerThatLeavesWithoutAWordIsNoted() {
		Recorder recorder = new Recorder();
		TcpServer server = this.engine.lines(this.engine.pool(1, 2), recorder);
		this.engine.connect(server).close();
		assertThat(recorder.awaitClose(1)).containsExactly("open", "close PEER");
		assertThat(recorder.await(1).isOpen()).isFalse();
		this.engine.connect(server).reset();
		Engine.eventually().until(() -> server.snapshot().openConnections() == 0);
	}

	@ParameterizedTest
	@ValueSource(ints = { 0, 1, 2, 3, 4, 5, 6, 7 })
	void aResetAtAnyStepClosesOnceAndLeavesNothing(int step) {
		AtomicReference<CountDownLatch> gate = new AtomicReference<>();
		Recorder recorder = new Recorder() {
			@Override
			void open(Connection connection) {
				if (step == 1 && connection.id() > 1) {
					Engine.pass(gate.get());
				}
			}

			@Override
			void message(Connection connection, ByteBuffer message) {
				if (Engine.text(message).equals("block")) {
					Engine.pass(gate.get());
				}
				connection.send(message);
			}
		};
		LeaderFollowersPool pool = this.engine.pool(2, 4);
		TcpServer server = this.engine.lines(pool, recorder);
		Peer bystander = this.engine.connect(server);
		recorder.await(1);
		for (int id = 2; id < 22; id++) {
			List<String> calls = recorder.of(id);
			gate.set(this.engine.gate());
			Peer peer = this.engine.connect(server);
			switch (step) {
				case 0 -> peer.reset();
				case 1 -> {
					Engine.eventually().until(() -> calls.contains("open"));
					peer.send("during open\n").reset();
				}
				case 2 -> peer.send("part").reset();
				case 3 -> peer.send("whole\n").reset();
				case 4 -> {
					assertThat(peer.send("whole\n").readLine()).isEqualTo("whole");
					peer.reset();
				}
				case 5 -> {
					peer.send("block\n");
					Engine.eventually().until(() -> calls.contains("block"));
					peer.reset();
				}
				case 6 -> {
					peer.send("block\nmore\nmo");
					Engine.eventually().until(() -> calls.contains("block"));
					peer.send("re\n").reset();
				}
				default -> {
					peer.send("block\n").shutdownOutput();
					Engine.eventually().until(() -> calls.contains("block"));
					peer.reset();
				}
			}
			assertThat(bystander.send("x\n").readLine()).isEqualTo("x");
			gate.get().countDown();
			int accepted = id;
			if (step == 0) {
				// The connection may have ended before the server served it.
				Engine.eventually().until(() -> server.snapshot().acceptedConnections() == accepted);
			}
			else {
				recorder.awaitClose(id);
				assertThat(calls).startsWith("open");
				assertThat(calls.get(calls.size() - 1)).isIn("close IO_ERROR", "close PEER");
			}
			Engine.eventually().until(() -> server.snapshot().openConnections() == 1);
		}
		assertThat(recorder.overlapped).isFalse();
	}

	@Test
	void repliesReachAPeerWhoseInputIsLeftUnread() {
		Recorder recorder = new Recorder() {
			@Override
			void message(Connection connection, ByteBuffer message) {
				connection.send(Engine.bytes("answer"));
				if (message.remaining() == 4) {
					connection.send(Engine.bytes("bye"));
					connection.close();
				}
			}
		};
		TcpServer server = this.engine.lines(this.engine.pool(2, 4), recorder);
		for (int i = 1; i <= 30; i++) {
			Peer peer = this.engine.connect(server).send("one\nlast\n" + "unread\n".repeat(20_000));
			assertThat(peer.readTextToEnd()).isEqualTo("answer\nanswer\nbye\n");
			assertThat(recorder.awaitClose(i)).containsExactly("open", "one", "last", "close LOCAL");
		}
	}

	@Test
	void aPeerThatNeverClosesItsSideIsLeftAfterAWhile() {
		TcpServer server = this.engine.lines(this.engine.pool(2, 4), (connection, message) -> connection.close());
		Peer peer = this.engine.connect(server).send("x\n");
		assertThat(peer.readLine()).isNull();
		Engine.eventually().until(() -> server.snapshot().openConnections() == 0);
		assertThat(server.snapshot().closedConnections()).containsEntry(CloseReason.LOCAL, 1L);
	}

	@Test
	void aPeerThatNeverStopsSendingIsLeftAfterAWhile() {
		TcpServer server = this.engine.lines(this.engine.pool(2, 4), (connection, message) -> connection.close());
		Peer peer = this.engine.connect(server);
		Thread flood = new Thread(() -> {
			byte[] bytes = new byte[8192];
			bytes[0] = '\n';
			try {
				long end = System.nanoTime() + Engine.DEADLINE.toNanos();
				while (System.nanoTime() - end < 0) {
					peer.send(bytes);
				}
			}
			catch (UncheckedIOException ex) {
				// closed at last
			}
		});
		flood.start();
		Peer other = this.engine.connect(server);
		assertThat(other.send("x\n").readLine()).isNull();
		other.close();
		Engine.eventually().until(() -> server.snapshot().openConnections() == 0);
		Engine.eventually().until(() -> !flood.isAlive());
	}

	@Test
	@EnabledOnOs(OS.LINUX)
	void aFloodOfConnectionsLeavesNothing() throws Exception {
		MessageHandler handler = new MessageHandler() {
			@Override
			public void onMessage(Connection connection, ByteBuffer message) {
				connection.attributes().put("held", new byte[1000]);
				connection.send(message);
			}

			@Override
			public void onError(Connection connection, Throwable failure) {
				// resets
			}
		};
		LeaderFollowersPool pool = this.engine.pool(3, 6);
		TcpServer server = this.engine.lines(pool, handler);
		flood(server, 500);
		Engine.eventually().until(() -> server.snapshot().openConnections() == 0);
		Engine.awaitIdle(pool);
		long descriptors = Engine.descriptors();
		long heap = Engine.usedHeap();
		flood(server, 5000);
		Engine.eventually().until(() -> server.snapshot().openConnections() == 0);
		assertThat(server.snapshot().acceptedConnections()).isLessThanOrEqualTo(5500);
		Engine.eventually().untilAsserted(() -> assertThat(Engine.descriptors()).isLessThanOrEqualTo(descriptors + 5));
		Engine.eventually().untilAsserted(() -> assertThat(Engine.usedHeap() - heap).isLessThan(3_000_000));
		assertThat(Engine.awaitIdle(pool).handleSets().get(0).handles()).as("the listening socket").isOne();
	}

	private static void flood(TcpServer server, int count) throws Exception {
		ExecutorService clients = Executors.newFixedThreadPool(4);
		try {
			List<Future<?>> all = new ArrayList<>();
			for (int c = 0; c < 4; c++) {
				all.add(clients.submit(() -> {
					for (int i = 0; i < count / 4; i++) {
						try (Peer peer = new Peer(server.address(), 0)) {
							switch (i % 5) {
								case 0 -> {
								}
								case 1 -> peer.reset();
								case 2 -> assertThat(peer.send("x\n").readLine()).isEqualTo("x");
								case 3 -> peer.send("par").reset();
								default -> assertThat(peer.send("x\ny\n").shutdownOutput().readTextToEnd())
									.isEqualTo("x\ny\n");
							}
						}
					}
					return null;
				}));
			}
			for (Future<?> one : all) {
				one.get(90, TimeUnit.SECONDS);
			}
		}
		finally {
			clients.shutdownNow();
		}
	}

}
