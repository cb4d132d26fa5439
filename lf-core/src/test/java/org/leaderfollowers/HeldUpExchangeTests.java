package org.leaderfollowers;

import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReference;
import java.util.stream.Stream;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Replies to a server whose connection accepts no messages at the moment are read all the
 * same.
 */
class HeldUpExchangeTests {

	/** Longer than a test waits for a line: an exchange that times out fails it. */
	private static final Duration LONG = Engine.DEADLINE.multipliedBy(4);

	private static final Correlation BY_KEY = Correlation.byKey((message) -> {
		String text = Engine.text(message);
		return text.contains(":") ? text.substring(0, text.indexOf(':')) : null;
	});

	@RegisterExtension
	final Engine engine = new Engine();

	private final BlockingQueue<String> seen = new LinkedBlockingQueue<>();

	private final BlockingQueue<Connection> opened = new LinkedBlockingQueue<>();

	private static String ask(Connection connection, String key) {
		try {
			return "got " + Engine.text(connection.exchange(Engine.bytes(key + ":?"), LONG));
		}
		catch (ExchangeException ex) {
			return ex.getClass().getSimpleName();
		}
	}

	private static void answer(Connection connection, ByteBuffer message) {
		String text = Engine.text(message);
		connection.send(Engine.bytes(text.startsWith("ask ") ? ask(connection, text.substring(4)) : "echo " + text));
	}

	private TcpServer.Builder server(int threads, MessageHandler handler) {
		return TcpServer.builder(this.engine.pool(1, threads))
			.framing(Framing.line())
			.correlation(BY_KEY)
			.handler(handler);
	}

	private String take() throws InterruptedException {
		String taken = this.seen.poll(Engine.DEADLINE.toSeconds(), TimeUnit.SECONDS);
		assertThat(taken).isNotNull();
		return taken;
	}

	private static CompletableFuture<Boolean> close(TcpServer server) {
		CompletableFuture<Boolean> closed = CompletableFuture.supplyAsync(() -> server.close(Engine.DEADLINE),
				(task) -> new Thread(task).start());
		Engine.eventually().until(() -> server.snapshot().state() == ServerSnapshot.State.DRAINING);
		return closed;
	}

	@Test
	void byAFullWindow() {
		TcpServer server = this.engine.start(server(8, HeldUpExchangeTests::answer).maxInFlightPerConnection(2));
		Peer peer = this.engine.connect(server);
		for (int i = 0; i < 20; i++) {
			peer.send("ask a\nask b\n");
			assertThat(peer.readLine()).endsWith(":?");
			assertThat(peer.readLine()).endsWith(":?");
			assertThat(peer.send("a:yes\n").readLine()).isEqualTo("got a:yes");
			assertThat(peer.send("b:yes\n").readLine()).isEqualTo("got b:yes");
		}
	}

	@ParameterizedTest
	@ValueSource(ints = { 1, 4 })
	void byAWindowAndThreadsThatAllWait(int window) {
		TcpServer server = this.engine.start(server(1, HeldUpExchangeTests::answer).maxInFlightPerConnection(window));
		Peer peer = this.engine.connect(server);
		for (int i = 0; i < 20; i++) {
			assertThat(peer.send("ask a\n").readLine()).isEqualTo("a:?");
			assertThat(peer.send("a:yes\n").readLine()).isEqualTo("got a:yes");
			assertThat(peer.send("hello\n").readLine()).isEqualTo("echo hello");
		}
	}

	@ParameterizedTest
	@ValueSource(ints = { 1, 4 })
	void byTheOpeningOfTheConnection(int window) throws Exception {
		TcpServer server = this.engine.start(server(4, new MessageHandler() {

			@Override
			public void onOpen(Connection connection) {
				HeldUpExchangeTests.this.seen.add(ask(connection, "a"));
			}

			@Override
			public void onMessage(Connection connection, ByteBuffer message) {
				connection.send(message);
			}

		}).maxInFlightPerConnection(window));
		Peer peer = this.engine.connect(server);
		assertThat(peer.readLine()).isEqualTo("a:?");
		peer.send("a:yes\nhello\n");
		assertThat(take()).isEqualTo("got a:yes");
		assertThat(peer.readLine()).isEqualTo("hello");
	}

