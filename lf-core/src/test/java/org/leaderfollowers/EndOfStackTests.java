package org.leaderfollowers;

import java.nio.ByteBuffer;
import java.nio.channels.Pipe;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Consumer;
import java.util.stream.Stream;

import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.params.provider.Arguments.arguments;

/**
 * Calls methods of the public interface where the stack of the calling thread ends. A
 * method that needs more than is left must fail in {@link StackReserve}, before it has
 * changed anything.
 */
@Timeout(60)
class EndOfStackTests {

	private static final Duration LONG = Duration.ofHours(1);

	@RegisterExtension
	final Engine engine = new Engine();

	/** Something that is called again and again. */
	private interface Call {

		/**
		 * Prepares it.
		 * @param ends what the calls leave behind is ended by these
		 */
		Runnable on(Connection connection, List<Runnable> ends);

	}

	/** Calls something from the end of the stack upwards, until it does not overflow. */
	private static final class Ascent {

		private final Runnable call;

		/** The call is tried in one of so many frames. */
		private final int step;

		private int frames;

		private boolean hasRoom;

		private @Nullable StackOverflowError last;

		Ascent(Runnable call, int step) {
			this.call = call;
			this.step = step;
		}

		void descend() {
			try {
				descend();
			}
			catch (StackOverflowError ex) {
				// This is the end. The frames above try the call.
			}
			// Each failure takes long: it records its frames.
			if (!this.hasRoom && this.frames++ % this.step == 0) {
				try {
					this.call.run();
					this.hasRoom = true;
				}
				catch (StackOverflowError ex) {
					this.last = ex;
				}
			}
		}

	}

	/**
	 * @param call what to call. It can be repeated
	 */
	private static void assertThatReserveIsRequired(Runnable call) {
		assertThatReserveIsRequired(call, 10);
	}

	private static void assertThatReserveIsRequired(Runnable call, int step) {
		// Classes are linked and initialised here, not where the stack ends.
		call.run();
		Ascent ascent = new Ascent(call, step);
		ascent.descend();
		assertThat(ascent.hasRoom).isTrue();
		assertThat(ascent.last).isNotNull();
		assertThat(Arrays.stream(ascent.last.getStackTrace()).limit(100))
			.as("the place where the last call that failed has overflowed")
			.anyMatch((frame) -> frame.getClassName().equals(StackReserve.class.getName()));
	}

	private static void assertThatReserveIsRequired(Connection connection, Call call) {
		List<Runnable> ends = new ArrayList<>();
		assertThatReserveIsRequired(call.on(connection, ends));
		ends.forEach(Runnable::run);
		connection.close();
	}

	private static Arguments call(String name, Call call) {
		return arguments(name, call);
	}

	private static Arguments direct(String name, Consumer<Connection> call) {
		return call(name, (connection, ends) -> () -> call.accept(connection));
	}

	static Stream<Arguments> callsOfAllConnections() {
		return Stream.of(direct("send", (connection) -> connection.send(Engine.bytes("x"))),
				call("suspend", (connection, ends) -> () -> ends.add(connection.suspend()::resume)),
				call("resume", (connection, ends) -> connection.suspend()::resume),
				call("owe", (connection, ends) -> () -> ends.add(connection.owe()::close)),
				call("send what is owed", (connection, ends) -> {
					OwedReply owed = owe(connection, ends);
					return () -> owed.send(Engine.bytes("x"));
				}), call("run an action of what is owed", (connection, ends) -> {
					OwedReply owed = owe(connection, ends);
					return () -> owed.run(() -> {
					});
				}), call("fail to send what is owed", (connection, ends) -> {
					OwedReply owed = owe(connection, ends);
					return () -> owed.fail(new IllegalStateException("made for the test"));
				}), call("close what is owed", (connection, ends) -> connection.owe()::close),
				direct("fail", (connection) -> connection.fail(new IllegalStateException("made for the test"))));
	}

	private static OwedReply owe(Connection connection, List<Runnable> ends) {
		OwedReply owed = connection.owe();
		ends.add(owed::close);
		return owed;
	}

