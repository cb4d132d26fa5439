package org.leaderfollowers;

import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

/**
 * Tests the adaptive promotion: short handlers run on a leased leadership, and no event
 * waits for a handler that was expected to be short but is not.
 * <p>
 * How long a handler takes depends on the machine. Tests that need a handler to be seen
 * as short repeat their messages until the engine has seen it.
 */
@Timeout(120)
class AdaptivePromotionTests {

	private static final Duration FOR_EVER = Duration.ofMinutes(1);

	private static final int WINDOW = 100;

	@RegisterExtension
	private final Engine engine = new Engine();

	private LeaderFollowersPool pool(Duration lease) {
		return this.engine.pool(LeaderFollowersPool.builder().threads(4, 8).promotionLease(lease));
	}

	private static long promotions(LeaderFollowersPool pool) {
		return pool.snapshot().promotions().values().stream().mapToLong(Long::longValue).sum();
	}

	/** Sends messages until the engine has learned that the handler is short. */
	private void learn(LeaderFollowersPool pool, Peer peer) {
		Engine.eventually().until(() -> {
			long before = promotions(pool);
			for (int i = 0; i < WINDOW; i++) {
				assertThat(peer.send("x\n").readLine()).isEqualTo("x");
			}
			return promotions(pool) == before;
		});
	}

	@Test
	void adaptiveIsTheDefaultWithALeaseOfTwoMilliseconds() {
		PoolSnapshot snapshot = this.engine.pool(LeaderFollowersPool.builder()).snapshot();
		assertThat(snapshot.promotionPolicy()).isEqualTo(PromotionPolicy.ADAPTIVE);
		assertThat(snapshot.promotionLease()).isEqualTo(Duration.ofMillis(2));
	}

	@Test
	void aShortHandlerRunsWithoutPromotion() {
		LeaderFollowersPool pool = pool(FOR_EVER);
		TcpServer server = this.engine.lines(pool, Connection::send);
		learn(pool, this.engine.connect(server));
	}

	@Test
	void aHandlerThatWasShortAndBlocksIsTakenOverFrom() {
		// Long enough for a connection to be accepted while the leader is still watched.
		LeaderFollowersPool pool = pool(Duration.ofMillis(50));
		AtomicBoolean blocks = new AtomicBoolean();
		CountDownLatch gate = this.engine.gate();
		TcpServer server = this.engine.lines(pool, (connection, message) -> {
			if (message.get(message.position()) == 'b') {
				blocks.set(true);
				Engine.pass(gate);
			}
			connection.send(message);
		});
		Peer other = this.engine.connect(server);
		List<Peer> blocked = new ArrayList<>();
		for (int attempt = 0; attempt < 7 && pool.snapshot().promotions().get(PromotionKind.TAKEOVER) == 0; attempt++) {
			learn(pool, other);
			blocks.set(false);
			blocked.add(this.engine.connect(server).send("b\n"));
			Engine.eventually().untilTrue(blocks);
			assertThat(other.send("x\n").readLine()).isEqualTo("x");
		}
		assertThat(pool.snapshot().promotions().get(PromotionKind.TAKEOVER)).isPositive();
		gate.countDown();
		blocked.forEach((peer) -> assertThat(peer.readLine()).isEqualTo("b"));
	}

	@Test
	void aHandlerThatPromotesBeforeItBlocksKeepsNobodyWaiting() {
		LeaderFollowersPool pool = pool(FOR_EVER);
		CountDownLatch gate = this.engine.gate();
		AtomicInteger ledAndPromoted = new AtomicInteger();
		AtomicInteger inside = new AtomicInteger();
		TcpServer server = this.engine.lines(pool, (connection, message) -> {
			if (message.get(message.position()) == 'b') {
				ledAndPromoted.addAndGet(pool.promoteNewLeader() ? 1 : 0);
				assertThat(pool.promoteNewLeader()).isFalse();
				inside.incrementAndGet();
				Engine.pass(gate);
			}
			connection.send(message);
		});
		Peer other = this.engine.connect(server);
		List<Peer> blocked = new ArrayList<>();
		while (ledAndPromoted.get() == 0 && blocked.size() < 7) {
			learn(pool, other);
			blocked.add(this.engine.connect(server).send("b\n"));
			Engine.eventually().until(() -> inside.get() == blocked.size());
			// With a lease of a minute, only the promotion lets this one through.
			assertThat(other.send("x\n").readLine()).isEqualTo("x");
		}
		assertThat(ledAndPromoted).hasPositiveValue();
		assertThat(pool.snapshot().promotions().get(PromotionKind.TAKEOVER)).isZero();
		gate.countDown();
		blocked.forEach((peer) -> assertThat(peer.readLine()).isEqualTo("b"));
	}

