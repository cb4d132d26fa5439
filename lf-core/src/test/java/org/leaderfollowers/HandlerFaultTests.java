package org.leaderfollowers;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import java.util.stream.Stream;

import ch.qos.logback.classic.Logger;
import ch.qos.logback.classic.spi.ILoggingEvent;
import ch.qos.logback.core.AppenderBase;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;
import org.slf4j.LoggerFactory;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

/**
 * Handlers that fail in every way at every step: their connection is closed, no other
 * connection is affected, and the pool keeps its leader.
 */
@Timeout(120)
class HandlerFaultTests {

	@RegisterExtension
	final Engine engine = new Engine();

	private interface Fault {

		void strike() throws Throwable;

	}

	/** An unexpected error, as the deprecated {@code ThreadDeath} of the JDK was. */
	@SuppressWarnings("serial")
	private static final class ThreadDeathLike extends Error {

	}

	private static int recurse(int depth) {
		return recurse(depth + 1) + ThreadLocalRandom.current().nextInt(2);
	}

	static Stream<Arguments> faults() {
		return Stream.of(fault("RuntimeException", () -> {
			throw new IllegalArgumentException("made for the test");
		}), fault("Exception", () -> {
			throw new Exception("made for the test");
		}), fault("InterruptedException", () -> {
			throw new InterruptedException("made for the test");
		}), fault("IOException", () -> {
			throw new IOException("made for the test");
		}), fault("Error", () -> {
			throw new AssertionError("made for the test");
		}), fault("StackOverflowError", () -> recurse(0)), fault("OutOfMemoryError", () -> {
			throw new OutOfMemoryError("made for the test");
		}), fault("ThreadDeathLike", () -> {
			throw new ThreadDeathLike();
		}), fault("LinkageError", () -> {
			throw new NoClassDefFoundError("made for the test");
		}), fault("Framing's", () -> {
			throw new FramingException("made for the test");
		}), fault("Closed's", () -> {
			throw new ConnectionClosedException("made for the test", CloseReason.LOCAL, null);
		}), fault("InterruptAndFail", () -> {
			Thread.currentThread().interrupt();
			throw new IllegalStateException("made for the test");
		}));
	}

	private static Arguments fault(String name, Fault fault) {
		return Arguments.of(name, fault);
	}

	/** Fails in the methods that {@code where} names. */
	private static final class Failing extends Recorder {

		private final String where;

		private final Fault fault;

		Failing(String where, Fault fault) {
			this.where = where;
			this.fault = fault;
		}

		private void failIn(String method, Connection connection) throws Exception {
			// Connection 1 must not be affected.
			if (connection.id() == 1 || !this.where.contains(method)) {
				return;
			}
			try {
				this.fault.strike();
			}
			catch (Exception | Error ex) {
				throw ex;
			}
			catch (Throwable ex) {
				throw new AssertionError(ex);
			}
		}

		@Override
		void open(Connection connection) throws Exception {
			failIn("onOpen", connection);
		}

		@Override
		void message(Connection connection, ByteBuffer message) throws Exception {
			if (Engine.text(message).equals("fail")) {
				failIn("onMessage", connection);
			}
			connection.send(message);
		}

		@Override
		void error(Connection connection, Throwable failure) throws Exception {
			failIn("onError", connection);
		}

		@Override
		void close(Connection connection, CloseReason reason) throws Exception {
			failIn("onClose", connection);
		}

	}

