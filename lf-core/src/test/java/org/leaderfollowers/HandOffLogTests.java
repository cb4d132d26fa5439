package org.leaderfollowers;

import java.lang.ref.WeakReference;
import java.nio.channels.Pipe;
import java.nio.channels.spi.SelectorProvider;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.leaderfollowers.internal.logging.FailureLog;
import org.leaderfollowers.internal.promotion.Clock;
import org.leaderfollowers.internal.promotion.HandOffKind;
import org.leaderfollowers.internal.promotion.HandledWork;

import static org.assertj.core.api.Assertions.assertThat;

/** Tests the log of a pool's latest hand-offs. */
@Timeout(180)
class HandOffLogTests {

	@RegisterExtension
	private final Engine engine = new Engine();

	/**
	 * With one handle set: on a busy machine, the pool could begin to use a second one.
	 */
	private LeaderFollowersPool eager(int threads) {
		return this.engine.pool(LeaderFollowersPool.builder()
			.threads(threads, threads)
			.handleSets(1)
			.promotionPolicy(PromotionPolicy.EAGER));
	}

	private TcpServer orders(LeaderFollowersPool pool, MessageHandler handler) {
		return this.engine
			.start(TcpServer.builder(pool).name("orders").framing(Framing.line()).handler(handler).handlerName("shop"));
	}

	private static long promotions(LeaderFollowersPool pool) {
		return pool.snapshot().promotions().values().stream().mapToLong(Long::longValue).sum();
	}

	private static long latest(List<HandOff> handOffs) {
		return handOffs.isEmpty() ? 0 : handOffs.get(handOffs.size() - 1).number();
	}

	@Test
	void tellsWhoLedWhoLeadsAndWhatTheOldLeaderWentOffToProcess() {
		LeaderFollowersPool pool = eager(3);
		AtomicReference<String> processing = new AtomicReference<>();
		CountDownLatch gate = this.engine.gate();
		TcpServer server = orders(pool, (connection, message) -> {
			processing.set(Thread.currentThread().getName());
			Engine.pass(gate);
		});
		Instant before = Instant.now();
		this.engine.connect(server).send("x\n");
		Engine.eventually()
			.until(() -> processing.get() != null && pool.snapshot().handleSets().get(0).leader() != null);
		Engine.eventually()
			.untilAsserted(() -> assertThat(pool.handOffs()).filteredOn((handOff) -> handOff.handle() != null)
				.last()
				.satisfies((handOff) -> {
					assertThat(handOff.handle()).isEqualTo("Connection 1 of server 'orders'");
					assertThat(handOff.server()).isEqualTo("orders");
					assertThat(handOff.handler()).isEqualTo("shop");
					assertThat(handOff.from()).isEqualTo(processing.get());
					assertThat(handOff.to()).isEqualTo(pool.snapshot().handleSets().get(0).leader())
						.isNotEqualTo(handOff.from());
					assertThat(handOff.handleSet()).isEqualTo(pool.name() + "-0");
					assertThat(handOff.kind()).isNotEqualTo(PromotionKind.TAKEOVER);
					assertThat(handOff.vacancy()).isGreaterThanOrEqualTo(Duration.ZERO);
					// The pool reads the system clock once a second.
					assertThat(handOff.at()).isBetween(before.minusSeconds(2), Instant.now().plusSeconds(2));
				}));
	}

	@Test
	void ofATakeoverItTellsWhichHandlerDidNotReturn() {
		// Long enough for a connection to be accepted while the leader is still watched.
		LeaderFollowersPool pool = this.engine
			.pool(LeaderFollowersPool.builder().threads(4, 8).handleSets(1).promotionLease(Duration.ofMillis(50)));
		AtomicInteger inside = new AtomicInteger();
		AtomicReference<String> stuck = new AtomicReference<>();
		CountDownLatch gate = this.engine.gate();
		TcpServer server = orders(pool, (connection, message) -> {
			if (message.get(message.position()) == 'b') {
				stuck.set(Thread.currentThread().getName() + ": Connection " + connection.id());
				inside.incrementAndGet();
				Engine.pass(gate);
			}
			connection.send(message);
		});
		Peer other = this.engine.connect(server);
		List<HandOff> takeovers = new ArrayList<>();
		for (int attempt = 1; attempt < 7 && takeovers.isEmpty(); attempt++) {
			learn(pool, other);
			this.engine.connect(server).send("b\n");
			int blocked = attempt;
			Engine.eventually().until(() -> inside.get() == blocked);
			// There is a leader again.
			assertThat(other.send("x\n").readLine()).isEqualTo("x");
			pool.drainHandOffs()
				.stream()
				.filter((handOff) -> handOff.kind() == PromotionKind.TAKEOVER
						&& (handOff.from() + ": " + handOff.handle()).equals(stuck.get() + " of server 'orders'"))
				.forEach(takeovers::add);
		}
		assertThat(takeovers).isNotEmpty().allSatisfy((handOff) -> {
			assertThat(handOff.to()).isNotEqualTo(handOff.from());
			assertThat(handOff.handler()).isEqualTo("shop");
		});
	}

