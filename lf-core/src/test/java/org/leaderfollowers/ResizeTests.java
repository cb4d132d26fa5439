package org.leaderfollowers;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Consumer;
import java.util.stream.Collectors;

import ch.qos.logback.classic.Level;
import ch.qos.logback.classic.Logger;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;
import org.slf4j.LoggerFactory;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;

/** Changes the number of threads of a running pool. */
@Timeout(120)
class ResizeTests {

	private static final Duration NEVER = Duration.ofDays(1);

	@RegisterExtension
	final Engine engine = new Engine();

	private final AtomicInteger inside = new AtomicInteger();

	@BeforeEach
	void logChanges() {
		engineLogger().setLevel(Level.INFO);
	}

	@AfterEach
	void logWarningsOnly() {
		engineLogger().setLevel(null);
	}

	private static Logger engineLogger() {
		return (Logger) LoggerFactory.getLogger("org.leaderfollowers.engine");
	}

	private LeaderFollowersPool pool(PromotionPolicy policy, int min, int max, int handleSets) {
		return this.engine.pool(LeaderFollowersPool.builder()
			.threads(min, max)
			.handleSets(handleSets)
			.keepAlive(NEVER)
			.promotionPolicy(policy));
	}

	/** Answers messages; answers "block" only after the gate is opened. */
	private TcpServer server(LeaderFollowersPool pool, CountDownLatch gate) {
		return this.engine.lines(pool, (connection, message) -> {
			if (Engine.text(message).equals("block")) {
				this.inside.incrementAndGet();
				Engine.pass(gate);
			}
			connection.send(message);
		});
	}

	/** Connections that are in their handle sets, so that a message is the next event. */
	private List<Peer> peers(TcpServer server, int count) {
		List<Peer> peers = new ArrayList<>();
		for (int i = 0; i < count; i++) {
			Peer peer = this.engine.connect(server);
			assertThat(peer.send("hello\n").readLine()).isEqualTo("hello");
			peers.add(peer);
		}
		return peers;
	}

	/**
	 * Sends messages until the engine has learned, in every handle set, that the handler
	 * is short.
	 */
	private static void learn(List<Peer> peers) {
		for (int i = 0; i < 2000; i++) {
			for (Peer peer : peers) {
				assertThat(peer.send("x\n").readLine()).isEqualTo("x");
			}
		}
	}

	private void block(List<Peer> peers) {
		for (Peer peer : peers) {
			int before = this.inside.get();
			peer.send("block\n");
			Engine.eventually().until(() -> this.inside.get() == before + 1);
		}
	}

	private static void answered(List<Peer> peers) {
		for (Peer peer : peers) {
			assertThat(peer.readLine()).isEqualTo("block");
		}
	}

	private static void awaitThreads(LeaderFollowersPool pool, int count) {
		Engine.eventually().untilAsserted(() -> assertThat(pool.snapshot().threads()).hasSize(count));
	}

	private static Set<String> threads(LeaderFollowersPool pool) {
		return pool.snapshot().threads().stream().map(PoolSnapshot.ThreadSnapshot::name).collect(Collectors.toSet());
	}

	@ParameterizedTest
	@EnumSource
	void aHigherMinimumStartsThreads(PromotionOrder order) {
		LeaderFollowersPool pool = this.engine
			.pool(LeaderFollowersPool.builder().threads(1, 2).keepAlive(NEVER).promotionOrder(order));
		pool.start();
		awaitThreads(pool, 1);
		pool.resize(50, 100);
		awaitThreads(pool, 50);
		PoolSnapshot snapshot = Engine.awaitIdle(pool);
		assertThat(snapshot.minThreads()).isEqualTo(50);
		assertThat(snapshot.maxThreads()).isEqualTo(100);
		assertThat(this.engine.log())
			.containsOnlyOnce("INFO Pool '%s' was changed: threads 1..2 -> 50..100".formatted(pool.name()));
	}

	@ParameterizedTest(name = "{0}, {1} handle sets, known to be short: {2}")
	@CsvSource({ "EAGER, 1, false", "EAGER, 2, false", "ADAPTIVE, 1, false", "ADAPTIVE, 1, true", "ADAPTIVE, 2, true" })
	void aHigherMaximumEndsAStarvationAlthoughAllThreadsAreBlocked(PromotionPolicy policy, int handleSets,
			boolean known) {
		LeaderFollowersPool pool = pool(policy, 2, 2, handleSets);
		CountDownLatch gate = this.engine.gate();
		TcpServer server = server(pool, gate);
		List<Peer> peers = peers(server, 8);
		if (known) {
			learn(peers);
		}
		block(peers.subList(0, 2));
		Engine.eventually().until(() -> !pool.snapshot().starvedFor().isZero());
		peers.subList(4, 8).forEach((peer) -> peer.send("waits\n"));
		pool.resize(2, 2 + handleSets);
		for (Peer peer : peers.subList(4, 8)) {
			assertThat(peer.readLine()).isEqualTo("waits");
		}
		// The pool still has moments without a leader whenever it answers.
		Engine.eventually().until(() -> pool.snapshot().starvedFor().isZero());
		assertThat(pool.snapshot().threads()).hasSizeBetween(3, 2 + handleSets);
		// Once more, up to the maximum.
		block(peers.subList(2, 2 + handleSets));
		Engine.eventually().until(() -> !pool.snapshot().starvedFor().isZero());
		pool.resize(2, 2 + 2 * handleSets);
		for (Peer peer : peers.subList(4, 8)) {
			assertThat(peer.send("again\n").readLine()).isEqualTo("again");
		}
		gate.countDown();
		answered(peers.subList(0, 2 + handleSets));
	}