	@ParameterizedTest
	@ValueSource(strings = { "ADAPTIVE", "EAGER" })
	void whatAHandlerHasSentArrivesAlthoughItBlocksAfterwards(PromotionPolicy policy) {
		LeaderFollowersPool pool = this.engine
			.pool(LeaderFollowersPool.builder().threads(4, 8).promotionPolicy(policy));
		CountDownLatch gate = this.engine.gate();
		TcpServer server = this.engine.lines(pool, (connection, message) -> {
			connection.send(message);
			if (message.get(message.position()) == 'b') {
				Engine.pass(gate);
			}
		});
		Peer peer = this.engine.connect(server);
		if (policy == PromotionPolicy.ADAPTIVE) {
			learn(pool, peer);
		}
		peer.send("a1\na2\nb3\na4\na5\n");
		assertThat(List.of(peer.readLine(), peer.readLine(), peer.readLine())).containsExactly("a1", "a2", "b3");
		gate.countDown();
		assertThat(List.of(peer.readLine(), peer.readLine())).containsExactly("a4", "a5");
	}

	@Test
	void aHandlerThatPromotesSendsFirstWhatItHadAnswered() {
		LeaderFollowersPool pool = pool(FOR_EVER);
		CountDownLatch gate = this.engine.gate();
		TcpServer server = this.engine.lines(pool, (connection, message) -> {
			connection.send(message);
			if (message.get(message.position()) == 'b') {
				pool.promoteNewLeader();
				Engine.pass(gate);
			}
		});
		Peer peer = this.engine.connect(server);
		learn(pool, peer);
		peer.send("a1\nb2\na3\n");
		assertThat(List.of(peer.readLine(), peer.readLine())).containsExactly("a1", "b2");
		gate.countDown();
		assertThat(peer.readLine()).isEqualTo("a3");
	}

	@Test
	void replyPrecedesTheMessageWithWhichItsConnectionChoosesAnotherPool() {
		LeaderFollowersPool pool = pool(FOR_EVER);
		LeaderFollowersPool other = pool(FOR_EVER);
		TcpServer server = this.engine.start(TcpServer.builder(pool)
			.framing(Framing.line())
			.maxMessageSize(WINDOW)
			.skipOversizedMessages(true)
			.handler(new MessageHandler() {

				@Override
				public void onMessage(Connection connection, ByteBuffer message) {
					connection.send(message);
				}

				@Override
				public void onError(Connection connection, Throwable failure) {
					connection.send(Engine.bytes("too large"));
				}

			})
			.serviceClass((connection, first) -> Engine.text(first).equals("other") ? other.name() : null, pool,
					other));
		Peer stays = this.engine.connect(server);
		Peer moves = this.engine.connect(server).send("other\n");
		assertThat(moves.readLine()).isEqualTo("other");
		// Enough for both pools to learn that the handler is short, if it is.
		for (int i = 0; i < 5 * WINDOW; i++) {
			assertThat(stays.send("x\n").readLine()).isEqualTo("x");
			assertThat(moves.send("x\n").readLine()).isEqualTo("x");
		}
		Peer peer = this.engine.connect(server).send("x".repeat(WINDOW + 1) + "\nother\n");
		assertThat(List.of(peer.readLine(), peer.readLine())).containsExactly("too large", "other");
	}

