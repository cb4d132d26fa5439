package org.leaderfollowers;

import java.io.IOException;
import java.net.BindException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.LockSupport;
import java.util.stream.IntStream;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assumptions.assumeThat;

/**
 * The guarantees of the engine: messages of a connection are handled in order, different
 * connections in parallel, handlers may block, and there is always a leader.
 */
@Timeout(120)
class PromiseTests {

	@RegisterExtension
	final Engine engine = new Engine();

	@Test
	void theSmallestProgramRunsAsItStands() throws IOException {
		try (ServerSocket probe = new ServerSocket()) {
			probe.setReuseAddress(true);
			probe.bind(new InetSocketAddress(7070));
		}
		catch (BindException ex) {
			assumeThat(false).as("port 7070 is free").isTrue();
		}
		// @formatter:off
		LeaderFollowersPool pool = LeaderFollowersPool.builder().name("demo").threads(2, 64).build();
		TcpServer server = TcpServer.builder(pool).port(7070).framing(Framing.line())
			.handler((connection, message) -> connection.send(message)).build();
		server.start();
		// @formatter:on
		try (Socket socket = new Socket(InetAddress.getLoopbackAddress(), 7070)) {
			socket.setSoTimeout((int) Engine.DEADLINE.toMillis());
			socket.getOutputStream().write("hello\r\nworld\n".getBytes());
			socket.shutdownOutput();
			assertThat(new String(socket.getInputStream().readAllBytes())).isEqualTo("hello\nworld\n");
		}
		finally {
			pool.close();
		}
		Engine.awaitNoThreads(pool);
	}

	@Test
	void fiveHundredRequestsInOneBurstAreAnsweredInOrder() {
		TcpServer server = this.engine.lines(this.engine.pool(2, 16), (connection, message) -> {
			if (message.get(message.limit() - 1) % 5 == 0) {
				LockSupport.parkNanos(50_000);
			}
			connection.send(message);
		});
		StringBuilder burst = new StringBuilder();
		IntStream.range(0, 500).forEach((i) -> burst.append("request ").append(i).append('\n'));
		Peer peer = this.engine.connect(server).send(burst.toString()).shutdownOutput();
		assertThat(peer.readTextToEnd()).isEqualTo(burst.toString());
	}

	@Test
	void manyConnectionsKeepTheirOrderWhileHandlersBlock() throws Exception {
		Recorder recorder = new Recorder() {
			@Override
			void message(Connection connection, ByteBuffer message) {
				if (message.get(message.limit() - 1) == '7') {
					LockSupport.parkNanos(200_000);
				}
				connection.send(message);
			}
		};
		TcpServer server = this.engine.lines(this.engine.pool(2, 32), recorder);
		ExecutorService clients = Executors.newFixedThreadPool(32);
		try {
			List<Future<Boolean>> all = new ArrayList<>();
			for (int c = 0; c < 32; c++) {
				int client = c;
				all.add(clients.submit(() -> {
					Random random = new Random(client);
					Peer peer = this.engine.connect(server);
					int sent = 0;
					int answered = 0;
					while (answered < 300) {
						StringBuilder burst = new StringBuilder();
						for (int n = 1 + random.nextInt(20); n > 0 && sent < 300; n--) {
							burst.append(client).append(':').append(sent++).append('\n');
						}
						peer.send(burst.toString());
						while (answered < sent - (sent < 300 ? random.nextInt(5) : 0)) {
							assertThat(peer.readLine()).isEqualTo(client + ":" + answered++);
						}
					}
					return true;
				}));
			}
			for (Future<Boolean> one : all) {
				assertThat(one.get(60, TimeUnit.SECONDS)).isTrue();
			}
		}
		finally {
			clients.shutdownNow();
		}
		assertThat(recorder.overlapped).isFalse();
	}

