package org.leaderfollowers;

import java.io.UncheckedIOException;
import java.net.Socket;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Deque;
import java.util.List;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.UnaryOperator;
import java.util.stream.Stream;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.leaderfollowers.internal.transport.Certificates;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

/**
 * Tests that the connections of a pool together hold no more memory than they may, and
 * give it back.
 */
@Timeout(120)
class MemoryBudgetTests {

	private static final int BUDGET = 1024 * 1024;

	@RegisterExtension
	private final Engine engine = new Engine();

	@Test
	void aFloodOfPartialMessagesIsBoundedAndGoneWithItsConnections() {
		LeaderFollowersPool pool = this.engine
			.pool(LeaderFollowersPool.builder().threads(2, 4).maxBufferedBytes(BUDGET));
		TcpServer server = this.engine.start(TcpServer.builder(pool)
			.framing(Framing.line())
			.handler((connection, message) -> connection.send(message)));
		List<Peer> flood = new ArrayList<>();
		for (int i = 0; i < 40; i++) {
			flood.add(this.engine.connect(server).send("x".repeat(60_000)));
		}
		Engine.eventually()
			.untilAsserted(
					() -> assertThat(server.snapshot().closedConnections().get(CloseReason.OVERLOADED)).isPositive());
		assertThat(pool.snapshot().bufferedBytes()).isLessThanOrEqualTo(BUDGET);
		assertThat(pool.snapshot().maxBufferedBytes()).isEqualTo(BUDGET);
		// The first of the closes writes the line, and others may be counted before.
		Engine.eventually()
			.untilAsserted(() -> assertThat(this.engine.log()).anyMatch((line) -> line.contains("maxBufferedBytes")));
		// Connections that need no memory are served meanwhile.
		assertThat(this.engine.connect(server).send("hello\n").readLine()).isEqualTo("hello");
		flood.forEach(Peer::close);
		Engine.eventually().untilAsserted(() -> assertThat(pool.snapshot().bufferedBytes()).isZero());
		assertThat(this.engine.connect(server).send("y".repeat(60_000) + "\n").readLine()).hasSize(60_000);
	}

	/**
	 * Otherwise the clients of a server would wait for seconds although the connections
	 * of another server have released the memory. With pauses that grow, the looks of the
	 * test would take minutes.
	 */
	@Test
	void aServerLooksForMemoryAgainAndAgainWhileItAcceptsNobody() {
		LeaderFollowersPool pool = this.engine
			.pool(LeaderFollowersPool.builder().threads(2, 4).maxBufferedBytes(BUDGET));
		TcpServer server = this.engine.start(TcpServer.builder(pool)
			.framing(Framing.line())
			.handler((connection, message) -> connection.send(message)));
		AtomicInteger looks = new AtomicInteger();
		pool.memory().add(() -> {
			looks.incrementAndGet();
			return Stream.empty();
		});
		assertThat(pool.memory().reserve(BUDGET - 1)).isTrue();
		Peer client = this.engine.connect(server).send("hello\n");
		Engine.eventually().until(() -> looks.get() > 20);
		assertThat(server.snapshot().acceptedConnections()).isZero();
		pool.memory().release(BUDGET - 1);
		assertThat(client.readLine()).isEqualTo("hello");
	}

	/** The clock stands still, so the pause before the next attempt does not end. */
	@Test
	void aServerAcceptsAgainAsSoonAsOneOfItsConnectionsHasClosed() {
		LeaderFollowersPool pool = this.engine
			.pool(LeaderFollowersPool.builder().threads(2, 4).maxBufferedBytes(BUDGET).clock(new TestClock()));
		TcpServer server = this.engine.start(TcpServer.builder(pool)
			.framing(Framing.line())
			.handler((connection, message) -> connection.send(message)));
		Peer first = this.engine.connect(server);
		assertThat(first.send("hello\n").readLine()).isEqualTo("hello");
		assertThat(pool.memory().reserve(BUDGET - 1)).isTrue();
		Peer second = this.engine.connect(server).send("hello\n");
		Engine.eventually().until(() -> server.snapshot().acceptingSuspended());
		pool.memory().release(BUDGET - 1);
		first.close();
		assertThat(second.readLine()).isEqualTo("hello");
	}