	/** The next leader has looked before there was anything to write. */
	@Test
	void replyThatIsEncodedWhileTheLeaseEndsIsSentAlthoughItsHandlerBlocks() {
		LeaderFollowersPool pool = pool(FOR_EVER);
		CountDownLatch gate = this.engine.gate();
		AtomicBoolean promoted = new AtomicBoolean();
		Framing lines = Framing.line();
		Framing promoting = new Framing() {

			@Override
			public boolean decode(ByteBuffer input, Frame frame) {
				return lines.decode(input, frame);
			}

			@Override
			public int maxFrameLength(int payloadLength) {
				return lines.maxFrameLength(payloadLength);
			}

			@Override
			public void encode(ByteBuffer payload, ByteBuffer output) {
				if (payload.get(payload.position()) == 'b' && pool.promoteNewLeader()) {
					promoted.set(true);
				}
				lines.encode(payload, output);
			}

		};
		TcpServer server = this.engine
			.start(TcpServer.builder(pool).framing(promoting).handler((connection, message) -> {
				connection.send(message);
				if (message.get(message.position()) == 'b') {
					Engine.pass(gate);
				}
			}));
		Peer other = this.engine.connect(server);
		List<Peer> blocked = new ArrayList<>();
		while (!promoted.get() && blocked.size() < 7) {
			learn(pool, other);
			Peer peer = this.engine.connect(server).send("b\na\n");
			assertThat(peer.readLine()).isEqualTo("b");
			blocked.add(peer);
		}
		assertThat(promoted).isTrue();
		gate.countDown();
		blocked.forEach((peer) -> assertThat(peer.readLine()).isEqualTo("a"));
	}

	/** Nobody would write it when the handler of the other connection has returned. */
	@Test
	void messageToAnotherConnectionIsNotGathered() {
		LeaderFollowersPool pool = pool(FOR_EVER);
		AtomicReference<Connection> other = new AtomicReference<>();
		TcpServer server = this.engine.lines(pool, (connection, message) -> {
			if (message.get(message.position()) == 'o') {
				other.set(connection);
			}
			boolean passesOn = message.get(message.position()) == 'p';
			(passesOn ? other.get() : connection).send(message);
		});
		Peer receiver = this.engine.connect(server);
		assertThat(receiver.send("other\n").readLine()).isEqualTo("other");
		Peer peer = this.engine.connect(server);
		learn(pool, peer);
		peer.send("p1\np2\n");
		assertThat(List.of(receiver.readLine(), receiver.readLine())).containsExactly("p1", "p2");
	}

	/** A framing may fail when it has written a part of its frame. */
	@Test
	void replyThatCannotBeEncodedLeavesNothingAmongTheOthers() {
		LeaderFollowersPool pool = pool(FOR_EVER);
		AtomicInteger failures = new AtomicInteger();
		TcpServer server = this.engine.lines(pool, (connection, message) -> {
			if (Engine.text(message).equals("f")) {
				assertThatIllegalArgumentException().isThrownBy(() -> connection.send(Engine.bytes("one\ntwo")));
				failures.incrementAndGet();
			}
			else {
				connection.send(message);
			}
		});
		Peer peer = this.engine.connect(server);
		learn(pool, peer);
		peer.send("a\nf\nb\nf\nc\n");
		assertThat(List.of(peer.readLine(), peer.readLine(), peer.readLine())).containsExactly("a", "b", "c");
		assertThat(failures).hasValue(2);
	}

	@Test
	void moreRepliesThanOneThreadGathersArriveAndAreCounted() {
		LeaderFollowersPool pool = pool(FOR_EVER);
		String large = "y".repeat(10_000);
		TcpServer server = this.engine.lines(pool, (connection, message) -> connection
			.send(Engine.text(message).equals("y") ? Engine.bytes(large) : message));
		Peer peer = this.engine.connect(server);
		learn(pool, peer);
		peer.send("y\n".repeat(30));
		for (int i = 0; i < 30; i++) {
			assertThat(peer.readLine()).isEqualTo(large);
		}
		// All other replies are as long as their messages.
		Engine.eventually().until(() -> {
			ServerSnapshot snapshot = server.snapshot();
			return snapshot.sentBytes() - 30 * 10_001 == snapshot.receivedBytes() - 30 * 2;
		});
	}

