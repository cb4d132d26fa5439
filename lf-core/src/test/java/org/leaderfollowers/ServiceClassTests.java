package org.leaderfollowers;

import java.io.FilterOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.lang.management.ManagementFactory;
import java.lang.management.ThreadInfo;
import java.lang.management.ThreadMXBean;
import java.lang.ref.WeakReference;
import java.net.Socket;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.IntStream;

import javax.net.ssl.SSLContext;
import javax.net.ssl.SSLPeerUnverifiedException;

import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.leaderfollowers.internal.promotion.Clock;
import org.leaderfollowers.internal.transport.Certificates;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

/**
 * Connections choose the pool that serves them: nothing is lost or overtaken when they
 * move, and every pool keeps its own account.
 */
@Timeout(180)
class ServiceClassTests {

	private static final int BUDGET = 1024 * 1024;

	/** The key of a line is the text before the colon. */
	private static final Correlation BY_KEY = Correlation.byKey((message) -> {
		String text = Engine.text(message);
		return text.contains(":") ? text.substring(0, text.indexOf(':')) : null;
	});

	@RegisterExtension
	final Engine engine = new Engine();

	private LeaderFollowersPool own;

	private LeaderFollowersPool other;

	/** Records each call with the pool of its thread, and echoes. */
	private class Placed extends Recorder {

		@Override
		void open(Connection connection) throws Exception {
			of(connection.id()).add("in " + pool());
		}

		@Override
		void message(Connection connection, ByteBuffer message) throws Exception {
			of(connection.id()).add("in " + pool());
			connection.send(message);
		}

		@Override
		void error(Connection connection, Throwable failure) throws Exception {
			of(connection.id()).add("in " + pool() + ": " + failure.getMessage());
		}

		@Override
		void close(Connection connection, CloseReason reason) throws Exception {
			of(connection.id()).add("in " + pool());
		}

		/** Waits until the pool of the last call, the close, is recorded, too. */
		List<String> awaitEnd(long id) {
			awaitClose(id);
			Engine.eventually().until(() -> !of(id).get(of(id).size() - 1).startsWith("close "));
			return of(id);
		}

	}

	private final Placed recorder = new Placed();

	/** Messages that begin with "other" choose the other pool. */
	private final ServiceClass byMessage = (connection, first) -> Engine.text(first).startsWith("other")
			? this.other.name() : null;

	@BeforeEach
	void pools() {
		this.own = this.engine.pool(2, 4);
		this.other = this.engine.pool(2, 4);
	}

	/** The pool of the calling thread. */
	private String pool() {
		String thread = Thread.currentThread().getName();
		return thread.startsWith("lf-" + this.own.name() + "-") ? "own"
				: thread.startsWith("lf-" + this.other.name() + "-") ? "other" : thread;
	}

	private TcpServer.Builder builder(MessageHandler handler, ServiceClass serviceClass) {
		return TcpServer.builder(this.own)
			.framing(Framing.line())
			.handler(handler)
			.serviceClass(serviceClass, this.own, this.other);
	}

	private TcpServer start(ServiceClass serviceClass) {
		return this.engine.start(builder(this.recorder, serviceClass));
	}

	private static int handles(LeaderFollowersPool pool) {
		return pool.snapshot().handleSets().stream().mapToInt(PoolSnapshot.HandleSetSnapshot::handles).sum();
	}

	/** The last reply leaves before its thread gives back the bytes of the message. */
	private static void awaitBufferedBytes(LeaderFollowersPool pool, long bytes) {
		Engine.eventually().untilAsserted(() -> assertThat(pool.snapshot().bufferedBytes()).isEqualTo(bytes));
	}

	@Test
	void theFirstMessageAndAllLaterOnesAreHandledInThePoolOfTheirClass() {
		TcpServer server = start(this.byMessage);
		Peer peer = this.engine.connect(server).send("other 1\nother 2\n3\n");
		assertThat(List.of(peer.readLine(), peer.readLine(), peer.readLine())).containsExactly("other 1", "other 2",
				"3");
		assertThat(peer.send("4\n").readLine()).isEqualTo("4");
		assertThat(server.connections().map(ConnectionSnapshot::pool)).containsExactly(this.other.name());
		// A leader that has passed the connection on frees its key a little later.
		Engine.eventually().untilAsserted(() -> assertThat(handles(this.own)).as("the listening socket").isOne());
		assertThat(handles(this.other)).isOne();
		peer.close();
		this.recorder.awaitClose(1);
		Engine.eventually()
			.untilAsserted(() -> assertThat(this.recorder.of(1)).containsExactly("open", "in own", "other 1",
					"in other", "other 2", "in other", "3", "in other", "4", "in other", "close PEER", "in other"));
		assertThat(this.recorder.overlapped).isFalse();
		assertThat(server.snapshot().receivedMessages()).isEqualTo(4);
		Engine.eventually().untilAsserted(() -> assertThat(handles(this.other)).isZero());
	}

	/** They may be in a buffer of the thread, which stays in its pool. */
	@Test
	void whatTheChoiceSendsLeavesBeforeTheConnectionMoves() {
		TcpServer server = start((connection, first) -> {
			connection.send(Engine.bytes("chosen"));
			return this.other.name();
		});
		for (int i = 0; i < 20; i++) {
			Peer peer = this.engine.connect(server).send("1\n2\n3\n");
			assertThat(List.of(peer.readLine(), peer.readLine(), peer.readLine(), peer.readLine()))
				.containsExactly("chosen", "1", "2", "3");
			peer.close();
		}
	}

	@Test
	void aConnectionIsAskedForItsClassOnlyOnce() {
		AtomicInteger asked = new AtomicInteger();
		TcpServer server = start((connection, first) -> {
			asked.incrementAndGet();
			return Engine.text(first).equals("stay") ? null : this.other.name();
		});
		Peer peer = this.engine.connect(server);
		assertThat(peer.send("stay\n").readLine()).isEqualTo("stay");
		assertThat(peer.send("other\n").readLine()).isEqualTo("other");
		assertThat(asked).hasValue(1);
		assertThat(this.recorder.of(1)).containsExactly("open", "in own", "stay", "in own", "other", "in own");
		assertThat(server.connections().map(ConnectionSnapshot::pool)).containsExactly(this.own.name());
	}

