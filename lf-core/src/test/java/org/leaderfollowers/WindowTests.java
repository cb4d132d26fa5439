package org.leaderfollowers;

import java.lang.ref.WeakReference;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Queue;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import java.util.concurrent.locks.LockSupport;
import java.util.stream.IntStream;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Connections whose messages are handled in parallel.
 */
@Timeout(120)
class WindowTests {

	@RegisterExtension
	final Engine engine = new Engine();

	/** What the handler was called with, and what it waits for. */
	private final Handler handler = new Handler();

	/**
	 * Answers each message when the test lets it: by the latch of its first letter.
	 */
	private final class Handler implements MessageHandler {

		final Queue<String> calls = new ConcurrentLinkedQueue<>();

		final Map<String, CountDownLatch> gates = new ConcurrentHashMap<>();

		final AtomicInteger running = new AtomicInteger();

		final AtomicBoolean closedWhileRunning = new AtomicBoolean();

		CountDownLatch gate(String name) {
			return this.gates.computeIfAbsent(name, (key) -> WindowTests.this.engine.gate());
		}

		void letGo(String name) {
			gate(name).countDown();
		}

		void await(String call) {
			Engine.eventually().until(() -> this.calls.contains(call));
		}

		@Override
		public void onOpen(Connection connection) {
			this.calls.add("open");
		}

		@Override
		public void onMessage(Connection connection, ByteBuffer message) {
			String text = Engine.text(message);
			this.running.incrementAndGet();
			this.calls.add(text);
			try {
				if (!text.startsWith("now")) {
					Engine.pass(gate(text.substring(0, 1)));
				}
				if (text.endsWith("!")) {
					throw new IllegalStateException(text);
				}
				if (text.endsWith("quit")) {
					connection.send(Engine.bytes("bye"));
					connection.close();
					return;
				}
				connection.send(message.reset());
			}
			finally {
				this.running.decrementAndGet();
			}
		}

		@Override
		public void onDrain(Connection connection) {
			this.calls.add("drain");
			connection.send(Engine.bytes("goodbye"));
		}

		@Override
		public void onError(Connection connection, Throwable failure) {
			this.calls.add("error " + failure.getMessage());
		}

		@Override
		public void onError(Connection connection, ByteBuffer message, Throwable failure) {
			this.calls.add("failed " + Engine.text(message));
			if (Engine.text(message.reset()).contains("sorry")) {
				connection.send(Engine.bytes("sorry"));
			}
		}

		@Override
		public void onClose(Connection connection, CloseReason reason) {
			this.closedWhileRunning.compareAndSet(false, this.running.get() != 0);
			this.calls.add("close " + reason);
		}

	}

	private TcpServer.Builder builder(int window) {
		return TcpServer.builder(this.engine.pool(2, 16))
			.framing(Framing.line())
			.handler(this.handler)
			.maxInFlightPerConnection(window);
	}

	private static MessageOrder byFirstLetter() {
		return (message) -> (char) message.get(message.position());
	}

	private static ConnectionSnapshot look(TcpServer server) {
		return server.connections().findFirst().orElseThrow();
	}

	@Test
	void messagesOfOneConnectionAreHandledInParallelAndRepliesLeaveAsTheyAreDone() {
		TcpServer server = this.engine.start(builder(3));
		Peer peer = this.engine.connect(server).send("a\nb\nc\nd\n");
		this.handler.await("a");
		this.handler.await("b");
		this.handler.await("c");
		assertThat(this.handler.calls).startsWith("open").containsExactlyInAnyOrder("open", "a", "b", "c");
		assertThat(look(server).inFlight()).isEqualTo(3);
		this.handler.letGo("b");
		assertThat(peer.readLine()).isEqualTo("b");
		this.handler.await("d");
		this.handler.letGo("d");
		assertThat(peer.readLine()).isEqualTo("d");
		this.handler.letGo("a");
		assertThat(peer.readLine()).isEqualTo("a");
		this.handler.letGo("c");
		assertThat(peer.readLine()).isEqualTo("c");
		Engine.eventually().until(() -> look(server).inFlight() == 0);
	}

	@Test
	void aFailureOfAHandlerThatIsToldOfAFailureIsLogged() {
		TcpServer server = this.engine.start(builder(3).handler(new MessageHandler() {
			@Override
			public void onMessage(Connection connection, ByteBuffer message) {
				throw new IllegalStateException("made for the test");
			}

			@Override
			public void onError(Connection connection, Throwable failure) {
				throw new IllegalStateException("made for the test as well");
			}
		}));
		this.engine.connect(server).send("a\n");
		Engine.eventually()
			.untilAsserted(() -> assertThat(this.engine.log())
				.anyMatch((line) -> line.contains("was not handled because its handler")));
	}

