package org.leaderfollowers;

import java.net.InetAddress;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicReference;

import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.leaderfollowers.ConnectionSnapshot.State;
import org.leaderfollowers.internal.promotion.Clock;
import org.leaderfollowers.internal.transport.Certificates;

import static org.assertj.core.api.Assertions.assertThat;

/** Tests the snapshots of connections that a server returns. */
@Timeout(180)
class ConnectionSnapshotTests {

	@RegisterExtension
	private final Engine engine = new Engine();

	private static ConnectionSnapshot only(TcpServer server) {
		return server.connections().reduce((one, other) -> {
			throw new AssertionError("more than one connection");
		}).orElseThrow(() -> new AssertionError("no connection"));
	}

	private static void awaitState(TcpServer server, State state) {
		Engine.eventually().untilAsserted(() -> assertThat(only(server).state()).isEqualTo(state));
	}

	@Test
	void countsWhatAConnectionHasReceivedAndSent() {
		TcpServer server = this.engine.start(TcpServer.builder(this.engine.pool(2, 4))
			.name("orders")
			.framing(Framing.line())
			.handler((connection, message) -> {
				connection.send(message);
				connection.send(message);
			}));
		Peer peer = this.engine.connect(server);
		for (int i = 0; i < 3; i++) {
			peer.send("hello\n");
			assertThat(peer.readLine()).isEqualTo("hello");
			assertThat(peer.readLine()).isEqualTo("hello");
		}
		peer.send("incomplete");
		Engine.eventually().untilAsserted(() -> assertThat(only(server).receivedBytes()).isEqualTo(28));
		ConnectionSnapshot snapshot = only(server);
		assertThat(snapshot.id()).isOne();
		assertThat(snapshot.server()).isEqualTo("orders");
		assertThat(snapshot.state()).isEqualTo(State.OPEN);
		assertThat(snapshot.remoteAddress().getAddress()).isEqualTo(InetAddress.getLoopbackAddress());
		assertThat(snapshot.remoteAddress().getPort()).isEqualTo(peer.port());
		assertThat(snapshot.receivedMessages()).isEqualTo(3);
		assertThat(snapshot.sentBytes()).isEqualTo(36);
		assertThat(snapshot.pendingBytes()).isZero();
		assertThat(snapshot.tlsGeneration()).isZero();
		assertThat(snapshot.idle()).isGreaterThanOrEqualTo(Duration.ZERO).isLessThanOrEqualTo(snapshot.age());
	}

	@Test
	void isIdleFromTheLastMessageOn() {
		TcpServer server = this.engine.lines(this.engine.pool(2, 4), Connection::send);
		Peer peer = this.engine.connect(server);
		assertThat(peer.send("x\n").readLine()).isEqualTo("x");
		Engine.eventually().until(() -> only(server).idle().compareTo(Duration.ofMillis(50)) > 0);
		assertThat(peer.send("x\n").readLine()).isEqualTo("x");
		Engine.eventually().untilAsserted(() -> {
			ConnectionSnapshot snapshot = only(server);
			assertThat(snapshot.age()).isGreaterThan(snapshot.idle().plusMillis(50));
		});
	}

	@Test
	void whatSeveralThreadsSendIsCountedOnce() throws InterruptedException {
		AtomicReference<Connection> connection = new AtomicReference<>();
		TcpServer server = this.engine.lines(this.engine.pool(2, 4), (opened, message) -> connection.set(opened));
		Peer peer = this.engine.connect(server).send("x\n");
		Engine.eventually().until(() -> connection.get() != null);
		List<Thread> threads = new ArrayList<>();
		for (int i = 0; i < 4; i++) {
			Thread thread = new Thread(() -> {
				for (int n = 0; n < 500; n++) {
					connection.get().send(Engine.bytes("123456789"));
				}
			});
			threads.add(thread);
			thread.start();
		}
		peer.read(4 * 500 * 10);
		for (Thread thread : threads) {
			thread.join();
		}
		assertThat(only(server).sentBytes()).isEqualTo(4 * 500 * 10);
		assertThat(server.snapshot().sentBytes()).isEqualTo(4 * 500 * 10);
	}

	@Test
	void aConnectionIsOpeningUntilItIsThereForTheHandler() {
		TcpServer server = this.engine.start(TcpServer.builder(this.engine.pool(2, 4))
			.framing(Framing.line())
			.handler(Connection::send)
			.tls(ServerTls.of(Certificates.server())));
		Peer peer = this.engine.connect(server);
		awaitState(server, State.OPENING);
		assertThat(only(server).tlsGeneration()).isOne();
		server.tls(ServerTls.of(Certificates.server()));
		peer.close();
		Engine.eventually().until(() -> server.connections().findAny().isEmpty());
		this.engine.connect(server);
		Engine.eventually().until(() -> server.connections().findAny().isPresent());
		assertThat(only(server).tlsGeneration()).isEqualTo(2);
	}

