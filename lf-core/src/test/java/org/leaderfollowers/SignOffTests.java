package org.leaderfollowers;

import java.io.UncheckedIOException;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Supplier;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

import static org.assertj.core.api.Assertions.assertThat;

/** Handlers are told when their server begins to drain, and can still send. */
@Timeout(120)
class SignOffTests {

	@RegisterExtension
	final Engine engine = new Engine();

	private final AtomicReference<Suspension> suspension = new AtomicReference<>();

	/** Signs off when the server drains, and obeys some commands. */
	private class Polite extends Recorder {

		final CountDownLatch gate = SignOffTests.this.engine.gate();

		void drain(Connection connection) {
			connection.send(Engine.bytes("bye"));
		}

		@Override
		public final void onDrain(Connection connection) throws Exception {
			record(connection, "drain", () -> {
				assertThat(connection.isDraining()).isTrue();
				drain(connection);
			});
		}

		@Override
		void message(Connection connection, ByteBuffer message) {
			String text = Engine.text(message);
			if (text.equals("block")) {
				Engine.pass(this.gate);
			}
			if (text.equals("later")) {
				SignOffTests.this.suspension.set(connection.suspend());
				return;
			}
			connection.send(message);
		}

		void assertInOrder() {
			assertThat(this.overlapped).isFalse();
		}

	}

	private static CompletableFuture<Boolean> closing(TcpServer server) {
		CompletableFuture<Boolean> result = elsewhere(() -> server.close(Engine.DEADLINE));
		Engine.eventually().until(() -> server.snapshot().state() != ServerSnapshot.State.RUNNING);
		return result;
	}

	/** Runs in a thread of its own: the common pool may have just one. */
	private static CompletableFuture<Boolean> elsewhere(Supplier<Boolean> close) {
		return CompletableFuture.supplyAsync(close, (task) -> new Thread(task).start());
	}

	private static void assertDrained(CompletableFuture<Boolean> closed) throws Exception {
		assertThat(closed.get(30, TimeUnit.SECONDS)).isTrue();
	}

	@ParameterizedTest
	@ValueSource(ints = { 1, 4 })
	void anIdleConnectionIsSignedOff(int threads) throws Exception {
		Polite handler = new Polite();
		TcpServer server = this.engine.lines(this.engine.pool(threads, threads), handler);
		List<Peer> peers = new ArrayList<>();
		for (int i = 1; i <= 20; i++) {
			peers.add(this.engine.connect(server));
			assertThat(handler.await(i).isDraining()).isFalse();
		}
		CompletableFuture<Boolean> closed = closing(server);
		for (int i = 1; i <= 20; i++) {
			assertThat(peers.get(i - 1).readTextToEnd()).isEqualTo("bye\n");
			assertThat(handler.awaitClose(i)).containsExactly("open", "drain", "close SHUTDOWN");
			assertThat(handler.await(i).isDraining()).isTrue();
		}
		assertDrained(closed);
		handler.assertInOrder();
	}

	@ParameterizedTest
	@ValueSource(ints = { 1, 4 })
	void aBusyConnectionIsToldAfterItsMessageAndAnswersWhatHadArrived(int threads) throws Exception {
		Polite handler = new Polite();
		TcpServer server = this.engine.lines(this.engine.pool(threads, threads), handler);
		Peer peer = this.engine.connect(server).send("block\n");
		Engine.eventually().until(() -> handler.of(1).contains("block"));
		// The messages wait in the socket, since the owner of the connection does not
		// read.
		peer.send("second\nthird\n");
		CompletableFuture<Boolean> closed = closing(server);
		assertThat(handler.of(1)).doesNotContain("drain");
		handler.gate.countDown();
		assertThat(peer.readTextToEnd()).isEqualTo("block\nbye\nsecond\nthird\n");
		assertThat(handler.awaitClose(1)).containsExactly("open", "block", "drain", "second", "third",
				"close SHUTDOWN");
		assertDrained(closed);
		handler.assertInOrder();
	}