	@Test
	void severalThreadsAreSeenToWorkOnOneConnection() {
		TcpServer server = this.engine.start(builder(3));
		this.engine.connect(server).send("a\nb\n");
		this.handler.await("a");
		this.handler.await("b");
		String name = "Connection 1 of server 'default'";
		Engine.eventually()
			.until(() -> server.pool()
				.snapshot()
				.threads()
				.stream()
				.filter((thread) -> name.equals(thread.handle()))
				.count() == 2);
		this.handler.letGo("a");
		this.handler.letGo("b");
	}

	@Test
	void aFullWindowStopsReadingAndHoldsNoThread() {
		TcpServer server = this.engine.start(builder(2));
		Peer peer = this.engine.connect(server).send("a\nb\nnow 1\n");
		this.handler.await("a");
		this.handler.await("b");
		peer.send("now 2\n");
		Engine.eventually().until(() -> server.pool().snapshot().handleSets().get(0).deactivated() == 1);
		// The snapshot shows the thread that found the window full as busy for a moment
		// longer.
		Engine.eventually()
			.until(() -> server.pool()
				.snapshot()
				.threads()
				.stream()
				.filter((thread) -> thread.handle() != null)
				.count() == 2);
		assertThat(this.engine.connect(server).send("now other\n").readLine()).isEqualTo("now other");
		assertThat(this.handler.calls).doesNotContain("now 1", "now 2");
		this.handler.letGo("a");
		assertThat(List.of(peer.readLine(), peer.readLine(), peer.readLine())).containsExactly("a", "now 1", "now 2");
		this.handler.letGo("b");
		assertThat(peer.readLine()).isEqualTo("b");
	}

	@Test
	void aPlaceIsTakenAlthoughTheThreadThatHasFreedItHandlesTheNextMessage() {
		TcpServer server = this.engine.start(builder(2)
			.messageOrder((message) -> Character.isDigit((char) message.get(message.position())) ? "digit" : null));
		Peer peer = this.engine.connect(server).send("1\n2\nnow\n");
		this.handler.await("1");
		Engine.eventually().until(() -> server.pool().snapshot().handleSets().get(0).deactivated() == 1);
		this.handler.letGo("1");
		assertThat(List.of(peer.readLine(), peer.readLine())).containsExactly("1", "now");
		this.handler.letGo("2");
		assertThat(peer.readLine()).isEqualTo("2");
	}

	@Test
	void messagesWithEqualKeysStayInOrderAndOthersOvertakeThem() {
		TcpServer server = this.engine.start(builder(8).messageOrder(byFirstLetter()));
		Peer peer = this.engine.connect(server).send("a1\na2\nb1\na3\nb2\nnow\n");
		this.handler.await("a1");
		this.handler.await("b1");
		assertThat(peer.readLine()).isEqualTo("now");
		assertThat(this.handler.calls).contains("a1", "b1", "now").doesNotContain("a2", "a3", "b2");
		// The handler of the answered message returns after that.
		Engine.eventually().until(() -> look(server).inFlight() == 5);
		assertThat(server.pool().snapshot().bufferedBytes()).isPositive();
		this.handler.letGo("b");
		assertThat(List.of(peer.readLine(), peer.readLine())).containsExactly("b1", "b2");
		this.handler.letGo("a");
		assertThat(List.of(peer.readLine(), peer.readLine(), peer.readLine())).containsExactly("a1", "a2", "a3");
		Engine.eventually().until(() -> server.pool().snapshot().bufferedBytes() == 0);
	}

	@Test
	void aMessageOrderAloneAllowsMoreThanOneMessageInFlight() {
		TcpServer server = this.engine.start(TcpServer.builder(this.engine.pool(1, 4))
			.framing(Framing.line())
			.handler(this.handler)
			.messageOrder(byFirstLetter()));
		Peer peer = this.engine.connect(server).send("a\nnow\n");
		assertThat(peer.readLine()).isEqualTo("now");
		this.handler.letGo("a");
		assertThat(peer.readLine()).isEqualTo("a");
	}

	@Test
	void aMessageWithoutTheKeyThatItShouldHaveClosesTheConnectionAfterTheOthers() {
		TcpServer server = this.engine.start(builder(8).messageOrder((message) -> {
			if (message.get(message.position()) == '?') {
				throw new IllegalArgumentException("no key");
			}
			return null;
		}));
		Peer peer = this.engine.connect(server).send("a\n?\nnow\n");
		this.handler.await("a");
		Engine.eventually().until(() -> server.pool().snapshot().handleSets().get(0).deactivated() == 1);
		this.handler.letGo("a");
		assertThat(peer.readTextToEnd()).isEqualTo("a\n");
		this.handler.await("close MALFORMED");
		assertThat(this.handler.calls).containsExactly("open", "a", "error no key", "close MALFORMED");
	}