	@Test
	void aSuspendedConnectionIsSuspendedUntilItIsResumed() {
		AtomicReference<Suspension> suspension = new AtomicReference<>();
		TcpServer server = this.engine.lines(this.engine.pool(2, 4),
				(connection, message) -> suspension.set(connection.suspend()));
		this.engine.connect(server).send("x\n");
		awaitState(server, State.SUSPENDED);
		// The connection is suspended a moment before the handler has stored the
		// suspension.
		Engine.eventually().until(() -> suspension.get() != null);
		suspension.get().resume();
		awaitState(server, State.OPEN);
	}

	@Test
	void aConnectionIsClosingUntilItsPeerHasClosed() {
		MessageHandler handler = (connection, message) -> {
			connection.send(message);
			// More than the buffers of the system hold: otherwise the connection would
			// wait for its peer for only a second.
			connection.send(ByteBuffer.allocate(8_000_000));
			connection.close();
		};
		TcpServer server = this.engine.start(TcpServer.builder(this.engine.pool(2, 4))
			.framing(Framing.line())
			.maxOutboundSize(32 * 1024 * 1024)
			.handler(handler));
		Peer peer = this.engine.connect(server, 4096);
		assertThat(peer.send("x\n").readLine()).isEqualTo("x");
		awaitState(server, State.CLOSING);
		peer.close();
		Engine.eventually().until(() -> server.connections().findAny().isEmpty());
	}

	@Test
	void whatWaitsForThePeerIsPending() {
		CountDownLatch sent = new CountDownLatch(1);
		TcpServer server = this.engine.lines(this.engine.pool(2, 4), (connection, message) -> {
			while (connection.isWritable()) {
				connection.send(Engine.bytes("x".repeat(10_000)));
			}
			sent.countDown();
		});
		this.engine.connect(server, 4096).send("x\n");
		Engine.pass(sent);
		ConnectionSnapshot snapshot = only(server);
		assertThat(snapshot.pendingBytes()).isPositive();
		assertThat(snapshot.sentBytes()).isGreaterThanOrEqualTo(snapshot.pendingBytes());
	}

	@Test
	void aConnectionIsFoundByItsNumberAsLongAsItIsOpen() {
		TcpServer server = this.engine.lines(this.engine.pool(2, 4), Connection::send);
		List<Peer> peers = new ArrayList<>();
		for (int i = 0; i < 3; i++) {
			Peer peer = this.engine.connect(server);
			assertThat(peer.send("x\n").readLine()).isEqualTo("x");
			peers.add(peer);
		}
		assertThat(server.connections()).extracting(ConnectionSnapshot::id).containsExactlyInAnyOrder(1L, 2L, 3L);
		assertThat(server.connection(0)).isNull();
		assertThat(server.connection(4)).isNull();
		Connection second = server.connection(2);
		assertThat(second).isNotNull();
		assertThat(second.id()).isEqualTo(2);
		second.close();
		peers.get(1).awaitClosed();
		peers.get(1).close();
		Engine.eventually().untilAsserted(() -> assertThat(server.connection(2)).isNull());
		assertThat(peers.get(0).send("x\n").readLine()).isEqualTo("x");
		assertThat(server.connections()).extracting(ConnectionSnapshot::id).containsExactlyInAnyOrder(1L, 3L);
	}

	@Test
	void whoCameFirstIsTheOldestHoweverLongItTakesToLookAtAll() {
		SlowLookClock clock = new SlowLookClock();
		TcpServer server = this.engine.lines(this.engine.pool(LeaderFollowersPool.builder().clock(clock)),
				Connection::send);
		for (int i = 0; i < 20; i++) {
			assertThat(this.engine.connect(server).send("x\n").readLine()).isEqualTo("x");
		}
		clock.looking = Thread.currentThread();
		List<ConnectionSnapshot> snapshots = server.connections().toList();
		clock.looking = null;
		assertThat(snapshots).hasSize(20);
		assertThat(snapshots.stream().sorted(Comparator.comparing(ConnectionSnapshot::age).reversed()))
			.extracting(ConnectionSnapshot::id)
			.isSorted();
		assertThat(snapshots).allSatisfy((snapshot) -> assertThat(snapshot.age()).isLessThan(Duration.ofHours(2)));
	}

	/** A clock that moves on by an hour each time one particular thread reads it. */
	private static final class SlowLookClock extends Clock {

		private final AtomicLong passed = new AtomicLong();

		private volatile @Nullable Thread looking;

		@Override
		public long nanoTime() {
			long now = super.nanoTime();
			return (Thread.currentThread() == this.looking) ? now + this.passed.addAndGet(Duration.ofHours(1).toNanos())
					: now;
		}

	}

}
