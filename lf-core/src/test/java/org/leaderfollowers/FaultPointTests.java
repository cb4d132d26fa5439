package org.leaderfollowers;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.SocketTimeoutException;
import java.nio.ByteBuffer;
import java.nio.channels.CancelledKeyException;
import java.nio.channels.ClosedSelectorException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Supplier;
import java.util.stream.Stream;

import ch.qos.logback.classic.Level;
import ch.qos.logback.classic.Logger;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;
import org.slf4j.LoggerFactory;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * At each point between the wait for an event and the next wait, the code fails once.
 * Whatever fails, the pool serves other connections, has its leaders, and has lost no
 * thread.
 * <p>
 * The points are counted. The n-th one fails while a connection is opened, served and
 * closed, for n from 1 until fewer than n points are passed. That connection may be
 * closed early, but does not hang.
 */
@Timeout(300)
class FaultPointTests {

	/** More points than any connection passes. */
	private static final int FAR = 500;

	private final AtomicInteger left = new AtomicInteger();

	private final AtomicBoolean struck = new AtomicBoolean();

	private Supplier<Throwable> fault = IllegalStateException::new;

	private final List<LeaderFollowersPool> pools = new ArrayList<>();

	static Stream<Arguments> pools() {
		List<Arguments> all = new ArrayList<>();
		for (PromotionPolicy policy : PromotionPolicy.values()) {
			for (int handleSets = 1; handleSets <= 2; handleSets++) {
				all.add(Arguments.of(policy, handleSets, "RuntimeException", fault(IllegalStateException::new)));
				all.add(Arguments.of(policy, handleSets, "Error", fault(AssertionError::new)));
				all.add(Arguments.of(policy, handleSets, "OutOfMemoryError", fault(OutOfMemoryError::new)));
				all.add(Arguments.of(policy, handleSets, "CancelledKeyException", fault(CancelledKeyException::new)));
				all.add(Arguments.of(policy, handleSets, "ClosedSelectorException",
						fault(ClosedSelectorException::new)));
			}
		}
		return all.stream();
	}

	private static Supplier<Throwable> fault(Supplier<Throwable> fault) {
		return fault;
	}

	/** Throws if this is the point that has to fail. */
	private void point() {
		if (this.left.get() > 0 && this.left.decrementAndGet() == 0) {
			this.struck.set(true);
			FaultPointTests.<RuntimeException>raise(this.fault.get());
		}
	}

	@SuppressWarnings("unchecked")
	private static <T extends Throwable> void raise(Throwable failure) throws T {
		throw (T) failure;
	}

	private final class Points implements Framing, MessageHandler, PoolListener {

		private final Framing lines = Framing.line();

		@Override
		public boolean decode(ByteBuffer input, Frame frame) {
			point();
			boolean complete = this.lines.decode(input, frame);
			point();
			return complete;
		}

		@Override
		public int maxFrameLength(int payloadLength) {
			point();
			return this.lines.maxFrameLength(payloadLength);
		}

		@Override
		public void encode(ByteBuffer payload, ByteBuffer output) {
			point();
			this.lines.encode(payload, output);
			point();
		}

		@Override
		public void onOpen(Connection connection) {
			point();
		}

		@Override
		public void onMessage(Connection connection, ByteBuffer message) {
			point();
			connection.send(message);
			point();
		}

		@Override
		public void onError(Connection connection, Throwable failure) {
			point();
		}

		@Override
		public void onClose(Connection connection, CloseReason reason) {
			point();
		}

		@Override
		public void handedOff(PromotionKind kind, long vacancyNanos) {
			point();
		}

		@Override
		public void leaderless(long nanos) {
			point();
		}

	}

