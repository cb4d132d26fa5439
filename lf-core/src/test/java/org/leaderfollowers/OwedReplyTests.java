package org.leaderfollowers;

import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.Queue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReference;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.leaderfollowers.internal.promotion.Clock;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;

/**
 * Replies that are owed while further messages of the connection are handled.
 */
@Timeout(120)
class OwedReplyTests {

	@RegisterExtension
	final Engine engine = new Engine();

	private final Queue<OwedReply> owed = new ConcurrentLinkedQueue<>();

	/** Replies later to messages that begin with "later", and at once to others. */
	private Recorder handler() {
		return new Recorder() {
			@Override
			void message(Connection connection, ByteBuffer message) {
				if (Engine.text(message).startsWith("later")) {
					OwedReplyTests.this.owed.add(connection.owe());
				}
				else {
					connection.send(message.reset());
				}
			}
		};
	}

	private OwedReply awaitOwed() {
		Engine.eventually().until(() -> !this.owed.isEmpty());
		return this.owed.remove();
	}

	private static void answer(OwedReply reply, String text) {
		reply.send(Engine.bytes(text));
		reply.close();
	}

	@Test
	void furtherMessagesAreHandledMeanwhile() {
		TcpServer server = this.engine.lines(this.engine.pool(1, 4), handler());
		Peer peer = this.engine.connect(server).send("later\n1\n");
		assertThat(peer.readLine()).isEqualTo("1");
		assertThat(server.connections().findFirst().orElseThrow().inFlight()).isOne();
		assertThat(peer.send("2\n").readLine()).isEqualTo("2");
		answer(awaitOwed(), "reply");
		assertThat(peer.readLine()).isEqualTo("reply");
		assertThat(server.connections().findFirst().orElseThrow().inFlight()).isZero();
	}

	/** The connection ends only after the handler, so its end wakes nobody. */
	@ParameterizedTest
	@ValueSource(ints = { 1, 4 })
	void aHandlerThatDrainsItsServerWaitsForNothingAfterTheReply(int window) {
		CompletableFuture<Boolean> drained = new CompletableFuture<>();
		AtomicReference<Thread> waiting = new AtomicReference<>();
		AtomicReference<TcpServer> server = new AtomicReference<>();
		MessageHandler handler = new MessageHandler() {
			@Override
			public void onMessage(Connection connection, ByteBuffer message) {
				if (Engine.text(message).equals("later")) {
					OwedReplyTests.this.owed.add(connection.owe());
				}
				else {
					waiting.set(Thread.currentThread());
					drained.complete(server.get().drain(Engine.DEADLINE.multipliedBy(2)));
				}
			}
		};
		server.set(this.engine.start(TcpServer.builder(this.engine.pool(1, 4))
			.framing(Framing.line())
			.handler(handler)
			.maxInFlightPerConnection(window)));
		Peer peer = this.engine.connect(server.get()).send("later\ndrain\n");
		OwedReply reply = awaitOwed();
		Engine.eventually().untilAsserted(() -> assertThat(waiting.get()).isNotNull());
		Engine.eventually()
			.untilAsserted(() -> assertThat(waiting.get().getStackTrace())
				.anyMatch((frame) -> frame.getMethodName().equals("timedWait"))
				.anyMatch((frame) -> frame.getMethodName().equals("awaitRest")));
		answer(reply, "reply");
		assertThat(peer.readLine()).isEqualTo("reply");
		Engine.eventually().untilAsserted(() -> assertThat(drained).isCompletedWithValue(true));
	}

	/** A drain cannot wait for it, so the log must say that it was lost. */
	@Test
	void aReplyThatNobodyHasAnnouncedIsReportedIfItComesTooLate() {
		Recorder recorder = new Recorder() {
			@Override
			void message(Connection connection, ByteBuffer message) {
				// The reply is left to another thread.
			}
		};
		TcpServer server = this.engine.lines(this.engine.pool(1, 4), recorder);
		Peer peer = this.engine.connect(server).send("request\n");
		Engine.eventually().until(() -> recorder.of(1).contains("request"));
		Connection connection = recorder.await(1);
		assertThat(server.close(Engine.DEADLINE)).isTrue();
		assertThat(peer.readTextToEnd()).isEmpty();
		assertThatExceptionOfType(ConnectionClosedException.class)
			.isThrownBy(() -> connection.send(Engine.bytes("reply")));
		Engine.eventually()
			.untilAsserted(() -> assertThat(this.engine.log()).anyMatch((line) -> line.contains("Connection.owe()")));
	}

