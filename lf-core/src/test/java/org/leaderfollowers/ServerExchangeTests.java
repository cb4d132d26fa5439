package org.leaderfollowers;

import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Queue;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.leaderfollowers.ClientSnapshot.Outcome;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;

/** A server sends requests to a client that has connected to it. */
class ServerExchangeTests {

	private static final Duration LONG = Engine.DEADLINE;

	/**
	 * The key of a line is the text before the colon; a line without a colon is not a
	 * reply.
	 */
	private static final Correlation BY_KEY = Correlation.byKey((message) -> {
		String text = Engine.text(message);
		return text.contains(":") ? text.substring(0, text.indexOf(':')) : null;
	});

	@RegisterExtension
	final Engine engine = new Engine();

	private final BlockingQueue<Object> seen = new LinkedBlockingQueue<>();

	private final BlockingQueue<Connection> opened = new LinkedBlockingQueue<>();

	/** Echoes lines; on {@code ask KEY}, sends a request to the client. */
	private final MessageHandler asking = new MessageHandler() {

		@Override
		public void onOpen(Connection connection) {
			ServerExchangeTests.this.opened.add(connection);
		}

		@Override
		public void onMessage(Connection connection, ByteBuffer message) {
			String text = Engine.text(message);
			if (text.startsWith("ask ")) {
				ByteBuffer reply = connection.exchange(Engine.bytes(text.substring(4) + ":?"), LONG);
				connection.send(Engine.bytes("got " + Engine.text(reply)));
			}
			else {
				connection.send(Engine.bytes("echo " + text));
			}
		}

	};

	private Object take() throws InterruptedException {
		Object taken = this.seen.poll(LONG.toSeconds(), TimeUnit.SECONDS);
		assertThat(taken).isNotNull();
		return taken;
	}

	private TcpServer start(int threads, MessageHandler handler) {
		return this.engine.start(TcpServer.builder(this.engine.pool(1, threads))
			.framing(Framing.line())
			.correlation(BY_KEY)
			.handler(handler));
	}

	private Connection connection() throws InterruptedException {
		Connection connection = this.opened.poll(LONG.toSeconds(), TimeUnit.SECONDS);
		assertThat(connection).isNotNull();
		return connection;
	}

	@ParameterizedTest
	@ValueSource(ints = { 1, 2, 8 })
	void aHandlerAsksItsOwnClient(int threads) {
		TcpServer server = start(threads, this.asking);
		Peer peer = this.engine.connect(server);
		for (int i = 0; i < 50; i++) {
			assertThat(peer.send("ask a" + i + "\n").readLine()).isEqualTo("a%d:?".formatted(i));
			assertThat(peer.send("a%d:yes\n".formatted(i)).readLine()).isEqualTo("got a%d:yes".formatted(i));
			assertThat(peer.send("hello\n").readLine()).isEqualTo("echo hello");
		}
	}

	/** The end of an exchange needs a thread that is free. */
	@Test
	void outputThatIsNotReadIsGivenUpWhileAllThreadsWaitAndAnExchangeHasTimedOut() throws InterruptedException {
		int size = 1 << 20;
		TcpServer server = this.engine.start(TcpServer.builder(this.engine.pool(1, 1))
			.framing(Framing.line())
			.correlation(BY_KEY)
			.maxOutboundSize(32 * size)
			.writeTimeout(Duration.ofSeconds(2))
			.handler((connection, message) -> {
				if (Engine.text(message).equals("push")) {
					while (connection.pendingBytes() <= 16 * size) {
						connection.send(ByteBuffer.allocate(size));
					}
					connection.exchangeAsync(Engine.bytes("a:?"), Duration.ofMillis(100))
						.whenComplete((reply, failure) -> this.seen.add(failure));
					this.opened.add(connection);
				}
				else {
					this.asking.onMessage(connection, message);
				}
			}));
		Peer waiting = this.engine.connect(server);
		this.engine.connect(server).send("push\nx\n");
		Connection pushing = connection();
		assertThat(waiting.send("ask b\n").readLine()).isEqualTo("b:?");
		Engine.eventually().until(() -> pushing.closeReason() == CloseReason.WRITE_TIMEOUT);
		assertThat(pushing.pendingBytes()).isZero();
		assertThat(this.seen).isEmpty();
		assertThat(waiting.send("b:yes\n").readLine()).isEqualTo("got b:yes");
		assertThat(take()).isInstanceOf(ExchangeException.class);
	}