	@ParameterizedTest
	@EnumSource
	void surplusFollowersEndAtOnceAndTheLeaderStays(PromotionOrder order) {
		LeaderFollowersPool pool = this.engine
			.pool(LeaderFollowersPool.builder().threads(20, 20).handleSets(1).keepAlive(NEVER).promotionOrder(order));
		CountDownLatch gate = this.engine.gate();
		List<Peer> peers = peers(server(pool, gate), 2);
		String leader = Engine.awaitIdle(pool).handleSets().get(0).leader();
		pool.resize(1, 1);
		awaitThreads(pool, 1);
		assertThat(threads(pool)).containsExactly(leader);
		assertThat(peers.get(0).send("x\n").readLine()).isEqualTo("x");
		Engine.eventually().until(() -> Engine.threadsOf(pool).size() == 1);
	}

	@ParameterizedTest
	@EnumSource
	void busySurplusThreadsEndWhenTheirHandlersReturn(PromotionPolicy policy) {
		LeaderFollowersPool pool = pool(policy, 6, 6, 1);
		CountDownLatch gate = this.engine.gate();
		CountDownLatch second = this.engine.gate();
		TcpServer blocking = server(pool, gate);
		List<Peer> peers = peers(blocking, 4);
		List<Peer> others = peers(server(pool, second), 1);
		awaitThreads(pool, 6);
		block(peers);
		block(others);
		// Five are blocked; the last one leads.
		pool.resize(1, 2);
		assertThat(threads(pool)).hasSize(6);
		assertThat(peers(blocking, 1).get(0).send("x\n").readLine()).isEqualTo("x");
		gate.countDown();
		answered(peers);
		awaitThreads(pool, 2);
		assertThat(peers(blocking, 1).get(0).send("x\n").readLine()).isEqualTo("x");
		second.countDown();
		answered(others);
		Engine.awaitIdle(pool);
	}

	@Test
	void aStarvedPoolThatIsMadeSmallerHasALeaderAsSoonAsAHandlerReturns() {
		LeaderFollowersPool pool = pool(PromotionPolicy.EAGER, 4, 4, 1);
		CountDownLatch first = this.engine.gate();
		CountDownLatch gate = this.engine.gate();
		List<Peer> one = peers(server(pool, first), 1);
		TcpServer server = server(pool, gate);
		List<Peer> peers = peers(server, 4);
		block(one);
		block(peers.subList(0, 3));
		Engine.eventually().until(() -> !pool.snapshot().starvedFor().isZero());
		pool.resize(1, 1);
		first.countDown();
		answered(one);
		assertThat(peers.get(3).send("x\n").readLine()).isEqualTo("x");
		assertThat(pool.snapshot().threads()).hasSize(4);
		gate.countDown();
		answered(peers.subList(0, 3));
		awaitThreads(pool, 1);
	}

	@Test
	void threadsBetweenMinimumAndMaximumEndAfterTheKeepAliveTime() {
		LeaderFollowersPool pool = this.engine
			.pool(LeaderFollowersPool.builder().threads(8, 8).keepAlive(Duration.ofMillis(1)));
		pool.start();
		awaitThreads(pool, 8);
		pool.resize(3, 8);
		awaitThreads(pool, 3);
		pool.resize(1, 8);
		awaitThreads(pool, 1);
	}

	@Test
	void threadsThatHaveJoinedDoNotCountAndStay() throws Exception {
		LeaderFollowersPool pool = pool(PromotionPolicy.ADAPTIVE, 4, 4, 1);
		pool.start();
		Thread joined = new Thread(() -> pool.join(NEVER), "joined");
		joined.start();
		awaitThreads(pool, 5);
		pool.resize(1, 1);
		awaitThreads(pool, 2);
		assertThat(threads(pool)).contains("joined");
		pool.resize(3, 3);
		awaitThreads(pool, 4);
		assertThat(pool.close(Engine.DEADLINE)).isTrue();
		joined.join();
	}