	@ParameterizedTest
	@ValueSource(ints = { 1, 4 })
	void byTheCodeThatDependsOnAFuture(int window) {
		TcpServer server = this.engine.start(server(4,
				(connection, message) -> connection.exchangeAsync(Engine.bytes("a:?"), LONG)
					.thenAccept((reply) -> connection.send(Engine.bytes(ask(connection, "b")))))
			.maxInFlightPerConnection(window));
		Peer peer = this.engine.connect(server).send("go\n");
		assertThat(peer.readLine()).isEqualTo("a:?");
		assertThat(peer.send("a:yes\n").readLine()).isEqualTo("b:?");
		assertThat(peer.send("b:yes\n").readLine()).isEqualTo("got b:yes");
	}

	/**
	 * A message that was read before the pause comes before the end of the input, which
	 * another handler reads while it waits.
	 */
	@Test
	void byASuspensionThatEndsAfterTheInput() throws Exception {
		AtomicReference<Suspension> suspension = new AtomicReference<>();
		TcpServer server = this.engine.start(server(4, new MessageHandler() {

			@Override
			public void onMessage(Connection connection, ByteBuffer message) {
				String text = Engine.text(message);
				if (text.equals("pause")) {
					suspension.set(connection.suspend());
					connection.idleAfter(EventType.WRITE, Duration.ofMillis(10));
				}
				else {
					connection.send(Engine.bytes("echo " + text));
				}
			}

			@Override
			public void onIdle(Connection connection, EventType type) {
				Suspension paused = suspension.getAndSet(null);
				if (paused != null) {
					HeldUpExchangeTests.this.seen.add(ask(connection, "a"));
					paused.resume();
				}
			}

		}));
		Peer peer = this.engine.connect(server).send("pause\nhello\n");
		peer.shutdownOutput();
		assertThat(peer.readLine()).isEqualTo("a:?");
		assertThat(take()).isEqualTo("ExchangeLostException");
		assertThat(peer.readLine()).isEqualTo("echo hello");
		assertThat(peer.readLine()).isNull();
	}

	@ParameterizedTest
	@ValueSource(ints = { 1, 8 })
	void byADrain(int window) throws Exception {
		TcpServer server = this.engine.start(server(4, (connection, message) -> {
			OwedReply owed = connection.owe();
			new Thread(() -> {
				owed.send(Engine.bytes(ask(connection, "a")));
				owed.close();
			}).start();
		}).maxInFlightPerConnection(window));
		Peer peer = this.engine.connect(server).send("go\n");
		assertThat(peer.readLine()).isEqualTo("a:?");
		CompletableFuture<Boolean> closed = close(server);
		assertThat(peer.send("a:yes\n").readLine()).isEqualTo("got a:yes");
		assertThat(peer.readLine()).isNull();
		assertThat(closed.get(30, TimeUnit.SECONDS)).isTrue();
	}

	@Test
	void byADrainOfAPoolWhoseThreadsAllWait() throws Exception {
		TcpServer server = this.engine.start(server(1, new MessageHandler() {

			@Override
			public void onOpen(Connection connection) {
				HeldUpExchangeTests.this.opened.add(connection);
			}

			@Override
			public void onMessage(Connection connection, ByteBuffer message) throws InterruptedException {
				connection.send(Engine.bytes(ask(HeldUpExchangeTests.this.opened.take(), "a")));
			}

		}));
		Peer device = this.engine.connect(server);
		Engine.eventually().until(() -> this.opened.size() == 1);
		Peer peer = this.engine.connect(server).send("go\n");
		assertThat(device.readLine()).isEqualTo("a:?");
		CompletableFuture<Boolean> closed = close(server);
		device.send("a:yes\n");
		assertThat(peer.readLine()).isEqualTo("got a:yes");
		assertThat(closed.get(30, TimeUnit.SECONDS)).isTrue();
	}

	@Test
	void byASuspension() throws Exception {
		TcpServer server = this.engine.start(server(4, (connection, message) -> {
			String text = Engine.text(message);
			if (text.equals("go")) {
				Suspension suspension = connection.suspend();
				new Thread(() -> {
					connection.send(Engine.bytes(ask(connection, "a")));
					suspension.resume();
				}).start();
			}
			else {
				connection.send(Engine.bytes("echo " + text));
			}
		}));
		Peer peer = this.engine.connect(server);
		for (int i = 0; i < 20; i++) {
			assertThat(peer.send("go\n1\n").readLine()).isEqualTo("a:?");
			peer.send("2\na:yes\n3\n");
			assertThat(peer.readLine()).isEqualTo("got a:yes");
			assertThat(peer.readLine()).isEqualTo("echo 1");
			assertThat(peer.readLine()).isEqualTo("echo 2");
			assertThat(peer.readLine()).isEqualTo("echo 3");
		}
	}