	@Test
	void repliesLeaveInTheOrderOfArrivalIfThatIsConfigured() {
		TcpServer server = this.engine.start(builder(4).replyOrder(ReplyOrder.ARRIVAL));
		Peer peer = this.engine.connect(server).send("a\nb\nc\nnow\n");
		List.of("a", "b", "c", "now").forEach(this.handler::await);
		this.handler.letGo("c");
		Engine.eventually().until(() -> this.handler.running.get() == 2);
		Connection connection = server.connection(1);
		assertThat(connection.pendingBytes()).isPositive();
		// This message is not a reply to any of them.
		connection.send(Engine.bytes("news"));
		assertThat(peer.readLine()).isEqualTo("news");
		this.handler.letGo("a");
		assertThat(peer.readLine()).isEqualTo("a");
		this.handler.letGo("b");
		assertThat(List.of(peer.readLine(), peer.readLine(), peer.readLine())).containsExactly("b", "c", "now");
		Engine.eventually().until(() -> connection.pendingBytes() == 0);
		Engine.eventually().until(() -> server.pool().snapshot().bufferedBytes() == 0);
	}

	@Test
	void aMessageToAnotherConnectionIsNotAReply() {
		TcpServer server = this.engine
			.start(builder(4).replyOrder(ReplyOrder.ARRIVAL).handler((connection, message) -> {
				connection.send(message);
				connection.attributes().forEach((name, other) -> ((Connection) other).send(message));
			}));
		Peer first = this.engine.connect(server);
		Peer second = this.engine.connect(server);
		Engine.eventually().until(() -> server.connections().count() == 2);
		server.connection(1).attributes().put("other", server.connection(2));
		assertThat(first.send("news\n").readLine()).isEqualTo("news");
		assertThat(second.readLine()).isEqualTo("news");
	}

	@Test
	void repliesThatWaitForEarlierOnesAreBounded() {
		TcpServer server = this.engine
			.start(TcpServer.builder(this.engine.pool(2, 3)).framing(Framing.line()).handler((connection, message) -> {
				String text = Engine.text(message);
				if (text.equals("a")) {
					Engine.pass(this.handler.gate("a"));
				}
				connection.send(Engine.bytes(text + "x".repeat(600)));
			}).maxInFlightPerConnection(100).maxOutboundSize(2048).replyOrder(ReplyOrder.ARRIVAL));
		StringBuilder requests = new StringBuilder("a\n");
		IntStream.range(0, 50).forEach((i) -> requests.append(i).append('\n'));
		Peer peer = this.engine.connect(server).send(requests.toString());
		// The handle of the listening socket is deactivated, too, while it accepts.
		Engine.eventually().until(() -> server.snapshot().receivedMessages() > 1);
		Engine.eventually().until(() -> server.pool().snapshot().handleSets().get(0).deactivated() == 1);
		Engine.eventually().until(() -> look(server).inFlight() == 1 || look(server).inFlight() > 5);
		assertThat(look(server).receivedMessages()).isLessThan(16);
		this.handler.letGo("a");
		assertThat(peer.readLine()).startsWith("ax");
		for (int i = 0; i < 50; i++) {
			assertThat(peer.readLine()).startsWith(i + "x");
		}
	}

	@Test
	void aFailureConcernsOneMessage() {
		TcpServer server = this.engine.start(builder(4));
		Peer peer = this.engine.connect(server).send("a\nb!\nnow sorry!\n");
		this.handler.await("failed now sorry!");
		assertThat(peer.readLine()).isEqualTo("sorry");
		this.handler.letGo("b");
		this.handler.await("failed b!");
		this.handler.letGo("a");
		assertThat(peer.readLine()).isEqualTo("a");
		assertThat(peer.send("now\n").readLine()).isEqualTo("now");
		assertThat(this.handler.calls).doesNotContain("close HANDLER_ERROR");
	}

	@Test
	void aMessageWithoutAReplyClosesAConnectionWhoseRepliesAreToldByTheirOrder() {
		TcpServer server = this.engine.start(builder(8).replyOrder(ReplyOrder.ARRIVAL));
		Peer peer = this.engine.connect(server).send("a\nnow sorry!\nb!\nnow\n");
		this.handler.await("b!");
		this.handler.await("now");
		this.handler.letGo("b");
		this.handler.await("failed b!");
		this.handler.letGo("a");
		assertThat(peer.readTextToEnd()).isEqualTo("a\nsorry\n");
		this.handler.await("close HANDLER_ERROR");
	}

	@Test
	void aHandlerThatClosesDoesSoBehindItsReplyIfRepliesAreInOrder() {
		TcpServer server = this.engine.start(builder(8).replyOrder(ReplyOrder.ARRIVAL));
		Peer peer = this.engine.connect(server).send("a\nnow quit\n");
		this.handler.await("now quit");
		peer.send("now late\n");
		this.handler.letGo("a");
		assertThat(peer.readTextToEnd()).isEqualTo("a\nbye\n");
		this.handler.await("close LOCAL");
	}