	@ParameterizedTest
	@ValueSource(strings = { "", "x" })
	void whatCameBeforeTheEndOfTheInputIsAnswered(String rest) throws InterruptedException {
		TcpServer server = start(2, new MessageHandler() {

			@Override
			public void onMessage(Connection connection, ByteBuffer message) {
				try {
					ServerExchangeTests.this.asking.onMessage(connection, message);
				}
				catch (ExchangeLostException ex) {
					ServerExchangeTests.this.seen.add(ex.getMessage());
					connection.send(Engine.bytes("lost"));
				}
				catch (Exception ex) {
					throw new IllegalStateException(ex);
				}
			}

			@Override
			public void onError(Connection connection, Throwable failure) {
				connection.send(Engine.bytes("error"));
			}

			@Override
			public void onClose(Connection connection, CloseReason reason) {
				ServerExchangeTests.this.seen.add(reason);
			}

		});
		// The client ends its output, or continues with a line that is too long.
		Peer peer = this.engine.connect(server).send("ask a\n1\n2\n" + rest.repeat(70_000));
		if (rest.isEmpty()) {
			peer.shutdownOutput();
		}
		assertThat(peer.readLine()).isEqualTo("a:?");
		assertThat(peer.readLine()).isEqualTo("lost");
		assertThat(peer.readLine()).isEqualTo("echo 1");
		assertThat(peer.readLine()).isEqualTo("echo 2");
		if (!rest.isEmpty()) {
			assertThat(peer.readLine()).isEqualTo("error");
		}
		CloseReason reason = rest.isEmpty() ? CloseReason.PEER : CloseReason.MESSAGE_TOO_LARGE;
		assertThat(take()).asString().contains("ended (%s) before the reply came".formatted(reason));
		assertThat(take()).isEqualTo(reason);
	}

	/**
	 * The end of the input is read while a thread waits for a reply. It must not end the
	 * connection while another thread is about to send the reply to a message: to the one
	 * that suspends the connection and asks, or to one that follows that which asks.
	 */
	@ParameterizedTest
	@ValueSource(strings = { "late ask\n", "ask\nlate\n" })
	void aSuspendedConnectionIsAnsweredAfterTheEndOfItsInput(String requests) throws InterruptedException {
		BlockingQueue<Runnable> later = new LinkedBlockingQueue<>();
		TcpServer server = start(2, (connection, message) -> {
			String text = Engine.text(message);
			Suspension suspension = text.startsWith("late") ? connection.suspend() : () -> {
			};
			Runnable reply = () -> {
				connection.send(Engine.bytes("answer to " + text));
				suspension.resume();
			};
			if (text.equals("ask")) {
				assertThatExceptionOfType(ExchangeLostException.class)
					.isThrownBy(() -> connection.exchange(Engine.bytes("a:?"), LONG));
				reply.run();
			}
			else if (text.endsWith("ask")) {
				connection.exchangeAsync(Engine.bytes("a:?"), LONG).whenComplete((answer, ex) -> later.add(reply));
			}
			else {
				later.add(reply);
			}
		});
		int first = requests.indexOf('\n') + 1;
		Peer peer = this.engine.connect(server).send(requests.substring(0, first));
		assertThat(peer.readLine()).isEqualTo("a:?");
		peer.send(requests.substring(first)).shutdownOutput();
		Runnable reply = later.poll(LONG.toSeconds(), TimeUnit.SECONDS);
		assertThat(reply).isNotNull();
		// Only when the engine has done what it does after the handler.
		Engine.eventually()
			.until(() -> server.pool()
				.snapshot()
				.threads()
				.stream()
				.noneMatch((thread) -> thread.role() == ThreadRole.PROCESSING));
		reply.run();
		for (String request : requests.split("\n")) {
			assertThat(peer.readLine()).isEqualTo("answer to " + request);
		}
		assertThat(peer.readLine()).isNull();
	}