	/** A service class that decides before the connection is opened. */
	private record AtOpening(ServiceClass choice) implements ServiceClass {

		@Override
		public @Nullable String poolOf(Connection connection) {
			return this.choice.poolOf(connection, ByteBuffer.allocate(0));
		}

		@Override
		public String poolOf(Connection connection, ByteBuffer firstMessage) {
			throw new AssertionError("has chosen before");
		}

	}

	@ParameterizedTest
	@ValueSource(booleans = { true, false })
	void aConnectionCanChooseBeforeItIsOpened(boolean leaves) {
		TcpServer server = start(new AtOpening((connection, first) -> (leaves ? this.other : this.own).name()));
		Peer peer = this.engine.connect(server).send("1\n2\n");
		assertThat(List.of(peer.readLine(), peer.readLine())).containsExactly("1", "2");
		String where = leaves ? "in other" : "in own";
		assertThat(this.recorder.of(1)).containsExactly("open", where, "1", where, "2", where);
		assertThat(server.connections().map(ConnectionSnapshot::state)).containsExactly(ConnectionSnapshot.State.OPEN);
	}

	@Test
	void theAddressOfTheProxyHeaderIsKnownBeforeTheConnectionIsOpened() {
		TcpServer server = this.engine.start(builder(this.recorder,
				new AtOpening((connection, first) -> connection.remoteAddress().getHostString().equals("203.0.113.9")
						? this.other.name() : this.own.name()))
			.proxyProtocol(TrustedNetworks.of("127.0.0.0/8", "::1")));
		Peer peer = this.engine.connect(server).send("PROXY TCP4 203.0.113.9 198.51.100.1 40000 443\r\nhello\n");
		assertThat(peer.readLine()).isEqualTo("hello");
		assertThat(this.recorder.of(1)).containsExactly("open", "in other", "hello", "in other");
	}

	@ParameterizedTest
	@ValueSource(strings = { "TLSv1.2", "TLSv1.3" })
	void theCertificateIsKnownBeforeTheConnectionIsOpened(String protocol) {
		ServerTls tls = ServerTls.of(Certificates.server()).clientAuth(ClientAuth.WANT);
		TcpServer server = this.engine.start(builder(this.recorder,
				new AtOpening((connection, first) -> isKnown(connection) ? this.other.name() : this.own.name()))
			.tls(tls));
		try (TlsPeer known = new TlsPeer(Certificates.context(Certificates.CLIENT, Certificates.CA), server.port(),
				protocol); TlsPeer unknown = new TlsPeer(Certificates.client(), server.port(), protocol)) {
			// Several messages in one record: no event announces the later ones.
			known.send("1\n2\n3\n");
			assertThat(List.of(known.readLine(), known.readLine(), known.readLine())).containsExactly("1", "2", "3");
			assertThat(unknown.send("hello\n").readLine()).isEqualTo("hello");
			assertThat(this.recorder.of(1)).containsExactly("open", "in other", "1", "in other", "2", "in other", "3",
					"in other");
			assertThat(this.recorder.of(2)).containsExactly("open", "in own", "hello", "in own");
		}
	}

	private static boolean isKnown(Connection connection) {
		try {
			return connection.sslSession().getPeerPrincipal().getName().equals("CN=client");
		}
		catch (SSLPeerUnverifiedException ex) {
			return false;
		}
	}

	@ParameterizedTest
	@ValueSource(strings = { "TLSv1.2", "TLSv1.3" })
	void aTlsConnectionMovesWithItsDecryptedInput(String protocol) {
		TcpServer server = this.engine
			.start(builder(this.recorder, this.byMessage).tls(ServerTls.of(Certificates.server())));
		String large = "x".repeat(7_000);
		try (TlsPeer peer = new TlsPeer(Certificates.client(), server.port(), protocol)) {
			peer.send("other\n" + (large + "\n").repeat(20));
			assertThat(peer.readLine()).isEqualTo("other");
			for (int i = 0; i < 20; i++) {
				assertThat(peer.readLine()).isEqualTo(large);
			}
		}
		this.recorder.awaitClose(1);
		awaitBufferedBytes(this.own, 0);
		awaitBufferedBytes(this.other, 0);
	}

	@Test
	void parallelMessagesRunInThePoolOfTheirClass() {
		CountDownLatch all = new CountDownLatch(3);
		TcpServer server = this.engine.start(builder((connection, message) -> {
			all.countDown();
			Engine.pass(all);
			connection.send(Engine.bytes(pool()));
		}, this.byMessage).maxInFlightPerConnection(3));
		Peer peer = this.engine.connect(server).send("other 1\n2\n3\n");
		assertThat(List.of(peer.readLine(), peer.readLine(), peer.readLine())).containsOnly("other");
		Peer stays = this.engine.connect(server).send("stays\n");
		assertThat(stays.readLine()).isEqualTo("own");
		assertThat(stays.send("other\n").readLine()).isEqualTo("own");
	}

	@Test
	void anUnknownPoolIsNamedInTheFailure() {
		TcpServer server = start((connection, first) -> "gold");
		Peer peer = this.engine.connect(server).send("1\n2\n");
		peer.awaitClosed();
		assertThat(this.recorder.awaitClose(1)).startsWith("open", "in own", "error IllegalStateException")
			.contains("close HANDLER_ERROR")
			.doesNotContain("1", "2")
			.anyMatch((line) -> line.contains("has chosen the pool 'gold'") && line.contains(this.other.name()));
		assertThat(handles(this.other)).isZero();
	}

	@ParameterizedTest
	@ValueSource(booleans = { true, false })
	void aServiceClassThatFailsIsReportedToTheHandler(boolean parallel) {
		TcpServer server = this.engine.start(builder(this.recorder, (connection, first) -> {
			throw new IllegalArgumentException("no class for " + Engine.text(first));
		}).maxInFlightPerConnection(parallel ? 4 : 1));
		this.engine.connect(server).send("1\n2\n").awaitClosed();
		assertThat(this.recorder.awaitClose(1)).startsWith("open", "in own", "error IllegalArgumentException",
				"in own: no class for 1", "close HANDLER_ERROR");
	}