	@Test
	void repliesThatAreGatheredKeepTheirOrderAmongThoseOfOtherThreads() {
		LeaderFollowersPool pool = pool(FOR_EVER);
		TcpServer server = this.engine.lines(pool, Connection::send);
		Peer peer = this.engine.connect(server);
		learn(pool, peer);
		for (int round = 0; round < 20; round++) {
			StringBuilder burst = new StringBuilder();
			for (int i = 0; i < 500; i++) {
				burst.append(i).append("x".repeat(i)).append('\n');
			}
			peer.send(burst.toString());
			for (int i = 0; i < 500; i++) {
				assertThat(peer.readLine()).isEqualTo(i + "x".repeat(i));
			}
		}
	}

	@ParameterizedTest
	@ValueSource(strings = { "ADAPTIVE", "EAGER" })
	void theLastFreeThreadLeadsAllHandleSetsInTurn(PromotionPolicy policy) {
		LeaderFollowersPool pool = this.engine
			.pool(LeaderFollowersPool.builder().threads(3, 3).handleSets(3).promotionPolicy(policy));
		CountDownLatch gate = this.engine.gate();
		AtomicInteger inside = new AtomicInteger();
		TcpServer server = this.engine.lines(pool, (connection, message) -> {
			if (message.get(message.position()) == 'b') {
				inside.incrementAndGet();
				Engine.pass(gate);
			}
			connection.send(message);
		});
		List<Peer> blocked = List.of(this.engine.connect(server).send("b\n"), this.engine.connect(server).send("b\n"));
		Engine.eventually().until(() -> inside.get() == 2);
		// Connections are dealt to the handle sets in turn.
		for (int i = 0; i < 6; i++) {
			assertThat(this.engine.connect(server).send("x\n").readLine()).isEqualTo("x");
		}
		gate.countDown();
		blocked.forEach((peer) -> assertThat(peer.readLine()).isEqualTo("b"));
	}

	@ParameterizedTest
	@ValueSource(strings = { "ADAPTIVE", "EAGER" })
	void aPoolWithoutAThreadLeftSaysWhoHoldsThem(PromotionPolicy policy) {
		LeaderFollowersPool pool = this.engine
			.pool(LeaderFollowersPool.builder().threads(1, 2).promotionPolicy(policy));
		List<Long> told = new ArrayList<>();
		pool.addListener(new PoolListener() {

			@Override
			public void handedOff(PromotionKind kind, long vacancyNanos) {
			}

			@Override
			public void leaderless(long nanos) {
				synchronized (told) {
					told.add(nanos);
				}
			}

		});
		CountDownLatch gate = this.engine.gate();
		TcpServer server = this.engine.start(TcpServer.builder(pool)
			.framing(Framing.line())
			.handlerName("theCulprit")
			.handler((connection, message) -> {
				Engine.pass(gate);
				connection.send(message);
			}));
		List<Peer> peers = List.of(this.engine.connect(server).send("1\n"), this.engine.connect(server).send("2\n"));
		Engine.eventually().until(() -> pool.snapshot().starvedFor().compareTo(Duration.ofMillis(100)) > 0);
		Engine.eventually()
			.until(() -> this.engine.log()
				.stream()
				.anyMatch((line) -> line.contains("2 x 'theCulprit") && line.contains("threads.max")));
		gate.countDown();
		peers.forEach((peer) -> assertThat(peer.readLine()).isNotNull());
		// A leader ends the starvation a moment after it has begun to lead.
		Engine.eventually().untilAsserted(() -> {
			PoolSnapshot snapshot = Engine.awaitIdle(pool);
			assertThat(snapshot.starvedFor()).isZero();
			assertThat(snapshot.starvations()).isPositive();
			assertThat(snapshot.leaderlessPeriods()).isGreaterThanOrEqualTo(snapshot.starvations());
			assertThat(snapshot.leaderlessNanos()).isPositive();
			synchronized (told) {
				assertThat(told).isNotEmpty().allMatch((nanos) -> nanos > 0);
			}
		});
	}

	@Test
	void aPoolOfOneThreadServes() {
		LeaderFollowersPool pool = this.engine.pool(1, 1);
		TcpServer server = this.engine.lines(pool, Connection::send);
		Peer first = this.engine.connect(server);
		Peer second = this.engine.connect(server);
		for (int i = 0; i < 500; i++) {
			assertThat(first.send("x\n").readLine()).isEqualTo("x");
			assertThat(second.send("y\n").readLine()).isEqualTo("y");
		}
	}