	/**
	 * The owner has found that no thread waits for a reply, and is about to pause the
	 * handle: it sets the timer of the connection and wakes the leader for this.
	 */
	@Test
	void byASuspensionWhoseThreadAsksAsTheOwnerPauses() {
		AtomicReference<Runnable> question = new AtomicReference<>();
		LeaderFollowersPool pool = this.engine
			.pool(LeaderFollowersPool.builder().threads(2, 2).handleSets(1).selectorProvider(new FaultySelectors(() -> {
			}, () -> {
			}, () -> {
				boolean pauses = StackWalker.getInstance()
					.walk((frames) -> frames.anyMatch((frame) -> frame.getMethodName().equals("pauseUntil")));
				Runnable asks = pauses ? question.getAndSet(null) : null;
				if (asks != null) {
					asks.run();
				}
			})));
		TcpServer server = this.engine.start(
				TcpServer.builder(pool).framing(Framing.line()).correlation(BY_KEY).handler((connection, message) -> {
					Suspension suspension = connection.suspend();
					Thread asker = new Thread(() -> {
						connection.send(Engine.bytes(ask(connection, "a")));
						suspension.resume();
					});
					question.set(() -> {
						asker.start();
						Engine.eventually().until(() -> asker.getState() == Thread.State.TIMED_WAITING);
					});
					connection.idleAfter(EventType.READ, LONG);
					pool.promoteNewLeader();
					Engine.eventually().until(() -> anotherThreadSelects(pool));
				}));
		Peer peer = this.engine.connect(server).send("go\n");
		assertThat(peer.readLine()).isEqualTo("a:?");
		assertThat(peer.send("a:yes\n").readLine()).isEqualTo("got a:yes");
	}

	private static boolean anotherThreadSelects(LeaderFollowersPool pool) {
		return Thread.getAllStackTraces()
			.entrySet()
			.stream()
			.filter((thread) -> Engine.threadsOf(pool).contains(thread.getKey().getName()))
			.flatMap((thread) -> Stream.of(thread.getValue()))
			.anyMatch((frame) -> frame.getClassName().startsWith(FaultySelectors.class.getName())
					&& frame.getMethodName().equals("select"));
	}

	@ParameterizedTest
	@ValueSource(ints = { 1, 4 })
	void byASuspensionOfAnotherThread(int threads) {
		TcpServer server = this.engine.start(server(threads, (connection, message) -> {
			String text = Engine.text(message);
			if (text.equals("go")) {
				Suspension suspension = CompletableFuture
					.supplyAsync(connection::suspend, (task) -> new Thread(task).start())
					.join();
				connection.send(Engine.bytes(ask(connection, "a") + ", " + ask(connection, "b")));
				suspension.resume();
			}
			else {
				connection.send(Engine.bytes("echo " + text));
			}
		}).maxInFlightPerConnection(4));
		Peer peer = this.engine.connect(server);
		for (int i = 0; i < 20; i++) {
			assertThat(peer.send("go\n").readLine()).isEqualTo("a:?");
			assertThat(peer.send("a:yes\n").readLine()).isEqualTo("b:?");
			peer.send("b:yes\n1\n2\n");
			assertThat(peer.readLine()).isEqualTo("got a:yes, got b:yes");
			assertThat(List.of(peer.readLine(), peer.readLine())).containsExactlyInAnyOrder("echo 1", "echo 2");
		}
	}

	@ParameterizedTest
	@ValueSource(ints = { 1, 4 })
	void theEndOfTheInputEndsThem(int window) throws Exception {
		TcpServer server = this.engine.start(server(4, (connection, message) -> {
			OwedReply owed = connection.owe();
			new Thread(() -> {
				this.seen.add(ask(connection, "a"));
				owed.close();
			}).start();
		}).maxInFlightPerConnection(window));
		Peer peer = this.engine.connect(server).send("go\n");
		assertThat(peer.readLine()).isEqualTo("a:?");
		peer.close();
		assertThat(take()).isEqualTo("ExchangeLostException");
	}

	@Test
	void messagesThatWerePutAsideAreMeasuredLikeOthers() {
		TcpServer server = this.engine.start(server(2, HeldUpExchangeTests::answer));
		Peer peer = this.engine.connect(server).send("ask a\n");
		assertThat(peer.readLine()).isEqualTo("a:?");
		peer.send("1\n2\na:yes\n3\n");
		assertThat(List.of(peer.readLine(), peer.readLine(), peer.readLine(), peer.readLine()))
			.containsExactly("got a:yes", "echo 1", "echo 2", "echo 3");
		Engine.eventually().until(() -> server.snapshot().handling().count() == 4);
	}