	@Test
	void asManyHandlersRunAtATimeAsThereAreThreadsButOneAndOthersAreServed() {
		int blocked = 7;
		CountDownLatch gate = this.engine.gate();
		AtomicInteger inside = new AtomicInteger();
		LeaderFollowersPool pool = this.engine.pool(2, blocked + 1);
		TcpServer server = this.engine.lines(pool, (connection, message) -> {
			if (message.remaining() > 0 && message.get(message.position()) == 'b') {
				inside.incrementAndGet();
				Engine.pass(gate);
			}
			connection.send(message);
		});
		List<Peer> peers = new ArrayList<>();
		for (int i = 0; i < blocked; i++) {
			peers.add(this.engine.connect(server).send("block\n"));
		}
		Engine.eventually().until(() -> inside.get() == blocked);
		for (int i = 0; i < 20; i++) {
			Peer other = this.engine.connect(server);
			assertThat(other.send("quick\n").readLine()).isEqualTo("quick");
			other.send("quick again\n");
			assertThat(other.readLine()).isEqualTo("quick again");
		}
		Engine.eventually().untilAsserted(() -> {
			PoolSnapshot snapshot = pool.snapshot();
			assertThat(snapshot.threads()).hasSize(blocked + 1);
			assertThat(snapshot.count(ThreadRole.PROCESSING)).isEqualTo(blocked);
			assertThat(snapshot.count(ThreadRole.LEADER)).isOne();
		});
		gate.countDown();
		peers.forEach((peer) -> assertThat(peer.readLine()).isEqualTo("block"));
		Engine.awaitIdle(pool);
	}

	@ParameterizedTest
	@ValueSource(ints = { 1, 4 })
	void whenEveryThreadIsBlockedRequestsWaitAndAreServedAsSoonAsOneReturns(int threads) {
		CountDownLatch gate = this.engine.gate();
		AtomicInteger inside = new AtomicInteger();
		LeaderFollowersPool pool = this.engine.pool(threads, threads);
		TcpServer server = this.engine.lines(pool, (connection, message) -> {
			if (message.get(message.position()) == 'b') {
				inside.incrementAndGet();
				Engine.pass(gate);
			}
			connection.send(message);
		});
		List<Peer> blocked = new ArrayList<>();
		for (int i = 0; i < threads; i++) {
			blocked.add(this.engine.connect(server).send("block\n"));
		}
		Engine.eventually().until(() -> inside.get() == threads);
		Engine.eventually().untilAsserted(() -> {
			PoolSnapshot snapshot = pool.snapshot();
			assertThat(snapshot.handleSets().get(0).leader()).isNull();
			assertThat(snapshot.count(ThreadRole.PROCESSING)).isEqualTo(threads);
		});
		List<Peer> waiting = new ArrayList<>();
		for (int i = 0; i < 50; i++) {
			waiting.add(this.engine.connect(server).send("waiting " + i + "\n"));
		}
		gate.countDown();
		for (int i = 0; i < 50; i++) {
			assertThat(waiting.get(i).readLine()).isEqualTo("waiting " + i);
		}
		blocked.forEach((peer) -> assertThat(peer.readLine()).isEqualTo("block"));
		Engine.awaitIdle(pool);
	}

	@Test
	void theSecondMessageOfABlockedConnectionWaitsAndNothingSpins() {
		CountDownLatch gate = this.engine.gate();
		Recorder recorder = new Recorder() {
			@Override
			void message(Connection connection, ByteBuffer message) {
				if (Engine.text(message).equals("block")) {
					Engine.pass(gate);
				}
				connection.send(message);
			}
		};
		LeaderFollowersPool pool = this.engine.pool(2, 4);
		TcpServer server = this.engine.lines(pool, recorder);
		Peer peer = this.engine.connect(server).send("block\n");
		Engine.eventually().until(() -> recorder.of(1).contains("block"));
		peer.send("second\n");
		Peer other = this.engine.connect(server);
		assertThat(other.send("other\n").readLine()).isEqualTo("other");
		long before = pool.snapshot().handleSets().get(0).events().get(EventType.READ);
		Engine.elapse(Duration.ofMillis(300));
		long after = pool.snapshot().handleSets().get(0).events().get(EventType.READ);
		assertThat(after - before).as("events while all peers are silent").isLessThan(3);
		assertThat(recorder.of(1)).containsExactly("open", "block");
		gate.countDown();
		assertThat(peer.readLine()).isEqualTo("block");
		assertThat(peer.readLine()).isEqualTo("second");
		assertThat(recorder.overlapped).isFalse();
	}