	@ParameterizedTest
	@ValueSource(ints = { 1, 8 })
	void messagesBeforeTheReplyAreHandledAfterwardsInOrder(int threads) {
		TcpServer server = start(threads, this.asking);
		Peer peer = this.engine.connect(server);
		for (int i = 0; i < 50; i++) {
			assertThat(peer.send("ask a\n1\n").readLine()).isEqualTo("a:?");
			peer.send("2\n");
			peer.send("3\na:yes\n4\n");
			assertThat(peer.readLine()).isEqualTo("got a:yes");
			for (int next = 1; next <= 4; next++) {
				assertThat(peer.readLine()).isEqualTo("echo " + next);
			}
		}
	}

	/** The thread that waits for a reply has put the message aside. */
	@Test
	void aMessageOfAnotherConnectionIsHandledAsSoonAsAThreadIsFree() {
		CountDownLatch gate = this.engine.gate();
		TcpServer server = start(2, (connection, message) -> {
			if (Engine.text(message).equals("block")) {
				Engine.pass(gate);
			}
			this.asking.onMessage(connection, message);
		});
		Peer other = this.engine.connect(server);
		assertThat(other.send("1\n").readLine()).isEqualTo("echo 1");
		Peer blocked = this.engine.connect(server).send("block\n");
		Engine.eventually().until(() -> server.pool().snapshot().runningHandlers().size() == 1);
		Peer asked = this.engine.connect(server);
		assertThat(asked.send("ask a\n").readLine()).isEqualTo("a:?");
		other.send("2\n");
		Engine.eventually().until(() -> server.pool().snapshot().bufferedBytes() > 0);
		gate.countDown();
		assertThat(blocked.readLine()).isEqualTo("echo block");
		assertThat(other.readLine()).isEqualTo("echo 2");
		assertThat(asked.send("a:yes\n").readLine()).isEqualTo("got a:yes");
	}

	@Test
	void moreMessagesThanMayBePutAsideWaitInTheSocket() {
		TcpServer server = start(1, (connection, message) -> {
			if (Engine.text(message).equals("ask")) {
				try {
					connection.exchange(Engine.bytes("a:?"), Duration.ofMillis(200));
				}
				catch (ExchangeTimeoutException ex) {
					connection.send(Engine.bytes("nothing"));
				}
			}
			else {
				connection.send(message);
			}
		});
		Peer peer = this.engine.connect(server);
		StringBuilder lines = new StringBuilder("ask\n");
		for (int i = 0; i < 5000; i++) {
			lines.append("line ").append(i).append('\n');
		}
		// The reply comes too late, since too many bytes come before it.
		peer.send(lines.append("a:yes\nend\n").toString());
		assertThat(peer.readLine()).isEqualTo("a:?");
		assertThat(peer.readLine()).isEqualTo("nothing");
		for (int i = 0; i < 5000; i++) {
			assertThat(peer.readLine()).isEqualTo("line " + i);
		}
		assertThat(peer.readLine()).isEqualTo("a:yes");
		assertThat(peer.readLine()).isEqualTo("end");
	}

	/** Otherwise a client could have the server keep replies without bound. */
	@Test
	void messagesThatWerePutAsideAreHandledAsFastAsTheClientReads() {
		String large = "x".repeat(500_000);
		TcpServer server = this.engine.start(TcpServer.builder(this.engine.pool(1, 2))
			.framing(Framing.line())
			.correlation(BY_KEY)
			.maxOutboundSize(600_000)
			.handler((connection, message) -> {
				if (Engine.text(message).equals("ask")) {
					connection.exchange(Engine.bytes("a:?"), LONG);
				}
				connection.send(Engine.bytes(large + Engine.text(message)));
			}));
		Peer peer = this.engine.connect(server, 4096).send("ask\n" + "more\n".repeat(40));
		assertThat(peer.readLine()).isEqualTo("a:?");
		peer.send("a:yes\n");
		Engine.eventually().until(() -> server.connections().anyMatch((each) -> each.pendingBytes() > 0));
		assertThat(peer.readLine()).isEqualTo(large + "ask");
		for (int i = 0; i < 40; i++) {
			assertThat(peer.readLine()).isEqualTo(large + "more");
		}
	}

