package org.leaderfollowers;

import java.nio.channels.spi.SelectorProvider;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Semaphore;
import java.util.function.Consumer;
import java.util.stream.IntStream;

import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.leaderfollowers.internal.buffer.MemoryBudget;
import org.leaderfollowers.internal.logging.FailureLog;
import org.leaderfollowers.internal.promotion.PoolSettings;
import org.leaderfollowers.internal.promotion.ProcessorTime;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * The reports of a pool that has no thread left to lead, with a clock that only the test
 * moves: the herald looks when the test says so.
 */
@Timeout(120)
class StarvationMonitorTests {

	private static final Duration LOOK = Duration.ofMillis(100);

	/** After so many looks at a pool that is not starved, the herald ends. */
	private static final int LOOKS_IN_VAIN = 50;

	@RegisterExtension
	final Engine engine = new Engine();

	private final HeldClock clock = new HeldClock();

	/** The calls of the listener. */
	private final List<String> told = new CopyOnWriteArrayList<>();

	private final PoolListener listener = new PoolListener() {

		@Override
		public void handedOff(PromotionKind kind, long vacancyNanos) {
		}

		@Override
		public void starved(long nanos) {
			StarvationMonitorTests.this.told.add("starved " + Duration.ofNanos(nanos).toMillis());
		}

		@Override
		public void leaderless(long nanos) {
			StarvationMonitorTests.this.told.add("leaderless " + Duration.ofNanos(nanos).toMillis());
		}

	};

	private final Semaphore inside = new Semaphore(0);

	private final Semaphore steps = new Semaphore(0);

	/** A pool whose only thread leaves its leadership before it runs a handler. */
	private LeaderFollowersPool pool(Duration lease) {
		return this.engine.pool(LeaderFollowersPool.builder()
			.threads(1, 1)
			.handleSets(1)
			.promotionPolicy(PromotionPolicy.EAGER)
			.promotionLease(lease)
			.listener(this.listener)
			.clock(this.clock));
	}

	private Peer peer(LeaderFollowersPool pool) {
		CountDownLatch end = this.engine.gate();
		return this.engine.connect(this.engine.lines(pool, (connection, message) -> {
			this.inside.release();
			Engine.eventually().until(() -> this.steps.tryAcquire() || end.getCount() == 0);
			connection.send(message);
		}));
	}

	/** Makes the only thread of the pool run a handler. */
	private void starve(LeaderFollowersPool pool, Peer peer) {
		peer.send("x\n");
		this.inside.acquireUninterruptibly();
		assertThat(pool.snapshot().starvedFor()).isZero();
	}

	/** Lets the handler return, so that its thread leads again. */
	private void relieve(LeaderFollowersPool pool, Peer peer) {
		this.steps.release();
		assertThat(peer.readLine()).isEqualTo("x");
		Engine.eventually().until(() -> pool.snapshot().count(ThreadRole.LEADER) == 1);
		Engine.eventually().until(() -> this.told.stream().anyMatch((call) -> call.startsWith("leaderless")));
	}

	private static Optional<Thread> herald(LeaderFollowersPool pool) {
		return Thread.getAllStackTraces()
			.keySet()
			.stream()
			.filter((thread) -> thread.getName().equals("lf-starvation-" + pool.name()))
			.findFirst();
	}

	/** Returns the herald when it waits for its next look. */
	private Thread awaitHerald(LeaderFollowersPool pool) {
		Engine.eventually()
			.until(() -> herald(pool).filter((thread) -> this.clock.waits(thread) == LOOK.toNanos()).isPresent());
		return herald(pool).orElseThrow();
	}

	/** Lets the herald look. */
	private void look(Thread herald) {
		this.clock.advance(LOOK);
		Engine.eventually().until(() -> this.clock.waits(herald) == LOOK.toNanos() || !herald.isAlive());
	}

	private List<String> lines() {
		return this.engine.log().stream().filter((line) -> line.contains("had no thread left")).toList();
	}