	@Test
	void noReplyLeavesInsteadOfAMessageThatIsNotHandledBecauseTheConnectionCloses() {
		CountDownLatch silent = this.engine.gate();
		List<String> calls = new CopyOnWriteArrayList<>();
		TcpServer server = this.engine.start(TcpServer.builder(this.engine.pool(2, 2))
			.framing(Framing.line())
			.maxInFlightPerConnection(8)
			.messageOrder((message) -> (char) message.get(message.position()))
			.replyOrder(ReplyOrder.ARRIVAL)
			.handler((connection, message) -> {
				String text = Engine.text(message);
				calls.add(text);
				if (text.contains("blocks")) {
					Engine.pass(silent);
				}
				else {
					connection.send(message.reset());
				}
				calls.add("after " + text);
			}));
		Peer peer = this.engine.connect(server).send("a blocks\na 2\nb\n");
		Engine.eventually().until(() -> calls.contains("after b"));
		// No thread is left that could notice the request to close.
		this.engine.connect(server).send("c blocks\n");
		Engine.eventually().until(() -> calls.contains("c blocks"));
		server.connection(1).close();
		silent.countDown();
		assertThat(peer.readTextToEnd()).isEmpty();
		assertThat(calls).doesNotContain("a 2");
		Engine.eventually().untilAsserted(() -> assertThat(server.pool().snapshot().bufferedBytes()).isZero());
	}

	@Test
	void anUnhandledFailureIsLoggedWithoutClosingTheConnection() {
		TcpServer server = this.engine.start(builder(4).handler((connection, message) -> {
			if (Engine.text(message).equals("fail")) {
				throw new IllegalStateException("no");
			}
			connection.send(message.reset());
		}));
		assertThat(this.engine.connect(server).send("fail\nok\n").readLine()).isEqualTo("ok");
		Engine.eventually()
			.until(() -> this.engine.log()
				.stream()
				.anyMatch((line) -> line.contains("A message of Connection 1 of server 'default' was not handled")));
	}

	@ParameterizedTest
	@EnumSource
	void aPeerThatHasShutDownItsOutputGetsEveryReply(ReplyOrder order) {
		TcpServer server = this.engine.start(builder(2).replyOrder(order));
		Peer peer = this.engine.connect(server).send("a\nb\na2\nb2\nnow\n").shutdownOutput();
		this.handler.await("a");
		this.handler.await("b");
		this.handler.letGo("a");
		this.handler.letGo("b");
		assertThat(peer.readTextToEnd().split("\n")).containsExactlyInAnyOrder("a", "b", "a2", "b2", "now");
		this.handler.await("close PEER");
		assertThat(this.handler.closedWhileRunning).isFalse();
	}

	@Test
	void anErrorOfFramingClosesAfterTheHandlersInFlight() {
		TcpServer server = this.engine.start(builder(4).maxMessageSize(100));
		Peer peer = this.engine.connect(server).send("a\nb\n" + "x".repeat(200));
		this.handler.await("a");
		this.handler.await("b");
		Engine.eventually().until(() -> server.pool().snapshot().handleSets().get(0).deactivated() == 1);
		assertThat(server.connection(1).isOpen()).isTrue();
		this.handler.letGo("a");
		assertThat(peer.readLine()).isEqualTo("a");
		this.handler.letGo("b");
		assertThat(peer.readTextToEnd()).isEqualTo("b\n");
		this.handler.await("close MESSAGE_TOO_LARGE");
		assertThat(this.handler.calls).hasSize(5).anyMatch((call) -> call.startsWith("error A message is larger"));
	}

	@Test
	void onCloseFollowsTheLastHandler() {
		TcpServer server = this.engine.start(builder(4).messageOrder(byFirstLetter()));
		Peer peer = this.engine.connect(server).send("a\nb\na2\n");
		this.handler.await("a");
		this.handler.await("b");
		Engine.eventually().until(() -> look(server).inFlight() == 3);
		peer.reset();
		Engine.eventually().until(() -> !look(server).state().equals(ConnectionSnapshot.State.OPEN));
		this.handler.letGo("a");
		Engine.eventually().until(() -> this.handler.running.get() == 1);
		assertThat(server.snapshot().openConnections()).isEqualTo(1);
		this.handler.letGo("b");
		Engine.eventually().until(() -> server.snapshot().openConnections() == 0);
		assertThat(this.handler.calls).doesNotContain("a2").last().asString().startsWith("close ");
		assertThat(this.handler.closedWhileRunning).isFalse();
		Engine.eventually().until(() -> server.pool().snapshot().bufferedBytes() == 0);
	}