	@Test
	void aMessageThatWasPutAsideAndFailsIsToldLikeAnyOther() throws Exception {
		TcpServer server = this.engine.start(server(2, new MessageHandler() {

			@Override
			public void onMessage(Connection connection, ByteBuffer message) {
				if (Engine.text(message).startsWith("ask")) {
					ask(connection, "a");
				}
				else {
					message.reset().limit(message.position() + 1);
					throw new IllegalStateException("no");
				}
			}

			@Override
			public void onError(Connection connection, ByteBuffer message, Throwable failure) {
				HeldUpExchangeTests.this.seen.add(Engine.text(message) + ": " + failure.getMessage());
				connection.send(Engine.bytes("sorry"));
			}

		}));
		Peer peer = this.engine.connect(server).send("ask\n");
		assertThat(peer.readLine()).isEqualTo("a:?");
		peer.send("first\nsecond\na:yes\n");
		assertThat(take()).isEqualTo("first: no");
		assertThat(peer.readTextToEnd()).isEqualTo("sorry\n");
		assertThat(this.seen).isEmpty();
	}

	@Test
	void theInterruptOfAFutureReachesNoMessageThatWasPutAside() {
		TcpServer server = this.engine.start(server(2, (connection, message) -> {
			String text = Engine.text(message);
			if (text.equals("go")) {
				connection.exchangeAsync(Engine.bytes("b:?"), LONG).thenRun(() -> Thread.currentThread().interrupt());
				ask(connection, "a");
			}
			else {
				connection.send(Engine.bytes(text + " " + Thread.currentThread().isInterrupted()));
			}
		}));
		Peer peer = this.engine.connect(server).send("go\n");
		assertThat(List.of(peer.readLine(), peer.readLine())).containsExactly("b:?", "a:?");
		peer.send("b:yes\n1\n2\na:yes\n");
		assertThat(List.of(peer.readLine(), peer.readLine())).containsExactly("1 false", "2 false");
	}

	@Test
	void messagesThatWerePutAsideWaitForAPeerThatDoesNotRead() {
		String large = "x".repeat(8_000_000);
		TcpServer server = this.engine.start(server(2, (connection, message) -> {
			String text = Engine.text(message);
			connection.send(Engine.bytes(text.equals("ask") ? ask(connection, "a") : text + large));
		}).maxMessageSize(9_000_000).maxOutboundSize(16_000_000));
		Peer peer = this.engine.connect(server, 4096).send("ask\n");
		assertThat(peer.readLine()).isEqualTo("a:?");
		peer.send("1\n2\n3\n4\n5\na:yes\n6\n");
		Engine.eventually().until(() -> server.connection(1).pendingBytes() > 8_000_000);
		assertThat(peer.readLine()).isEqualTo("got a:yes");
		for (int i = 1; i <= 6; i++) {
			assertThat(peer.readLine()).startsWith(i + "x");
		}
	}

	@Test
	void messagesThatWerePutAsideLeaveNoMemoryBehind() throws Exception {
		TcpServer server = this.engine.start(server(2, (connection, message) -> {
			if (Engine.text(message).equals("go")) {
				ask(connection, "a");
				connection.suspend();
				this.opened.add(connection);
			}
		}));
		Peer peer = this.engine.connect(server).send("go\n");
		assertThat(peer.readLine()).isEqualTo("a:?");
		peer.send("1\n2\n3\na:yes\n");
		this.opened.take().close();
		peer.awaitClosed();
		Engine.eventually().until(() -> server.snapshot().openConnections() == 0);
		Engine.eventually().until(() -> server.pool().snapshot().bufferedBytes() == 0);
	}

	@Test
	void aRequestThatCannotBeKeptIsLostAtOnce() throws Exception {
		TcpServer server = this.engine.start(TcpServer
			.builder(this.engine.pool(LeaderFollowersPool.builder().threads(1, 2).maxBufferedBytes(100_000)))
			.framing(Framing.line())
			.correlation(BY_KEY)
			.maxMessageSize(20_000_000)
			.maxOutboundSize(40_000_000)
			.handler((connection, message) -> this.seen.add(ask(connection, "a:" + "x".repeat(16_000_000)))));
		this.engine.connect(server, 4096).send("go\n");
		assertThat(take()).isEqualTo("ExchangeLostException");
	}

}