	@Test
	void whoeverHoldsMostPaysAndNotThoseWhoNeedLittle() throws Exception {
		LeaderFollowersPool pool = this.engine
			.pool(LeaderFollowersPool.builder().threads(2, 4).maxBufferedBytes(BUDGET));
		TcpServer server = this.engine.start(TcpServer.builder(pool)
			.framing(Framing.line())
			.handler((connection, message) -> connection.send(message)));
		Peer client = this.engine.connect(server);
		assertThat(client.send("hello\n").readLine()).isEqualTo("hello");
		AtomicBoolean ends = new AtomicBoolean();
		Thread attacker = new Thread(() -> attack(server, ends));
		attacker.start();
		try {
			Engine.eventually().until(() -> server.snapshot().closedConnections().get(CloseReason.OVERLOADED) > 5);
			for (int i = 0; i < 200; i++) {
				long before = received(server, 1);
				client.send("begins and ");
				Engine.eventually().until(() -> received(server, 1) == before + 11);
				assertThat(client.send("ends\n").readLine()).isEqualTo("begins and ends");
			}
		}
		finally {
			ends.set(true);
			attacker.join();
		}
	}

	/** Begins long messages, one after the other, and ends none of the latest 64. */
	private void attack(TcpServer server, AtomicBoolean ends) {
		Deque<Peer> held = new ArrayDeque<>();
		while (!ends.get()) {
			Peer next = this.engine.connect(server);
			held.add(next);
			long accepted = server.snapshot().acceptedConnections();
			long received = server.snapshot().receivedBytes();
			try {
				next.send("x".repeat(60_000));
			}
			catch (UncheckedIOException ex) {
				// Closed already.
				continue;
			}
			// Whether it was read, or waits because no connections are accepted.
			Engine.eventually()
				.until(() -> ends.get() || server.snapshot().receivedBytes() >= received + 50_000
						|| server.snapshot().acceptedConnections() == accepted);
			if (held.size() > 64) {
				held.remove().close();
			}
		}
	}

	private static long received(TcpServer server, long id) {
		return server.connections()
			.filter((connection) -> connection.id() == id)
			.mapToLong(ConnectionSnapshot::receivedBytes)
			.sum();
	}

	@Test
	void handshakesThatDoNotEndAreClosedBeforeTheyUseUpTheMemory() throws Exception {
		LeaderFollowersPool pool = this.engine
			.pool(LeaderFollowersPool.builder().threads(2, 4).maxBufferedBytes(BUDGET));
		TcpServer server = this.engine.start(TcpServer.builder(pool)
			.framing(Framing.line())
			.tls(ServerTls.of(Certificates.server()))
			.handler((connection, message) -> connection.send(message)));
		// The first record of a ClientHello of 31,800 bytes, which does not fit in one.
		byte[] hello = new byte[5 + 16_384];
		ByteBuffer.wrap(hello).put((byte) 22).putShort((short) 0x0301).putShort((short) 16_384).putInt(0x0100_7C38);
		List<Peer> flood = new ArrayList<>();
		// A few more than there is memory for.
		for (int i = 0; i < 22; i++) {
			flood.add(this.engine.connect(server).send(hello));
		}
		Engine.eventually().until(() -> server.snapshot().closedConnections().get(CloseReason.OVERLOADED) > 0);
		assertThat(pool.snapshot().bufferedBytes()).isLessThanOrEqualTo(BUDGET);
		// Until each handshake is charged or closed: a client that begins its handshake
		// while others are using the last eighth of the memory is closed.
		long each = 48 * 1024;
		Engine.eventually().until(() -> {
			ServerSnapshot snapshot = server.snapshot();
			long used = pool.snapshot().bufferedBytes();
			return snapshot.acceptedConnections() == flood.size() && used == snapshot.openConnections() * each;
		});
		// A client that shakes hands is served, although the others hold on.
		try (TlsPeer peer = new TlsPeer(Certificates.client(), server.port())) {
			assertThat(peer.send("hello\n").readLine()).isEqualTo("hello");
		}
		flood.forEach(Peer::close);
		Engine.eventually().until(() -> pool.snapshot().bufferedBytes() == 0);
	}