	@ParameterizedTest
	@EnumSource
	void aDrainAnswersAllThatWasReceivedAndSignsOffAlone(ReplyOrder order) throws Exception {
		TcpServer server = this.engine.start(builder(2).replyOrder(order));
		Peer peer = this.engine.connect(server).send("a\nb\nnow 1\nnow 2\na2\n");
		this.handler.await("a");
		this.handler.await("b");
		CompletableFuture<Boolean> drained = CompletableFuture.supplyAsync(() -> server.close(Engine.DEADLINE),
				(task) -> new Thread(task).start());
		Engine.eventually().until(() -> server.snapshot().state() == ServerSnapshot.State.DRAINING);
		this.handler.letGo("b");
		Engine.eventually().until(() -> this.handler.running.get() == 1);
		assertThat(this.handler.calls).doesNotContain("drain");
		this.handler.letGo("a");
		assertThat(peer.readTextToEnd().split("\n")).containsExactlyInAnyOrder("a", "b", "goodbye", "now 1", "now 2",
				"a2");
		assertThat(drained.get(30, TimeUnit.SECONDS)).isTrue();
		assertThat(this.handler.calls).endsWith("close SHUTDOWN");
	}

	@Test
	void aDrainThatCouldNotWaitDoesNotClaimToBeComplete() {
		TcpServer server = this.engine.start(builder(4));
		this.engine.connect(server).send("a\nb\n");
		this.handler.await("a");
		this.handler.await("b");
		assertThat(server.close(Duration.ofMillis(50))).isFalse();
		assertThat(this.engine.log()).anyMatch(
				(line) -> line.contains("is closed although 1 connections (2 messages unanswered) had not finished"));
		this.handler.letGo("a");
		this.handler.letGo("b");
		this.handler.await("close SHUTDOWN_TIMEOUT");
		assertThat(this.handler.closedWhileRunning).isFalse();
	}

	@Test
	void aHandlerThatClosesItsServerWaitsForTheOthersOfItsConnection() throws Exception {
		CompletableFuture<Boolean> closed = new CompletableFuture<>();
		TcpServer[] server = new TcpServer[1];
		server[0] = this.engine.start(builder(4).handler(new MessageHandler() {
			@Override
			public void onMessage(Connection connection, ByteBuffer message) {
				if (Engine.text(message).equals("stop")) {
					closed.complete(server[0].drain(Engine.DEADLINE));
				}
				else {
					WindowTests.this.handler.onMessage(connection, message.reset());
				}
			}
		}));
		Peer peer = this.engine.connect(server[0]).send("a\nstop\n");
		this.handler.await("a");
		Engine.eventually().until(() -> server[0].snapshot().state() == ServerSnapshot.State.DRAINING);
		assertThat(closed).isNotDone();
		this.handler.letGo("a");
		assertThat(closed.get(30, TimeUnit.SECONDS)).isTrue();
		assertThat(peer.readTextToEnd()).isEqualTo("a\n");
	}

	@Test
	void aReplyThatComesLaterOccupiesOnePlace() {
		Queue<Suspension> suspensions = new ConcurrentLinkedQueue<>();
		Queue<OwedReply> owed = new ConcurrentLinkedQueue<>();
		TcpServer server = this.engine.start(builder(2).messageOrder(byFirstLetter())
			.replyOrder(ReplyOrder.ARRIVAL)
			.handler((connection, message) -> {
				String text = Engine.text(message);
				if (text.startsWith("suspend")) {
					suspensions.add(connection.suspend());
				}
				else if (text.startsWith("owe")) {
					owed.add(connection.owe());
				}
				else {
					connection.send(message.reset());
				}
			}));
		Peer peer = this.engine.connect(server).send("owe\nsuspend\nnow\n");
		Engine.eventually().until(() -> suspensions.size() == 1 && owed.size() == 1);
		Engine.eventually().until(() -> server.pool().snapshot().handleSets().get(0).deactivated() == 1);
		Engine.eventually().until(() -> server.pool().snapshot().count(ThreadRole.PROCESSING) == 0);
		assertThat(look(server)).extracting(ConnectionSnapshot::inFlight, ConnectionSnapshot::state)
			.containsExactly(2, ConnectionSnapshot.State.OPEN);
		suspensions.remove().resume();
		Engine.eventually().until(() -> look(server).receivedMessages() == 3);
		OwedReply reply = owed.remove();
		reply.send(Engine.bytes("first"));
		reply.run(() -> server.connection(1).send(Engine.bytes("second")));
		reply.close();
		reply.close();
		assertThat(List.of(peer.readLine(), peer.readLine(), peer.readLine())).containsExactly("first", "second",
				"now");
	}