	@Test
	void aConnectionForWhichNoPoolIsFoundIsNotOpened() {
		TcpServer server = start(new AtOpening((connection, first) -> {
			throw new IllegalArgumentException("nobody I know");
		}));
		this.engine.connect(server).awaitClosed();
		Engine.eventually().untilAsserted(() -> assertThat(server.snapshot().openConnections()).isZero());
		Engine.eventually()
			.untilAsserted(() -> assertThat(server.snapshot().closedConnections())
				.containsEntry(CloseReason.HANDSHAKE_FAILED, 1L));
		assertThat(this.recorder.of(1)).isEmpty();
		Engine.eventually()
			.untilAsserted(() -> assertThat(this.engine.log()).anyMatch((line) -> line.contains("nobody I know")));
	}

	@Test
	void twoPoolsWithOneNameAreRejected() {
		for (LeaderFollowersPool pool : List.of(this.own, this.other)) {
			try (LeaderFollowersPool namesake = LeaderFollowersPool.builder().name(pool.name()).build()) {
				TcpServer.Builder builder = builder(this.recorder, this.byMessage).serviceClass(this.byMessage,
						this.other, namesake);
				assertThatIllegalArgumentException().isThrownBy(builder::build)
					.withMessageContaining("two are named '" + pool.name() + "'");
			}
		}
	}

	/** Both pools live on, and may serve many servers one after the other. */
	@Test
	void theServerIsGarbageWhenItIsClosed() {
		Engine.awaitCollected(closed());
	}

	private WeakReference<MessageHandler> closed() {
		Placed handler = new Placed();
		TcpServer server = this.engine.start(builder(handler, this.byMessage));
		Peer peer = this.engine.connect(server);
		assertThat(peer.send("other\n").readLine()).isEqualTo("other");
		peer.close();
		assertThat(server.close(Engine.DEADLINE)).isTrue();
		return new WeakReference<>(handler);
	}

	@Test
	void whatIsKeptIsChargedToThePoolThatServes() {
		this.other = this.engine.pool(LeaderFollowersPool.builder().threads(1, 2).maxBufferedBytes(BUDGET));
		TcpServer server = this.engine.start(builder(this.recorder, this.byMessage));
		Peer peer = this.engine.connect(server).send("other\n" + "x".repeat(50_000));
		assertThat(peer.readLine()).isEqualTo("other");
		Engine.eventually()
			.untilAsserted(() -> assertThat(this.other.snapshot().bufferedBytes()).isGreaterThanOrEqualTo(50_000));
		awaitBufferedBytes(this.own, 0);
		assertThat(peer.send("\n").readLine()).hasSize(50_000);
		awaitBufferedBytes(this.other, 0);
	}

	/** It is complete: only the pool keeps it waiting. */
	@Test
	void aMessageIsNotLateWhileItWaitsForAThreadOfThePoolThatItHasChosen() {
		TestClock clock = new TestClock();
		this.own = this.engine.pool(LeaderFollowersPool.builder().threads(1, 2).clock(clock));
		this.other = this.engine.pool(LeaderFollowersPool.builder().threads(1, 1).clock(clock));
		CountDownLatch busy = new CountDownLatch(1);
		CountDownLatch free = this.engine.gate();
		TcpServer server = this.engine.start(builder(new Recorder() {
			@Override
			void message(Connection connection, ByteBuffer message) throws Exception {
				if (Engine.text(message).equals("other holds the thread")) {
					busy.countDown();
					Engine.pass(free);
				}
				connection.send(message);
			}
		}, this.byMessage).messageTimeout(Duration.ofSeconds(5)));
		Peer first = this.engine.connect(server).send("other holds the thread\n");
		Engine.pass(busy);
		Peer second = this.engine.connect(server).send("other waits\n");
		Engine.eventually()
			.untilAsserted(() -> assertThat(server.connections().map(ConnectionSnapshot::pool))
				.containsExactly(this.other.name(), this.other.name()));
		clock.advance(Duration.ofSeconds(6));
		free.countDown();
		assertThat(first.readLine()).isEqualTo("other holds the thread");
		assertThat(second.readLine()).isEqualTo("other waits");
	}

	@Test
	void aPoolWithoutMemoryTakesNoConnectionThatNeedsSome() {
		this.other = this.engine.pool(LeaderFollowersPool.builder().threads(1, 2).maxBufferedBytes(BUDGET));
		assertThat(this.other.memory().allocate(BUDGET)).isNotNull();
		TcpServer server = this.engine.start(builder(this.recorder, this.byMessage));
		this.engine.connect(server).send("other, and a few bytes\n").awaitClosed();
		assertThat(this.recorder.awaitClose(1)).contains("close OVERLOADED")
			.noneMatch((call) -> call.startsWith("other"));
		// The line follows the handler's onClose.
		Engine.eventually()
			.untilAsserted(() -> assertThat(this.engine.log())
				.anyMatch((line) -> line.contains("maxBufferedBytes") && line.contains("'" + this.other.name() + "'")));
		assertThat(this.engine.connect(server).send("stays\n").readLine()).isEqualTo("stays");
		awaitBufferedBytes(this.own, 0);
		awaitBufferedBytes(this.other, BUDGET);
	}

	@Test
	void bytesThatWaitForThePeerMoveWithTheConnection() {
		byte[] banner = new byte[4 * BUDGET];
		TcpServer server = this.engine.start(builder(new Recorder() {
			@Override
			void open(Connection connection) {
				connection.send(ByteBuffer.wrap(banner));
			}
		}, this.byMessage).maxOutboundSize(16 * BUDGET));
		Peer peer = this.engine.connect(server, 4096).send("other\n");
		Engine.eventually().until(() -> handles(this.other) == 1);
		Engine.eventually().until(() -> server.connections().allMatch((each) -> each.receivedMessages() == 1));
		assertThat(this.other.snapshot().bufferedBytes()).isPositive();
		awaitBufferedBytes(this.own, 0);
		assertThat(peer.read(banner.length)).isEqualTo(banner);
		assertThat(peer.readLine()).isEmpty();
		assertThat(peer.readLine()).isEqualTo("other");
		awaitBufferedBytes(this.other, 0);
	}