	@Test
	void theSignOffOfASuspendedConnectionDoesNotOvertakeItsReply() throws Exception {
		Polite handler = new Polite();
		TcpServer server = this.engine.lines(this.engine.pool(1, 4), handler);
		Peer peer = this.engine.connect(server).send("later\nsecond\n");
		Peer idle = this.engine.connect(server);
		Engine.eventually().until(() -> this.suspension.get() != null);
		handler.await(2);
		CompletableFuture<Boolean> closed = closing(server);
		assertThat(idle.readTextToEnd()).as("proves that the drain has got this far").isEqualTo("bye\n");
		assertThat(handler.of(1)).containsExactly("open", "later");
		assertThat(handler.await(1).isDraining()).isTrue();
		handler.await(1).send(Engine.bytes("reply"));
		this.suspension.get().resume();
		assertThat(peer.readTextToEnd()).isEqualTo("reply\nbye\nsecond\n");
		assertThat(handler.awaitClose(1)).containsExactly("open", "later", "drain", "second", "close SHUTDOWN");
		assertDrained(closed);
	}

	@Test
	void aConnectionThatIsAcceptedAtTheLastMomentIsOpenedFirst() throws Exception {
		Polite handler = new Polite();
		TcpServer server = this.engine.lines(this.engine.pool(1, 1), handler);
		Peer blocks = this.engine.connect(server).send("block\n");
		Engine.eventually().until(() -> handler.of(1).contains("block"));
		Peer waiting = this.engine.connect(server).send("waiting\n");
		CompletableFuture<Boolean> closed = closing(server);
		handler.gate.countDown();
		assertThat(blocks.readTextToEnd()).isEqualTo("block\nbye\n");
		assertThat(waiting.readTextToEnd()).isEqualTo("bye\nwaiting\n");
		assertThat(handler.awaitClose(2)).containsExactly("open", "drain", "waiting", "close SHUTDOWN");
		assertDrained(closed);
	}

	@Test
	void aMessageThatHasBegunIsCompletedAfterTheSignOff() throws Exception {
		Polite handler = new Polite();
		TcpServer server = this.engine.lines(this.engine.pool(2, 4), handler);
		Peer peer = this.engine.connect(server).send("be");
		Engine.eventually().until(() -> server.snapshot().receivedBytes() == 2);
		CompletableFuture<Boolean> closed = closing(server);
		assertThat(peer.readLine()).isEqualTo("bye");
		assertThat(peer.send("gun\n").readTextToEnd()).isEqualTo("begun\n");
		assertDrained(closed);
		assertThat(handler.awaitClose(1)).containsExactly("open", "drain", "begun", "close SHUTDOWN");
	}

	@Test
	void aLongSignOffIsWrittenBeforeTheClose() throws Exception {
		Polite handler = new Polite() {
			@Override
			void drain(Connection connection) {
				connection.send(Engine.bytes("x".repeat(8_000_000)));
				connection.send(Engine.bytes("bye"));
			}
		};
		TcpServer server = this.engine.start(TcpServer.builder(this.engine.pool(2, 4))
			.framing(Framing.line())
			.handler(handler)
			.maxOutboundSize(16_000_000));
		Peer peer = this.engine.connect(server, 4096);
		Connection connection = handler.await(1);
		CompletableFuture<Boolean> closed = closing(server);
		Engine.eventually().until(() -> connection.pendingBytes() > 0);
		assertThat(peer.readLine()).hasSize(8_000_000);
		assertThat(peer.readTextToEnd()).isEqualTo("bye\n");
		assertDrained(closed);
	}