	@ParameterizedTest(name = "{0}")
	@MethodSource("faults")
	void aFaultInAnyMethodClosesItsConnectionOnly(String name, Fault fault) {
		// At most one thread: if a failure killed it, there would be no other.
		LeaderFollowersPool pool = this.engine.pool(1, 1);
		for (String where : List.of("onMessage", "onOpen", "onMessage onError", "onMessage onClose",
				"onMessage onError onClose", "onOpen onError onClose", "onClose")) {
			Failing handler = new Failing(where, fault);
			TcpServer server = this.engine.lines(pool, handler);
			Peer bystander = this.engine.connect(server);
			assertThat(bystander.send("before\n").readLine()).isEqualTo("before");
			Peer peer = this.engine.connect(server).send("one\ntwo\nfail\nnever\n");
			if (where.equals("onClose")) {
				for (String line : List.of("one", "two", "fail", "never")) {
					assertThat(peer.readLine()).isEqualTo(line);
				}
				peer.close();
				assertThat(handler.awaitClose(2)).as(where)
					.containsExactly("open", "one", "two", "fail", "never", "close PEER");
			}
			else if (where.startsWith("onOpen")) {
				peer.awaitClosed();
				assertThat(handler.awaitClose(2)).as(where)
					.hasSize(3)
					.startsWith("open")
					.endsWith("close HANDLER_ERROR");
			}
			else {
				assertThat(peer.readLine()).isEqualTo("one");
				assertThat(peer.readLine()).isEqualTo("two");
				peer.awaitClosed();
				assertThat(handler.awaitClose(2)).as(where)
					.hasSize(6)
					.startsWith("open", "one", "two", "fail")
					.endsWith("close HANDLER_ERROR");
			}
			assertThat(bystander.send("after\n").readLine()).isEqualTo("after");
			Engine.eventually().until(() -> server.snapshot().openConnections() == 1);
			assertThat(handler.overlapped).isFalse();
			bystander.close();
			assertThat(server.close(Engine.DEADLINE)).isTrue();
		}
		PoolSnapshot snapshot = Engine.awaitIdle(pool);
		assertThat(snapshot.threadsStarted()).isOne();
	}

	@Test
	void aThousandFaultsLeaveThePoolAsItWas() {
		LeaderFollowersPool pool = this.engine.pool(3, 3);
		AtomicInteger count = new AtomicInteger();
		TcpServer server = this.engine.lines(pool, new MessageHandler() {
			@Override
			public void onMessage(Connection connection, ByteBuffer message) throws Exception {
				switch (count.incrementAndGet() % 4) {
					case 0 -> throw new Exception("made for the test");
					case 1 -> throw new OutOfMemoryError("made for the test");
					case 2 -> {
						Thread.currentThread().interrupt();
						throw new InterruptedException("made for the test");
					}
					default -> recurse(0);
				}
			}

			@Override
			public void onError(Connection connection, Throwable failure) {
				connection.send(Engine.bytes("sorry"));
			}
		});
		for (int i = 0; i < 1000; i++) {
			Peer peer = this.engine.connect(server).send("x\n");
			assertThat(peer.readLine()).isEqualTo("sorry");
			peer.close();
		}
		Engine.eventually().until(() -> server.snapshot().openConnections() == 0);
		PoolSnapshot snapshot = Engine.awaitIdle(pool);
		assertThat(snapshot.threadsStarted()).isEqualTo(3);
		assertThat(server.snapshot().closedConnections()).containsEntry(CloseReason.HANDLER_ERROR, 1000L);
	}

	@Test
	void anInterruptLeftBehindReachesNeitherTheNextMessageNorTheNextConnection() {
		List<Boolean> interrupted = new CopyOnWriteArrayList<>();
		MessageHandler handler = new MessageHandler() {
			private void note() {
				interrupted.add(Thread.currentThread().isInterrupted());
				Thread.currentThread().interrupt();
			}

			@Override
			public void onOpen(Connection connection) {
				note();
			}

			@Override
			public void onMessage(Connection connection, ByteBuffer message) {
				note();
				// Sends while the thread is interrupted: this must not close the channel.
				connection.send(message);
			}

			@Override
			public void onClose(Connection connection, CloseReason reason) {
				note();
			}
		};
		LeaderFollowersPool pool = this.engine.pool(1, 1);
		TcpServer server = this.engine.lines(pool, handler);
		for (int i = 0; i < 20; i++) {
			Peer peer = this.engine.connect(server).send("1\n2\n");
			assertThat(peer.readLine()).isEqualTo("1");
			assertThat(peer.readLine()).isEqualTo("2");
			assertThat(peer.send("3\n").readLine()).isEqualTo("3");
			peer.close();
		}
		Engine.eventually().until(() -> interrupted.size() == 100);
		assertThat(interrupted).containsOnly(false);
		// The leader waits instead of spinning.
		Engine.awaitIdle(pool);
	}

