package org.leaderfollowers;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.lang.ref.WeakReference;
import java.net.ConnectException;
import java.net.InetAddress;
import java.net.Socket;
import java.nio.ByteBuffer;
import java.nio.channels.Pipe;
import java.nio.channels.SelectionKey;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;

import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.leaderfollowers.internal.promotion.HandlerProfile;
import org.leaderfollowers.internal.transport.Certificates;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;

/**
 * A handler that waits for the next message of its own connection.
 */
class ConversationTests {

	private static final Duration LONG = Engine.DEADLINE;

	@RegisterExtension
	final Engine engine = new Engine();

	private final BlockingQueue<Object> seen = new LinkedBlockingQueue<>();

	/** Sums up the lines between BEGIN and COMMIT; echoes others. */
	private void sum(Connection connection, ByteBuffer message) {
		String first = Engine.text(message);
		if (!first.equals("BEGIN")) {
			connection.send(Engine.bytes("echo " + first));
			return;
		}
		int total = 0;
		connection.send(Engine.bytes("go"));
		for (String next = Engine.text(connection.receive(LONG)); !next.equals("COMMIT"); next = Engine
			.text(connection.receive(LONG))) {
			total += Integer.parseInt(next);
			connection.send(Engine.bytes("ok " + next));
		}
		// The message that the handler was called with is unchanged.
		assertThat(Engine.text(message)).isEqualTo("BEGIN");
		connection.send(Engine.bytes("sum " + total));
	}

	private Object take() throws InterruptedException {
		Object taken = this.seen.poll(LONG.toSeconds(), TimeUnit.SECONDS);
		assertThat(taken).isNotNull();
		return taken;
	}

	@ParameterizedTest
	@ValueSource(ints = { 1, 2, 8 })
	void aConversationHasOneHandlerCall(int threads) {
		TcpServer server = this.engine.lines(this.engine.pool(1, threads), this::sum);
		Peer peer = this.engine.connect(server);
		for (int round = 0; round < 20; round++) {
			assertThat(peer.send("BEGIN\n").readLine()).isEqualTo("go");
			assertThat(peer.send("1\n").readLine()).isEqualTo("ok 1");
			assertThat(peer.send("2\n").readLine()).isEqualTo("ok 2");
			assertThat(peer.send("COMMIT\n").readLine()).isEqualTo("sum 3");
			assertThat(peer.send("after\n").readLine()).isEqualTo("echo after");
		}
		ConnectionSnapshot connection = server.connections().findFirst().orElseThrow();
		assertThat(connection.receivedMessages()).isEqualTo(100);
	}

	@ParameterizedTest
	@ValueSource(ints = { 1, 8 })
	void messagesThatWereSentAheadAreTakenInOrder(int threads) {
		TcpServer server = this.engine.lines(this.engine.pool(1, threads), this::sum);
		Peer peer = this.engine.connect(server);
		StringBuilder lines = new StringBuilder("before\n");
		StringBuilder replies = new StringBuilder("echo before\n");
		for (int round = 0; round < 200; round++) {
			lines.append("BEGIN\n1\n2\nCOMMIT\nbetween\n");
			replies.append("go\nok 1\nok 2\nsum 3\necho between\n");
		}
		peer.send(lines.toString()).shutdownOutput();
		assertThat(peer.readTextToEnd()).isEqualTo(replies.toString());
	}

	/** A connection may be idle for days afterwards. */
	@Test
	void aMessageThatWasReceivedIsNotKept() throws InterruptedException {
		TcpServer server = this.engine.lines(this.engine.pool(1, 2), (connection, message) -> {
			this.seen.add(new WeakReference<>(connection.receive(LONG)));
			connection.send(message);
		});
		assertThat(this.engine.connect(server).send("ask\nanswer\n").readLine()).isEqualTo("ask");
		Engine.awaitCollected((WeakReference<?>) take());
	}

