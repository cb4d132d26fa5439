package org.leaderfollowers;

import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.ByteBuffer;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;
import java.nio.charset.StandardCharsets;
import java.security.GeneralSecurityException;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.BiFunction;

import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;
import org.leaderfollowers.internal.proxy.ProxyHeaders;
import org.leaderfollowers.internal.transport.Certificates;
import org.leaderfollowers.internal.transport.PlainTransport;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatIOException;

/** A guard that decides which connections are served. */
@Timeout(120)
class ConnectionGuardTests {

	private static final TrustedNetworks LOOPBACK = TrustedNetworks.of("127.0.0.0/8", "::1");

	@RegisterExtension
	final Engine engine = new Engine();

	private final Recorder recorder = new Recorder();

	private final Permits permits = new Permits();

	/** Counts permits, and rejects the clients of one address. */
	private static final class Permits implements ConnectionGuard {

		private final List<String> asked = new CopyOnWriteArrayList<>();

		private final AtomicInteger current = new AtomicInteger();

		private final Map<Long, String> opened = new ConcurrentHashMap<>();

		private final List<String> conversed = new CopyOnWriteArrayList<>();

		private volatile String rejected = "none";

		@Override
		public @Nullable Permit admit(InetSocketAddress client) {
			String address = client.getAddress().getHostAddress();
			this.asked.add(address);
			if (address.equals(this.rejected)) {
				return null;
			}
			this.current.incrementAndGet();
			AtomicInteger closed = new AtomicInteger();
			return new Permit() {

				@Override
				public void opened(Connection connection) {
					Permits.this.opened.put(connection.id(), connection.remoteAddress().getAddress().getHostAddress());
				}

				@Override
				public void received(Connection connection, ByteBuffer message) {
					String text = Engine.text(message);
					Permits.this.conversed.add(text);
					if (text.equals("refused")) {
						throw new ClientLimitException("no more messages");
					}
				}

				@Override
				public void closed() {
					assertThat(closed.incrementAndGet()).isEqualTo(1);
					Permits.this.current.decrementAndGet();
				}

			};
		}

		private void awaitReturned() {
			Engine.eventually().untilAsserted(() -> assertThat(this.current).hasValue(0));
		}

	}

	private TcpServer.Builder guarded() {
		return guarded(this.engine.pool(2, 4));
	}

	private TcpServer.Builder guarded(LeaderFollowersPool pool) {
		return TcpServer.builder(pool).framing(Framing.line()).handler(this.recorder).connectionGuard(this.permits);
	}

	private static void awaitClosedByLimit(TcpServer server) {
		Engine.eventually()
			.untilAsserted(() -> assertThat(server.snapshot().closedConnections())
				.containsEntry(CloseReason.CLIENT_LIMIT, 1L));
	}