	@Test
	void clientsThatDoNotEndTheirRecordsAreClosedBeforeTheyKeepOutOthers() throws Exception {
		LeaderFollowersPool pool = this.engine
			.pool(LeaderFollowersPool.builder().threads(2, 4).maxBufferedBytes(BUDGET));
		TcpServer server = this.engine.start(TcpServer.builder(pool)
			.framing(Framing.line())
			.messageTimeout(Duration.ZERO)
			.tls(ServerTls.of(Certificates.server()))
			.handler((connection, message) -> connection.send(message)));
		// Most of the largest record, which takes 32 KB.
		byte[] record = new byte[16_600];
		ByteBuffer.wrap(record).put((byte) 23).putShort((short) 0x0303).putShort((short) (16_384 + 256));
		List<Socket> sockets = new ArrayList<>();
		List<TlsPeer> flood = new ArrayList<>();
		for (int i = 0; i < 26; i++) {
			sockets.add(new Socket());
			flood.add(new TlsPeer(Certificates.client(), sockets.get(i), server.port(), 0, null).shakeHands());
		}
		for (Socket socket : sockets) {
			socket.getOutputStream().write(record);
		}
		// A client that is served before would need no memory, and nobody after it.
		Engine.eventually().until(() -> pool.snapshot().bufferedBytes() > BUDGET - BUDGET / 4);
		try (TlsPeer peer = new TlsPeer(Certificates.client(), server.port())) {
			assertThat(peer.send("hello\n").readLine()).isEqualTo("hello");
		}
		Engine.eventually().until(() -> server.snapshot().closedConnections().get(CloseReason.OVERLOADED) > 0);
		flood.forEach(TlsPeer::close);
		Engine.eventually().until(() -> pool.snapshot().bufferedBytes() == 0);
	}

	@Test
	void clientsWithManyRepliesBehindOneThatIsMissingAreClosedBeforeTheyKeepOutOthers() {
		clientsWithManyMessagesBehindOneAreClosed((builder) -> builder.replyOrder(ReplyOrder.ARRIVAL));
	}

	@Test
	void clientsWithManyMessagesBehindOneAreClosedBeforeTheyKeepOutOthers() {
		clientsWithManyMessagesBehindOneAreClosed((builder) -> builder.messageOrder((message) -> "same"));
	}

	private void clientsWithManyMessagesBehindOneAreClosed(UnaryOperator<TcpServer.Builder> order) {
		LeaderFollowersPool pool = this.engine
			.pool(LeaderFollowersPool.builder().threads(2, 4).maxBufferedBytes(BUDGET));
		Queue<OwedReply> owed = new ConcurrentLinkedQueue<>();
		TcpServer server = this.engine.start(order.apply(TcpServer.builder(pool)
			.framing(Framing.line())
			.maxInFlightPerConnection(16)
			.handler((connection, message) -> {
				if (Engine.text(message).equals("owed")) {
					owed.add(connection.owe());
				}
				else {
					connection.send(message);
				}
			})));
		List<Peer> flood = new ArrayList<>();
		for (int i = 0; i < 2; i++) {
			flood.add(this.engine.connect(server).send("owed\n" + ("x".repeat(60_000) + "\n").repeat(6)));
		}
		// With a seventh, the memory could be scarce while its parts are put together,
		// and one connection be closed before the other one has sent as much.
		Engine.eventually().until(() -> pool.snapshot().bufferedBytes() >= 12 * 60_000);
		// Others use so much that it does not matter who has made progress.
		long others = 0;
		while (pool.memory().used() <= BUDGET - BUDGET / 8 && others < BUDGET / 4) {
			assertThat(pool.memory().reserve(4096)).isTrue();
			others += 4096;
		}
		assertThat(this.engine.connect(server).send("hello\n").readLine()).isEqualTo("hello");
		// The closes of the others may be counted only afterwards.
		Engine.eventually().until(() -> server.snapshot().closedConnections().get(CloseReason.OVERLOADED) > 0);
		pool.memory().release(others);
		owed.forEach(OwedReply::close);
		flood.forEach(Peer::close);
		Engine.eventually().until(() -> pool.snapshot().bufferedBytes() == 0);
	}