	@Test
	void aLargeMessageStaysWhileTheNextOnesAreReceived() {
		String large = "x".repeat(300_000);
		TcpServer server = this.engine.start(TcpServer.builder(this.engine.pool(1, 2))
			.framing(Framing.line())
			.maxMessageSize(1_000_000)
			.handler((connection, message) -> {
				String own = Engine.text(message);
				String other = Engine.text(connection.receive(LONG));
				connection.send(Engine.bytes(Engine.text(message).equals(own) + " " + own.length() + " " + other));
			}));
		Peer peer = this.engine.connect(server);
		for (int i = 0; i < 10; i++) {
			peer.send(large + "\n" + large + i + "\n" + large + "\nsmall\n");
			assertThat(peer.readLine()).isEqualTo("true 300000 " + large + i);
			assertThat(peer.readLine()).isEqualTo("true 300000 small");
		}
		assertThat(this.engine.connect(server).send("a\nb\n").readLine()).isEqualTo("true 1 b");
		peer.close();
		Engine.eventually().until(() -> server.pool().snapshot().bufferedBytes() == 0);
	}

	@Test
	void theOtherConnectionsOfTheOnlyThreadWait() {
		CountDownLatch waits = new CountDownLatch(1);
		TcpServer server = this.engine.lines(this.engine.pool(1, 1), (connection, message) -> {
			if (Engine.text(message).equals("ask")) {
				waits.countDown();
				connection.send(Engine.bytes("answered " + Engine.text(connection.receive(LONG))));
			}
			else {
				connection.send(message);
			}
		});
		Peer talking = this.engine.connect(server).send("ask\n");
		Engine.pass(waits);
		Peer other = this.engine.connect(server).send("other\n");
		talking.send("yes\n");
		assertThat(talking.readLine()).isEqualTo("answered yes");
		assertThat(other.readLine()).isEqualTo("other");
	}

	/** Otherwise it would look for further events again and again. */
	@Test
	void theOnlyThreadWaitsAlthoughAnotherConnectionIsReady() {
		LeaderFollowersPool pool = this.engine.pool(1, 1);
		TcpServer server = this.engine.lines(pool, (connection, message) -> {
			if (Engine.text(message).equals("ask")) {
				connection.send(Engine.bytes("asked"));
				connection.receive(LONG);
			}
			connection.send(message);
		});
		Peer other = this.engine.connect(server);
		Peer talking = this.engine.connect(server);
		assertThat(talking.send("ask\n").readLine()).isEqualTo("asked");
		HandleSet set = pool.handleSets().iterator().next();
		other.send("other\n");
		Engine.eventually().until(() -> !set.ready.isEmpty());
		Engine.awaitSelecting(pool.living().get(0).thread());
		assertThat(set.ready.isEmpty()).isFalse();
		assertThat(talking.send("yes\n").readLine()).isEqualTo("ask");
		assertThat(other.readLine()).isEqualTo("other");
	}

	/** The engine has learned that the handler is short, so its thread leads on. */
	@Test
	void theOnlyThreadLeadsAlthoughItsHandlerUsuallyDoesNotWait() {
		LeaderFollowersPool pool = this.engine
			.pool(LeaderFollowersPool.builder().threads(1, 1).promotionLease(Duration.ofMinutes(1)));
		Peer peer = this.engine.connect(this.engine.lines(pool, ConversationTests::receiveIfAsked));
		Engine.eventually().until(() -> {
			Map<PromotionKind, Long> before = pool.snapshot().promotions();
			for (int i = 0; i < 100; i++) {
				assertThat(peer.send("x\n").readLine()).isEqualTo("x");
			}
			return pool.snapshot().promotions().equals(before);
		});
		peer.send("ask\n");
		awaitWaiting(pool);
		assertThat(peer.send("yes\n").readLine()).isEqualTo("ask");
	}

	private static void receiveIfAsked(Connection connection, ByteBuffer message) {
		if (Engine.text(message).equals("ask")) {
			connection.receive(LONG);
		}
		connection.send(message);
	}

	private static void awaitWaiting(LeaderFollowersPool pool) {
		Engine.eventually()
			.until(() -> pool.snapshot().threads().stream().anyMatch((thread) -> thread.waitsFor() != null));
	}