	/** A leader records its hand-off a moment after it has begun to lead. */
	private static void awaitRecorded(LeaderFollowersPool pool) {
		Engine.eventually().untilAsserted(() -> {
			PoolSnapshot snapshot = Engine.awaitIdle(pool);
			long terms = snapshot.handleSets().stream().mapToLong(PoolSnapshot.HandleSetSnapshot::term).sum();
			// The first term of each handle set does not count, since it has no
			// predecessor.
			assertThat(snapshot.vacancies().count()).isEqualTo(promotions(pool))
				.isEqualTo(terms - snapshot.handleSets().size());
		});
	}

	/** Sends messages until the engine has learned that the handler is short. */
	private static void learn(LeaderFollowersPool pool, Peer peer) {
		Engine.eventually().until(() -> {
			long before = promotions(pool);
			for (int i = 0; i < 100; i++) {
				assertThat(peer.send("x\n").readLine()).isEqualTo("x");
			}
			return promotions(pool) == before;
		});
	}

	@Test
	void whoAttendsToAVacantHandleSetInPassingIsNoLeader() {
		LeaderFollowersPool pool = eager(1);
		CountDownLatch gate = this.engine.gate();
		CountDownLatch inside = new CountDownLatch(1);
		TcpServer server = orders(pool, (connection, message) -> {
			inside.countDown();
			Engine.pass(gate);
		});
		TcpServer idle = this.engine.lines(pool, Connection::send);
		this.engine.connect(server).send("x\n");
		Engine.pass(inside);
		// The thread of the test closes the port, since there is no other.
		assertThat(idle.close(Duration.ofSeconds(30))).isTrue();
		gate.countDown();
		awaitRecorded(pool);
		List<String> own = Engine.threadsOf(pool);
		assertThat(pool.handOffs()).isNotEmpty().allSatisfy((handOff) -> {
			assertThat(own).contains(handOff.to());
			assertThat(own).contains(handOff.from());
		});
		assertThat(pool.handOffs()).filteredOn((handOff) -> "Connection 1 of server 'orders'".equals(handOff.handle()))
			.isNotEmpty()
			.allSatisfy((handOff) -> {
				assertThat(handOff.from()).isEqualTo(handOff.to());
				assertThat(handOff.kind()).isEqualTo(PromotionKind.RECLAIMED);
			});
	}

	@Test
	void numbersCountEachHandOffOnce() {
		LeaderFollowersPool pool = eager(4);
		TcpServer server = orders(pool, Connection::send);
		Peer peer = this.engine.connect(server);
		Set<Long> numbers = new HashSet<>();
		long after = 0;
		for (int round = 0; round < 5; round++) {
			for (int i = 0; i < 40; i++) {
				assertThat(peer.send("x\n").readLine()).isEqualTo("x");
			}
			List<HandOff> drained = pool.drainHandOffs();
			for (HandOff handOff : drained) {
				assertThat(handOff.number()).isGreaterThan(after);
				after = handOff.number();
				numbers.add(after);
			}
		}
		awaitRecorded(pool);
		pool.drainHandOffs().forEach((handOff) -> numbers.add(handOff.number()));
		// No hand-off is missing, and none is counted twice.
		assertThat(numbers).hasSize((int) promotions(pool)).hasSizeGreaterThan(100);
		assertThat(numbers).contains(1L, promotions(pool));
		assertThat(pool.handOffs()).isEmpty();
		assertThat(pool.snapshot().vacancies().count()).isEqualTo(promotions(pool));
	}

	@Test
	void onlyTheLatestAreKeptAndTheNumbersOfTheOthersAreMissing() {
		LeaderFollowersPool pool = eager(4);
		TcpServer server = orders(pool, Connection::send);
		Peer peer = this.engine.connect(server);
		for (int i = 0; i < 1000; i++) {
			assertThat(peer.send("x\n").readLine()).isEqualTo("x");
		}
		awaitRecorded(pool);
		List<HandOff> handOffs = pool.handOffs();
		assertThat(handOffs).hasSize(256);
		assertThat(latest(handOffs)).isEqualTo(promotions(pool));
		assertThat(handOffs.get(0).number()).isEqualTo(promotions(pool) - 255);
		assertThat(pool.handOffs()).isEqualTo(handOffs);
	}