	@Test
	void poolsWithoutALimitOfTheirOwnShareOne() {
		LeaderFollowersPool one = this.engine.pool(LeaderFollowersPool.builder().name("one").threads(1, 1));
		LeaderFollowersPool other = this.engine.pool(LeaderFollowersPool.builder().name("other").threads(1, 1));
		LeaderFollowersPool own = this.engine
			.pool(LeaderFollowersPool.builder().name("own").threads(1, 1).maxBufferedBytes(BUDGET));
		assertThat(one.memory().allocate(BUDGET)).isNotNull();
		assertThat(other.memory().usedTogether()).isGreaterThanOrEqualTo(BUDGET);
		assertThat(other.snapshot().bufferedBytes()).isZero();
		assertThat(other.snapshot().maxBufferedBytes()).isEqualTo(Runtime.getRuntime().maxMemory() / 4);
		assertThat(own.memory().usedTogether()).isZero();
		assertThat(own.memory().allocate(BUDGET)).isNotNull();
		one.memory().release(BUDGET);
	}

	@Test
	void repliesThatWaitAreAccountedForUntilTheyAreWritten() {
		LeaderFollowersPool pool = this.engine
			.pool(LeaderFollowersPool.builder().threads(2, 4).maxBufferedBytes(64L * BUDGET));
		TcpServer server = this.engine.start(TcpServer.builder(pool)
			.framing(Framing.line())
			.maxOutboundSize(16 * BUDGET)
			.handler((connection, message) -> {
				byte[] reply = new byte[60_000];
				Arrays.fill(reply, (byte) 'r');
				for (int i = 0; i < 200; i++) {
					connection.send(ByteBuffer.wrap(reply));
				}
			}));
		Peer peer = this.engine.connect(server).send("go\n");
		Engine.eventually().untilAsserted(() -> assertThat(pool.snapshot().bufferedBytes()).isPositive());
		for (int i = 0; i < 200; i++) {
			assertThat(peer.readLine()).hasSize(60_000);
		}
		Engine.eventually().untilAsserted(() -> assertThat(pool.snapshot().bufferedBytes()).isZero());
	}

	@Test
	void aReplyThatCannotBeKeptClosesItsConnection() {
		LeaderFollowersPool pool = this.engine
			.pool(LeaderFollowersPool.builder().threads(2, 4).maxBufferedBytes(BUDGET));
		TcpServer server = this.engine.start(TcpServer.builder(pool)
			.framing(Framing.line())
			.maxOutboundSize(64 * BUDGET)
			.handler((connection, message) -> {
				byte[] reply = new byte[60_000];
				Arrays.fill(reply, (byte) 'r');
				while (true) {
					connection.send(ByteBuffer.wrap(reply));
				}
			}));
		this.engine.connect(server).send("go\n");
		Engine.eventually()
			.untilAsserted(() -> assertThat(server.snapshot().closedConnections().get(CloseReason.OVERLOADED)).isOne());
		Engine.eventually().untilAsserted(() -> assertThat(pool.snapshot().bufferedBytes()).isZero());
	}

	@Test
	void aBudgetThatHoldsNotOneBufferIsRefused() {
		assertThatIllegalArgumentException().isThrownBy(() -> LeaderFollowersPool.builder().maxBufferedBytes(65_535))
			.withMessageContaining("'maxBufferedBytes'");
	}

}