	@Test
	void theNextMessageArrivesAlthoughTheThreadLeadsAnotherHandleSet() {
		// A watchdog would wake the leader after a while.
		LeaderFollowersPool pool = this.engine
			.pool(LeaderFollowersPool.builder().threads(2, 2).handleSets(2).stuckAfter(Duration.ZERO));
		TcpServer server = this.engine.lines(pool, (connection, message) -> {
			String own = ((TcpConnection) connection).handle.handleSet().name();
			// Then the other set has no leader.
			Engine.eventually()
				.until(() -> pool.snapshot()
					.handleSets()
					.stream()
					.anyMatch((set) -> set.name().equals(own) && set.leader() != null));
			connection.receive(Duration.ofHours(1));
			connection.send(message);
		});
		Peer peer = this.engine.connect(server);
		for (int i = 0; i < 20; i++) {
			peer.send("ask\n");
			awaitWaiting(pool);
			Engine.eventually()
				.until(() -> pool.snapshot().handleSets().stream().allMatch((set) -> set.leader() != null));
			assertThat(peer.send("yes\n").readLine()).isEqualTo("ask");
		}
	}

	@Test
	void aHandleThatFailsWhileTheOnlyThreadWaitsIsClosedAfterwards() throws Exception {
		LeaderFollowersPool pool = this.engine.pool(1, 1);
		Peer talking = this.engine.connect(this.engine.lines(pool, ConversationTests::receiveIfAsked)).send("ask\n");
		awaitWaiting(pool);
		AtomicInteger failures = new AtomicInteger();
		AtomicReference<SelectableHandle> handle = new AtomicReference<>();
		Pipe pipe = Pipe.open();
		try (Pipe.SinkChannel sink = pipe.sink()) {
			pipe.source().configureBlocking(false);
			handle.set(pool.handleSets().newHandle(pipe.source(), new HandleSetUpdateTests.TestHandler() {

				@Override
				public boolean prepareReplies(Participant me) {
					throw new IllegalStateException("made for the test");
				}

				@Override
				public boolean failed(@Nullable Participant me, Throwable failure) {
					failures.incrementAndGet();
					return true;
				}

				@Override
				public boolean release(Participant me) {
					handle.get().closeByOwner();
					return true;
				}

			}, SelectionKey.OP_READ, new HandlerProfile()));
			handle.get().release();
			handle.get().request(SelectableHandle.REGISTER | SelectableHandle.REARM);
			sink.write(ByteBuffer.allocate(1));
			Engine.eventually().until(() -> failures.get() > 0);
			assertThat(handle.get().isMarkedClosed()).isFalse();
			assertThat(talking.send("yes\n").readLine()).isEqualTo("ask");
			Engine.eventually().until(() -> handle.get().isMarkedClosed());
		}
	}

	@Test
	void otherThreadsServeOtherConnectionsMeanwhile() {
		TcpServer server = this.engine.lines(this.engine.pool(2, 4), this::sum);
		Peer talking = this.engine.connect(server);
		assertThat(talking.send("BEGIN\n").readLine()).isEqualTo("go");
		Peer other = this.engine.connect(server);
		for (int i = 0; i < 100; i++) {
			assertThat(other.send(i + "\n").readLine()).isEqualTo("echo " + i);
			assertThat(talking.send("1\n").readLine()).isEqualTo("ok 1");
		}
		assertThat(talking.send("COMMIT\n").readLine()).isEqualTo("sum 100");
	}

	@Test
	void withoutAMessageInTimeTheConnectionIsAsBefore() throws Exception {
		TcpServer server = this.engine.lines(this.engine.pool(1, 2), (connection, message) -> {
			if (Engine.text(message).equals("ask")) {
				try {
					this.seen.add(connection.receive(Duration.ofMillis(1)));
				}
				catch (ExchangeTimeoutException ex) {
					this.seen.add(ex);
				}
			}
			connection.send(message);
		});
		Peer peer = this.engine.connect(server);
		assertThat(peer.send("ask\n").readLine()).isEqualTo("ask");
		assertThat(take()).isInstanceOf(ExchangeTimeoutException.class)
			.asString()
			.contains("has sent no message on", "PT0.001S");
		assertThat(peer.send("late\n").readLine()).isEqualTo("late");
	}