	@Test
	void anyThreadMayAsk() throws Exception {
		TcpServer server = start(4, this.asking);
		Peer peer = this.engine.connect(server);
		Connection connection = connection();
		List<CompletableFuture<ByteBuffer>> replies = new ArrayList<>();
		for (int i = 0; i < 60; i++) {
			ByteBuffer request = Engine.bytes(i + ":?");
			replies.add((i % 2 == 0) ? connection.exchangeAsync(request, LONG) : CompletableFuture
				.supplyAsync(() -> connection.exchange(request, LONG), (task) -> new Thread(task).start()));
		}
		List<String> requests = new ArrayList<>();
		for (int i = 0; i < 60; i++) {
			requests.add(0, peer.readLine());
		}
		peer.send("hello\n");
		assertThat(peer.readLine()).isEqualTo("echo hello");
		requests.forEach((request) -> peer.send(request.replace("?", "yes\n")));
		for (int i = 0; i < 60; i++) {
			assertThat(Engine.text(replies.get(i).get(30, TimeUnit.SECONDS))).isEqualTo(i + ":yes");
		}
	}

	/**
	 * The handler of the connection is waiting for another reply, and reads for the other
	 * thread as well.
	 */
	@Test
	void anotherThreadIsAnsweredWhileTheHandlerWaits() throws Exception {
		CountDownLatch asks = new CountDownLatch(1);
		TcpServer server = start(1, (connection, message) -> {
			this.opened.add(connection);
			asks.countDown();
			this.seen.add(Engine.text(connection.exchange(Engine.bytes("own:?"), LONG)));
		});
		Peer peer = this.engine.connect(server).send("begin\n");
		Engine.pass(asks);
		assertThat(peer.readLine()).isEqualTo("own:?");
		Connection connection = connection();
		CompletableFuture<ByteBuffer> other = CompletableFuture
			.supplyAsync(() -> connection.exchange(Engine.bytes("other:?"), LONG), (task) -> new Thread(task).start());
		assertThat(peer.readLine()).isEqualTo("other:?");
		peer.send("other:yes\n");
		assertThat(Engine.text(other.get(30, TimeUnit.SECONDS))).isEqualTo("other:yes");
		assertThat(this.seen).isEmpty();
		peer.send("own:yes\n");
		assertThat(take()).isEqualTo("own:yes");
	}

	@Test
	void aConversationMayContainExchanges() {
		TcpServer server = start(1, (connection, message) -> {
			String second = Engine.text(connection.receive(LONG));
			String reply = Engine.text(connection.exchange(Engine.bytes("a:?"), LONG));
			String third = Engine.text(connection.receive(LONG));
			connection.send(Engine.bytes(Engine.text(message) + second + third + reply));
		});
		Peer peer = this.engine.connect(server);
		assertThat(peer.send("1\n2\n3\n4\n").readLine()).isEqualTo("a:?");
		assertThat(peer.send("a:yes\n").readLine()).isEqualTo("123a:yes");
		assertThat(peer.send("5\n6\n").readLine()).isEqualTo("a:?");
		assertThat(peer.send("a:no\n").readLine()).isEqualTo("456a:no");
	}

	@Test
	void aSnapshotDoesNotTellTheAddressOfTheClientThatHasToReply() {
		TcpServer server = start(1, (connection, message) -> connection.exchange(Engine.bytes("a:?"), LONG));
		Peer peer = this.engine.connect(server);
		assertThat(peer.send("1\n").readLine()).isEqualTo("a:?");
		Engine.eventually()
			.untilAsserted(
					() -> assertThat(server.pool().snapshot().threads()).extracting((thread) -> thread.waitsFor())
						.contains("the reply on Connection 1 of server '%s'".formatted(server.name())));
		peer.send("a:yes\n");
	}

	@Test
	void repliesComeInOrderIfTheServerSaysSo() throws Exception {
		TcpServer server = this.engine.start(TcpServer.builder(this.engine.pool(1, 4))
			.framing(Framing.line())
			.correlation(Correlation.inOrder())
			.handler((connection, message) -> {
				connection.send(Engine.bytes("please confirm"));
				String reply = Engine.text(connection.exchange(Engine.bytes("amount?"), LONG));
				connection.send(Engine.bytes("confirmed " + reply));
			}));
		Peer peer = this.engine.connect(server).send("pay\n");
		assertThat(peer.readLine()).isEqualTo("please confirm");
		assertThat(peer.readLine()).isEqualTo("amount?");
		assertThat(peer.send("17\n").readLine()).isEqualTo("confirmed 17");
	}