	@Test
	void timeoutsGoOnInTheOtherPool() {
		TcpServer server = this.engine.start(builder(this.recorder, this.byMessage).idleTimeout(Duration.ofSeconds(1)));
		this.engine.connect(server).send("other\n").awaitClosed();
		assertThat(this.recorder.awaitEnd(1)).containsSubsequence("other", "close IDLE_TIMEOUT", "in other");
	}

	@Test
	void aRequestOfTheServerEndsInTheOtherPool() throws Exception {
		CompletableFuture<CompletableFuture<ByteBuffer>> asked = new CompletableFuture<>();
		TcpServer server = this.engine.start(builder(new Recorder() {
			@Override
			void open(Connection connection) {
				asked.complete(connection.exchangeAsync(Engine.bytes("key:?"), Duration.ofMillis(300)));
			}
		}, this.byMessage).correlation(BY_KEY));
		Peer peer = this.engine.connect(server);
		assertThat(peer.readLine()).isEqualTo("key:?");
		assertThat(peer.send("other\n").readLine()).isEqualTo("other");
		assertThatExceptionOfType(ExecutionException.class)
			.isThrownBy(() -> asked.get().get(Engine.DEADLINE.toSeconds(), TimeUnit.SECONDS))
			.withCauseInstanceOf(ExchangeTimeoutException.class);
	}

	@Test
	void aReplyChoosesNoPool() throws Exception {
		CompletableFuture<CompletableFuture<ByteBuffer>> asked = new CompletableFuture<>();
		TcpServer server = this.engine.start(builder(new Placed() {
			@Override
			void open(Connection connection) {
				asked.complete(connection.exchangeAsync(Engine.bytes("other:?"), Engine.DEADLINE));
			}
		}, this.byMessage).correlation(BY_KEY));
		Peer peer = this.engine.connect(server);
		assertThat(peer.readLine()).isEqualTo("other:?");
		peer.send("other:!\n");
		assertThat(Engine.text(asked.get().get(Engine.DEADLINE.toSeconds(), TimeUnit.SECONDS))).isEqualTo("other:!");
		assertThat(server.connections().map(ConnectionSnapshot::pool)).containsExactly(this.own.name());
		assertThat(peer.send("other 1\n").readLine()).isEqualTo("other 1");
		assertThat(server.connections().map(ConnectionSnapshot::pool)).containsExactly(this.other.name());
	}

	/** Asks for something before it handles the first message, which is put aside. */
	private final class Asking extends Placed {

		@Override
		void open(Connection connection) {
			try {
				ByteBuffer reply = connection.exchange(Engine.bytes("key:?"), Engine.DEADLINE);
				of(connection.id()).add("reply " + Engine.text(reply));
			}
			catch (ExchangeLostException ex) {
				of(connection.id()).add("no reply");
			}
		}

	}

	@Test
	void messagesThatWerePutAsideMoveInOrder() {
		Asking asking = new Asking();
		TcpServer server = this.engine.start(builder(asking, this.byMessage).correlation(BY_KEY));
		Peer peer = this.engine.connect(server);
		assertThat(peer.readLine()).isEqualTo("key:?");
		peer.send("other 1\n2\nkey:!\n3\n");
		assertThat(List.of(peer.readLine(), peer.readLine(), peer.readLine())).containsExactly("other 1", "2", "3");
		assertThat(asking.of(1)).containsExactly("open", "reply key:!", "other 1", "in other", "2", "in other", "3",
				"in other");
		awaitBufferedBytes(this.own, 0);
		awaitBufferedBytes(this.other, 0);
	}

	@Test
	void aMessageThatWasPutAsideCannotFollowToAPoolThatIsClosed() {
		Asking asking = new Asking();
		TcpServer server = this.engine.start(builder(asking, this.byMessage).correlation(BY_KEY));
		this.other.close(Engine.DEADLINE);
		Peer peer = this.engine.connect(server);
		assertThat(peer.readLine()).isEqualTo("key:?");
		assertThat(peer.send("other 1\nkey:!\n").readTextToEnd()).isEmpty();
		assertThat(asking.awaitEnd(1)).containsExactly("open", "reply key:!", "close SHUTDOWN", "in own");
		awaitBufferedBytes(this.own, 0);
	}

	@Test
	void aMessageThatWasPutAsideCannotFollowToAPoolWithoutMemory() {
		this.other = this.engine.pool(LeaderFollowersPool.builder().threads(1, 2).maxBufferedBytes(BUDGET));
		assertThat(this.other.memory().allocate(BUDGET)).isNotNull();
		Asking asking = new Asking();
		TcpServer server = this.engine.start(builder(asking, this.byMessage).correlation(BY_KEY));
		Peer peer = this.engine.connect(server);
		assertThat(peer.readLine()).isEqualTo("key:?");
		assertThat(peer.send("other 1\nkey:!\n").readTextToEnd()).isEmpty();
		assertThat(asking.awaitEnd(1)).containsExactly("open", "reply key:!", "close OVERLOADED", "in own");
		awaitBufferedBytes(this.own, 0);
		awaitBufferedBytes(this.other, BUDGET);
	}

	@Test
	void aMessageThatWasPutAsideIsHandledWhereItIsIfItsConnectionFails() {
		Asking asking = new Asking();
		TcpServer server = this.engine.start(builder(asking, this.byMessage).correlation(BY_KEY));
		Peer peer = this.engine.connect(server);
		assertThat(peer.readLine()).isEqualTo("key:?");
		peer.send("other 1\n");
		Engine.eventually().until(() -> this.own.snapshot().bufferedBytes() > 0);
		peer.reset();
		assertThat(asking.awaitClose(1)).startsWith("open", "no reply", "other 1", "in own");
		awaitBufferedBytes(this.own, 0);
	}

	/** Blocks while it chooses the other pool. */
	private static final class Slow {

		final CountDownLatch begun = new CountDownLatch(1);

		final CountDownLatch gate;

		Slow(CountDownLatch gate) {
			this.gate = gate;
		}