	@Test
	void theEndOfTheConnectionEndsTheWait() throws Exception {
		TcpServer server = this.engine.lines(this.engine.pool(1, 2), new MessageHandler() {

			@Override
			public void onMessage(Connection connection, ByteBuffer message) {
				try {
					while (true) {
						ConversationTests.this.seen.add(Engine.text(connection.receive(LONG)));
					}
				}
				catch (ConnectionClosedException ex) {
					ConversationTests.this.seen.add(ex.reason());
				}
			}

			@Override
			public void onClose(Connection connection, CloseReason reason) {
				ConversationTests.this.seen.add("closed");
			}

		});
		this.engine.connect(server).send("begin\nlast\n").shutdownOutput();
		assertThat(take()).isEqualTo("last");
		assertThat(take()).isEqualTo(CloseReason.PEER);
		assertThat(take()).isEqualTo("closed");
		this.engine.connect(server).send("begin\n").reset();
		assertThat(take()).isIn(CloseReason.IO_ERROR, CloseReason.PEER);
		assertThat(take()).isEqualTo("closed");
	}

	@Test
	void aConnectionThatIsClosedByAnotherThreadEndsTheWait() throws Exception {
		TcpServer server = this.engine.lines(this.engine.pool(1, 2), (connection, message) -> {
			this.seen.add(connection);
			try {
				connection.receive(LONG);
			}
			catch (ConnectionClosedException ex) {
				this.seen.add(ex.reason());
			}
		});
		this.engine.connect(server).send("begin\n");
		((Connection) take()).close();
		assertThat(take()).isEqualTo(CloseReason.LOCAL);
	}

	/** The only thread leads while it waits for a message. */
	@Test
	void theOnlyThreadAcceptsWhileItWaits() {
		TcpServer server = this.engine.lines(this.engine.pool(1, 1), this::sum);
		Peer peer = this.engine.connect(server);
		assertThat(peer.send("BEGIN\n").readLine()).isEqualTo("go");
		Peer other = this.engine.connect(server);
		Engine.eventually().until(() -> server.snapshot().openConnections() == 2);
		assertThat(peer.send("COMMIT\n").readLine()).isEqualTo("sum 0");
		assertThat(other.send("hello\n").readLine()).isEqualTo("echo hello");
	}

	@Test
	void theOnlyThreadEvacuatesWhileItWaits() {
		TcpServer server = this.engine.lines(this.engine.pool(1, 1), this::sum);
		Peer peer = this.engine.connect(server);
		Peer other = this.engine.connect(server);
		Engine.eventually().until(() -> server.snapshot().openConnections() == 2);
		assertThat(peer.send("BEGIN\n").readLine()).isEqualTo("go");
		assertThat(server.evacuate(CloseRate.of("100/s"))).isTrue();
		Engine.eventually().until(() -> server.snapshot().evacuation() == null);
		assertThat(peer.send("COMMIT\n").readLine()).isEqualTo("sum 0");
		assertThat(peer.readLine()).isNull();
		assertThat(other.readLine()).isNull();
	}

	/** With one thread, the waiting thread leads when it is asked for a look. */
	@ParameterizedTest
	@ValueSource(ints = { 1, 2 })
	void aDrainLetsTheConversationEnd(int threads) throws Exception {
		TcpServer server = this.engine.lines(this.engine.pool(1, threads), this::sum);
		Peer peer = this.engine.connect(server);
		assertThat(peer.send("BEGIN\n").readLine()).isEqualTo("go");
		Engine.eventually()
			.until(() -> server.pool().snapshot().threads().stream().anyMatch((thread) -> thread.waitsFor() != null));
		CompletableFuture<Boolean> drained = CompletableFuture.supplyAsync(() -> server.close(LONG),
				(task) -> new Thread(task).start());
		Engine.eventually().until(() -> server.snapshot().state() == ServerSnapshot.State.DRAINING);
		Engine.eventually().until(() -> isRefused(server.port()));
		assertThat(peer.send("4\n").readLine()).isEqualTo("ok 4");
		assertThat(peer.send("COMMIT\n").readLine()).isEqualTo("sum 4");
		assertThat(peer.readLine()).isNull();
		assertThat(drained.get(30, TimeUnit.SECONDS)).isTrue();
	}

