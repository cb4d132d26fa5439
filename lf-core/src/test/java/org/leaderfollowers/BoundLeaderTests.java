package org.leaderfollowers;

import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Consumer;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * The only thread of a pool leads while it waits in a handler. It reads other
 * connections, and leaves to the next free thread what their handlers must be told.
 * Meanwhile it waits, except for a short look every 10 milliseconds.
 */
class BoundLeaderTests {

	private static final Duration LONG = Duration.ofHours(1);

	/** More than the socket buffers of the system hold. */
	private static final int LARGE = 16 << 20;

	@RegisterExtension
	final Engine engine = new Engine();

	/** How often the selector was called. */
	private final AtomicLong selects = new AtomicLong();

	private final LinkedBlockingQueue<String> told = new LinkedBlockingQueue<>();

	private final LinkedBlockingQueue<OwedReply> owed = new LinkedBlockingQueue<>();

	private volatile Consumer<Connection> onOpen = (connection) -> {
	};

	private TcpServer server(Duration readIdle) {
		return this.engine.start(builder(readIdle));
	}

	private TcpServer.Builder builder(Duration readIdle) {
		return builder(readIdle, 1);
	}

	private TcpServer.Builder builder(Duration readIdle, int threads) {
		LeaderFollowersPool pool = this.engine.pool(LeaderFollowersPool.builder()
			.threads(threads, threads)
			.handleSets(threads)
			.selectorProvider(new FaultySelectors(this.selects::incrementAndGet, () -> {
			})));
		return TcpServer.builder(pool)
			.framing(Framing.line())
			.correlation(Correlation.byKey((message) -> Engine.text(message).startsWith("!") ? "!" : null))
			.readIdle(readIdle)
			.maxOutboundSize(LARGE + (LARGE >> 2))
			.handler(new MessageHandler() {

				@Override
				public void onOpen(Connection connection) {
					BoundLeaderTests.this.onOpen.accept(connection);
				}

				@Override
				public void onMessage(Connection connection, ByteBuffer message) {
					switch (Engine.text(message)) {
						case "wait" -> connection.send(connection.receive(LONG));
						case "consult" -> connection.send(connection.exchange(Engine.bytes("!question"), LONG));
						case "flood" -> connection.send(ByteBuffer.allocate(LARGE));
						case "ask" -> connection.exchangeAsync(Engine.bytes("!question"), LONG)
							.thenRun(() -> BoundLeaderTests.this.told.add("replied " + connection.id()));
						case "later" -> BoundLeaderTests.this.owed.add(connection.owe());
						default -> connection.send(message);
					}
				}

				@Override
				public void onWritable(Connection connection) {
					BoundLeaderTests.this.told.add("writable " + connection.id());
				}

				@Override
				public void onIdle(Connection connection, EventType type) {
					BoundLeaderTests.this.told.add("idle " + connection.id());
				}

				@Override
				public void onClose(Connection connection, CloseReason reason) {
					BoundLeaderTests.this.told.add("closed " + connection.id());
				}

			});
	}

	private Peer waiting(TcpServer server) {
		return waiting(server, "wait\n");
	}

	private Peer waiting(TcpServer server, String line) {
		long before = waits(server);
		Peer peer = this.engine.connect(server).send(line);
		Engine.eventually().until(() -> waits(server) > before);
		return peer;
	}

	private static long waits(TcpServer server) {
		return server.pool().snapshot().threads().stream().filter((thread) -> thread.waitsFor() != null).count();
	}

	private String told() throws InterruptedException {
		return this.told.poll(Engine.DEADLINE.toSeconds(), TimeUnit.SECONDS);
	}

	/** A busy leader would call the selector far more often, on any machine. */
	private void assertRests() {
		long began = System.nanoTime();
		long before = this.selects.get();
		Engine.eventually().until(() -> System.nanoTime() - began > TimeUnit.MILLISECONDS.toNanos(500));
		long calls = this.selects.get() - before;
		assertThat(calls).isLessThan(100 + TimeUnit.NANOSECONDS.toMillis(System.nanoTime() - began));
	}

	@Test
	void tellsLaterThatAPeerHasCaughtUp() throws Exception {
		TcpServer server = server(LONG);
		Peer slow = this.engine.connect(server, 4096).send("flood\n");
		Engine.eventually().until(() -> server.connections().anyMatch((each) -> each.pendingBytes() > 0));
		Peer waiting = waiting(server);
		assertThat(slow.readLine()).hasSize(LARGE);
		assertRests();
		assertThat(this.told).isEmpty();
		assertThat(waiting.send("go\n").readLine()).isEqualTo("go");
		assertThat(told()).isEqualTo("writable 1");
	}

	@Test
	void tellsLaterThatAPeerWasSilent() throws Exception {
		TcpServer server = server(Duration.ofMillis(100));
		Peer silent = this.engine.connect(server).send("hello\n");
		assertThat(silent.readLine()).isEqualTo("hello");
		Peer waiting = waiting(server);
		this.told.clear();
		assertRests();
		assertThat(this.told).isEmpty();
		assertThat(waiting.send("go\n").readLine()).isEqualTo("go");
		// Before the leader looks, the other peer may have been silent for as long.
		Engine.eventually().untilAsserted(() -> assertThat(this.told).contains("idle 1"));
	}