		<T> T choose(T pool) {
			this.begun.countDown();
			Engine.pass(this.gate);
			return pool;
		}

	}

	@Test
	void aConnectionThatIsClosedWhileItChoosesIsClosedOnce() {
		Slow slow = new Slow(this.engine.gate());
		TcpServer server = start((connection, first) -> slow.choose(this.other.name()));
		Peer peer = this.engine.connect(server).send("1\n");
		Engine.pass(slow.begun);
		this.recorder.await(1).close();
		slow.gate.countDown();
		peer.awaitClosed();
		assertThat(this.recorder.awaitClose(1)).contains("close LOCAL").doesNotContain("1");
		Engine.eventually().untilAsserted(() -> assertThat(handles(this.other)).isZero());
		awaitBufferedBytes(this.own, 0);
		awaitBufferedBytes(this.other, 0);
	}

	@Test
	void aClientThatGoesWhileItsClassIsChosenIsNoticedInTheOtherPool() {
		Slow slow = new Slow(this.engine.gate());
		TcpServer server = start((connection, first) -> slow.choose(this.other.name()));
		Peer peer = this.engine.connect(server).send("1\n");
		Engine.pass(slow.begun);
		peer.shutdownOutput();
		slow.gate.countDown();
		assertThat(peer.readTextToEnd()).isEqualTo("1\n");
		assertThat(this.recorder.awaitClose(1)).containsSubsequence("1", "in other", "close PEER");
	}

	@ParameterizedTest
	@ValueSource(booleans = { true, false })
	void aMessageThatChoosesWhileTheServerDrainsIsAnswered(boolean parallel) throws Exception {
		Slow slow = new Slow(this.engine.gate());
		TcpServer server = this.engine
			.start(builder(this.recorder, (connection, first) -> slow.choose(this.other.name()))
				.maxInFlightPerConnection(parallel ? 4 : 1));
		Peer peer = this.engine.connect(server).send("1\n");
		Engine.pass(slow.begun);
		CompletableFuture<Boolean> closed = CompletableFuture.supplyAsync(() -> server.close(Engine.DEADLINE));
		Engine.eventually().until(() -> server.snapshot().state() == ServerSnapshot.State.DRAINING);
		slow.gate.countDown();
		assertThat(peer.readTextToEnd()).isEqualTo("1\n");
		assertThat(closed.get(60, TimeUnit.SECONDS)).isTrue();
		assertThat(this.recorder.of(1)).containsSubsequence("1", "in other", "close SHUTDOWN");
	}

	/** It does not wait for itself. */
	@ParameterizedTest
	@ValueSource(booleans = { false, true })
	void aHandlerMayCloseThePoolOfItsClassOrItsServer(boolean closesServer) {
		CompletableFuture<TcpServer> started = new CompletableFuture<>();
		Placed closing = new Placed() {
			@Override
			void message(Connection connection, ByteBuffer message) throws Exception {
				Duration grace = Duration.ofSeconds(10);
				if (closesServer) {
					started.join().close(grace);
				}
				else {
					ServiceClassTests.this.other.close(grace);
				}
				super.message(connection, message);
			}
		};
		TcpServer server = this.engine.start(builder(closing, this.byMessage));
		started.complete(server);
		Peer peer = this.engine.connect(server).send("other\n");
		assertThat(peer.readTextToEnd()).isEqualTo("other\n");
		assertThat(closing.awaitClose(1)).contains("close SHUTDOWN");
	}

	@Test
	void aPoolThatIsClosedAnswersWhatItsConnectionsHaveReceived() throws Exception {
		CountDownLatch gate = this.engine.gate();
		CountDownLatch begun = new CountDownLatch(1);
		Placed blocking = new Placed() {
			@Override
			void message(Connection connection, ByteBuffer message) throws Exception {
				if (Engine.text(message).equals("other block")) {
					begun.countDown();
					Engine.pass(gate);
				}
				super.message(connection, message);
			}
		};
		TcpServer server = this.engine.start(builder(blocking, this.byMessage));
		Peer busy = this.engine.connect(server).send("other block\n");
		Engine.pass(begun);
		Peer idle = this.engine.connect(server);
		assertThat(idle.send("other\n").readLine()).isEqualTo("other");
		CompletableFuture<Boolean> closed = new CompletableFuture<>();
		Thread closing = new Thread(() -> closed.complete(this.other.close(Engine.DEADLINE.multipliedBy(10))));
		closing.start();
		idle.awaitClosed();
		Engine.eventually().until(() -> closing.getState() == Thread.State.TIMED_WAITING);
		assertThat(closed).isNotDone();
		gate.countDown();
		assertThat(busy.readTextToEnd()).isEqualTo("other block\n");
		assertThat(closed.get(60, TimeUnit.SECONDS)).isTrue();
		assertThat(blocking.awaitClose(1)).contains("close SHUTDOWN");
		assertThat(blocking.awaitClose(2)).contains("close SHUTDOWN");
		// The server itself goes on, but this class has ended.
		assertThat(this.engine.connect(server).send("stays\n").readLine()).isEqualTo("stays");
		Peer late = this.engine.connect(server).send("other\n");
		late.awaitClosed();
		assertThat(blocking.awaitClose(4)).contains("close SHUTDOWN").doesNotContain("other");
		assertThat(server.snapshot().state()).isEqualTo(ServerSnapshot.State.RUNNING);
	}

	@Test
	void aPoolThatDoesNotEndInTimeClosesItsConnections() {
		CountDownLatch gate = this.engine.gate();
		CountDownLatch begun = new CountDownLatch(1);
		TcpServer server = this.engine.start(builder(new Recorder() {
			@Override
			void message(Connection connection, ByteBuffer message) throws Exception {
				begun.countDown();
				gate.await();
			}
		}, this.byMessage));
		Peer busy = this.engine.connect(server).send("other\n");
		Engine.pass(begun);
		this.other.close(Duration.ofMillis(10));
		busy.awaitClosed();
		Engine.eventually().untilAsserted(() -> assertThat(server.snapshot().openConnections()).isZero());
		assertThat(this.engine.log()).anyMatch((line) -> line.contains("connections of server"));
	}