	/**
	 * Returns whether the leader has closed the listening socket. It looks at the
	 * connections at the same time.
	 */
	private static boolean isRefused(int port) throws IOException {
		try (Socket socket = new Socket(InetAddress.getLoopbackAddress(), port)) {
			return !socket.isConnected();
		}
		catch (ConnectException ex) {
			return true;
		}
	}

	@Test
	void theEndOfTheGraceEndsTheConversation() throws Exception {
		TcpServer server = this.engine.lines(this.engine.pool(1, 2), (connection, message) -> {
			this.seen.add("waits");
			try {
				connection.receive(LONG);
			}
			catch (ConnectionClosedException ex) {
				this.seen.add(ex.reason());
			}
		});
		this.engine.connect(server).send("begin\n");
		assertThat(take()).isEqualTo("waits");
		assertThat(server.close(Duration.ofMillis(50))).isFalse();
		assertThat(take()).isEqualTo(CloseReason.SHUTDOWN_TIMEOUT);
	}

	@Test
	void anInterruptEndsTheWait() throws Exception {
		TcpServer server = this.engine.lines(this.engine.pool(1, 2), (connection, message) -> {
			this.seen.add(Thread.currentThread());
			try {
				connection.receive(LONG);
			}
			catch (ExchangeLostException ex) {
				this.seen.add(Thread.interrupted());
			}
			connection.send(message);
		});
		Peer peer = this.engine.connect(server).send("begin\n");
		((Thread) take()).interrupt();
		assertThat(take()).isEqualTo(true);
		assertThat(peer.readLine()).isEqualTo("begin");
	}

	@Test
	void onlyTheHandlerInItsThreadMayReceive() throws Exception {
		TcpServer server = this.engine.lines(this.engine.pool(2, 4),
				(connection, message) -> this.seen.add(connection));
		this.engine.connect(server).send("begin\n");
		Connection connection = (Connection) take();
		assertThatIllegalStateException().isThrownBy(() -> connection.receive(LONG))
			.withMessageContaining("only its handler may call it");
		assertThatExceptionOfType(IllegalArgumentException.class).isThrownBy(() -> connection.receive(Duration.ZERO));
	}

	@Test
	void aConversationMayBeginWhenTheConnectionOpens() {
		TcpServer server = this.engine.lines(this.engine.pool(1, 2), new MessageHandler() {

			@Override
			public void onOpen(Connection connection) {
				connection.send(Engine.bytes("name?"));
				connection.attributes().put("name", Engine.text(connection.receive(LONG)));
				connection.send(Engine.bytes("password?"));
				connection.attributes().put("password", Engine.text(connection.receive(LONG)));
			}

			@Override
			public void onMessage(Connection connection, ByteBuffer message) {
				connection.send(Engine.bytes(connection.attributes() + " " + Engine.text(message)));
			}

		});
		Peer peer = this.engine.connect(server);
		assertThat(peer.readLine()).isEqualTo("name?");
		assertThat(peer.send("jane\n").readLine()).isEqualTo("password?");
		assertThat(peer.send("sesame\nhello\n").readLine()).contains("name=jane", "password=sesame", "hello");
	}

	@Test
	void aConversationIsEncryptedLikeTheRest() throws Exception {
		TcpServer server = this.engine.start(TcpServer.builder(this.engine.pool(1, 2))
			.framing(Framing.line())
			.tls(ServerTls.of(Certificates.server()))
			.handler(this::sum));
		try (TlsPeer peer = new TlsPeer(Certificates.client(), server.port())) {
			assertThat(peer.send("BEGIN\n1\n2\n").readLine()).isEqualTo("go");
			assertThat(peer.readLine()).isEqualTo("ok 1");
			assertThat(peer.readLine()).isEqualTo("ok 2");
			assertThat(peer.send("3\n").readLine()).isEqualTo("ok 3");
			assertThat(peer.send("COMMIT\n").readLine()).isEqualTo("sum 6");
		}
	}