	/** A client of replies in order would take it for the reply that was refused. */
	@Test
	void aReplyIsRefusedWhileTheHandlerSaysItsLastWords() {
		CountDownLatch speaks = new CountDownLatch(1);
		CountDownLatch refused = new CountDownLatch(1);
		TcpServer server = this.engine.lines(this.engine.pool(1, 4), new MessageHandler() {
			@Override
			public void onMessage(Connection connection, ByteBuffer message) {
				if (Engine.text(message).equals("fail")) {
					throw new IllegalStateException("made for the test");
				}
				OwedReplyTests.this.owed.add(connection.owe());
			}

			@Override
			public void onError(Connection connection, Throwable failure) {
				speaks.countDown();
				Engine.pass(refused);
				connection.send(Engine.bytes("failed"));
			}
		});
		Peer peer = this.engine.connect(server).send("later\nfail\n");
		OwedReply reply = awaitOwed();
		Engine.pass(speaks);
		assertThatExceptionOfType(ConnectionClosedException.class).isThrownBy(() -> reply.send(Engine.bytes("reply")));
		refused.countDown();
		assertThat(peer.readTextToEnd()).isEqualTo("failed\n");
		reply.close();
	}

	@Test
	void aDrainWaits() throws Exception {
		Queue<String> calls = new ConcurrentLinkedQueue<>();
		TcpServer server = this.engine.lines(this.engine.pool(1, 4), new MessageHandler() {
			@Override
			public void onMessage(Connection connection, ByteBuffer message) {
				calls.add(Engine.text(message));
				OwedReplyTests.this.owed.add(connection.owe());
			}

			@Override
			public void onDrain(Connection connection) {
				calls.add("drain");
				connection.send(Engine.bytes("goodbye"));
			}
		});
		Peer peer = this.engine.connect(server).send("1\n");
		OwedReply first = awaitOwed();
		CompletableFuture<Boolean> drained = CompletableFuture.supplyAsync(() -> server.close(Engine.DEADLINE),
				(task) -> new Thread(task).start());
		Engine.eventually().until(() -> server.snapshot().state() == ServerSnapshot.State.DRAINING);
		// The message is in the socket, and is handled after the sign-off.
		peer.send("2\n");
		assertThat(calls).containsExactly("1");
		answer(first, "first");
		answer(awaitOwed(), "second");
		assertThat(peer.readTextToEnd()).isEqualTo("first\ngoodbye\nsecond\n");
		assertThat(calls).containsExactly("1", "drain", "2");
		assertThat(drained.get(30, TimeUnit.SECONDS)).isTrue();
	}

	/**
	 * The owner has found that a reply is owed, and is about to decide what may be read.
	 */
	@Test
	void noMessageOvertakesTheSignOffIfTheReplyComesAsTheOwnerLooks() throws Exception {
		AtomicReference<Runnable> inBetween = new AtomicReference<>();
		LeaderFollowersPool pool = this.engine.pool(LeaderFollowersPool.builder().threads(1, 4).clock(new Clock() {
			@Override
			public long nanoTime() {
				boolean looks = inBetween.get() != null && StackWalker.getInstance()
					.walk((frames) -> frames.anyMatch((frame) -> frame.getMethodName().equals("nextStep")));
				Runnable action = looks ? inBetween.getAndSet(null) : null;
				if (action != null) {
					action.run();
				}
				return super.nanoTime();
			}
		}));
		TcpServer server = this.engine.start(TcpServer.builder(pool)
			.framing(Framing.line())
			.correlation(Correlation.byKey((message) -> null))
			.handler(new MessageHandler() {
				@Override
				public void onMessage(Connection connection, ByteBuffer message) {
					OwedReplyTests.this.owed.add(connection.owe());
				}

				@Override
				public void onDrain(Connection connection) {
					connection.send(Engine.bytes("goodbye"));
				}
			}));
		Peer peer = this.engine.connect(server).send("1\n");
		OwedReply first = awaitOwed();
		Engine.awaitIdle(pool);
		inBetween.set(() -> {
			peer.send("2\n");
			answer(first, "first");
		});
		CompletableFuture<Boolean> drained = CompletableFuture.supplyAsync(() -> server.close(Engine.DEADLINE),
				(task) -> new Thread(task).start());
		answer(awaitOwed(), "second");
		assertThat(peer.readTextToEnd()).isEqualTo("first\ngoodbye\nsecond\n");
		assertThat(drained.get(30, TimeUnit.SECONDS)).isTrue();
	}