	/** Whether the calling thread runs the handler of a connection, and does not lead. */
	private static boolean handles(Connection connection) {
		Participant me = Participant.current();
		return me != null && me.handle() == ((TcpConnection) connection).handle
				&& (me.leading() == null || me.isOnLease());
	}

	@Test
	void aPoolThatClosesWhileAConnectionEntersItServesTheConnection() throws Exception {
		Slow slow = new Slow(this.engine.gate());
		TcpServer server = start((connection, first) -> slow.choose(this.other.name()));
		Peer peer = this.engine.connect(server).send("1\n");
		Engine.pass(slow.begun);
		OutboundWriter outbound = ((TcpConnection) this.recorder.await(1)).outbound;
		CompletableFuture<Boolean> closed;
		// The connection cannot take its memory along, and so stops halfway.
		synchronized (outbound) {
			slow.gate.countDown();
			Engine.eventually().until(() -> isBlockedBy(outbound));
			closed = CompletableFuture.supplyAsync(() -> this.other.close(Engine.DEADLINE), (task) -> {
				Thread thread = new Thread(task, "closes the pool");
				thread.start();
			});
			Engine.eventually()
				.until(() -> this.other.snapshot().state() == PoolSnapshot.State.STOPPED || Thread.getAllStackTraces()
					.keySet()
					.stream()
					.anyMatch((thread) -> thread.getName().equals("closes the pool")
							&& thread.getState() == Thread.State.BLOCKED));
		}
		assertThat(peer.readTextToEnd()).isEqualTo("1\n");
		assertThat(closed.get(60, TimeUnit.SECONDS)).isTrue();
		assertThat(this.recorder.awaitClose(1)).containsSubsequence("1", "in other", "close SHUTDOWN");
	}

	private static boolean isBlockedBy(Object monitor) {
		ThreadMXBean threads = ManagementFactory.getThreadMXBean();
		return Arrays.stream(threads.dumpAllThreads(false, false))
			.map(ThreadInfo::getLockInfo)
			.anyMatch((lock) -> lock != null && lock.getIdentityHashCode() == System.identityHashCode(monitor));
	}

	@Test
	void aConnectionThatChoosesAPoolWhileThatDrainsIsClosed() throws Exception {
		CountDownLatch gate = this.engine.gate();
		Slow slow = new Slow(this.engine.gate());
		Placed blocking = new Placed() {
			@Override
			void message(Connection connection, ByteBuffer message) throws Exception {
				Engine.pass(gate);
				super.message(connection, message);
			}
		};
		TcpServer server = this.engine.start(builder(blocking,
				(connection, first) -> (connection.id() == 1) ? this.other.name() : slow.choose(this.other.name())));
		Peer busy = this.engine.connect(server).send("busy\n");
		Engine.eventually().until(() -> blocking.of(1).contains("busy"));
		Peer late = this.engine.connect(server).send("late\n");
		Engine.pass(slow.begun);
		Peer idle = this.engine.connect(server);
		CompletableFuture<Boolean> closed = CompletableFuture.supplyAsync(() -> this.other.close(Engine.DEADLINE));
		Engine.eventually().until(() -> ((TcpConnection) blocking.await(1)).isDraining());
		slow.gate.countDown();
		assertThat(late.readTextToEnd()).isEmpty();
		assertThat(blocking.awaitEnd(2)).containsExactly("open", "in own", "close SHUTDOWN", "in own");
		gate.countDown();
		assertThat(busy.readTextToEnd()).isEqualTo("busy\n");
		assertThat(closed.get(60, TimeUnit.SECONDS)).isTrue();
		idle.close();
	}

	@Test
	void aLeaderNeverEndsAConnectionThatCannotMove() {
		CountDownLatch gate = this.engine.gate();
		CountDownLatch leaving = new CountDownLatch(1);
		AtomicBoolean handled = new AtomicBoolean();
		// The connection has this clock when it has left its pool, and before it moves.
		this.other = this.engine.pool(LeaderFollowersPool.builder().threads(1, 2).clock(new Clock() {
			@Override
			public long nanoTime() {
				if (pool().equals("own")) {
					leaving.countDown();
					Engine.pass(gate);
				}
				return super.nanoTime();
			}
		}));
		Recorder recorder = new Placed() {
			@Override
			void close(Connection connection, CloseReason reason) throws Exception {
				handled.set(handles(connection));
				super.close(connection, reason);
			}
		};
		TcpServer server = this.engine.start(builder(recorder, this.byMessage));
		Peer peer = this.engine.connect(server).send("other\n");
		Engine.pass(leaving);
		this.other.close(Duration.ofMillis(1));
		gate.countDown();
		assertThat(recorder.awaitClose(1)).startsWith("open", "in own", "close SHUTDOWN_TIMEOUT");
		peer.awaitClosed();
		Engine.eventually().untilAsserted(() -> assertThat(server.snapshot().openConnections()).isZero());
		assertThat(handled).as("dispatched").isTrue();
		assertThat(recorder.of(1)).containsExactly("open", "in own", "close SHUTDOWN_TIMEOUT", "in own");
		assertThat(this.engine.connect(server).send("stays\n").readLine()).isEqualTo("stays");
	}

	@Test
	void aClassWhoseThreadsAreAllBusyDelaysNoOther() {
		this.other = this.engine.pool(1, 1);
		CountDownLatch gate = this.engine.gate();
		TcpServer server = this.engine.start(builder((connection, message) -> {
			if (Engine.text(message).startsWith("other")) {
				Engine.pass(gate);
			}
			connection.send(message);
		}, this.byMessage));
		List<Peer> flood = new ArrayList<>();
		for (int i = 0; i < 20; i++) {
			flood.add(this.engine.connect(server).send("other " + i + "\n"));
			assertThat(this.engine.connect(server).send("stays\n").readLine()).isEqualTo("stays");
		}
		// The reply to the last peer may be faster than the move of the connection
		// before.
		Engine.eventually()
			.untilAsserted(
					() -> assertThat(server.connections().filter((each) -> each.pool().equals(this.other.name())))
						.hasSize(20));
		gate.countDown();
		for (int i = 0; i < flood.size(); i++) {
			assertThat(flood.get(i).readLine()).isEqualTo("other " + i);
		}
	}