	/** Connections are idle for most of the time. */
	@Test
	void aConnectionWhoseLastReplyCameLaterHasNoWindow() {
		BlockingQueue<OwedReply> owed = new LinkedBlockingQueue<>();
		AtomicReference<WeakReference<InFlight>> window = new AtomicReference<>();
		TcpServer server = this.engine.start(builder(2).handler((connection, message) -> {
			InFlight current = WindowedMessage.current((WindowedConnection) connection).window;
			window.set(new WeakReference<>(current));
			owed.add(connection.owe());
		}));
		Peer peer = this.engine.connect(server).send("request\n");
		Engine.eventually().until(() -> !owed.isEmpty());
		// Otherwise the thread of the handler would discard the window.
		Engine.awaitIdle(server.pool());
		answer(owed.remove());
		assertThat(peer.readLine()).isEqualTo("reply");
		Engine.awaitCollected(window.get());
	}

	private static void answer(OwedReply owed) {
		owed.send(Engine.bytes("reply"));
		owed.close();
	}

	@Test
	void aMessageThatHasWaitedForAReplyIsHandledByAThreadOfThePool() {
		Queue<OwedReply> owed = new ConcurrentLinkedQueue<>();
		Queue<Thread> threads = new ConcurrentLinkedQueue<>();
		TcpServer server = this.engine
			.start(builder(4).messageOrder((message) -> "same").handler((connection, message) -> {
				threads.add(Thread.currentThread());
				owed.add(connection.owe());
			}));
		Peer peer = this.engine.connect(server).send("1\n2\n3\n");
		for (int i = 1; i <= 3; i++) {
			Engine.eventually().until(() -> !owed.isEmpty());
			assertThat(threads).hasSize(i).doesNotContain(Thread.currentThread());
			OwedReply reply = owed.remove();
			reply.send(Engine.bytes("reply"));
			reply.close();
			assertThat(peer.readLine()).isEqualTo("reply");
		}
	}

	@Test
	void aReplyThatFailsLaterConcernsItsMessage() {
		Queue<OwedReply> owed = new ConcurrentLinkedQueue<>();
		TcpServer server = this.engine.start(builder(4).replyOrder(ReplyOrder.ARRIVAL).handler(new MessageHandler() {
			@Override
			public void onMessage(Connection connection, ByteBuffer message) {
				owed.add(connection.owe());
			}

			@Override
			public void onError(Connection connection, Throwable failure) {
				connection.send(Engine.bytes("sorry: " + failure.getMessage()));
			}
		}));
		Peer peer = this.engine.connect(server).send("1\n");
		Engine.eventually().until(() -> owed.size() == 1);
		OwedReply first = owed.remove();
		peer.send("2\n");
		Engine.eventually().until(() -> owed.size() == 1);
		owed.remove().fail(new IllegalStateException("second"));
		first.fail(new IllegalStateException("first"));
		first.fail(new IllegalStateException("again"));
		assertThat(List.of(peer.readLine(), peer.readLine())).containsExactly("sorry: first", "sorry: second");
		assertThat(peer.send("3\n").shutdownOutput()).isNotNull();
		Engine.eventually().until(() -> owed.size() == 1);
		owed.remove().close();
		assertThat(peer.readTextToEnd()).isEmpty();
	}

	/**
	 * Its framing uses a connection that is closed. Otherwise the client would wait, and
	 * take the next reply for the missing one.
	 */
	@ParameterizedTest
	@ValueSource(booleans = { false, true })
	void aReplyThatFailsBecauseOfAnotherConnectionClosesItsOwn(boolean swallows) {
		AtomicReference<Connection> other = new AtomicReference<>();
		TcpServer others = this.engine.lines(this.engine.pool(1, 1), (connection, message) -> {
			other.set(connection);
			connection.close();
		});
		this.engine.connect(others).send("x\n").awaitClosed();
		Framing lines = Framing.line();
		TcpServer server = this.engine.start(builder(4).replyOrder(ReplyOrder.ARRIVAL).framing(new Framing() {

			@Override
			public boolean decode(ByteBuffer input, Frame frame) {
				return lines.decode(input, frame);
			}

			@Override
			public void encode(ByteBuffer payload, ByteBuffer output) {
				if (Engine.text(payload.duplicate()).equals("1")) {
					other.get().send(payload);
				}
				lines.encode(payload, output);
			}

			@Override
			public int maxFrameLength(int payloadLength) {
				return lines.maxFrameLength(payloadLength);
			}

		}).handler((connection, message) -> {
			try {
				connection.send(message);
			}
			catch (ConnectionClosedException ex) {
				if (!swallows) {
					throw ex;
				}
			}
		}));
		assertThat(this.engine.connect(server).send("0\n1\n2\n").readTextToEnd()).isEqualTo("0\n");
	}

	@Test
	void aConnectionThatIsClosedBehindAReplyThatHasLeftCloses() {
		Queue<OwedReply> owed = new ConcurrentLinkedQueue<>();
		TcpServer server = this.engine.start(
				builder(4).replyOrder(ReplyOrder.ARRIVAL).handler((connection, message) -> owed.add(connection.owe())));
		Peer peer = this.engine.connect(server).send("1\n");
		Engine.eventually().until(() -> owed.size() == 1);
		OwedReply reply = owed.remove();
		reply.run(() -> {
			Connection connection = server.connection(1);
			connection.send(Engine.bytes("bye"));
			reply.close();
			connection.close();
		});
		assertThat(peer.readTextToEnd()).isEqualTo("bye\n");
	}