	@Test
	void heraldReportsEachStarvationOnceAndEndsAfterwards() {
		LeaderFollowersPool pool = pool(Duration.ofMillis(2));
		Peer peer = peer(pool);
		starve(pool, peer);
		Thread herald = awaitHerald(pool);
		assertThat(herald.isDaemon()).isTrue();
		look(herald);
		assertThat(this.told).as("a moment without a leader is normal").isEmpty();
		assertThat(lines()).isEmpty();
		look(herald);
		assertThat(this.told).containsExactly("starved 200");
		assertThat(lines()).singleElement()
			.asString()
			.startsWith("WARN Pool '%s' had no thread left to wait for events for 0.2 s. Its threads (max 1) run: 1 x '"
				.formatted(pool.name()));
		for (int i = 0; i < 2 * LOOKS_IN_VAIN; i++) {
			look(herald);
		}
		relieve(pool, peer);
		assertThat(this.told).containsExactly("starved 200", "leaderless 10200");
		// The listener is called before the period is counted.
		Engine.eventually().untilAsserted(() -> assertThat(pool.snapshot().starvations()).isOne());
		look(herald);
		this.told.clear();
		starve(pool, peer);
		look(herald);
		look(herald);
		assertThat(this.told).as("the same herald").containsExactly("starved 200");
		relieve(pool, peer);
		for (int i = 1; i < LOOKS_IN_VAIN; i++) {
			look(herald);
		}
		assertThat(herald.isAlive()).isTrue();
		look(herald);
		Engine.eventually().until(() -> !herald.isAlive());
		assertThat(herald(pool)).isEmpty();
		this.told.clear();
		starve(pool, peer);
		Thread next = awaitHerald(pool);
		look(next);
		look(next);
		assertThat(this.told).containsExactly("starved 200");
		relieve(pool, peer);
	}

	@Test
	void starvationIsNotReportedBeforeTheLeaseIsOver() {
		LeaderFollowersPool pool = pool(Duration.ofSeconds(1));
		Peer peer = peer(pool);
		starve(pool, peer);
		Thread herald = awaitHerald(pool);
		for (int i = 0; i < 10; i++) {
			look(herald);
		}
		assertThat(this.told).isEmpty();
		assertThat(lines()).isEmpty();
		look(herald);
		assertThat(this.told).containsExactly("starved 1100");
		assertThat(lines()).hasSize(1);
		relieve(pool, peer);
	}

	/** Nobody else would report it, because the pool believed that the herald looks. */
	@Test
	void starvationThatBeginsAfterTheLastLookHasAHerald() {
		LeaderFollowersPool pool = pool(Duration.ofMillis(2));
		Peer peer = peer(pool);
		starve(pool, peer);
		Thread herald = awaitHerald(pool);
		look(herald);
		relieve(pool, peer);
		for (int i = 1; i < LOOKS_IN_VAIN; i++) {
			look(herald);
		}
		this.clock.holds = herald;
		this.clock.advance(LOOK);
		this.clock.held.acquireUninterruptibly();
		starve(pool, peer);
		this.clock.advance(LOOK);
		this.clock.goesOn.release();
		Engine.eventually().until(() -> !herald.isAlive());
		Thread next = awaitHerald(pool);
		look(next);
		assertThat(this.told).contains("starved 200");
		relieve(pool, peer);
	}

	@Test
	void lineNamesTheHandlersThatRunMostOften() {
		LeaderFollowersPool pool = this.engine
			.pool(LeaderFollowersPool.builder().threads(1, 8).promotionPolicy(PromotionPolicy.EAGER).clock(this.clock));
		CountDownLatch gate = this.engine.gate();
		IntStream.of(1, 2, 3, 4, 5, 6, 6, 6).mapToObj((i) -> server(pool, "handler" + i, gate)).forEach((server) -> {
			this.engine.connect(server).send("x\n");
			this.inside.acquireUninterruptibly();
		});
		Thread herald = awaitHerald(pool);
		look(herald);
		look(herald);
		assertThat(lines()).singleElement()
			.asString()
			.contains("Its threads (max 8) run: 3 x 'handler6' of server 'default', 1 x 'handler1' of server 'default'",
					"'handler4'")
			.doesNotContain("'handler5'");
		gate.countDown();
	}

	private TcpServer server(LeaderFollowersPool pool, String handler, CountDownLatch gate) {
		return this.engine.start(
				TcpServer.builder(pool).framing(Framing.line()).handlerName(handler).handler((connection, message) -> {
					this.inside.release();
					Engine.pass(gate);
				}));
	}