	@Test
	void whereTheOtherPoolHasMoreHandleSetsConnectionsAreSpreadOverThem() {
		this.other = this.engine.pool(LeaderFollowersPool.builder().threads(3, 6).handleSets(3));
		TcpServer server = this.engine.start(builder(this.recorder, this.byMessage));
		List<Peer> peers = IntStream.range(0, 30).mapToObj((i) -> this.engine.connect(server)).toList();
		for (Peer peer : peers) {
			assertThat(peer.send("other\n").readLine()).isEqualTo("other");
		}
		assertThat(this.other.snapshot().handleSets()).allMatch((set) -> set.handles() >= 5);
		Engine.eventually().untilAsserted(() -> assertThat(server.snapshot().handling().count()).isEqualTo(30));
	}

	@Test
	void anOversizedMessageIsReportedWhereItArrives() throws IOException {
		TcpServer server = this.engine
			.start(builder(this.recorder, this.byMessage).maxMessageSize(100).skipOversizedMessages(true));
		Peer peer = this.engine.connect(server).send("x".repeat(1000) + "\nother\n");
		assertThat(peer.readLine()).isEqualTo("other");
		assertThat(this.recorder.of(1)).containsSubsequence("error FramingException", "other", "in other");
	}

	/**
	 * Otherwise a thread of this pool would go on with a connection of the other one when
	 * its handler returns.
	 */
	@Test
	void aConnectionMovesOnlyWhenAnOversizedMessageHasBeenHandled() throws IOException {
		CountDownLatch chosen = new CountDownLatch(1);
		List<String> calls = new CopyOnWriteArrayList<>();
		TcpServer server = this.engine.start(builder(new MessageHandler() {

			@Override
			public void onMessage(Connection connection, ByteBuffer message) {
				calls.add(Engine.text(message) + " in " + pool());
				connection.send(message);
			}

			@Override
			public void onError(Connection connection, ByteBuffer message, Throwable failure) throws Exception {
				calls.add("chosen meanwhile: " + chosen.await(200, TimeUnit.MILLISECONDS) + " in " + pool());
				connection.send(Engine.bytes("too large"));
			}

		}, (connection, message) -> {
			chosen.countDown();
			return this.other.name();
		}).maxMessageSize(100).skipOversizedMessages(true).maxInFlightPerConnection(4));
		Peer peer = this.engine.connect(server).send("x".repeat(1000) + "\nfirst\nsecond\n");
		assertThat(peer.readLine()).isEqualTo("too large");
		assertThat(List.of(peer.readLine(), peer.readLine())).containsExactlyInAnyOrder("first", "second");
		assertThat(calls).startsWith("chosen meanwhile: false in own")
			.contains("first in other", "second in other")
			.hasSize(3);
	}

	/** A reply that was held until an earlier one is sent had memory of this pool. */
	@Test
	void repliesToOversizedMessagesLeaveNoMemoryInTheFormerPool() throws Exception {
		BlockingQueue<OwedReply> owed = new LinkedBlockingQueue<>();
		TcpServer server = this.engine.start(builder(new MessageHandler() {

			@Override
			public void onMessage(Connection connection, ByteBuffer message) {
				connection.send(message);
			}

			@Override
			public void onError(Connection connection, ByteBuffer message, Throwable failure) {
				boolean isFirst = message.get(0) == 'x';
				connection.send(Engine.bytes("too large"));
				if (isFirst) {
					owed.add(connection.owe());
				}
			}

		}, this.byMessage).maxMessageSize(100)
			.skipOversizedMessages(true)
			.maxInFlightPerConnection(4)
			.replyOrder(ReplyOrder.ARRIVAL));
		for (int i = 0; i < 10; i++) {
			Peer peer = this.engine.connect(server)
				.send("x".repeat(1000) + "\n" + "y".repeat(1000) + "\nother\nother, too\n");
			for (String line : List.of("too large", "too large", "other", "other, too")) {
				assertThat(peer.readLine()).isEqualTo(line);
			}
			owed.take().close();
			peer.close();
		}
		Engine.eventually().until(() -> server.connections().findAny().isEmpty());
		awaitBufferedBytes(this.own, 0);
		awaitBufferedBytes(this.other, 0);
	}

	/** It reads in the meantime, and what it reads must neither be lost nor be left. */
	@Test
	void aHandlerOfAnOversizedMessageMayWait() throws Exception {
		TcpServer server = this.engine.start(builder(new MessageHandler() {

			@Override
			public void onMessage(Connection connection, ByteBuffer message) {
				connection.send(message);
			}

			@Override
			public void onError(Connection connection, ByteBuffer message, Throwable failure) {
				connection.send(connection.exchange(Engine.bytes("k:?"), Engine.DEADLINE));
			}

		}, this.byMessage).correlation(BY_KEY)
			.maxMessageSize(100_000)
			.skipOversizedMessages(true)
			.maxInFlightPerConnection(4));
		String large = "x".repeat(200_000) + "\n";
		String rest = "other" + "z".repeat(90_000);
		for (int i = 0; i < 10; i++) {
			Peer peer = this.engine.connect(server).send(large);
			assertThat(peer.readLine()).isEqualTo("k:?");
			peer.send("k:yes\n" + large + "k:2\n" + rest + "\nother\n");
			assertThat(peer.readLine()).isEqualTo("k:yes");
			assertThat(peer.readLine()).isEqualTo("k:?");
			assertThat(peer.readLine()).isEqualTo("k:2");
			assertThat(List.of(peer.readLine(), peer.readLine())).containsExactlyInAnyOrder(rest, "other");
			peer.close();
		}
		Engine.eventually().until(() -> server.connections().findAny().isEmpty());
		awaitBufferedBytes(this.own, 0);
		awaitBufferedBytes(this.other, 0);
	}