	@Test
	void aDrainThatCouldNotWaitDoesNotClaimToBeComplete() {
		TcpServer server = this.engine.lines(this.engine.pool(1, 4), handler());
		this.engine.connect(server).send("later\n");
		OwedReply reply = awaitOwed();
		assertThat(server.close(Duration.ofMillis(50))).isFalse();
		assertThat(this.engine.log()).anyMatch(
				(line) -> line.contains("is closed although 1 connections (1 messages unanswered) had not finished"));
		reply.close();
	}

	@Test
	void aHandlerThatDrainsItsServerWaitsForTheReply() throws Exception {
		CompletableFuture<Boolean> drained = new CompletableFuture<>();
		TcpServer[] server = new TcpServer[1];
		server[0] = this.engine.lines(this.engine.pool(1, 4), (connection, message) -> {
			if (Engine.text(message).equals("stop")) {
				drained.complete(server[0].drain(Engine.DEADLINE));
			}
			else {
				this.owed.add(connection.owe());
			}
		});
		Peer peer = this.engine.connect(server[0]).send("later\nstop\n");
		OwedReply reply = awaitOwed();
		Engine.eventually().until(() -> server[0].snapshot().state() == ServerSnapshot.State.DRAINING);
		assertThat(drained).isNotDone();
		answer(reply, "reply");
		assertThat(drained.get(30, TimeUnit.SECONDS)).isTrue();
		assertThat(peer.readTextToEnd()).isEqualTo("reply\n");
	}

	@Test
	void aPeerThatHasShutDownItsOutputGetsTheReply() {
		Recorder recorder = handler();
		TcpServer server = this.engine.lines(this.engine.pool(1, 4), recorder);
		Peer peer = this.engine.connect(server).send("later\n1\n").shutdownOutput();
		assertThat(peer.readLine()).isEqualTo("1");
		Engine.eventually().until(() -> server.pool().snapshot().handleSets().get(0).deactivated() == 1);
		answer(awaitOwed(), "reply");
		assertThat(peer.readTextToEnd()).isEqualTo("reply\n");
		assertThat(recorder.awaitClose(1)).endsWith("close PEER");
	}

	@Test
	void inputThatIsMalformedClosesAfterTheReply() {
		Recorder recorder = handler();
		TcpServer server = this.engine.start(
				TcpServer.builder(this.engine.pool(1, 4)).framing(Framing.line()).maxMessageSize(50).handler(recorder));
		Peer peer = this.engine.connect(server).send("later\n" + "x".repeat(100));
		OwedReply reply = awaitOwed();
		Engine.eventually().until(() -> server.pool().snapshot().handleSets().get(0).deactivated() == 1);
		answer(reply, "reply");
		assertThat(peer.readTextToEnd()).isEqualTo("reply\n");
		assertThat(recorder.awaitClose(1)).containsExactly("open", "later", "error FramingException",
				"close MESSAGE_TOO_LARGE");
	}

	@Test
	void aReplyThatFailsFailsTheConnection() {
		Recorder recorder = handler();
		TcpServer server = this.engine.lines(this.engine.pool(1, 4), recorder);
		Peer peer = this.engine.connect(server).send("later\n");
		OwedReply reply = awaitOwed();
		reply.fail(new IllegalArgumentException("no"));
		assertThat(peer.readTextToEnd()).isEmpty();
		assertThat(recorder.awaitClose(1)).containsExactly("open", "later", "error IllegalArgumentException",
				"close HANDLER_ERROR");
		assertThatIllegalStateException().isThrownBy(() -> reply.send(Engine.bytes("late")));
		assertThatIllegalStateException().isThrownBy(() -> reply.run(() -> {
		}));
	}

	@Test
	void theIdleTimeoutEndsAReplyThatIsForgotten() {
		Recorder recorder = handler();
		TcpServer server = this.engine.start(TcpServer.builder(this.engine.pool(1, 4))
			.framing(Framing.line())
			.idleTimeout(Duration.ofMillis(200))
			.handler(recorder));
		Peer peer = this.engine.connect(server).send("later\n");
		assertThat(peer.readTextToEnd()).isEmpty();
		assertThat(recorder.awaitClose(1)).endsWith("close IDLE_TIMEOUT");
	}

}