	@ParameterizedTest(name = "{0}, {1} handle sets, {2}")
	@MethodSource("pools")
	void afterAFaultAtAnyPointThePoolIsInOrder(PromotionPolicy policy, int handleSets, String name,
			Supplier<Throwable> fault) {
		this.fault = fault;
		Points points = new Points();
		LeaderFollowersPool pool = LeaderFollowersPool.builder()
			.name("points-" + name)
			.threads(3, 3)
			.handleSets(handleSets)
			.promotionPolicy(policy)
			.listener(points)
			.selectorProvider(new FaultySelectors(this::point, () -> {
				// Keys throw only errors, unless they are cancelled.
				if (this.fault.get() instanceof Error) {
					point();
				}
			}))
			.build();
		this.pools.add(pool);
		TcpServer server = TcpServer.builder(pool).port(0).framing(points).handler(points).build();
		server.start();
		// A reply shows that the listening socket is registered: without it there are no
		// other connections.
		converse(server, true);
		Engine.eventually().until(() -> server.snapshot().openConnections() == 0);
		Engine.awaitIdle(pool);
		long descriptors = Engine.descriptors();
		List<String> threads = names(pool);
		boolean more = true;
		int last = 0;
		for (int n = 1; more && n < FAR; n++) {
			last = n;
			this.struck.set(false);
			this.left.set(n);
			converse(server, false);
			Engine.eventually().until(() -> server.snapshot().openConnections() == 0);
			Engine.awaitIdle(pool);
			this.left.set(0);
			more = this.struck.get();
			// One connection in each handle set.
			for (int i = 0; i < handleSets; i++) {
				converse(server, true);
			}
			assertThat(names(pool)).as("after point %d", n).isEqualTo(threads);
		}
		assertThat(more).as("there are points behind the last one").isFalse();
		Engine.eventually().until(() -> server.snapshot().openConnections() == 0);
		assertThat(last).as("points").isGreaterThan(30);
		PoolSnapshot snapshot = Engine.awaitIdle(pool);
		assertThat(snapshot.threads()).hasSize(3);
		Engine.eventually()
			.untilAsserted(() -> assertThat(Engine.descriptors()).as("descriptors").isLessThanOrEqualTo(descriptors));
		assertThat(server.close(Engine.DEADLINE)).isTrue();
		assertThat(pool.close(Engine.DEADLINE)).isTrue();
		Engine.awaitNoThreads(pool);
	}

	@Test
	void aLeaderThatCannotWaitPausesBeforeItTriesAgain() {
		TestClock clock = new TestClock();
		AtomicBoolean fails = new AtomicBoolean();
		LeaderFollowersPool pool = LeaderFollowersPool.builder()
			.name("pauses")
			.threads(1, 1)
			.clock(clock)
			.selectorProvider(new FaultySelectors(() -> {
				if (fails.get()) {
					throw new OutOfMemoryError("made for the test");
				}
			}, () -> {
			}))
			.build();
		this.pools.add(pool);
		pool.start();
		Engine.awaitIdle(pool);
		fails.set(true);
		pool.handleSets().iterator().next().wakeLeader();
		Thread leader = pool.living().get(0).thread();
		Engine.eventually().until(() -> clock.waits(leader) > 0);
		fails.set(false);
		Engine.eventually().until(() -> {
			clock.advance(Duration.ofSeconds(1));
			return clock.waits(leader) < 0;
		});
	}

	private static List<String> names(LeaderFollowersPool pool) {
		return pool.snapshot().threads().stream().map(PoolSnapshot.ThreadSnapshot::name).sorted().toList();
	}

	private void converse(TcpServer server, boolean demanding) {
		try (Peer peer = new Peer(server.address(), 0)) {
			peer.send("1\n2\n");
			String first = peer.readLine();
			String second = peer.readLine();
			if (demanding) {
				assertThat(first).isEqualTo("1");
				assertThat(second).isEqualTo("2");
				assertThat(peer.send("3\n").readLine()).isEqualTo("3");
			}
			else if (second != null) {
				peer.send("3\n").readLine();
			}
		}
		catch (UncheckedIOException ex) {
			assertThat(demanding).as("%s", ex).isFalse();
			assertThat(ex).as("neither served nor closed").cause().isNotInstanceOf(SocketTimeoutException.class);
		}
		catch (IOException ex) {
			throw new UncheckedIOException(ex);
		}
	}

	@BeforeEach
	void logNothing() {
		engineLogger().setLevel(Level.OFF);
	}

	private static Logger engineLogger() {
		return (Logger) LoggerFactory.getLogger("org.leaderfollowers.engine");
	}

	@AfterEach
	void closeAll() {
		engineLogger().setLevel(null);
		this.left.set(0);
		this.pools.forEach((pool) -> pool.close());
	}

}