	@Test
	void largeAndSmallMessagesAreTornApartAsTheyArrive() {
		TcpServer server = this.engine
			.start(builder(6).maxMessageSize(1 << 20).handler((connection, message) -> connection.send(message)));
		Peer peer = this.engine.connect(server);
		List<String> all = new ArrayList<>();
		StringBuilder bytes = new StringBuilder();
		for (int i = 0; i < 400; i++) {
			int length = switch (i % 7) {
				case 0 -> 70_000;
				case 3 -> 40_000;
				case 5 -> 0;
				default -> i;
			};
			String message = i + ":" + "x".repeat(length);
			all.add(message);
			bytes.append(message).append('\n');
		}
		CompletableFuture<Void> sent = CompletableFuture.runAsync(() -> peer.send(bytes.toString()).shutdownOutput(),
				(task) -> new Thread(task).start());
		List<String> received = List.of(peer.readTextToEnd().split("\n"));
		assertThat(received).containsExactlyInAnyOrderElementsOf(all);
		assertThat(sent).succeedsWithin(Engine.DEADLINE);
		Engine.eventually().until(() -> server.pool().snapshot().bufferedBytes() == 0);
	}

	@ParameterizedTest
	@EnumSource
	void manyConnectionsWithRandomTimesKeepTheirOrder(PromotionPolicy policy) throws Exception {
		int connections = 8;
		int messages = 400;
		ExecutorService elsewhere = Executors.newFixedThreadPool(3);
		Map<String, AtomicInteger> latest = new ConcurrentHashMap<>();
		AtomicInteger disorder = new AtomicInteger();
		try {
			TcpServer server = this.engine.start(TcpServer
				.builder(this.engine.pool(LeaderFollowersPool.builder().threads(2, 12).promotionPolicy(policy)))
				.framing(Framing.line())
				.maxInFlightPerConnection(7)
				.messageOrder(byFirstLetter())
				.replyOrder(ReplyOrder.ARRIVAL)
				.handler((connection, message) -> {
					String text = Engine.text(message);
					int number = Integer.parseInt(text.substring(1));
					String key = connection.id() + text.substring(0, 1);
					if (latest.computeIfAbsent(key, (k) -> new AtomicInteger(-1)).getAndSet(number) >= number) {
						disorder.incrementAndGet();
					}
					int dice = ThreadLocalRandom.current().nextInt(6);
					if (dice == 0) {
						LockSupport.parkNanos(300_000);
					}
					if (dice == 1) {
						OwedReply owed = connection.owe();
						elsewhere.execute(() -> {
							owed.send(Engine.bytes(text));
							owed.close();
						});
						return;
					}
					connection.send(message.reset());
				}));
			List<Peer> peers = new ArrayList<>();
			StringBuilder all = new StringBuilder();
			for (int i = 0; i < messages; i++) {
				all.append((char) ('a' + i % 3)).append(i).append('\n');
			}
			for (int i = 0; i < connections; i++) {
				peers.add(this.engine.connect(server).send(all.toString()).shutdownOutput());
			}
			for (Peer peer : peers) {
				assertThat(peer.readTextToEnd()).isEqualTo(all.toString());
			}
			assertThat(disorder).hasValue(0);
			Engine.eventually().until(() -> server.snapshot().openConnections() == 0);
			Engine.eventually().until(() -> server.pool().snapshot().bufferedBytes() == 0);
		}
		finally {
			elsewhere.shutdown();
			assertThat(elsewhere.awaitTermination(30, TimeUnit.SECONDS)).isTrue();
		}
	}