	@Test
	void theEndOfTheConnectionLosesExchanges() throws Exception {
		TcpServer server = start(2, (connection, message) -> {
			try {
				connection.exchange(Engine.bytes("a:?"), LONG);
			}
			catch (ExchangeException ex) {
				this.seen.add(ex);
			}
		});
		Peer peer = this.engine.connect(server).send("begin\n");
		assertThat(peer.readLine()).isEqualTo("a:?");
		peer.close();
		assertThat(take()).isInstanceOf(ExchangeLostException.class);
		TcpServer quiet = start(2, this.asking);
		Peer other = this.engine.connect(quiet);
		Connection connection = connection();
		CompletableFuture<ByteBuffer> reply = connection.exchangeAsync(Engine.bytes("a:?"), LONG);
		assertThat(other.readLine()).isEqualTo("a:?");
		other.close();
		assertThatExceptionOfType(ExecutionException.class).isThrownBy(() -> reply.get(30, TimeUnit.SECONDS))
			.withCauseInstanceOf(ExchangeLostException.class);
		assertThatExceptionOfType(ExchangeRejectedException.class)
			.isThrownBy(() -> connection.exchange(Engine.bytes("b:?"), LONG))
			.withMessageContaining("the connection is closed");
	}

	@Test
	void aLateReplyIsAMessage() throws Exception {
		TcpServer server = start(2, this.asking);
		Peer peer = this.engine.connect(server);
		Connection connection = connection();
		// Otherwise the owner may hold the queue of requests for longer than the exchange
		// waits.
		Engine.awaitIdle(server.pool());
		assertThatExceptionOfType(ExchangeTimeoutException.class)
			.isThrownBy(() -> connection.exchange(Engine.bytes("a:?"), Duration.ofMillis(1)));
		assertThat(peer.readLine()).isEqualTo("a:?");
		assertThatExceptionOfType(ExchangeRejectedException.class)
			.isThrownBy(() -> connection.exchange(Engine.bytes("a:?"), LONG))
			.withMessageContaining("the same key");
		assertThat(peer.send("a:late\n").readLine()).isEqualTo("echo a:late");
		CompletableFuture<ByteBuffer> again = connection.exchangeAsync(Engine.bytes("a:?"), LONG);
		assertThat(peer.readLine()).isEqualTo("a:?");
		peer.send("a:yes\n");
		assertThat(Engine.text(again.get(30, TimeUnit.SECONDS))).isEqualTo("a:yes");
		ServerSnapshot.Exchanges counts = server.snapshot().exchanges();
		assertThat(counts).isNotNull();
		assertThat(counts.lateReplies()).isOne();
		assertThat(counts.outcomes()).containsEntry(Outcome.TIMED_OUT, 1L)
			.containsEntry(Outcome.REJECTED, 1L)
			.containsEntry(Outcome.REPLIED, 1L)
			.containsEntry(Outcome.LOST, 0L);
	}

	@Test
	void aClientMayOweHalfOfTheRepliesThatMayBeUnderWay() throws Exception {
		TcpServer server = this.engine.start(TcpServer.builder(this.engine.pool(1, 2))
			.framing(Framing.line())
			.correlation(BY_KEY)
			.maxExchanges(4)
			.handler(this.asking));
		Peer peer = this.engine.connect(server);
		Connection connection = connection();
		for (int i = 1; i <= 3; i++) {
			assertThat(connection.isOpen()).as("with %d replies owed", i - 1).isTrue();
			connection.exchangeAsync(Engine.bytes(i + ":?"), LONG).cancel(false);
			assertThat(peer.readLine()).isEqualTo(i + ":?");
		}
		assertThat(connection.whenClosed().get(30, TimeUnit.SECONDS)).isEqualTo(CloseReason.EXCHANGE_TIMEOUT);
	}

	@Test
	void aDrainWaitsForReplies() throws Exception {
		TcpServer server = start(2, this.asking);
		Peer peer = this.engine.connect(server);
		CompletableFuture<ByteBuffer> reply = connection().exchangeAsync(Engine.bytes("a:?"), LONG);
		assertThat(peer.readLine()).isEqualTo("a:?");
		CompletableFuture<Boolean> drained = CompletableFuture.supplyAsync(() -> server.close(LONG),
				(task) -> new Thread(task).start());
		Engine.eventually().until(() -> server.snapshot().state() == ServerSnapshot.State.DRAINING);
		peer.send("a:yes\n");
		assertThat(Engine.text(reply.get(30, TimeUnit.SECONDS))).isEqualTo("a:yes");
		assertThat(drained.get(30, TimeUnit.SECONDS)).isTrue();
	}