	@Test
	void whoLooksOftenIsNotBounded() {
		LeaderFollowersPool pool = eager(4);
		TcpServer server = orders(pool, Connection::send);
		Peer peer = this.engine.connect(server);
		for (int i = 0; i < 2000; i++) {
			assertThat(peer.send("x\n").readLine()).isEqualTo("x");
			if (i % 50 == 0) {
				assertThat(pool.handOffs()).hasSizeLessThanOrEqualTo(512);
			}
		}
		awaitRecorded(pool);
		assertThat(pool.handOffs()).hasSize(512).extracting(HandOff::number).first().isEqualTo(promotions(pool) - 511);
	}

	@Test
	void ofManyHandleSetsAsManyAreKeptOfEach() {
		HandleSets sets = new HandleSets("sets", 4, 4, Clock.SYSTEM, SelectorProvider.provider(), new FailureLog());
		for (HandleSet set : sets) {
			for (int i = 0; i < 256; i++) {
				set.leadership.handOffs()
					.latest()
					.add(i, 0, HandOffKind.EAGER.ordinal(), "old", "new", null, HandledWork.UNNUMBERED);
			}
			set.close();
		}
		EventSources sources = new EventSources("sets", List.of(), 4, Clock.SYSTEM);
		assertThat(new HandOffJournal(sets, sources).drain()).hasSize(4 * 256);
	}

	@Test
	void thoseOfSeveralHandleSetsAreInOneRow() {
		LeaderFollowersPool pool = this.engine
			.pool(LeaderFollowersPool.builder().threads(4, 4).handleSets(2).promotionPolicy(PromotionPolicy.EAGER));
		TcpServer server = orders(pool, Connection::send);
		List<Peer> peers = List.of(this.engine.connect(server), this.engine.connect(server));
		for (int i = 0; i < 40; i++) {
			peers.forEach((peer) -> assertThat(peer.send("x\n").readLine()).isEqualTo("x"));
		}
		awaitRecorded(pool);
		List<HandOff> handOffs = pool.handOffs();
		assertThat(handOffs).extracting(HandOff::handleSet).contains(pool.name() + "-0", pool.name() + "-1");
		assertThat(handOffs).extracting(HandOff::number).doesNotHaveDuplicates().isSorted();
		assertThat(latest(handOffs)).isEqualTo(promotions(pool));
		assertThat(handOffs).extracting(HandOff::at).isSortedAccordingTo((one, other) -> {
			// Each handle set has its own copy of the time, which is updated once a
			// second.
			long millis = Duration.between(one, other).toMillis();
			return (millis < -1000) ? 1 : (millis > 1000) ? -1 : 0;
		});
	}

	@Test
	void ofAHandleOfTheApplicationItTellsTheHandler() throws Exception {
		LeaderFollowersPool pool = eager(2);
		Pipe pipe = Pipe.open();
		try (Pipe.SinkChannel sink = pipe.sink()) {
			pipe.source().configureBlocking(false);
			EventHandler handler = new Closer();
			pool.register(pipe.source(), handler, EventType.READ);
			sink.write(Engine.bytes("x"));
			Engine.eventually()
				.untilAsserted(() -> assertThat(pool.handOffs()).filteredOn((handOff) -> handOff.handle() != null)
					.isNotEmpty()
					.allSatisfy((handOff) -> {
						assertThat(handOff.handler()).isEqualTo(Closer.class.getName());
						assertThat(handOff.server()).isNull();
					}));
		}
	}

	@Test
	void keepsNoConnectionAndNothingThatIsAttachedToIt() {
		LeaderFollowersPool pool = eager(2);
		AtomicReference<WeakReference<Object>> attached = new AtomicReference<>();
		TcpServer server = orders(pool, (connection, message) -> {
			Object session = new Object();
			attached.set(new WeakReference<>(session));
			connection.attributes().put("session", session);
			connection.send(message);
		});
		Peer peer = this.engine.connect(server);
		assertThat(peer.send("x\n").readLine()).isEqualTo("x");
		peer.close();
		Engine.eventually().until(() -> server.snapshot().openConnections() == 0);
		assertThat(pool.handOffs()).anyMatch((handOff) -> "Connection 1 of server 'orders'".equals(handOff.handle()));
		Engine.awaitCollected(attached.get());
	}

	private static final class Closer implements EventHandler {

		@Override
		public void handleEvent(Handle handle, EventType type) {
			handle.close();
		}

	}

}