	@Test
	void onErrorCanSendALastMessage() {
		List<Throwable> failures = new CopyOnWriteArrayList<>();
		TcpServer server = this.engine.lines(this.engine.pool(2, 4), new MessageHandler() {
			@Override
			public void onMessage(Connection connection, ByteBuffer message) {
				connection.send(message);
				throw new UnsupportedOperationException("made for the test");
			}

			@Override
			public void onError(Connection connection, Throwable failure) {
				failures.add(failure);
				assertThat(connection.isOpen()).isFalse();
				connection.send(Engine.bytes("sorry: " + failure.getMessage()));
			}
		});
		assertThat(this.engine.connect(server).send("x\nnever\n").readTextToEnd())
			.isEqualTo("x\nsorry: made for the test\n");
		assertThat(failures).singleElement().isInstanceOf(UnsupportedOperationException.class);
	}

	@Test
	void onErrorCanSendALastMessageToAPeerOfABadFraming() {
		TcpServer server = this.engine.start(TcpServer.builder(this.engine.pool(2, 4))
			.framing(Framing.line())
			.maxMessageSize(10)
			.handler(new MessageHandler() {
				@Override
				public void onMessage(Connection connection, ByteBuffer message) {
					connection.send(message);
				}

				@Override
				public void onError(Connection connection, Throwable failure) {
					connection.send(Engine.bytes(failure.getClass().getSimpleName()));
				}
			}));
		assertThat(this.engine.connect(server).send("short\n" + "long".repeat(10_000) + "\nshort\n").readTextToEnd())
			.isEqualTo("short\nFramingException\n");
	}

	@Test
	void afterItsConnectionIsClosedAHandlerCannotSend() {
		List<ConnectionClosedException> refusals = new CopyOnWriteArrayList<>();
		Recorder recorder = new Recorder() {
			private void trySend(Connection connection) {
				assertThatExceptionOfType(ConnectionClosedException.class)
					.isThrownBy(() -> connection.send(Engine.bytes("too late")))
					.satisfies(refusals::add);
			}

			@Override
			void message(Connection connection, ByteBuffer message) {
				connection.send(message);
				assertThat(connection.isOpen()).isTrue();
				connection.close();
				assertThat(connection.isOpen()).isFalse();
				trySend(connection);
				connection.close();
			}

			@Override
			void close(Connection connection, CloseReason reason) {
				trySend(connection);
				connection.close();
			}
		};
		TcpServer server = this.engine.lines(this.engine.pool(1, 2), recorder);
		assertThat(this.engine.connect(server).send("bye\nnever\n").readTextToEnd()).isEqualTo("bye\n");
		assertThat(recorder.awaitClose(1)).containsExactly("open", "bye", "close LOCAL");
		Engine.eventually().until(() -> refusals.size() == 2);
		assertThat(refusals).allMatch((refusal) -> refusal.reason() == CloseReason.LOCAL);
	}

	@Test
	void theRefusalOfAClosedConnectionIsNoFailureOfTheHandler() {
		Recorder recorder = new Recorder() {
			@Override
			void message(Connection connection, ByteBuffer message) {
				connection.close();
				connection.send(message);
			}
		};
		TcpServer server = this.engine.lines(this.engine.pool(1, 2), recorder);
		this.engine.connect(server).send("x\n").awaitClosed();
		assertThat(recorder.awaitClose(1)).containsExactly("open", "x", "close LOCAL");
	}

	@Test
	void closeInOnOpenSendsTheFarewellAndReadsNothing() {
		Recorder recorder = new Recorder() {
			@Override
			void open(Connection connection) {
				connection.send(Engine.bytes("not today"));
				connection.close();
			}
		};
		TcpServer server = this.engine.lines(this.engine.pool(1, 2), recorder);
		assertThat(this.engine.connect(server).send("hello\n").readTextToEnd()).isEqualTo("not today\n");
		assertThat(recorder.awaitClose(1)).containsExactly("open", "close LOCAL");
	}