	@Test
	void thePoolGrowsToItsMaximumAndShrinksToItsMinimumAndAlwaysHasALeader() {
		CountDownLatch gate = this.engine.gate();
		AtomicInteger inside = new AtomicInteger();
		LeaderFollowersPool pool = this.engine
			.pool(LeaderFollowersPool.builder().threads(2, 12).keepAlive(Duration.ofMillis(200)));
		TcpServer server = this.engine.lines(pool, (connection, message) -> {
			if (message.get(message.position()) == 'b') {
				inside.incrementAndGet();
				Engine.pass(gate);
			}
			connection.send(message);
		});
		Engine.eventually().until(() -> pool.snapshot().threads().size() == 2);
		for (int round = 0; round < 3; round++) {
			assertThat(this.engine.connect(server).send("x\n").readLine()).isEqualTo("x");
		}
		List<Peer> peers = new ArrayList<>();
		for (int i = 0; i < 12; i++) {
			peers.add(this.engine.connect(server).send("block\n"));
		}
		Engine.eventually().until(() -> inside.get() == 12);
		assertThat(pool.snapshot().threads()).hasSize(12);
		gate.countDown();
		peers.forEach((peer) -> assertThat(peer.readLine()).isEqualTo("block"));
		Peer other = this.engine.connect(server);
		Engine.eventually().until(() -> {
			// The pool serves requests while it shrinks.
			assertThat(other.send("x\n").readLine()).isEqualTo("x");
			LockSupport.parkNanos(20_000_000);
			return pool.snapshot().threads().size() == 2;
		});
		// The last request may have started one more thread, which joins the pool later
		// and ends as well.
		Engine.eventually().untilAsserted(() -> {
			assertThat(Engine.awaitIdle(pool).threads()).hasSize(2);
			assertThat(Engine.threadsOf(pool)).hasSize(2);
		});
		assertThat(pool.snapshot().threadsStarted()).isGreaterThanOrEqualTo(12);
	}

	@Test
	void growingAndShrinkingAgainAndAgainLosesNoPlace() {
		LeaderFollowersPool pool = this.engine
			.pool(LeaderFollowersPool.builder().threads(1, 6).keepAlive(Duration.ofMillis(1)));
		AtomicInteger inside = new AtomicInteger();
		TcpServer server = this.engine.lines(pool, (connection, message) -> {
			inside.incrementAndGet();
			long end = System.nanoTime() + Engine.DEADLINE.toNanos();
			while (inside.get() % 6 != 0 && System.nanoTime() - end < 0) {
				LockSupport.parkNanos(100_000);
			}
			connection.send(message);
		});
		List<Peer> peers = new ArrayList<>();
		for (int i = 0; i < 6; i++) {
			peers.add(this.engine.connect(server));
		}
		for (int round = 0; round < 150; round++) {
			peers.forEach((peer) -> peer.send("x\n"));
			peers.forEach((peer) -> assertThat(peer.readLine()).isEqualTo("x"));
			if (round % 3 == 0) {
				LockSupport.parkNanos(3_000_000);
			}
		}
		PoolSnapshot snapshot = Engine.awaitIdle(pool);
		assertThat(snapshot.threadStartFailures()).isZero();
		Engine.eventually().until(() -> pool.snapshot().threads().size() == 1);
	}

	@Test
	void aListenerThatFailsInAnyWayIsIgnored() {
		AtomicInteger calls = new AtomicInteger();
		LeaderFollowersPool pool = this.engine
			.pool(LeaderFollowersPool.builder().threads(3, 6).listener((kind, nanos) -> {
				calls.incrementAndGet();
				throw new IllegalStateException("made for the test");
			}).listener((kind, nanos) -> {
				throw new NoClassDefFoundError("made for the test");
			}));
		TcpServer server = this.engine.lines(pool, (connection, message) -> connection.send(message));
		for (int i = 0; i < 30; i++) {
			Peer peer = this.engine.connect(server);
			assertThat(peer.send("x\n").readLine()).isEqualTo("x");
		}
		assertThat(calls.get()).isPositive();
		PoolSnapshot snapshot = Engine.awaitIdle(pool);
		assertThat(snapshot.threadsStarted()).as("no thread died of it").isLessThanOrEqualTo(6);
	}

