package org.leaderfollowers;

import java.io.Closeable;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.net.SocketAddress;
import java.nio.ByteBuffer;
import java.nio.channels.SelectionKey;
import java.nio.channels.SocketChannel;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.EnumSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import java.util.function.Consumer;
import java.util.stream.Collectors;
import java.util.stream.Stream;

import javax.net.ssl.SSLException;
import javax.net.ssl.SSLSocket;

import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;
import org.leaderfollowers.internal.transport.Certificates;
import org.leaderfollowers.internal.transport.Transport;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * {@link Connection#whenClosed()} completes however a connection ends, whatever the
 * handler or the engine throws meanwhile. The handler is told exactly once.
 */
@Timeout(180)
class EndOfConnectionTests {

	private static final Duration SHORT = Duration.ofMillis(50);

	private static final int MANY = 8 * 1024 * 1024;

	@RegisterExtension
	final Engine engine = new Engine();

	private final CompletableFuture<Connection> connection = new CompletableFuture<>();

	private final List<CloseReason> told = new CopyOnWriteArrayList<>();

	private final List<Closeable> resources = new ArrayList<>();

	private final CountDownLatch begun = new CountDownLatch(1);

	private CountDownLatch gate;

	private LeaderFollowersPool pool;

	private TcpServer server;

	/** Whether the handler is told of the end by a method that fails. */
	private enum Handling {

		SOUND, FAILS

	}

	/**
	 * A way in which a connection ends.
	 *
	 * @param name describes it
	 * @param reason the reason that is reported
	 * @param options prepares the server
	 * @param script lets a connection end
	 */
	private record Way(String name, CloseReason reason, Consumer<TcpServer.Builder> options, Script script) {

		@Override
		public String toString() {
			return this.reason + ": " + this.name;
		}

	}

	private interface Script {

		void run(EndOfConnectionTests test) throws Exception;

	}

	private static Way way(CloseReason reason, String name, Script script) {
		return way(reason, name, (builder) -> {
		}, script);
	}

	private static Way way(CloseReason reason, String name, Consumer<TcpServer.Builder> options, Script script) {
		return new Way(name, reason, options, script);
	}

	private static Stream<Way> ways() {
		return Stream.of(way(CloseReason.LOCAL, "within onMessage", (test) -> test.peer().send("close\n")),
				way(CloseReason.LOCAL, "within onOpen", (builder) -> builder.name("closes at once"), (test) -> {
					test.peer();
				}), way(CloseReason.LOCAL, "from another thread", (test) -> {
					test.peer();
					test.opened().close();
				}), way(CloseReason.LOCAL, "while suspended", (test) -> {
					test.peer().send("suspend\n");
					test.opened().close();
				}), way(CloseReason.TAKEN_OVER, "from another thread", (test) -> {
					test.peer();
					test.opened().close(CloseReason.TAKEN_OVER);
				}), way(CloseReason.CLIENT_LIMIT, "thrown by the handler", (test) -> test.peer().send("limit\n")),
				way(CloseReason.HANDLER_ERROR, "thrown by the handler", (test) -> test.peer().send("fail\n")),
				way(CloseReason.HANDLER_ERROR, "given by another thread", (test) -> {
					test.peer();
					test.opened().fail(new IllegalStateException("made for the test"));
				}), way(CloseReason.PEER, "closed", (test) -> test.peer().close()),
				way(CloseReason.PEER, "half-closed", (test) -> test.peer().send("x\n").shutdownOutput()),
				way(CloseReason.PEER, "half-closed while a reply is owed", (test) -> {
					test.peer().send("block\n").shutdownOutput();
					Engine.pass(test.begun);
					test.gate.countDown();
				}),
				way(CloseReason.TRUNCATED, "no close_notify",
						(builder) -> builder.tls(ServerTls.of(Certificates.server())),
						EndOfConnectionTests::endWithoutCloseNotify),
				way(CloseReason.IO_ERROR, "reset while a reply waits", (test) -> {
					Peer peer = test.peer(4096).send("flood\n");
					Engine.pass(test.begun);
					peer.reset();
				}), way(CloseReason.IDLE_TIMEOUT, "silent", (builder) -> builder.idleTimeout(SHORT), (test) -> {
					test.peer();
				}),
				way(CloseReason.MESSAGE_TIMEOUT, "a part", (builder) -> builder.messageTimeout(SHORT),
						(test) -> test.peer().send("part")),
				way(CloseReason.LOGIN_TIMEOUT, "no login", (builder) -> builder.loginTimeout(SHORT), (test) -> {
					test.peer();
				}),
				way(CloseReason.WRITE_TIMEOUT, "the peer does not read", (builder) -> builder.writeTimeout(SHORT),
						(test) -> test.peer(4096).send("flood\n")),
				way(CloseReason.EXCHANGE_TIMEOUT, "no reply", (builder) -> builder.correlation(Correlation.inOrder()),
						(test) -> {
							test.peer();
							test.opened().exchangeAsync(Engine.bytes("request"), SHORT);
						}),
				way(CloseReason.MESSAGE_TOO_LARGE, "too long", (builder) -> builder.maxMessageSize(10),
						(test) -> test.peer().send("more than ten bytes\n")),
				way(CloseReason.MALFORMED, "not a frame", (builder) -> builder.framing(new BadFraming(true)),
						(test) -> test.peer().send("x")),
				way(CloseReason.OVERLOADED, "no memory for a message",
						(builder) -> builder.framing(Framing.line()).maxMessageSize(MANY), (test) -> {
							Peer peer = test.peer();
							test.exhaustMemory();
							peer.send("part");
						}),
				way(CloseReason.SHUTDOWN, "the server closes", (test) -> {
					test.peer();
					test.opened();
					test.server.close(Engine.DEADLINE);
				}), way(CloseReason.SHUTDOWN, "the pool closes", (test) -> {
					test.peer();
					test.opened();
					test.pool.close(Engine.DEADLINE);
				}), way(CloseReason.SHUTDOWN_TIMEOUT, "a handler takes too long", (test) -> {
					test.peer().send("block\n");
					Engine.pass(test.begun);
					test.server.close(Duration.ZERO);
					test.gate.countDown();
				}), way(CloseReason.SHUTDOWN_TIMEOUT, "the pool has no threads left", (test) -> {
					test.peer().send("suspend\n");
					Engine.pass(test.begun);
					test.pool.close(Duration.ZERO);
				}), way(CloseReason.HANDSHAKE_FAILED, "no TLS", (test) -> test.connect("handshake")),
				way(CloseReason.HANDSHAKE_FAILED, "no framing", (builder) -> builder.framing(new BadFraming(false)),
						(test) -> test.connect("")),
				way(CloseReason.HANDSHAKE_TIMEOUT, "no handshake", (builder) -> builder.handshakeTimeout(SHORT),
						(test) -> test.connect("silent")),
				way(CloseReason.CONNECT_FAILED, "nobody listens", EndOfConnectionTests::connectToNobody),
				way(CloseReason.CONNECT_FAILED, "connected to itself", EndOfConnectionTests::connectToItself));
	}

	private static Stream<Arguments> endings() {
		return ways().flatMap((way) -> Stream.of(Handling.values())
			.flatMap((handling) -> Stream.of(1, 4).map((window) -> Arguments.of(way, handling, window))));
	}

	@Test
	void thereIsAWayForEachReason() {
		Set<CloseReason> reasons = ways().map(Way::reason).collect(Collectors.toSet());
		assertThat(reasons).isEqualTo(EnumSet.allOf(CloseReason.class));
	}

	@ParameterizedTest(name = "{0}, handler {1}, window {2}")
	@MethodSource("endings")
	void everybodyIsToldOfTheEnd(Way way, Handling handling, int window) throws Exception {
		begin(handling, window, way.options(), way.name().equals("within onOpen"));
		way.script().run(this);
		assertEnded(way.reason());
	}

	/**
	 * Where the engine itself fails: in these methods of the transport.
	 */
	private static Stream<Arguments> failures() {
		return Stream
			.of("read", "read shutdown", "read release", "release", "shutdown release", "handshake!",
					"handshake! release", "read guard", "guard")
			.flatMap((where) -> Stream.of(Handling.values())
				.flatMap((handling) -> Stream.of(1, 4).map((window) -> Arguments.of(where, handling, window))));
	}

	@ParameterizedTest(name = "{0}, handler {1}, window {2}")
	@MethodSource("failures")
	void everybodyIsToldOfTheEndIfTheEngineFails(String where, Handling handling, int window) throws Exception {
		begin(handling, window, (builder) -> {
		}, false);
		Socket peer = connect(where);
		if (where.startsWith("read")) {
			peer.getOutputStream().write('x');
			assertEnded(CloseReason.IO_ERROR);
		}
		else if (where.startsWith("handshake!")) {
			assertEnded(CloseReason.IO_ERROR);
		}
		else {
			peer.close();
			assertEnded(CloseReason.PEER);
		}
	}

	private void begin(Handling handling, int window, Consumer<TcpServer.Builder> options, boolean closesAtOnce) {
		this.gate = this.engine.gate();
		this.pool = this.engine.pool(LeaderFollowersPool.builder().threads(2, 4).maxBufferedBytes(2L * MANY));
		TcpServer.Builder builder = TcpServer.builder(this.pool)
			.framing(Framing.line())
			.maxOutboundSize(2 * MANY)
			.maxInFlightPerConnection(window)
			.replyOrder(ReplyOrder.ARRIVAL)
			.handler(new Ending(handling, closesAtOnce));
		options.accept(builder);
		this.server = this.engine.start(builder);
	}

	private void assertEnded(CloseReason reason) throws IOException {
		Connection ended = opened();
		Engine.eventually().until(() -> !ended.isOpen());
		closeResources();
		assertThat(ended.whenClosed()).succeedsWithin(Engine.DEADLINE).isEqualTo(reason);
		boolean wasOpened = ((TcpConnection) ended).opened;
		assertThat(this.told).isEqualTo(wasOpened ? List.of(reason) : List.of());
		assertThat(this.server.snapshot().openConnections()).isZero();
		assertThat(this.server.snapshot().closedConnections()).containsEntry(reason, 1L);
	}

	private Peer peer() {
		return peer(0);
	}

	private Peer peer(int receiveBuffer) {
		Peer peer = this.engine.connect(this.server, receiveBuffer);
		this.resources.add(peer);
		return peer;
	}

	private Connection opened() {
		assertThat(this.connection).succeedsWithin(Engine.DEADLINE);
		return this.connection.join();
	}

	private void exhaustMemory() {
		opened();
		assertThat(this.pool.memory().allocate(2 * MANY)).isNotNull();
	}

	private void endWithoutCloseNotify() throws IOException {
		Socket plain = new Socket(InetAddress.getLoopbackAddress(), this.server.port());
		this.resources.add(plain);
		SSLSocket socket = (SSLSocket) Certificates.client()
			.getSocketFactory()
			.createSocket(plain, "localhost", this.server.port(), false);
		socket.getOutputStream().write("hello\nhalf a li".getBytes(StandardCharsets.US_ASCII));
		plain.shutdownOutput();
	}

	/** Passes a connection with this transport to the server, as its acceptor does. */
	private Socket connect(String failures) throws IOException {
		try (ServerSocket listening = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
			SocketChannel channel = SocketChannel.open(listening.getLocalSocketAddress());
			Socket peer = listening.accept();
			this.resources.add(peer);
			channel.configureBlocking(false);
			open(channel, failures, (InetSocketAddress) channel.getLocalAddress());
			return peer;
		}
	}

	private void connectToNobody() throws IOException {
		SocketChannel channel = SocketChannel.open();
		channel.configureBlocking(false);
		// Nobody listens on a port that is bound by a client.
		try (Socket bound = new Socket()) {
			bound.bind(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0));
			attempt(channel, bound.getLocalSocketAddress());
		}
	}

	private void connectToItself() throws IOException {
		SocketChannel channel = SocketChannel.open();
		channel.configureBlocking(false);
		channel.bind(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0));
		attempt(channel, channel.getLocalAddress());
	}

	private void attempt(SocketChannel channel, SocketAddress address) throws IOException {
		channel.connect(address);
		TcpConnection attempt = open(channel, "", null);
		attempt.handle.operations(0, SelectionKey.OP_CONNECT);
		attempt.handle.request(SelectableHandle.INTEREST);
		assertThat(attempt.whenClosed()).succeedsWithin(Engine.DEADLINE);
	}

	private TcpConnection open(SocketChannel channel, String failures, @Nullable InetSocketAddress local) {
		Broken transport = new Broken(channel, failures);
		ConnectionContext context = this.server.life.context();
		InetSocketAddress remote = new InetSocketAddress(InetAddress.getLoopbackAddress(), 1);
		TcpConnection own = (context.window() != null)
				? new WindowedConnection(context, channel, transport, local, remote)
				: new TcpConnection(context, channel, transport, local, remote);
		if (failures.contains("guard")) {
			own.origin = new Permitted(() -> {
				throw new IllegalStateException("made for the test");
			}, null);
		}
		context.registry().add(own);
		this.connection.complete(own);
		own.whenClosed();
		own.open();
		return own;
	}

	@AfterEach
	void closeResources() throws IOException {
		for (Closeable each : this.resources) {
			each.close();
		}
	}

	/** Notes that it was told, and then fails if it is meant to. */
	private final class Ending implements MessageHandler {

		private final Handling handling;

		private final boolean closesAtOnce;

		Ending(Handling handling, boolean closesAtOnce) {
			this.handling = handling;
			this.closesAtOnce = closesAtOnce;
		}

		private void fail() {
			if (this.handling == Handling.FAILS) {
				throw new AssertionError("made for the test");
			}
		}

		@Override
		public void onOpen(Connection connection) {
			EndOfConnectionTests.this.connection.complete(connection);
			if (this.closesAtOnce) {
				connection.close();
			}
		}

		@Override
		public void onMessage(Connection connection, ByteBuffer message) {
			switch (Engine.text(message)) {
				case "close" -> connection.close();
				case "fail" -> throw new IllegalStateException("made for the test");
				case "limit" -> throw new ClientLimitException("made for the test");
				case "suspend" -> {
					connection.suspend();
					begun();
				}
				case "flood" -> {
					connection.send(ByteBuffer.allocate(MANY));
					begun();
				}
				case "block" -> {
					begun();
					Engine.pass(EndOfConnectionTests.this.gate);
					connection.send(message);
				}
				default -> connection.send(message);
			}
		}

		private void begun() {
			EndOfConnectionTests.this.begun.countDown();
		}

		@Override
		public void onError(Connection connection, Throwable failure) {
			fail();
		}

		@Override
		public void onClose(Connection connection, CloseReason reason) {
			EndOfConnectionTests.this.told.add(reason);
			fail();
		}

	}

	/**
	 * A framing that finds fault with all input, or even creates no object for a
	 * connection.
	 *
	 * @param opens whether it creates an object
	 */
	private record BadFraming(boolean opens) implements Framing {

		@Override
		public boolean decode(ByteBuffer input, Frame frame) {
			throw new FramingException("made for the test");
		}

		@Override
		public int maxFrameLength(int payloadLength) {
			return payloadLength;
		}

		@Override
		public void encode(ByteBuffer payload, ByteBuffer output) {
			output.put(payload);
		}

		@Override
		public Framing forConnection(Connection connection) {
			if (this.opens) {
				return this;
			}
			throw new IllegalStateException("made for the test");
		}

	}

	/** A transport whose methods fail as no socket does. */
	private static final class Broken extends Transport {

		private final String failures;

		Broken(SocketChannel socket, String failures) {
			super(socket);
			this.failures = failures;
		}

		private void failIn(String method) {
			if (this.failures.contains(method)) {
				throw new IllegalStateException("made for the test: " + method);
			}
		}

		@Override
		protected Progress handshake() throws IOException {
			failIn("handshake!");
			if (this.failures.equals("handshake")) {
				throw new SSLException("made for the test");
			}
			return this.failures.equals("silent") ? Progress.WANTS_READ : Progress.DONE;
		}

		@Override
		public int read(ByteBuffer destination) throws IOException {
			failIn("read");
			return receive(destination);
		}

		@Override
		public int write(ByteBuffer source) throws IOException {
			return socket().write(source);
		}

		@Override
		public Progress shutdownOutput(boolean closesNext) throws IOException {
			failIn("shutdown");
			return super.shutdownOutput(closesNext);
		}

		@Override
		public void release() {
			failIn("release");
		}

	}

}