	@ParameterizedTest
	@ValueSource(booleans = { false, true })
	void aForeignCloseIsDoneByTheEngineAndOnCloseComesOnceAndLast(boolean whileHandlerRuns) {
		CountDownLatch gate = this.engine.gate();
		Recorder recorder = new Recorder() {
			@Override
			void message(Connection connection, ByteBuffer message) {
				if (whileHandlerRuns) {
					Engine.pass(gate);
				}
				try {
					connection.send(message);
				}
				catch (ConnectionClosedException ex) {
					assertThat(whileHandlerRuns).isTrue();
				}
			}
		};
		TcpServer server = this.engine.lines(this.engine.pool(2, 4), recorder);
		Peer peer = this.engine.connect(server).send("x\n");
		Engine.eventually().until(() -> recorder.of(1).contains("x"));
		Connection connection = recorder.await(1);
		for (int i = 0; i < 10; i++) {
			connection.close();
		}
		assertThat(connection.isOpen()).isFalse();
		if (whileHandlerRuns) {
			assertThat(recorder.of(1)).containsExactly("open", "x");
			gate.countDown();
		}
		peer.awaitClosed();
		assertThat(recorder.awaitClose(1)).containsExactly("open", "x", "close LOCAL");
		assertThat(recorder.overlapped).isFalse();
		assertThat(connection.remoteAddress()).isNotNull();
		assertThat(connection.localAddress().getPort()).isEqualTo(server.port());
		assertThatExceptionOfType(ConnectionClosedException.class)
			.isThrownBy(() -> connection.send(Engine.bytes("too late")));
	}

	@Test
	void callsForOneConnectionNeverOverlapWhateverHappens() throws Exception {
		Recorder recorder = new Recorder() {
			@Override
			void message(Connection connection, ByteBuffer message) {
				Thread.yield();
				connection.send(message);
				Thread.yield();
			}

			@Override
			void error(Connection connection, Throwable failure) {
				Thread.yield();
			}

			@Override
			void close(Connection connection, CloseReason reason) {
				Thread.yield();
			}
		};
		TcpServer server = this.engine.lines(this.engine.pool(4, 8), recorder);
		int rounds = 300;
		for (int i = 1; i <= rounds; i++) {
			Peer peer = this.engine.connect(server).send("1\n2\n3\n");
			Connection connection = recorder.await(i);
			Thread foreign = new Thread(connection::close);
			foreign.start();
			peer.send("4\n");
			if (i % 2 == 0) {
				peer.reset();
			}
			else {
				peer.close();
			}
			foreign.join();
		}
		Engine.eventually().until(() -> server.snapshot().openConnections() == 0);
		assertThat(recorder.overlapped).isFalse();
		for (int i = 1; i <= rounds; i++) {
			List<String> calls = recorder.of(i);
			assertThat(calls.get(0)).isEqualTo("open");
			assertThat(calls.get(calls.size() - 1)).startsWith("close ");
			assertThat(calls.stream().filter((call) -> call.startsWith("close "))).hasSize(1);
			List<String> messages = new ArrayList<>(calls.subList(1, calls.size() - 1));
			messages.removeIf((call) -> call.startsWith("error "));
			assertThat(List.of("1", "2", "3", "4").subList(0, messages.size())).isEqualTo(messages);
		}
	}

	@Test
	void attributesLiveWithTheirConnection() {
		AtomicReference<Object> late = new AtomicReference<>();
		TcpServer server = this.engine.lines(this.engine.pool(1, 2), new MessageHandler() {
			@Override
			public void onMessage(Connection connection, ByteBuffer message) {
				Object count = connection.attributes().merge("count", 1, (a, b) -> (Integer) a + (Integer) b);
				connection.send(Engine.bytes("" + count));
			}

			@Override
			public void onClose(Connection connection, CloseReason reason) {
				late.set(connection.attributes().get("count"));
			}
		});
		Peer first = this.engine.connect(server).send("\n\n\n");
		assertThat(List.of(first.readLine(), first.readLine(), first.readLine())).containsExactly("1", "2", "3");
		assertThat(this.engine.connect(server).send("\n").readLine()).isEqualTo("1");
		first.close();
		Engine.eventually().until(() -> late.get() != null);
		assertThat(late).hasValue(3);
	}

	@Test
	void aFailureOfOnCloseIsLogged() {
		TcpServer server = this.engine.lines(this.engine.pool(1, 2), new Recorder() {
			@Override
			void close(Connection connection, CloseReason reason) {
				throw new IllegalStateException("made for the test");
			}
		});
		this.engine.connect(server).close();
		Engine.eventually()
			.untilAsserted(() -> assertThat(this.engine.log()).anyMatch((line) -> line.contains("made for the test")));
	}

	@Test
	void aFailureToHandleAMessageThatIsTooLargeIsLogged() {
		TcpServer server = this.engine.start(TcpServer.builder(this.engine.pool(1, 2))
			.framing(Framing.line())
			.maxMessageSize(10)
			.skipOversizedMessages(true)
			.handler(new Recorder() {
				@Override
				void error(Connection connection, Throwable failure) {
					throw new IllegalStateException("made for the test");
				}
			}));
		this.engine.connect(server).send("x".repeat(20) + "\n");
		Engine.eventually()
			.untilAsserted(() -> assertThat(this.engine.log()).singleElement()
				.asString()
				.startsWith("ERROR ")
				.contains("made for the test"));
	}