	@ParameterizedTest
	@EnumSource
	void whateverHappensEveryConnectionEndsOnceAndNothingIsLeft(ReplyOrder order) throws Exception {
		Life life = new Life();
		ExecutorService elsewhere = Executors.newFixedThreadPool(4);
		try {
			for (int round = 0; round < 3; round++) {
				LeaderFollowersPool pool = this.engine
					.pool(LeaderFollowersPool.builder().threads(2, 12).promotionLease(Duration.ofMillis(1)));
				TcpServer server = this.engine.start(TcpServer.builder(pool)
					.framing(Framing.line())
					.maxMessageSize(200)
					.maxOutboundSize(4096)
					.maxInFlightPerConnection(5)
					.messageOrder(life)
					.replyOrder(order)
					.handler(life.handler(elsewhere)));
				List<CompletableFuture<Void>> peers = new ArrayList<>();
				for (int i = 0; i < 6; i++) {
					peers.add(CompletableFuture.runAsync(() -> life.talk(server, this.engine),
							(task) -> new Thread(task).start()));
				}
				if (round == 1) {
					LockSupport.parkNanos(50_000_000);
					server.close(Duration.ofMillis(20));
				}
				for (CompletableFuture<Void> peer : peers) {
					peer.get(60, TimeUnit.SECONDS);
				}
				server.close(Engine.DEADLINE);
				Engine.eventually()
					.untilAsserted(() -> assertThat(server.connections())
						.as(() -> pool.snapshot().threads() + "\n" + this.engine.log())
						.isEmpty());
				Engine.eventually().until(() -> pool.snapshot().bufferedBytes() == 0);
				Engine.eventually().until(() -> life.running.get() == 0);
				life.opened.forEach((connection) -> assertThat(life.closed).containsOnlyOnce(connection));
				assertThat(life.violations).isEmpty();
				life.opened.clear();
				life.closed.clear();
			}
		}
		finally {
			elsewhere.shutdown();
			assertThat(elsewhere.awaitTermination(60, TimeUnit.SECONDS)).isTrue();
		}
	}

	/**
	 * Peers and handlers that use everything they are allowed to, and checks that no
	 * promise is broken.
	 */
	private static final class Life implements MessageOrder {

		final Queue<Connection> opened = new ConcurrentLinkedQueue<>();

		final Queue<Connection> closed = new ConcurrentLinkedQueue<>();

		final Queue<String> violations = new ConcurrentLinkedQueue<>();

		final AtomicInteger running = new AtomicInteger();

		@Override
		public Object keyOf(ByteBuffer message) {
			byte first = message.get(message.position());
			if (first == '?') {
				throw new IllegalArgumentException("no key");
			}
			return (first % 2 == 0) ? first : null;
		}

		MessageHandler handler(ExecutorService elsewhere) {
			return new MessageHandler() {
				@Override
				public void onOpen(Connection connection) {
					Life.this.opened.add(connection);
					connection.attributes().put("running", new AtomicInteger());
				}

				@Override
				public void onMessage(Connection connection, ByteBuffer message) {
					AtomicInteger inside = (AtomicInteger) connection.attributes().get("running");
					inside.incrementAndGet();
					Life.this.running.incrementAndGet();
					try {
						if (Life.this.closed.contains(connection)) {
							Life.this.violations.add("a message after the end of " + connection);
						}
						handle(connection, message, elsewhere);
					}
					finally {
						inside.decrementAndGet();
						Life.this.running.decrementAndGet();
					}
				}

				@Override
				public void onError(Connection connection, Throwable failure) {
				}

				@Override
				public void onClose(Connection connection, CloseReason reason) {
					if (((AtomicInteger) connection.attributes().get("running")).get() != 0) {
						Life.this.violations.add("the end of " + connection + " beside a message");
					}
					Life.this.closed.add(connection);
				}
			};
		}

		private static void handle(Connection connection, ByteBuffer message, ExecutorService elsewhere) {
			ThreadLocalRandom random = ThreadLocalRandom.current();
			switch (random.nextInt(200)) {
				case 0 -> connection.close();
				case 1 -> connection.fail(new IllegalStateException("fails"));
				case 2, 3 -> throw new IllegalStateException("a message fails");
				case 4, 5, 6 -> {
					Suspension suspension = connection.suspend();
					elsewhere.execute(suspension::resume);
				}
				case 7, 8, 9 -> {
					OwedReply owed = connection.owe();
					elsewhere.execute(() -> owed.fail(new IllegalStateException("a reply fails")));
				}
				case 10, 11, 12, 13, 14, 15 -> {
					LockSupport.parkNanos(2_000_000);
					connection.send(message);
				}
				default -> connection.send(message);
			}
		}

		void talk(TcpServer server, Engine engine) {
			for (int i = 0; i < 10; i++) {
				try (Peer peer = engine.connect(server)) {
					talk(peer);
				}
				catch (RuntimeException | AssertionError ex) {
					// The server has closed or reset the connection.
				}
			}
		}

		private static void talk(Peer peer) {
			ThreadLocalRandom random = ThreadLocalRandom.current();
			StringBuilder burst = new StringBuilder();
			for (int i = random.nextInt(60); i >= 0; i--) {
				burst.append((char) ('a' + random.nextInt(6))).append("x".repeat(random.nextInt(100))).append('\n');
			}
			peer.send(burst.toString());
			switch (random.nextInt(6)) {
				case 0 -> peer.reset();
				case 1 -> peer.send("?\n").readToEnd();
				case 2 -> peer.send("y".repeat(300)).readToEnd();
				case 3 -> peer.shutdownOutput().readToEnd();
				// It ends even if no message of the burst is answered.
				case 4 -> peer.send("?\n").readLine();
				default -> {
				}
			}
		}

	}

}