	@Test
	void aPeerThatIsFarBehindIsSignedOffWhenItHasCaughtUp() throws Exception {
		Polite handler = new Polite() {
			@Override
			void message(Connection connection, ByteBuffer message) {
				connection.send(Engine.bytes("x".repeat(8_000_000)));
			}
		};
		TcpServer server = this.engine.lines(this.engine.pool(2, 4), handler);
		Peer peer = this.engine.connect(server, 4096).send("1\n");
		Connection connection = handler.await(1);
		Engine.eventually().until(() -> connection.pendingBytes() > 0);
		CompletableFuture<Boolean> closed = closing(server);
		assertThat(handler.of(1)).doesNotContain("drain");
		assertThat(peer.readLine()).hasSize(8_000_000);
		assertThat(peer.readTextToEnd()).isEqualTo("bye\n");
		assertThat(handler.awaitClose(1)).containsExactly("open", "1", "drain", "close SHUTDOWN");
		assertDrained(closed);
	}

	/** Messages of the peer may cross the sign-off. */
	@ParameterizedTest
	@ValueSource(ints = { 1, 4 })
	void aHandlerMayOweAReplyUntilItsSignOffIsAnswered(int inFlight) throws Exception {
		AtomicReference<OwedReply> owed = new AtomicReference<>();
		Polite handler = new Polite() {
			@Override
			void drain(Connection connection) {
				owed.set(connection.owe());
				connection.send(Engine.bytes("bye"));
			}

			@Override
			void message(Connection connection, ByteBuffer message) {
				if (Engine.text(message).equals("bye")) {
					owed.get().close();
				}
				else {
					connection.send(message);
				}
			}
		};
		TcpServer server = this.engine.start(TcpServer.builder(this.engine.pool(2, 4))
			.framing(Framing.line())
			.maxInFlightPerConnection(inFlight)
			.drainMessageTimeout(Duration.ZERO)
			.handler(handler));
		Peer peer = this.engine.connect(server);
		handler.await(1);
		CompletableFuture<Boolean> closed = closing(server);
		assertThat(peer.readLine()).isEqualTo("bye");
		for (int i = 0; i < 3; i++) {
			assertThat(peer.send("request " + i + "\n").readLine()).isEqualTo("request " + i);
		}
		peer.send("ha");
		Engine.eventually().until(() -> server.snapshot().receivedBytes() == 32);
		assertThat(closed).isNotDone();
		assertThat(peer.send("lf\n").readLine()).isEqualTo("half");
		assertThat(peer.send("bye\n").readTextToEnd()).isEmpty();
		assertDrained(closed);
	}

	@Test
	void aHandlerThatWaitsForAnAnswerToItsSignOffSuspendsTheDrain() throws Exception {
		Polite handler = new Polite() {
			@Override
			void drain(Connection connection) {
				SignOffTests.this.suspension.set(connection.suspend());
			}
		};
		TcpServer server = this.engine.lines(this.engine.pool(2, 4), handler);
		Peer peer = this.engine.connect(server);
		Connection connection = handler.await(1);
		CompletableFuture<Boolean> closed = closing(server);
		Engine.eventually().until(() -> this.suspension.get() != null);
		peer.send("meanwhile\n");
		connection.send(Engine.bytes("bye at last"));
		assertThat(peer.readLine()).isEqualTo("bye at last");
		assertThat(closed).isNotDone();
		this.suspension.get().resume();
		assertThat(peer.readTextToEnd()).isEqualTo("meanwhile\n");
		assertDrained(closed);
	}

	@Test
	void aHandlerThatFailsClosesItsConnectionOnly() throws Exception {
		Polite handler = new Polite() {
			@Override
			void drain(Connection connection) {
				if (connection.id() == 1) {
					throw new IllegalStateException("no last words");
				}
				super.drain(connection);
			}

			@Override
			void error(Connection connection, Throwable failure) {
				connection.send(Engine.bytes("sorry"));
			}
		};
		TcpServer server = this.engine.lines(this.engine.pool(2, 4), handler);
		Peer fails = this.engine.connect(server);
		handler.await(1);
		Peer other = this.engine.connect(server);
		handler.await(2);
		CompletableFuture<Boolean> closed = closing(server);
		assertThat(fails.readTextToEnd()).isEqualTo("sorry\n");
		assertThat(other.readTextToEnd()).isEqualTo("bye\n");
		assertThat(handler.awaitClose(1)).containsExactly("open", "drain", "error IllegalStateException",
				"close HANDLER_ERROR");
		assertDrained(closed);
	}