	/** For example of a file or a database, which is not that of the socket. */
	@ParameterizedTest
	@ValueSource(ints = { 1, 4 })
	void anIOExceptionOfTheHandlerIsLoggedAsOtherFailuresAre(int maxInFlight) {
		TcpServer server = this.engine.start(TcpServer.builder(this.engine.pool(1, 2))
			.framing(Framing.line())
			.maxInFlightPerConnection(maxInFlight)
			.handler((connection, message) -> {
				throw new IOException("made for the test");
			}));
		this.engine.connect(server).send("x\n").shutdownOutput().awaitClosed();
		Engine.eventually()
			.untilAsserted(() -> assertThat(this.engine.log()).singleElement()
				.asString()
				.startsWith("ERROR ")
				.contains("Connection 1 ", "because its handler", "java.io.IOException: made for the test"));
	}

	/** Peers come and go, and the handler notices it in the middle of its work. */
	@ParameterizedTest
	@CsvSource({ "1, false", "1, true", "4, false", "4, true" })
	void aPeerThatHasGoneIsNoFailureOfTheHandler(int maxInFlight, boolean wraps) {
		CountDownLatch called = this.engine.gate();
		CountDownLatch gone = this.engine.gate();
		// The connection keeps two threads busy at most. With no thread left, the pool
		// would log it on a busy machine.
		TcpServer server = this.engine.start(TcpServer.builder(this.engine.pool(1, 4))
			.framing(Framing.line())
			.maxInFlightPerConnection(maxInFlight)
			.handler((connection, message) -> {
				called.countDown();
				Engine.pass(gone);
				try {
					while (true) {
						connection.send(Engine.bytes("reply"));
					}
				}
				catch (ConnectionClosedException ex) {
					throw wraps ? new IOException("The report is not complete", ex) : ex;
				}
			}));
		Peer peer = this.engine.connect(server).send("x\n");
		Engine.pass(called);
		peer.reset();
		gone.countDown();
		Engine.eventually().until(() -> server.snapshot().closedConnections().get(CloseReason.IO_ERROR) == 1);
		assertThat(this.engine.log()).isEmpty();
	}

	/** The message of such an exception quotes the client. */
	@Test
	void aClientCannotForgeLinesOfTheLog() {
		TcpServer server = this.engine.lines(this.engine.pool(1, 2),
				(connection, message) -> Integer.parseInt(Engine.text(message)));
		assertThat(this.engine.connect(server).send("1\r2026-01-01 ERROR forged \u001b[2J\n").readLine()).isNull();
		assertThat(this.engine.log()).singleElement()
			.asString()
			.contains("NumberFormatException: For input string: \"1?2026-01-01 ERROR forged ?[2J\"")
			.doesNotContain("\r", "\u001b");
	}

	/**
	 * If nobody reads the output, each line would keep its thread, and a client that
	 * causes one a second would soon have kept all of them.
	 */
	@ParameterizedTest
	@ValueSource(ints = { 1, 100_000 })
	void noThreadOfThePoolWaitsForTheLog(int length) {
		List<String> threads = new CopyOnWriteArrayList<>();
		AppenderBase<ILoggingEvent> appender = new AppenderBase<>() {
			@Override
			protected void append(ILoggingEvent event) {
				threads.add(event.getThreadName());
			}
		};
		appender.start();
		Logger logger = (Logger) LoggerFactory.getLogger("org.leaderfollowers.engine");
		logger.addAppender(appender);
		try {
			// A message that the handler does not handle, or that is too large.
			TcpServer server = this.engine.lines(this.engine.pool(1, 2), (connection, message) -> {
				throw new IllegalStateException("made for the test");
			});
			this.engine.connect(server).trySend("x".repeat(length) + "\n").awaitClosed();
			Engine.eventually()
				.untilAsserted(() -> assertThat(this.engine.log()).anyMatch((line) -> line.contains("is closed")));
			Engine.eventually().untilAsserted(() -> assertThat(threads).containsOnly("lf-log"));
		}
		finally {
			logger.detachAppender(appender);
		}
	}

}