	/** For example input that follows it in the same packet. */
	@Test
	void inputBehindAnOversizedMessageIsKeptWhileItsHandlerWaits() throws Exception {
		CompletableFuture<Object> gate = new CompletableFuture<>();
		CountDownLatch waits = new CountDownLatch(2);
		TcpServer server = this.engine.start(builder(new MessageHandler() {

			@Override
			public void onMessage(Connection connection, ByteBuffer message) {
				connection.send(message);
			}

			@Override
			public void onError(Connection connection, ByteBuffer message, Throwable failure) throws Exception {
				waits.countDown();
				LeaderFollowersPool.await(gate, Engine.DEADLINE, "the test");
				connection.send(Engine.bytes("too large"));
			}

		}, this.byMessage).correlation(BY_KEY)
			.maxMessageSize(1000)
			.skipOversizedMessages(true)
			.maxInFlightPerConnection(4));
		String two = ("x".repeat(2000) + "\n").repeat(2);
		List<Peer> peers = List.of(this.engine.connect(server), this.engine.connect(server));
		for (Peer peer : peers) {
			peer.send(two + "other\n".repeat(50));
		}
		assertThat(waits.await(Engine.DEADLINE.toSeconds(), TimeUnit.SECONDS)).isTrue();
		gate.complete("");
		for (Peer peer : peers) {
			assertThat(List.of(peer.readLine(), peer.readLine())).containsOnly("too large");
			for (int i = 0; i < 50; i++) {
				assertThat(peer.readLine()).isEqualTo("other");
			}
			peer.close();
		}
		Engine.eventually().until(() -> server.connections().findAny().isEmpty());
		awaitBufferedBytes(this.own, 0);
		awaitBufferedBytes(this.other, 0);
	}

	@Test
	void connectionInAnotherPoolIsClosedIfThatPoolIsShortOfMemory() {
		this.other = this.engine.pool(LeaderFollowersPool.builder().threads(2, 4).maxBufferedBytes(BUDGET));
		TcpServer server = this.engine
			.start(builder(this.recorder, this.byMessage).messageTimeout(Duration.ofHours(1)));
		Peer peer = this.engine.connect(server);
		assertThat(peer.send("other\n").readLine()).isEqualTo("other");
		peer.send("x".repeat(60_000));
		Engine.eventually().until(() -> server.snapshot().receivedBytes() == 60_006);
		Engine.eventually().until(() -> this.other.memory().used() >= 60_000);
		while (this.other.memory().reserve(1024)) {
			assertThat(this.other.memory().used()).isLessThanOrEqualTo(BUDGET);
		}
		Engine.eventually().until(() -> {
			this.other.memory().isScarce();
			return server.snapshot().closedConnections().get(CloseReason.OVERLOADED) == 1;
		});
		assertThat(peer.readLine()).isNull();
	}

	@Test
	void connectionsThatWaitForAThreadOfTheirPoolTakeNoPlaceOfAHandshake() throws Exception {
		this.other = this.engine.pool(LeaderFollowersPool.builder().threads(1, 1));
		CountDownLatch gate = this.engine.gate();
		TcpServer server = this.engine.start(builder((connection, message) -> {
			if (Engine.text(message).equals("wait")) {
				Engine.pass(gate);
			}
			connection.send(message);
		}, new AtOpening((connection, first) -> isKnown(connection) ? this.other.name() : this.own.name()))
			.tls(ServerTls.of(Certificates.server()).clientAuth(ClientAuth.WANT).maxHandshakes(2)));
		SSLContext known = Certificates.context(Certificates.CLIENT, Certificates.CA);
		List<TlsPeer> peers = new ArrayList<>();
		try {
			for (int i = 0; i < 4; i++) {
				TlsPeer peer = new TlsPeer(known, server.port());
				peers.add(peer);
				peer.send((i == 0) ? "wait\n" : "later\n");
			}
			Engine.eventually()
				.until(() -> server.connections().filter((each) -> each.pool().equals(this.other.name())).count() == 4);
			try (TlsPeer unknown = new TlsPeer(Certificates.client(), server.port())) {
				assertThat(unknown.send("hello\n").readLine()).isEqualTo("hello");
			}
			assertThat(server.snapshot().tls().pendingHandshakes()).isZero();
			gate.countDown();
			for (TlsPeer peer : peers) {
				assertThat(peer.readLine()).isEqualTo((peer == peers.get(0)) ? "wait" : "later");
			}
			assertThat(server.snapshot().tls().completedHandshakes()).isEqualTo(5);
		}
		finally {
			gate.countDown();
			peers.forEach(TlsPeer::close);
		}
	}

	/** The part of a record is charged to the pool that the connection has left. */
	@Test
	void aConnectionInAnotherPoolIsClosedIfItsFormerPoolIsShortOfMemory() throws Exception {
		this.own = this.engine.pool(LeaderFollowersPool.builder().threads(2, 4).maxBufferedBytes(BUDGET));
		TcpServer server = this.engine.start(builder(this.recorder, this.byMessage).messageTimeout(Duration.ofHours(1))
			.tls(ServerTls.of(Certificates.server())));
		TornSocket socket = new TornSocket();
		try (TlsPeer peer = new TlsPeer(Certificates.client(), socket, server.port(), 0, null)) {
			assertThat(peer.send("other\n").readLine()).isEqualTo("other");
			awaitBufferedBytes(this.own, 0);
			socket.torn = true;
			peer.send("x".repeat(16_000));
			Engine.eventually().until(() -> this.own.memory().used() >= 8_000);
			assertThat(this.other.memory().used()).isZero();
			while (this.own.memory().reserve(1024)) {
				assertThat(this.own.memory().used()).isLessThanOrEqualTo(BUDGET);
			}
			Engine.eventually().until(() -> {
				this.own.memory().isScarce();
				return server.snapshot().closedConnections().get(CloseReason.OVERLOADED) == 1;
			});
		}
	}

	/** Sends only the first half of what it is given, if it is torn. */
	private static final class TornSocket extends Socket {

		private volatile boolean torn;

		@Override
		public OutputStream getOutputStream() throws IOException {
			return new FilterOutputStream(super.getOutputStream()) {
				@Override
				public void write(byte[] bytes, int offset, int length) throws IOException {
					this.out.write(bytes, offset, TornSocket.this.torn ? length / 2 : length);
				}
			};
		}

	}

}