	// Reports by the thread that leads again

	private StarvationMonitor monitor(Duration lease) {
		return monitor(lease, (thread) -> {
		});
	}

	private StarvationMonitor monitor(Duration lease, Consumer<Thread> starter) {
		PoolOptions options = new PoolOptions("line\nbreak", new PoolSettings(1, 3, false, lease.toNanos(), 0),
				Duration.ofHours(1), Thread.NORM_PRIORITY, 1, false, List.of(), 1, PromotionOrder.LIFO, 1L << 20,
				new NestedUpcalls.Options(NestedDispatch.NEVER, 1, new NestingGuard() {
				}), List.of(), this.clock, SelectorProvider.provider(), ProcessorTime.SYSTEM,
				new PoolWatchdog.Options(0, 0));
		return new StarvationMonitor(options, new PoolThreads(options, new MemoryBudget(1L << 20), new FailureLog()),
				new PoolListeners(List.of(this.listener)), starter);
	}

	@Test
	void newLeaderReportsAStarvationThatNoHeraldHasSeen() {
		StarvationMonitor monitor = monitor(Duration.ofMillis(2));
		monitor.ended(LOOK.toNanos());
		assertThat(lines()).isEmpty();
		monitor.ended(LOOK.toNanos() + 1);
		assertThat(lines()).singleElement()
			.asString()
			.contains("for 0.1 s. Its threads (max 3) run: no handlers any more.");
		monitor.ended(Duration.ofSeconds(1).toNanos());
		assertThat(lines()).as("lines are rare").hasSize(1);
		assertThat(this.told).containsExactly("leaderless 100", "leaderless 100", "leaderless 1000");
	}

	@Test
	void starvationThatIsNotLongerThanTheLeaseIsNotCounted() {
		Duration lease = Duration.ofSeconds(1);
		StarvationMonitor monitor = monitor(lease);
		monitor.ended(lease.toNanos());
		assertThat(monitor.starvations()).isZero();
		assertThat(lines()).isEmpty();
		monitor.ended(lease.toNanos() + 1);
		assertThat(monitor.starvations()).isOne();
		assertThat(lines()).hasSize(1);
	}

	/** For example, because memory is short. */
	@Test
	void lineThatFailsDoesNotEndTheLeader() {
		StarvationMonitor monitor = monitor(LOOK);
		this.clock.fails = true;
		monitor.ended(LOOK.toNanos() + 1);
		this.clock.fails = false;
		assertThat(monitor.starvations()).isOne();
		assertThat(lines()).isEmpty();
	}

	/** The caller is about to leave or take a leadership. */
	@Test
	void heraldThatCannotBeStartedIsStartedByAThreadAfterAPause() {
		Semaphore attempts = new Semaphore(0);
		StarvationMonitor monitor = monitor(LOOK, (thread) -> {
			attempts.release();
			assertThat(thread.getName()).isEqualTo("lf-starvation-line?break");
			if (attempts.availablePermits() <= 2) {
				throw new InternalError("made for the test");
			}
		});
		monitor.began();
		assertThat(attempts.availablePermits()).isOne();
		monitor.began();
		this.clock.advance(LOOK.minusNanos(1));
		monitor.began();
		assertThat(attempts.availablePermits()).as("each attempt is expensive").isOne();
		this.clock.advance(Duration.ofNanos(1));
		monitor.began();
		monitor.began();
		assertThat(attempts.availablePermits()).isEqualTo(2);
		this.clock.advance(LOOK);
		monitor.began();
		monitor.began();
		assertThat(attempts.availablePermits()).isEqualTo(3);
	}

	/** A clock that can fail, or hold a thread between reading the time and using it. */
	private static final class HeldClock extends TestClock {

		private final Semaphore held = new Semaphore(0);

		private final Semaphore goesOn = new Semaphore(0);

		private volatile @Nullable Thread holds;

		private volatile boolean fails;

		@Override
		public long nanoTime() {
			if (this.fails) {
				throw new InternalError("made for the test");
			}
			long now = super.nanoTime();
			if (Thread.currentThread() == this.holds) {
				this.holds = null;
				this.held.release();
				this.goesOn.acquireUninterruptibly();
			}
			return now;
		}

	}

}