	static Stream<Arguments> callsOfTcp() {
		return Stream.concat(callsOfAllConnections(),
				Stream.of(direct("exchange later", (connection) -> connection.exchangeAsync(Engine.bytes("a:?"), LONG)),
						direct("relay", (connection) -> connection.relay(Engine.bytes("a:?"), LONG)),
						direct("idle after", (connection) -> connection.idleAfter(EventType.READ, LONG)),
						direct("name", (connection) -> connection.name("a name")),
						direct("unname", (connection) -> connection.unname("a name")),
						direct("close for a reason", (connection) -> connection.close(CloseReason.TAKEN_OVER)),
						direct("close", Connection::close),
						direct("close gracefully", (connection) -> connection.close(LONG))));
	}

	private TcpServer.Builder lines(MessageHandler handler) {
		return TcpServer.builder(this.engine.pool(2, 4))
			.framing(Framing.line())
			.correlation(Correlation.byKey((message) -> Engine.text(message).startsWith("a:") ? "a" : null))
			.maxOutboundSize(1 << 20)
			.handler(handler);
	}

	@ParameterizedTest(name = "{0}")
	@MethodSource("callsOfTcp")
	void ofAThreadOfTheApplication(String name, Call call) {
		CompletableFuture<Connection> opened = new CompletableFuture<>();
		TcpServer server = this.engine.start(lines((connection, message) -> opened.complete(connection)));
		this.engine.connect(server).send("1\n");
		Connection connection = opened.join();
		// Nothing is read or closed meanwhile.
		connection.suspend();
		assertThatReserveIsRequired(connection, call);
	}

	/** The methods for a message are others. */
	@ParameterizedTest(name = "{0}")
	@MethodSource("callsOfTcp")
	void ofAHandlerOfAMessageInAWindow(String name, Call call) {
		handle(lines(this::echo).maxInFlightPerConnection(4).replyOrder(ReplyOrder.COMPLETION), call);
	}

	private void echo(Connection connection, ByteBuffer message) {
		connection.send(message);
	}

	private void handle(TcpServer.Builder builder, Call call) {
		CompletableFuture<Void> result = new CompletableFuture<>();
		TcpServer server = this.engine.start(builder.handler((connection, message) -> {
			try {
				assertThatReserveIsRequired(connection, call);
				result.complete(null);
			}
			catch (Throwable ex) {
				result.completeExceptionally(ex);
			}
		}));
		this.engine.connect(server).send("1\n");
		result.join();
	}

	@Test
	void ofAHandlerThatReceivesTheNextMessage() {
		handle(lines(this::echo), (connection, ends) -> () -> {
			try {
				connection.receive(Duration.ofMillis(1));
			}
			catch (ExchangeTimeoutException ex) {
				// As intended
			}
		});
	}

	/** The message must not be lost. */
	@Test
	void ofAHandlerThatReceivesAMessageThatWasPutAside() {
		List<String> received = new CopyOnWriteArrayList<>();
		CompletableFuture<Void> result = new CompletableFuture<>();
		TcpServer server = this.engine.start(lines((connection, message) -> {
			try {
				connection.exchange(Engine.bytes("a:?"), LONG);
				assertThatReserveIsRequired(() -> received.add(Engine.text(connection.receive(LONG))));
				result.complete(null);
			}
			catch (Throwable ex) {
				result.completeExceptionally(ex);
			}
		}));
		Peer peer = this.engine.connect(server).send("1\n");
		assertThat(peer.readLine()).isEqualTo("a:?");
		peer.send("2\n3\na:!\n");
		result.join();
		assertThat(received).containsExactly("2", "3");
	}

	@ParameterizedTest(name = "{0}")
	@MethodSource("callsOfAllConnections")
	void ofAHandlerOfADatagram(String name, Call call) throws Exception {
		CompletableFuture<Void> result = new CompletableFuture<>();
		UdpServer server = this.engine.start(UdpServer.builder(this.engine.pool(2, 4)).handler((datagram, message) -> {
			try {
				assertThatReserveIsRequired(datagram, call);
				result.complete(null);
			}
			catch (Throwable ex) {
				result.completeExceptionally(ex);
			}
		}));
		try (DatagramPeer peer = new DatagramPeer(server)) {
			peer.send("1");
			result.join();
		}
	}