	@Test
	void aHandlerCanResizeItsOwnPool() {
		LeaderFollowersPool pool = pool(PromotionPolicy.ADAPTIVE, 1, 1, 1);
		TcpServer server = this.engine.lines(pool, (connection, message) -> {
			int threads = Integer.parseInt(Engine.text(message));
			pool.resize(threads, threads);
			connection.send(message);
		});
		Peer peer = this.engine.connect(server);
		for (String threads : List.of("5", "1", "3", "1")) {
			assertThat(peer.send(threads + "\n").readLine()).isEqualTo(threads);
			awaitThreads(pool, Integer.parseInt(threads));
		}
	}

	@Test
	void aPoolThatHasNotBeenStartedIsChangedToo() {
		LeaderFollowersPool pool = pool(PromotionPolicy.ADAPTIVE, 1, 1, 1);
		pool.resize(3, 5);
		pool.promotionPolicy(PromotionPolicy.EAGER);
		pool.promotionLease(Duration.ofMillis(7));
		assertThat(pool.snapshot().state()).isEqualTo(PoolSnapshot.State.NEW);
		assertThat(pool.snapshot().threads()).isEmpty();
		pool.start();
		awaitThreads(pool, 3);
		PoolSnapshot snapshot = pool.snapshot();
		assertThat(snapshot.promotionPolicy()).isEqualTo(PromotionPolicy.EAGER);
		assertThat(snapshot.promotionLease()).isEqualTo(Duration.ofMillis(7));
		assertThat(this.engine.log()).containsSequence(
				"INFO Pool '%s' was changed: promotion policy ADAPTIVE -> EAGER".formatted(pool.name()),
				"INFO Pool '%s' was changed: promotion lease PT0.002S -> PT0.007S".formatted(pool.name()));
	}

	@ParameterizedTest
	@CsvSource(delimiter = '|',
			textBlock = """
					0     | 4     | 'minThreads' must be at least 1, but is 0
					1     | 4     | 'minThreads' must be at least the number of handle sets (2), but is 1: each handle set needs a thread to lead it
					5     | 4     | 'maxThreads' must be from 'minThreads' (5) to 10000, but is 4
					2     | 10001 | 'maxThreads' must be from 'minThreads' (2) to 10000, but is 10001
					""",
			quoteCharacter = '"')
	void numbersThatCannotBeAreRefused(int min, int max, String message) {
		LeaderFollowersPool pool = pool(PromotionPolicy.ADAPTIVE, 2, 4, 2);
		assertThatIllegalArgumentException().isThrownBy(() -> pool.resize(min, max)).withMessage(message);
		assertThat(pool.snapshot().minThreads()).isEqualTo(2);
		assertThat(pool.snapshot().maxThreads()).isEqualTo(4);
		assertThat(this.engine.log()).isEmpty();
	}

	@Test
	void leasesThatCannotBeAreRefused() {
		LeaderFollowersPool pool = pool(PromotionPolicy.ADAPTIVE, 2, 4, 2);
		assertThatIllegalArgumentException().isThrownBy(() -> pool.promotionLease(Duration.ofNanos(99_999)))
			.withMessage("'lease' must be from 100 microseconds to 1 minute, but is PT0.000099999S");
		assertThatIllegalArgumentException().isThrownBy(() -> pool.promotionLease(Duration.ofSeconds(61)))
			.withMessage("'lease' must be from 100 microseconds to 1 minute, but is PT1M1S");
		assertThat(pool.snapshot().promotionLease()).isEqualTo(Duration.ofMillis(2));
	}

	@Test
	void aClosedPoolIsNotChanged() {
		LeaderFollowersPool pool = pool(PromotionPolicy.ADAPTIVE, 2, 4, 2);
		pool.start();
		pool.close();
		Engine.awaitNoThreads(pool);
		List<Consumer<LeaderFollowersPool>> changes = List.of((closed) -> closed.resize(3, 5),
				(closed) -> closed.promotionPolicy(PromotionPolicy.EAGER),
				(closed) -> closed.promotionLease(Duration.ofMillis(1)));
		for (Consumer<LeaderFollowersPool> change : changes) {
			assertThatIllegalStateException().isThrownBy(() -> change.accept(pool))
				.withMessage("Pool '%s' is closed", pool.name());
		}
		assertThat(Engine.threadsOf(pool)).isEmpty();
	}

	@Test
	void aChangeToWhatIsSoAlreadyIsNoNews() {
		LeaderFollowersPool pool = pool(PromotionPolicy.ADAPTIVE, 2, 4, 2);
		pool.start();
		pool.resize(2, 4);
		pool.promotionPolicy(PromotionPolicy.ADAPTIVE);
		pool.promotionLease(Duration.ofMillis(2));
		assertThat(this.engine.log()).isEmpty();
	}

}