	@Test
	void completesLaterWhatWasRepliedTo() throws Exception {
		TcpServer server = server(LONG);
		Peer asked = this.engine.connect(server).send("ask\n");
		assertThat(asked.readLine()).isEqualTo("!question");
		Peer waiting = waiting(server);
		asked.send("!answer\n");
		assertRests();
		assertThat(this.told).isEmpty();
		assertThat(waiting.send("go\n").readLine()).isEqualTo("go");
		assertThat(told()).isEqualTo("replied 1");
	}

	@Test
	void leavesWhatWasRepliedToToAThreadThatMayBeStartedAfterwards() throws Exception {
		TcpServer server = server(LONG);
		Peer asked = this.engine.connect(server).send("ask\n");
		assertThat(asked.readLine()).isEqualTo("!question");
		Peer waiting = waiting(server);
		asked.send("!answer\n");
		Engine.eventually().until(() -> server.snapshot().receivedMessages() == 3);
		server.pool().resize(1, 2);
		assertThat(told()).isEqualTo("replied 1");
		assertThat(waiting.send("go\n").readLine()).isEqualTo("go");
	}

	@Test
	void restsAlthoughItHoldsEventsAndAnotherOneWaits() {
		TcpServer server = this.engine.start(builder(LONG, 2));
		List<Peer> idle = new ArrayList<>();
		for (int i = 0; i < 4; i++) {
			idle.add(this.engine.connect(server).send("hello\n"));
			assertThat(idle.get(i).readLine()).isEqualTo("hello");
		}
		List<Peer> waiting = List.of(waiting(server), waiting(server));
		idle.forEach((peer) -> peer.send("hello\n"));
		assertRests();
		for (Peer peer : waiting) {
			assertThat(peer.send("go\n").readLine()).isEqualTo("go");
		}
		for (Peer peer : idle) {
			assertThat(peer.readLine()).isEqualTo("hello");
		}
	}

	@Test
	void acceptsOneConnectionAfterTheOther() throws Exception {
		TcpServer server = server(LONG);
		Peer waiting = waiting(server);
		List<Peer> others = new ArrayList<>();
		for (int i = 2; i <= 4; i++) {
			int count = i;
			others.add(this.engine.connect(server).send("hello\n"));
			Engine.eventually().until(() -> server.snapshot().acceptedConnections() == count);
		}
		assertRests();
		assertThat(waiting.send("go\n").readLine()).isEqualTo("go");
		for (Peer peer : others) {
			assertThat(peer.readLine()).isEqualTo("hello");
		}
	}

	@Test
	void readsNoConnectionThatItHasWaitedForBefore() {
		TcpServer server = server(LONG);
		Peer earlier = waiting(server, "consult\n");
		assertThat(earlier.readLine()).isEqualTo("!question");
		assertThat(earlier.send("!answer\n").readLine()).isEqualTo("!answer");
		CountDownLatch opened = new CountDownLatch(1);
		CountDownLatch gate = this.engine.gate();
		this.onOpen = (connection) -> {
			opened.countDown();
			Engine.pass(gate);
			connection.send(connection.exchange(Engine.bytes("!question"), LONG));
		};
		Peer waiting = this.engine.connect(server);
		Engine.pass(opened);
		earlier.send("hello\n");
		gate.countDown();
		assertThat(waiting.readLine()).isEqualTo("!question");
		assertThat(waiting.send("!answer\n").readLine()).isEqualTo("!answer");
		assertThat(earlier.readLine()).isEqualTo("hello");
	}

	@Test
	void closesLaterWhatHasEndedAndIsAnswered() throws Exception {
		TcpServer server = server(LONG);
		Peer ended = this.engine.connect(server).send("later\n");
		OwedReply reply = this.owed.poll(Engine.DEADLINE.toSeconds(), TimeUnit.SECONDS);
		ended.shutdownOutput();
		Peer waiting = waiting(server);
		assertThat(reply).isNotNull();
		reply.close();
		assertRests();
		assertThat(this.told).isEmpty();
		assertThat(waiting.send("go\n").readLine()).isEqualTo("go");
		assertThat(told()).isEqualTo("closed 1");
		assertThat(ended.readLine()).isNull();
	}

	/** It waited for an earlier message with the same key. */
	@Test
	void handlesLaterAMessageThatHasBecomeDue() throws Exception {
		TcpServer server = this.engine
			.start(builder(LONG).maxInFlightPerConnection(2).messageOrder((message) -> "key"));
		Peer owing = this.engine.connect(server).send("later\nnext\n");
		OwedReply reply = this.owed.poll(Engine.DEADLINE.toSeconds(), TimeUnit.SECONDS);
		Engine.eventually().until(() -> server.snapshot().receivedMessages() == 2);
		Peer waiting = waiting(server, "consult\n");
		assertThat(reply).isNotNull();
		reply.close();
		assertRests();
		assertThat(waiting.readLine()).isEqualTo("!question");
		assertThat(waiting.send("!answer\n").readLine()).isEqualTo("!answer");
		assertThat(owing.readLine()).isEqualTo("next");
	}

}