	@Test
	void theHandlerIsToldWhenASlowPeerHasCaughtUp() throws InterruptedException {
		LeaderFollowersPool pool = this.engine.pool(2, 4);
		AtomicInteger relieved = new AtomicInteger();
		AtomicBoolean writableThen = new AtomicBoolean();
		Semaphore full = new Semaphore(0);
		byte[] chunk = new byte[1000];
		TcpServer server = this.engine.start(TcpServer.builder(pool)
			.framing(Framing.fixedLength(1000))
			.maxOutboundSize(100_000)
			.handler(new MessageHandler() {

				@Override
				public void onMessage(Connection connection, ByteBuffer message) {
					fill(connection);
				}

				private void fill(Connection connection) {
					while (connection.isWritable()) {
						connection.send(ByteBuffer.wrap(chunk));
					}
					full.release();
				}

				@Override
				public void onWritable(Connection connection) {
					writableThen.set(connection.isWritable() && connection.pendingBytes() <= 25_000);
					if (relieved.incrementAndGet() < 5) {
						fill(connection);
					}
					else {
						connection.close();
					}
				}

			}));
		Peer peer = this.engine.connect(server).send(chunk);
		for (int i = 1; i <= 5; i++) {
			// A peer that reads at the same time might never be slow.
			assertThat(full.tryAcquire(1, TimeUnit.MINUTES)).isTrue();
			while (i < 5 && relieved.get() < i) {
				assertThat(peer.read(1000)).isEqualTo(chunk);
			}
		}
		assertThat(peer.readToEnd().length).isPositive().satisfies((length) -> assertThat(length % 1000).isZero());
		assertThat(relieved).hasValue(5);
		assertThat(writableThen).isTrue();
	}

	@Test
	void aSenderOutsideOfTheHandlerIsRelievedAsWell() {
		LeaderFollowersPool pool = this.engine.pool(2, 4);
		CountDownLatch relieved = new CountDownLatch(1);
		AtomicBoolean full = new AtomicBoolean();
		TcpServer server = this.engine.start(TcpServer.builder(pool)
			.framing(Framing.fixedLength(1000))
			.maxOutboundSize(100_000)
			.handler(new MessageHandler() {

				@Override
				public void onMessage(Connection connection, ByteBuffer message) {
					new Thread(() -> {
						while (connection.isWritable()) {
							connection.send(ByteBuffer.allocate(1000));
						}
						full.set(true);
					}).start();
				}

				@Override
				public void onWritable(Connection connection) {
					relieved.countDown();
					connection.close();
				}

			}));
		Peer peer = this.engine.connect(server).send(new byte[1000]);
		Engine.eventually().untilTrue(full);
		assertThat(peer.readToEnd().length).isPositive();
		Engine.pass(relieved);
	}

	@Test
	void aDrainLetsAHandlerFinishWhatItStreams() throws Exception {
		LeaderFollowersPool pool = this.engine.pool(2, 4);
		AtomicInteger sent = new AtomicInteger();
		CountDownLatch full = new CountDownLatch(1);
		TcpServer server = this.engine.start(TcpServer.builder(pool)
			.framing(Framing.fixedLength(1000))
			.maxOutboundSize(100_000)
			.handler(new MessageHandler() {

				@Override
				public void onMessage(Connection connection, ByteBuffer message) {
					stream(connection);
					full.countDown();
				}

				private void stream(Connection connection) {
					while (connection.isWritable() && sent.get() < 20_000) {
						connection.send(ByteBuffer.allocate(1000));
						sent.incrementAndGet();
					}
				}

				@Override
				public void onWritable(Connection connection) {
					stream(connection);
				}

			}));
		Peer peer = this.engine.connect(server).send(new byte[1000]);
		Engine.pass(full);
		assertThat(sent.get()).isLessThan(20_000);
		CompletableFuture<Boolean> drained = CompletableFuture.supplyAsync(() -> server.close(Duration.ofSeconds(60)));
		Engine.eventually().until(() -> server.snapshot().state() == ServerSnapshot.State.DRAINING);
		assertThat(peer.readToEnd()).hasSize(20_000_000);
		assertThat(drained.get()).isTrue();
	}

}