	@ParameterizedTest
	@MethodSource("callsOfAClient")
	void ofAClient(String name, Consumer<TcpClient> call) {
		TcpServer server = this.engine.lines(this.engine.pool(2, 4), this::echo);
		try (TcpClient client = TcpClient.builder(this.engine.pool(2, 4))
			.framing(Framing.line())
			.correlation(Correlation.inOrder())
			.address(server.address())
			.build()) {
			client.start();
			assertThat(client.awaitConnected(Engine.DEADLINE)).isTrue();
			assertThatReserveIsRequired(() -> call.accept(client));
		}
	}

	static Stream<Arguments> callsOfAClient() {
		return Stream.of(clientCall("exchange", (client) -> client.exchange(Engine.bytes("x"))),
				clientCall("exchange later", (client) -> client.exchangeAsync(Engine.bytes("x")).join()),
				clientCall("await the connection", (client) -> client.awaitConnected(LONG)));
	}

	private static Arguments clientCall(String name, Consumer<TcpClient> call) {
		return arguments(name, call);
	}

	/**
	 * A request that is sent is executed, although its reply cannot be awaited. So each
	 * frame tries the call: the check must not pass before the request is sent, and fail
	 * in a deeper frame afterwards.
	 */
	@Test
	void ofACallerThatWaitsForItsReply() {
		AtomicInteger handled = new AtomicInteger();
		TcpServer server = this.engine.lines(this.engine.pool(2, 4), (connection, message) -> {
			handled.incrementAndGet();
			connection.send(message);
		});
		AtomicInteger replied = new AtomicInteger();
		try (TcpClient client = TcpClient.builder(this.engine.pool(2, 4))
			.framing(Framing.line())
			.correlation(Correlation.inOrder())
			.address(server.address())
			.build()) {
			client.start();
			assertThat(client.awaitConnected(Engine.DEADLINE)).isTrue();
			assertThatReserveIsRequired(() -> {
				client.exchange(Engine.bytes("x"));
				replied.incrementAndGet();
			}, 1);
			client.exchange(Engine.bytes("last"));
		}
		assertThat(handled).hasValue(replied.get() + 1);
	}

	@Test
	void ofAHandlerThatWaitsForTheReplyOfItsPeer() {
		CompletableFuture<Integer> replied = new CompletableFuture<>();
		TcpServer server = this.engine.start(lines((connection, message) -> {
			AtomicInteger replies = new AtomicInteger();
			try {
				assertThatReserveIsRequired(() -> {
					connection.exchange(Engine.bytes("a:?"), Engine.DEADLINE);
					replies.incrementAndGet();
				}, 1);
				replied.complete(replies.get());
			}
			catch (Throwable ex) {
				replied.completeExceptionally(ex);
			}
			connection.send(Engine.bytes("end"));
		}));
		Peer peer = this.engine.connect(server).send("1\n");
		int requests = 0;
		while (peer.readLine().equals("a:?")) {
			requests++;
			peer.send("a:!\n");
		}
		assertThat(replied).isCompletedWithValue(requests);
	}

	@Test
	void ofAHandlerThatPromotes() {
		LeaderFollowersPool pool = this.engine.pool(1, 2);
		assertThatReserveIsRequired(pool::promoteNewLeader);
	}

	@Test
	void ofAThreadThatWaitsForAFuture() {
		assertThatReserveIsRequired(() -> await(new CompletableFuture<>()));
	}

	private static void await(CompletableFuture<?> future) {
		try {
			LeaderFollowersPool.await(future, Duration.ofMillis(1), "a test");
		}
		catch (TimeoutException ex) {
			// As intended
		}
		catch (Exception ex) {
			throw new IllegalStateException(ex);
		}
	}

	@Test
	void ofAnEventHandler() throws Exception {
		LeaderFollowersPool pool = this.engine.pool(1, 2);
		Pipe pipe = Pipe.open();
		try (Pipe.SourceChannel source = pipe.source(); Pipe.SinkChannel sink = pipe.sink()) {
			source.configureBlocking(false);
			Handle handle = pool.register(source, (registered, type) -> {
			}, EventType.READ);
			assertThatReserveIsRequired(() -> pool.deactivateHandle(handle, EventType.READ));
			assertThatReserveIsRequired(() -> pool.reactivateHandle(handle, EventType.READ));
			assertThatReserveIsRequired(handle::close);
		}
	}

}