	@Test
	void aHandlerMayCloseTheConnection() throws Exception {
		Polite handler = new Polite() {
			@Override
			void drain(Connection connection) {
				super.drain(connection);
				connection.close();
			}
		};
		TcpServer server = this.engine.lines(this.engine.pool(2, 4), handler);
		Peer peer = this.engine.connect(server);
		handler.await(1);
		CompletableFuture<Boolean> closed = closing(server);
		assertThat(peer.readTextToEnd()).isEqualTo("bye\n");
		assertThat(handler.awaitClose(1)).containsExactly("open", "drain", "close LOCAL");
		assertDrained(closed);
	}

	@Test
	void aDrainOfThePoolSignsOffAsWellAndASecondOneDoesNotAgain() throws Exception {
		Polite handler = new Polite();
		LeaderFollowersPool pool = this.engine.pool(2, 4);
		TcpServer server = this.engine.lines(pool, handler);
		Peer peer = this.engine.connect(server).send("later\n");
		Engine.eventually().until(() -> this.suspension.get() != null);
		assertThat(server.drain(Duration.ofMillis(1))).isFalse();
		CompletableFuture<Boolean> closed = elsewhere(() -> pool.close(Engine.DEADLINE));
		this.suspension.get().resume();
		assertThat(peer.readTextToEnd()).isEqualTo("bye\n");
		assertDrained(closed);
		assertThat(handler.awaitClose(1)).containsExactly("open", "later", "drain", "close SHUTDOWN");
	}

	@Test
	void everyConnectionIsToldOnceUnderLoad() throws Exception {
		for (int round = 0; round < 5; round++) {
			Polite handler = new Polite();
			TcpServer server = this.engine.lines(this.engine.pool(2, 8), handler);
			AtomicInteger answered = new AtomicInteger();
			List<String> wrong = Collections.synchronizedList(new ArrayList<>());
			List<Thread> clients = new ArrayList<>();
			for (int c = 0; c < 16; c++) {
				Peer peer = this.engine.connect(server);
				Thread client = new Thread(() -> {
					int farewells = 0;
					try {
						for (String line = "0"; line != null; line = peer.readLine()) {
							farewells += line.equals("bye") ? 1 : 0;
							answered.incrementAndGet();
							peer.send("1\n");
						}
					}
					catch (UncheckedIOException ex) {
						// The server has ended without receiving the rest.
						return;
					}
					finally {
						peer.close();
					}
					if (farewells != 1) {
						wrong.add(farewells + " farewells");
					}
				});
				client.start();
				clients.add(client);
			}
			Engine.eventually().until(() -> answered.get() > 500);
			assertDrained(closing(server));
			for (Thread client : clients) {
				client.join(Engine.DEADLINE.toMillis());
				assertThat(client.isAlive()).isFalse();
			}
			assertThat(wrong).isEmpty();
			for (long id = 1; id <= 16; id++) {
				assertThat(handler.of(id)).containsOnlyOnce("drain").endsWith("close SHUTDOWN");
			}
			handler.assertInOrder();
		}
	}

	@Test
	void aDatagramKnowsThatItsServerDrains() throws Exception {
		AtomicReference<Connection> datagram = new AtomicReference<>();
		UdpServer server = this.engine
			.start(UdpServer.builder(this.engine.pool(2, 4)).handler((connection, message) -> {
				this.suspension.set(connection.suspend());
				datagram.set(connection);
			}));
		try (DatagramPeer peer = new DatagramPeer(server)) {
			peer.send("x");
			Engine.eventually().until(() -> datagram.get() != null);
			assertThat(datagram.get().isDraining()).isFalse();
			CompletableFuture<Boolean> closed = elsewhere(() -> server.close(Engine.DEADLINE));
			Engine.eventually().until(() -> datagram.get().isDraining());
			this.suspension.get().resume();
			assertDrained(closed);
		}
	}

}