	@Test
	void aDrainDoesNotWaitForAReplyThatNobodyWantsAnyMore() throws Exception {
		CountDownLatch drains = new CountDownLatch(1);
		TcpServer server = start(2, new MessageHandler() {

			@Override
			public void onOpen(Connection connection) {
				ServerExchangeTests.this.opened.add(connection);
			}

			@Override
			public void onMessage(Connection connection, ByteBuffer message) {
			}

			@Override
			public void onDrain(Connection connection) {
				drains.countDown();
			}

		});
		Peer peer = this.engine.connect(server);
		CompletableFuture<ByteBuffer> reply = connection().exchangeAsync(Engine.bytes("a:?"), LONG.multipliedBy(4));
		assertThat(peer.readLine()).isEqualTo("a:?");
		CompletableFuture<Boolean> closed = CompletableFuture.supplyAsync(() -> server.close(LONG),
				(task) -> new Thread(task).start());
		Engine.pass(drains);
		// The connection has seen the drain, and waits for the reply.
		Engine.awaitIdle(server.pool());
		reply.cancel(true);
		assertThat(closed.get(LONG.toSeconds() * 2, TimeUnit.SECONDS)).isTrue();
	}

	@Test
	void noMoreExchangesThanMayBe() throws Exception {
		TcpServer server = this.engine.start(TcpServer.builder(this.engine.pool(1, 4))
			.framing(Framing.line())
			.correlation(BY_KEY)
			.maxExchanges(2)
			.handler(this.asking));
		this.engine.connect(server);
		Connection connection = connection();
		connection.exchangeAsync(Engine.bytes("a:?"), LONG);
		connection.exchangeAsync(Engine.bytes("b:?"), LONG);
		assertThatExceptionOfType(ExchangeRejectedException.class)
			.isThrownBy(() -> connection.exchange(Engine.bytes("c:?"), LONG))
			.withMessageContaining("the maximum number of exchanges is under way, 2");
	}

	@Test
	void aServerWithoutACorrelationCannotAsk() throws Exception {
		TcpServer server = this.engine.lines(this.engine.pool(1, 4), this.asking);
		this.engine.connect(server);
		Connection connection = connection();
		assertThatIllegalStateException().isThrownBy(() -> connection.exchange(Engine.bytes("a:?"), LONG))
			.withMessageContaining("call correlation(...) before build()");
	}

	/** Both sides ask each other on one connection, with one thread each. */
	@Test
	void clientAndServerAskEachOther() throws Exception {
		TcpServer server = start(1, (connection, message) -> {
			String key = Engine.text(message).split(":")[0];
			String reply = Engine.text(connection.exchange(Engine.bytes("back" + key + ":?"), LONG));
			connection.send(Engine.bytes(key + ":" + reply));
		});
		try (TcpClient client = TcpClient.builder(this.engine.pool(1, 1))
			.address(server.address())
			.framing(Framing.line())
			.correlation(BY_KEY)
			.requestTimeout(LONG)
			.handler((connection, message) -> connection
				.send(Engine.bytes(Engine.text(message).replace("?", "confirmed"))))
			.build()) {
			client.start();
			for (int i = 0; i < 100; i++) {
				assertThat(Engine.text(client.exchange(Engine.bytes("k" + i + ":order"))))
					.isEqualTo("k%d:backk%d:confirmed".formatted(i, i));
			}
		}
	}