	/**
	 * Memory may be short, for example. Code of the application may throw what it does
	 * not declare.
	 */
	@ParameterizedTest
	@ValueSource(classes = { IllegalStateException.class, GeneralSecurityException.class, OutOfMemoryError.class })
	void aConnectionThatCannotBeRegisteredLeavesNothingBehind(Class<? extends Throwable> type) throws Exception {
		Throwable failure = type.getConstructor(String.class).newInstance("injected");
		boolean isError = failure instanceof Error;
		TcpServer.Builder builder = guarded().tls(ServerTls.of(Certificates.server()));
		ConnectionContext own = builder.build().life.context();
		ConnectionContext context = with(own, new ConnectionRegistry(() -> {
		}, new ConcurrentHashMap<>() {

			@Override
			public TcpConnection put(Object key, TcpConnection value) {
				throw ConnectionGuardTests.<RuntimeException>undeclared(failure);
			}

		}));
		Admission admission = new Admission(context, TcpOptions.of(builder, Framing.line()));
		try (ServerSocketChannel listening = ServerSocketChannel.open()) {
			listening.bind(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0));
			try (SocketChannel peer = SocketChannel.open(listening.getLocalAddress())) {
				assertThat(peer.isConnected()).isTrue();
				SocketChannel accepted = listening.accept();
				if (isError) {
					assertThatExceptionOfType(OutOfMemoryError.class).isThrownBy(() -> admission.accepted(accepted));
				}
				else {
					admission.accepted(accepted);
				}
				assertThat(accepted.isOpen()).isFalse();
			}
		}
		assertThat(this.permits.asked).hasSize(1);
		assertThat(this.permits.current).hasValue(0);
		ServerSnapshot.Tls tls = own.tls().snapshot();
		assertThat(tls.openConnections()).isEmpty();
		assertThat(tls.pendingHandshakes()).isZero();
		assertThat(context.registry().rejectedConnections()).isEqualTo(isError ? 1 : 0);
	}

	/** Its client would be locked out. */
	@Test
	void aPermitIsReturnedAlthoughItsConnectionCannotBeCountedOut() throws IOException {
		TcpServer.Builder builder = guarded();
		ConnectionContext own = builder.build().life.context();
		TlsGenerations generations = withoutMemory(own);
		ConnectionRegistry registry = new ConnectionRegistry(() -> {
		}, new ConcurrentHashMap<>() {

			@Override
			public TcpConnection put(Object key, TcpConnection value) {
				throw new IllegalStateException("injected");
			}

		});
		Admission admission = new Admission(with(own, registry, generations), TcpOptions.of(builder, Framing.line()));
		try (ServerSocketChannel listening = ServerSocketChannel.open()) {
			listening.bind(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0));
			try (SocketChannel peer = SocketChannel.open(listening.getLocalAddress())) {
				assertThat(peer.isConnected()).isTrue();
				SocketChannel accepted = listening.accept();
				assertThatExceptionOfType(OutOfMemoryError.class).isThrownBy(() -> admission.accepted(accepted));
				assertThat(accepted.isOpen()).isFalse();
			}
		}
		assertThat(this.permits.asked).hasSize(1);
		assertThat(this.permits.current).hasValue(0);
	}

	/** Counts no connection out. */
	private static TlsGenerations withoutMemory(ConnectionContext own) {
		ServerTls tls = ServerTls.of(Certificates.server());
		HandshakeGate gate = new HandshakeGate(tls, own.clock(), own.warnings(), () -> {
		});
		return new TlsGenerations(tls, own.memory(), gate, new TreeMap<>() {

			@Override
			public Integer computeIfPresent(Integer key,
					BiFunction<? super Integer, ? super Integer, ? extends Integer> change) {
				throw new OutOfMemoryError("injected");
			}

		});
	}

	private static ConnectionContext with(ConnectionContext own, ConnectionRegistry registry) {
		return with(own, registry, own.tls());
	}

	private static ConnectionContext with(ConnectionContext own, ConnectionRegistry registry,
			@Nullable TlsGenerations tls) {
		return new ConnectionContext(own.server(), own.handler(), own.framing(), own.limits(), own.timeouts(),
				own.counters(), own.warnings(), registry, tls, own.pool(), own.clock(), own.memory(), own.work(),
				own.window(), own.wire(), own.isClient(), own.classes(), own.preparation());
	}

	/** A connection is removed only once, and its client would be locked out. */
	@Test
	void aPermitIsReturnedAlthoughNobodyCanBeTold() throws IOException {
		ConnectionContext context = with(guarded().build().life.context(), new ConnectionRegistry(() -> {
			throw new OutOfMemoryError("injected");
		}));
		try (SocketChannel channel = SocketChannel.open()) {
			InetSocketAddress remote = new InetSocketAddress(InetAddress.getLoopbackAddress(), 1);
			TcpConnection connection = new TcpConnection(context, channel, new PlainTransport(channel), null, remote);
			connection.origin = new Permitted(this.permits.admit(remote), null);
			context.registry().add(connection);
			assertThatExceptionOfType(OutOfMemoryError.class)
				.isThrownBy(() -> context.closed(connection, CloseReason.PEER));
			context.closed(connection, CloseReason.PEER);
		}
		assertThat(this.permits.current).hasValue(0);
		assertThat(context.registry().open()).isZero();
	}

	/** A drain would wait for it for ever. */
	@Test
	void aConnectionIsClosedAlthoughItsTransportCannotBeCountedOut() throws IOException {
		ConnectionContext own = guarded().build().life.context();
		TlsGenerations generations = withoutMemory(own);
		ConnectionContext context = with(own, new ConnectionRegistry(() -> {
		}), generations);
		try (SocketChannel channel = SocketChannel.open()) {
			InetSocketAddress remote = new InetSocketAddress(InetAddress.getLoopbackAddress(), 1);
			TcpConnection connection = new TcpConnection(context, channel, generations.open(channel), null, remote);
			connection.origin = new Permitted(this.permits.admit(remote), null);
			context.registry().add(connection);
			assertThatExceptionOfType(OutOfMemoryError.class)
				.isThrownBy(() -> context.closed(connection, CloseReason.PEER));
		}
		assertThat(context.registry().open()).isZero();
		assertThat(this.permits.current).hasValue(0);
	}

	@Test
	void aConnectionHasAPermitUntilItIsClosed() {
		TcpServer server = this.engine.start(guarded());
		try (Peer peer = this.engine.connect(server)) {
			assertThat(peer.send("a\n").readLine()).isEqualTo("a");
			assertThat(this.permits.current).hasValue(1);
			assertThat(this.permits.opened).containsExactly(Map.entry(1L, "127.0.0.1"));
		}
		this.permits.awaitReturned();
		assertThat(server.snapshot().rejectedConnections()).isZero();
	}

	@Test
	void aRejectedConnectionIsClosedAndCounted() {
		this.permits.rejected = "127.0.0.1";
		TcpServer server = this.engine.start(guarded());
		this.engine.connect(server).awaitClosed();
		assertThat(server.snapshot().rejectedConnections()).isEqualTo(1);
		assertThat(server.snapshot().acceptedConnections()).isZero();
		assertThat(this.recorder.connections).isEmpty();
	}

	/** In other languages than Java, it may throw checked exceptions. */
	@ParameterizedTest
	@CsvSource({ "java.lang.IllegalStateException, false", "java.io.IOException, false",
			"java.lang.NoClassDefFoundError, false", "java.lang.StackOverflowError, false",
			"java.lang.IllegalStateException, true", "java.io.IOException, true",
			"java.lang.NoClassDefFoundError, true", "java.lang.StackOverflowError, true" })
	void aGuardThatFailsTurnsItsClientAway(Class<? extends Throwable> type, boolean proxied) throws Exception {
		Throwable failure = type.getConstructor(String.class).newInstance("made for the test");
		TcpServer.Builder builder = guarded().connectionGuard((client) -> {
			throw ConnectionGuardTests.<RuntimeException>undeclared(failure);
		});
		TcpServer server = this.engine.start(proxied ? builder.proxyProtocol(LOOPBACK) : builder);
		for (int i = 0; i < 30; i++) {
			Peer peer = this.engine.connect(server);
			(proxied ? peer.send("PROXY TCP4 192.0.2.1 127.0.0.1 1 2\r\n") : peer).awaitClosed();
		}
		Engine.eventually().until(() -> server.snapshot().openConnections() == 0);
		assertThat(server.snapshot().rejectedConnections()).isEqualTo(proxied ? 0 : 30);
		assertThat(server.snapshot().closedConnections().getOrDefault(CloseReason.CLIENT_LIMIT, 0L))
			.isEqualTo(proxied ? 30 : 0);
		// There may be another line after 10 seconds.
		assertThat(this.engine.log()).isNotEmpty()
			.allSatisfy((line) -> assertThat(line).contains("rejected a connection because its guard failed",
					"made for the test"));
	}

	@SuppressWarnings("unchecked")
	private static <T extends Throwable> T undeclared(Throwable failure) throws T {
		throw (T) failure;
	}

	@ParameterizedTest
	@ValueSource(booleans = { false, true })
	void aGuardThatBlocksHoldsUpNobodyElse(boolean resumed) {
		LeaderFollowersPool pool = this.engine.pool(LeaderFollowersPool.builder().threads(2, 2).handleSets(1));
		TcpServer other = this.engine.lines(pool, this.recorder);
		CountDownLatch gate = this.engine.gate();
		CountDownLatch inside = new CountDownLatch(1);
		TcpServer server = guarded(pool).address(InetAddress.getLoopbackAddress()).port(0).connectionGuard((client) -> {
			inside.countDown();
			Engine.pass(gate);
			return this.permits.admit(client);
		}).build();
		if (resumed) {
			server.pause();
		}
		server.start();
		Peer guarded = this.engine.connect(server).send("a\n");
		if (resumed) {
			server.resume();
		}
		Engine.pass(inside);
		assertThat(this.engine.connect(other).send("b\n").readLine()).isEqualTo("b");
		gate.countDown();
		assertThat(guarded.readLine()).isEqualTo("a");
	}

	@Test
	void aConnectionIsRejectedBeforeItsTlsHandshake() {
		this.permits.rejected = "127.0.0.1";
		TcpServer server = this.engine.start(guarded().tls(ServerTls.of(Certificates.server())));
		try (TlsPeer peer = new TlsPeer(Certificates.client(), server.port())) {
			assertThatIOException().isThrownBy(peer::shakeHands);
		}
		ServerSnapshot snapshot = server.snapshot();
		assertThat(snapshot.rejectedConnections()).isEqualTo(1);
		assertThat(snapshot.tls().failedHandshakes()).isZero();
		assertThat(snapshot.tls().openConnections().values()).allMatch((open) -> open == 0);
	}

	@Test
	void aFailedHandshakeReturnsThePermit() {
		TcpServer server = this.engine.start(guarded().tls(ServerTls.of(Certificates.server())));
		this.engine.connect(server).send("no handshake\n").awaitClosed();
		Engine.eventually().untilAsserted(() -> assertThat(this.permits.asked).hasSize(1));
		this.permits.awaitReturned();
		assertThat(this.permits.opened).isEmpty();
	}

	@Test
	void behindAProxyTheAddressOfTheClientDecides() {
		this.permits.rejected = "203.0.113.9";
		TcpServer server = this.engine.start(guarded().proxyProtocol(LOOPBACK));
		this.engine.connect(server)
			.send(ProxyHeaders.v1("PROXY TCP4 203.0.113.9 198.51.100.1 40000 443"))
			.awaitClosed();
		awaitClosedByLimit(server);
		try (Peer other = this.engine.connect(server)) {
			other.send(ProxyHeaders.join(ProxyHeaders.v1("PROXY TCP4 203.0.113.8 198.51.100.1 40000 443"),
					"a\n".getBytes(StandardCharsets.US_ASCII)));
			assertThat(other.readLine()).isEqualTo("a");
			assertThat(this.permits.opened.values()).containsExactly("203.0.113.8");
			assertThat(this.recorder.connections.values()).singleElement()
				.extracting((connection) -> connection.remoteAddress().getAddress().getHostAddress())
				.isEqualTo("203.0.113.8");
		}
		assertThat(this.permits.asked).containsExactly("203.0.113.9", "203.0.113.8");
		this.permits.awaitReturned();
		assertThat(this.engine.log()).isEmpty();
	}

	@Test
	void theHealthCheckOfAProxyNeedsNoPermit() {
		TcpServer server = this.engine.start(guarded().proxyProtocol(LOOPBACK));
		try (Peer check = this.engine.connect(server)) {
			check.send(ProxyHeaders.join(ProxyHeaders.v2Local(), "a\n".getBytes(StandardCharsets.US_ASCII)));
			assertThat(check.readLine()).isEqualTo("a");
		}
		assertThat(this.permits.asked).isEmpty();
	}

	@Test
	void aConnectionThatClosesWhileTheGuardDecidesReturnsItsPermitOnce() {
		LeaderFollowersPool pool = this.engine.pool(2, 4);
		AtomicInteger returned = new AtomicInteger();
		AtomicReference<TcpServer> server = new AtomicReference<>();
		server.set(this.engine.start(guarded(pool).proxyProtocol(LOOPBACK).connectionGuard((client) -> {
			server.get().life.context().registry().all().forEach(TcpConnection::close);
			return returned::incrementAndGet;
		})));
		this.engine.connect(server.get())
			.send(ProxyHeaders.v1("PROXY TCP4 203.0.113.8 198.51.100.1 40000 443"))
			.awaitClosed();
		assertThat(pool.close(Engine.DEADLINE)).isTrue();
		assertThat(returned).hasValue(1);
	}

	@Test
	void behindAProxyAConnectionIsRejectedBeforeItsTlsHandshake() throws IOException {
		this.permits.rejected = "203.0.113.9";
		TcpServer server = this.engine
			.start(guarded().proxyProtocol(LOOPBACK).tls(ServerTls.of(Certificates.server())));
		this.engine.connect(server)
			.send(ProxyHeaders.v1("PROXY TCP4 203.0.113.9 198.51.100.1 40000 443"))
			.awaitClosed();
		awaitClosedByLimit(server);
		assertThat(server.snapshot().tls().failedHandshakes()).isZero();
	}

	@Test
	void thePermitSeesTheMessagesOfAConversation() {
		TcpServer server = this.engine.start(guarded().handler((connection, message) -> {
			connection.send(message);
			connection.send(connection.receive(Engine.DEADLINE));
			connection.receive(Engine.DEADLINE);
		}));
		Peer peer = this.engine.connect(server);
		assertThat(peer.send("first\nsecond\nrefused\n").readTextToEnd()).isEqualTo("first\nsecond\n");
		assertThat(this.permits.conversed).containsExactly("second", "refused");
		awaitClosedByLimit(server);
	}

	@ParameterizedTest
	@CsvSource({ "1,COMPLETION", "4,COMPLETION", "4,ARRIVAL" })
	void aMessageAboveALimitClosesTheConnectionIfNothingHandlesIt(int inFlight, ReplyOrder order) {
		TcpServer server = this.engine
			.start(TcpServer.builder(this.engine.pool(2, 4)).framing(Framing.line()).handler((connection, message) -> {
				throw new ClientLimitException("at most 10 messages a second");
			}).maxInFlightPerConnection(inFlight).replyOrder(order));
		this.engine.connect(server).send("a\n").awaitClosed();
		awaitClosedByLimit(server);
		assertThat(this.engine.log()).singleElement()
			.asString()
			.startsWith("WARN")
			.contains("at most 10 messages a second")
			.doesNotContain("\n");
	}

	@Test
	void anOwedReplyThatFailsByALimitClosesTheConnection() {
		TcpServer server = this.engine
			.start(TcpServer.builder(this.engine.pool(2, 4)).framing(Framing.line()).handler((connection, message) -> {
				OwedReply owed = connection.owe();
				CompletableFuture.runAsync(() -> owed.fail(new ClientLimitException("no more")));
			}).maxInFlightPerConnection(4).replyOrder(ReplyOrder.COMPLETION));
		this.engine.connect(server).send("a\n").awaitClosed();
		awaitClosedByLimit(server);
	}

	/**
	 * Chooses the other pool.
	 *
	 * @param pool the name of the other pool
	 * @param atOpening whether before the connection is opened, not by its first message
	 */
	private record Moving(String pool, boolean atOpening) implements ServiceClass {

		@Override
		public @Nullable String poolOf(Connection connection) {
			return this.atOpening ? this.pool : null;
		}

		@Override
		public String poolOf(Connection connection, ByteBuffer firstMessage) {
			return this.pool;
		}

	}

	@ParameterizedTest
	@CsvSource({ "true,1", "true,4", "false,1", "false,4" })
	void aConnectionThatMovesToAnotherPoolTakesItsPermitAlong(boolean atOpening, int inFlight) {
		LeaderFollowersPool own = this.engine.pool(2, 4);
		LeaderFollowersPool other = this.engine.pool(2, 4);
		TcpServer server = this.engine.start(guarded(own).maxInFlightPerConnection(inFlight)
			.replyOrder(ReplyOrder.COMPLETION)
			.proxyProtocol(LOOPBACK)
			.serviceClass(new Moving(other.name(), atOpening), own, other));
		try (Peer peer = this.engine.connect(server)) {
			peer.send(ProxyHeaders.join(ProxyHeaders.v1("PROXY TCP4 203.0.113.8 198.51.100.1 40000 443"),
					"a\n".getBytes(StandardCharsets.US_ASCII)));
			assertThat(peer.readLine()).isEqualTo("a");
			assertThat(peer.send("b\n").readLine()).isEqualTo("b");
			assertThat(server.connections().map(ConnectionSnapshot::pool)).containsExactly(other.name());
			assertThat(this.permits.asked).containsExactly("203.0.113.8");
			assertThat(this.permits.opened).containsExactly(Map.entry(1L, "203.0.113.8"));
			assertThat(this.permits.current).hasValue(1);
		}
		this.permits.awaitReturned();
		assertThat(this.recorder.awaitClose(1)).containsExactly("open", "a", "b", "close PEER");
	}

	@Test
	void thePermitSeesTheMessagesOfAConversationInAnotherPool() {
		LeaderFollowersPool own = this.engine.pool(2, 4);
		LeaderFollowersPool other = this.engine.pool(2, 4);
		TcpServer server = this.engine.start(guarded(own).handler((connection, message) -> {
			connection.send(message);
			connection.receive(Engine.DEADLINE);
		}).serviceClass(new Moving(other.name(), false), own, other));
		Peer peer = this.engine.connect(server);
		assertThat(peer.send("first\nrefused\n").readTextToEnd()).isEqualTo("first\n");
		assertThat(this.permits.conversed).containsExactly("refused");
		awaitClosedByLimit(server);
		this.permits.awaitReturned();
	}

	@ParameterizedTest
	@ValueSource(booleans = { true, false })
	void aConnectionThatGetsNoServiceClassReturnsItsPermit(boolean atOpening) {
		LeaderFollowersPool own = this.engine.pool(2, 4);
		TcpServer server = this.engine
			.start(guarded(own).serviceClass(new Moving("a pool that the server does not have", atOpening), own));
		this.engine.connect(server).send("a\n").awaitClosed();
		Engine.eventually().untilAsserted(() -> assertThat(this.permits.asked).hasSize(1));
		this.permits.awaitReturned();
		assertThat(this.permits.opened).hasSize(atOpening ? 0 : 1);
	}

	/** One of the two pools is closed, so the connection finds no thread there. */
	@Test
	void aConnectionThatMovesToAClosedPoolReturnsItsPermit() {
		LeaderFollowersPool own = this.engine.pool(2, 4);
		LeaderFollowersPool other = this.engine.pool(2, 4);
		TcpServer server = this.engine.start(guarded(own).serviceClass(new Moving(other.name(), false), own, other));
		other.close();
		this.engine.connect(server).send("a\n").awaitClosed();
		Engine.eventually().untilAsserted(() -> assertThat(this.permits.asked).hasSize(1));
		this.permits.awaitReturned();
	}

}