	@Test
	void aMessageThatCameWithTheEndOfTheHandshakeIsReceived() throws Exception {
		TcpServer server = this.engine.start(TcpServer.builder(this.engine.pool(1, 2))
			.framing(Framing.line())
			.tls(ServerTls.of(Certificates.server()))
			.handler(new MessageHandler() {

				@Override
				public void onOpen(Connection connection) {
					connection.send(Engine.bytes("hello " + Engine.text(connection.receive(LONG))));
				}

				@Override
				public void onMessage(Connection connection, ByteBuffer message) {
					connection.send(message);
				}

			}));
		HeldOutput output = new HeldOutput();
		try (TlsPeer peer = new TlsPeer(Certificates.client(), output, server.port(), 0, null, "TLSv1.3")) {
			output.holdAfter(1);
			// The handshake of the client ends with its last flight, which is held back.
			peer.shakeHands().send("jane\n");
			output.letGo();
			assertThat(peer.readLine()).isEqualTo("hello jane");
			assertThat(peer.send("more\n").readLine()).isEqualTo("more");
		}
	}

	/**
	 * A socket that holds back all but the first writes, and then writes them at once.
	 */
	private static final class HeldOutput extends Socket {

		private final ByteArrayOutputStream held = new ByteArrayOutputStream();

		private int writes = Integer.MAX_VALUE;

		void holdAfter(int count) {
			this.writes = count;
		}

		void letGo() throws IOException {
			this.writes = Integer.MAX_VALUE;
			super.getOutputStream().write(this.held.toByteArray());
		}

		@Override
		public OutputStream getOutputStream() throws IOException {
			OutputStream output = super.getOutputStream();
			return new OutputStream() {

				@Override
				public void write(int b) throws IOException {
					write(new byte[] { (byte) b }, 0, 1);
				}

				@Override
				public void write(byte[] bytes, int offset, int length) throws IOException {
					if (HeldOutput.this.writes-- > 0) {
						output.write(bytes, offset, length);
					}
					else {
						HeldOutput.this.held.write(bytes, offset, length);
					}
				}

			};
		}

	}

	@Test
	void malformedInputEndsTheWait() throws Exception {
		TcpServer server = this.engine.start(TcpServer.builder(this.engine.pool(1, 2))
			.framing(Framing.line())
			.maxMessageSize(100)
			.handler((connection, message) -> {
				try {
					connection.receive(LONG);
				}
				catch (ConnectionClosedException ex) {
					this.seen.add(ex.reason());
				}
			}));
		Peer peer = this.engine.connect(server).send("begin\n");
		peer.send("x".repeat(200) + "\n");
		assertThat(take()).isEqualTo(CloseReason.MESSAGE_TOO_LARGE);
		peer.awaitClosed();
	}

	/** Many conversations at a time, of few threads, whose messages come in pieces. */
	@Test
	void conversationsShareThreadsAndKeepTheirMessages() throws Exception {
		TcpServer server = this.engine.lines(this.engine.pool(1, 3), this::sum);
		List<CompletableFuture<Void>> clients = new ArrayList<>();
		for (int client = 0; client < 12; client++) {
			Peer peer = this.engine.connect(server);
			int number = client;
			clients.add(CompletableFuture.runAsync(() -> {
				for (int round = 0; round < 50; round++) {
					peer.send("BE");
					peer.send("GIN\n" + number + "\n" + round);
					assertThat(peer.readLine()).isEqualTo("go");
					assertThat(peer.readLine()).isEqualTo("ok " + number);
					peer.send("\nCOMM");
					assertThat(peer.readLine()).isEqualTo("ok " + round);
					peer.send("IT\nafter\n");
					assertThat(peer.readLine()).isEqualTo("sum " + (number + round));
					assertThat(peer.readLine()).isEqualTo("echo after");
				}
			}, (task) -> new Thread(task).start()));
		}
		for (CompletableFuture<Void> client : clients) {
			client.get(60, TimeUnit.SECONDS);
		}
		Engine.awaitIdle(server.pool());
	}

}