	/** More input follows the reply, but its end does not arrive. */
	@ParameterizedTest
	@ValueSource(ints = { 1, 4 })
	void messageThatFollowsAReplyIsSentAtOnce(int window) {
		TcpServer server = this.engine.start(TcpServer.builder(this.engine.pool(1, 1))
			.framing(Framing.line())
			.correlation(BY_KEY)
			.maxInFlightPerConnection(window)
			.handler((connection, message) -> {
				if (Engine.text(message).startsWith("ask")) {
					connection.exchangeAsync(Engine.bytes("a:?"), LONG)
						.thenAccept((reply) -> connection.send(Engine.bytes("got")));
				}
			}));
		Peer peer = this.engine.connect(server);
		for (int i = 0; i < 200; i++) {
			assertThat(peer.send("ask\n").readLine()).isEqualTo("a:?");
			assertThat(peer.send("a:yes\nmo").readLine()).isEqualTo("got");
			peer.send("re\n");
		}
	}

	/** Otherwise it would be handled last, as long as other connections send. */
	@Test
	void aMessageThatLeadersPostponeKeepsItsPlace() throws InterruptedException {
		LeaderFollowersPool pool = this.engine.pool(1, 1);
		BlockingQueue<CompletableFuture<Object>> gates = new LinkedBlockingQueue<>();
		TcpServer asking = this.engine.start(TcpServer.builder(pool)
			.framing(Framing.line())
			.correlation(BY_KEY)
			.handler((connection, message) -> this.seen.add(Engine.text(message))));
		TcpServer waiting = waiting(pool, gates);
		Peer postponed = this.engine.connect(asking).send("open\n");
		assertThat(take()).isEqualTo("open");
		this.engine.connect(waiting).send("first\n");
		assertThat(take()).isEqualTo("first");
		this.engine.connect(waiting).send("second\n");
		awaitReady(pool, 1);
		postponed.send("postponed\n");
		awaitReady(pool, 2);
		this.engine.connect(waiting).send("third\n");
		awaitReady(pool, 3);
		gates.remove().complete("");
		assertThat(take()).isEqualTo("second");
		// Another leader postpones it.
		this.engine.connect(waiting).send("fourth\n");
		awaitReady(pool, 3);
		gates.remove().complete("");
		assertThat(take()).isEqualTo("postponed");
		assertThat(take()).isEqualTo("third");
		gates.remove().complete("");
		assertThat(take()).isEqualTo("fourth");
		gates.remove().complete("");
	}

	/** Nobody could claim the handle from its place, so the handle itself stays there. */
	@Test
	void theEndOfARequestToAPeerThatDoesNotReadKeepsItsPlace() throws InterruptedException {
		LeaderFollowersPool pool = this.engine.pool(1, 1);
		BlockingQueue<CompletableFuture<Object>> gates = new LinkedBlockingQueue<>();
		TcpServer asking = this.engine.start(TcpServer.builder(pool)
			.framing(Framing.line())
			.correlation(BY_KEY)
			.maxOutboundSize(4 << 20)
			.handler((connection, message) -> {
				connection.exchangeAsync(Engine.bytes("k:?"), Duration.ofSeconds(2))
					.whenComplete((reply, failure) -> this.seen.add("over"));
				while (connection.isWritable()) {
					connection.send(ByteBuffer.allocate(60_000));
				}
				this.seen.add("filled");
			}));
		TcpServer waiting = waiting(pool, gates);
		this.engine.connect(asking, 4096).send("open\n");
		assertThat(take()).isEqualTo("filled");
		this.engine.connect(waiting).send("first\n");
		assertThat(take()).isEqualTo("first");
		this.engine.connect(waiting).send("second\n");
		// The second one, and the request whose time is over
		awaitReady(pool, 2);
		this.engine.connect(waiting).send("third\n");
		awaitReady(pool, 3);
		gates.remove().complete("");
		assertThat(take()).isEqualTo("second");
		gates.remove().complete("");
		assertThat(take()).isEqualTo("over");
		assertThat(take()).isEqualTo("third");
		gates.remove().complete("");
	}

	/** A server whose handlers wait for gates. */
	private TcpServer waiting(LeaderFollowersPool pool, Queue<CompletableFuture<Object>> gates) {
		return this.engine.start(TcpServer.builder(pool).framing(Framing.line()).handler((connection, message) -> {
			CompletableFuture<Object> gate = new CompletableFuture<>();
			gates.add(gate);
			this.seen.add(Engine.text(message));
			LeaderFollowersPool.await(gate, LONG, "the test");
		}));
	}

	private static void awaitReady(LeaderFollowersPool pool, int handles) {
		Engine.eventually().until(() -> pool.snapshot().handleSets().get(0).ready() == handles);
	}

}