	@Test
	void aListenerThatGivesTheLeadershipUpLeavesNobodyWithoutALeader() {
		LeaderFollowersPool pool = this.engine.pool(1, 1);
		AtomicInteger calls = new AtomicInteger();
		pool.addListener((kind, nanos) -> {
			if (calls.incrementAndGet() <= 3) {
				assertThat(pool.promoteNewLeader()).isTrue();
			}
		});
		TcpServer server = this.engine.lines(pool, (connection, message) -> {
			pool.promoteNewLeader();
			connection.send(message);
		});
		assertThat(this.engine.connect(server).send("x\n").readLine()).isEqualTo("x");
		// The only thread takes the leadership again and again; each time is a hand-off.
		Engine.eventually().until(() -> calls.get() >= 4 && pool.snapshot().count(ThreadRole.LEADER) == 1);
		assertThat(pool.snapshot().handleSets().get(0).leader()).isNotNull();
		assertThat(pool.snapshot().vacancies().count()).isGreaterThanOrEqualTo(4);
	}

	@Test
	void everyHandOffIsReportedAndCounted() {
		AtomicInteger calls = new AtomicInteger();
		LeaderFollowersPool pool = this.engine.pool(LeaderFollowersPool.builder()
			.threads(3, 6)
			.handleSets(1)
			.listener((kind, nanos) -> calls.incrementAndGet()));
		TcpServer server = this.engine.lines(pool, (connection, message) -> connection.send(message));
		Peer peer = this.engine.connect(server);
		for (int i = 0; i < 30; i++) {
			assertThat(peer.send("x\n").readLine()).isEqualTo("x");
		}
		// A leader counts a moment after it has begun to lead.
		Engine.eventually().untilAsserted(() -> {
			PoolSnapshot snapshot = Engine.awaitIdle(pool);
			long counted = snapshot.promotions().values().stream().mapToLong(Long::longValue).sum();
			assertThat(counted).isEqualTo(calls.get()).isPositive();
			// The very first term does not count, since it has no predecessor.
			assertThat(snapshot.handleSets().get(0).term()).isEqualTo(counted + 1);
		});
	}

	@Test
	void severalServersShareAPool() {
		LeaderFollowersPool pool = this.engine.pool(2, 4);
		TcpServer first = this.engine.lines(pool, (connection, message) -> connection.send(Engine.bytes("first")));
		TcpServer second = this.engine.lines(pool, (connection, message) -> connection.send(Engine.bytes("second")));
		assertThat(this.engine.connect(first).send("\n").readLine()).isEqualTo("first");
		assertThat(this.engine.connect(second).send("\n").readLine()).isEqualTo("second");
		assertThat(first.close(Engine.DEADLINE)).isTrue();
		assertThatExceptionOfType(AssertionError.class).isThrownBy(() -> this.engine.connect(first));
		assertThat(this.engine.connect(second).send("\n").readLine()).isEqualTo("second");
	}

	@Test
	void aHandlerMayWaitForTheHandlerOfAnotherConnection() throws Exception {
		CompletableFuture<String> handedOver = new CompletableFuture<>();
		TcpServer server = this.engine.lines(this.engine.pool(1, 2), (connection, message) -> {
			String text = Engine.text(message);
			if (text.equals("wait")) {
				connection.send(Engine.bytes(handedOver.get(30, TimeUnit.SECONDS)));
			}
			else {
				handedOver.complete(text);
			}
		});
		Peer waits = this.engine.connect(server).send("wait\n");
		this.engine.connect(server).send("here\n");
		assertThat(waits.readLine()).isEqualTo("here");
	}

	@Test
	void aPeerThatSendsManyRequestsDoesNotKeepItsThreadFromOthers() {
		AtomicInteger handled = new AtomicInteger();
		AtomicInteger handledBefore = new AtomicInteger();
		CountDownLatch inside = new CountDownLatch(1);
		CountDownLatch gate = this.engine.gate();
		LeaderFollowersPool pool = this.engine.pool(1, 1);
		TcpServer server = this.engine.lines(pool, (connection, message) -> {
			if (message.hasRemaining()) {
				handledBefore.set(handled.get());
				connection.send(message);
			}
			else {
				inside.countDown();
				Engine.pass(gate);
				Engine.elapse(Duration.ofMillis(1));
				handled.incrementAndGet();
			}
		});
		Peer flood = this.engine.connect(server).send("\n".repeat(2000));
		Engine.pass(inside);
		Peer other = this.engine.connect(server).send("x\n");
		gate.countDown();
		assertThat(other.readLine()).isEqualTo("x");
		assertThat(handledBefore.get()).isLessThan(1000);
		Engine.eventually().until(() -> handled.get() == 2000);
		flood.close();
	}

}
