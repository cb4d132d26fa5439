package org.leaderfollowers;

import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReference;

import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.leaderfollowers.internal.promotion.FollowerStates;
import org.leaderfollowers.internal.promotion.ProcessorTime;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Steps through hand-offs of the leadership, with a clock that only the test moves and
 * events that only the test makes.
 * <p>
 * What a test does not want to happen cannot happen: a waiting thread waits for a time
 * that the test has not set, for an event that the test has not made, or at a gate that
 * the test has not opened.
 */
@Timeout(120)
class HandOffTests {

	private static final Duration LEASE = Duration.ofMillis(2);

	private static final Duration NANO = Duration.ofNanos(1);

	/** A thread that has nothing to watch waits at least this long. */
	private static final long LONG = Duration.ofSeconds(20).toNanos();

	@RegisterExtension
	final Engine engine = new Engine();

	private final TestClock clock = new TestClock();

	private final ScriptedSelectors selectors = new ScriptedSelectors(this.clock);

	private LeaderFollowersPool pool(int min, int max, int handleSets) {
		return pool(min, max, handleSets, 2);
	}

	private LeaderFollowersPool pool(int min, int max, int handleSets, int parallelism) {
		return this.engine.pool(builder(min, max, handleSets, parallelism));
	}

	private LeaderFollowersPool.Builder builder(int min, int max, int handleSets, int parallelism) {
		return LeaderFollowersPool.builder()
			.threads(min, max)
			.parallelism(parallelism)
			.handleSets(handleSets)
			.promotionLease(LEASE)
			.clock(this.clock)
			.selectorProvider(this.selectors);
	}

	/**
	 * The test decides whether all processors are idle, or none; the threads use no
	 * processor time.
	 */
	private final class Told implements ProcessorTime {

		private volatile boolean idle;

		@Override
		public long nanos(Thread thread) {
			return 0;
		}

		@Override
		public long idleNanos() {
			return this.idle ? HandOffTests.this.clock.nanoTime() : 1;
		}

	}

	/** An event source, its handle, and the handler, which passes a gate. */
	private final class Events {

		final ScriptedSelectors.Source source;

		final SelectableHandle handle;

		final BlockingQueue<Thread> running = new LinkedBlockingQueue<>();

		private volatile CountDownLatch gate = new CountDownLatch(0);

		Events(LeaderFollowersPool pool) throws IOException {
			this.source = HandOffTests.this.selectors.new Source();
			this.handle = (SelectableHandle) pool.register(this.source, (handle, type) -> {
				CountDownLatch toPass = this.gate;
				this.running.add(Thread.currentThread());
				Engine.pass(toPass);
			}, EventType.READ);
			Engine.eventually().until(this.source::isActive);
		}

		/** Makes the handler known to be short. */
		Events known() {
			return known(0);
		}

		/** Makes the handler known to take the given time. */
		Events known(long nanos) {
			for (int i = 0; i < 2000; i++) {
				this.handle.profile().record(nanos);
			}
			assertThat(this.handle.profile().blocks()).isFalse();
			return this;
		}

		/** Makes the handler block from now on. */
		CountDownLatch block() {
			this.gate = HandOffTests.this.engine.gate();
			return this.gate;
		}

		/**
		 * Makes an event, lets the handler begin, and returns the thread that runs it.
		 */
		Thread fire() throws InterruptedException {
			this.source.fire();
			Thread thread = this.running.poll(Engine.DEADLINE.toSeconds(), TimeUnit.SECONDS);
			assertThat(thread).isNotNull();
			return thread;
		}

		boolean isLeased() {
			return this.handle.handleSet().leadership.isLeased();
		}

	}

	private @Nullable Thread holder(LeaderFollowersPool pool, Events events) {
		int number = events.handle.handleSet().leadership.holder();
		return pool.living()
			.stream()
			.filter((participant) -> participant.number() == number)
			.map((participant) -> participant.thread())
			.findFirst()
			.orElse(null);
	}

	/** Waits until a handle set has a leader, which waits for events, and returns it. */
	private Thread leader(LeaderFollowersPool pool, Events events) {
		int set = pool.snapshot()
			.handleSets()
			.stream()
			.map(PoolSnapshot.HandleSetSnapshot::name)
			.toList()
			.indexOf(events.handle.handleSet().name());
		Engine.eventually().until(() -> {
			int number = events.handle.handleSet().leadership.holder();
			return pool.living()
				.stream()
				.anyMatch((participant) -> participant.number() == number
						&& this.selectors.isWaitedOn(set, participant.thread())
						&& this.clock.waits(participant.thread()) >= 0);
		});
		Thread leader = holder(pool, events);
		assertThat(leader).isNotNull();
		return leader;
	}

	/**
	 * Waits until all other threads wait to be promoted, and returns them. A thread that
	 * was signalled in vain is on its way, and would take a handle that becomes ready.
	 */
	private List<Thread> followers(LeaderFollowersPool pool, int count, Thread... others) {
		List<Thread> followers = new ArrayList<>();
		Engine.eventually().until(() -> {
			followers.clear();
			for (Participant participant : pool.living()) {
				if (!List.of(others).contains(participant.thread()) && this.clock.waits(participant.thread()) > 0
						&& FollowerStates.isWaiting(participant)) {
					followers.add(participant.thread());
				}
			}
			return followers.size() == count;
		});
		return followers;
	}

	/** Returns the one of them that watches the leases. */
	private Thread watcher(List<Thread> followers) {
		Engine.eventually().until(() -> followers.stream().filter(this::looksSoon).count() == 1);
		return followers.stream().filter(this::looksSoon).findFirst().orElseThrow();
	}

	private boolean looksSoon(Thread thread) {
		long nanos = this.clock.waits(thread);
		return nanos > 0 && nanos <= LEASE.toNanos();
	}

	private static long promotions(LeaderFollowersPool pool, PromotionKind kind) {
		return pool.snapshot().promotions().get(kind);
	}

	private static void assertNoPromotions(LeaderFollowersPool pool) {
		assertThat(pool.snapshot().promotions().values()).containsOnly(0L);
		assertThat(pool.snapshot().wakeUps()).isZero();
	}

	@Test
	void aHandlerThatReturnsInTimeIsNotNoticedByAnybody() throws Exception {
		LeaderFollowersPool pool = pool(3, 3, 1);
		Events events = new Events(pool).known();
		Thread leader = leader(pool, events);
		followers(pool, 2, leader);
		for (int i = 0; i < 100; i++) {
			assertThat(events.fire()).isEqualTo(leader);
			assertThat(leader(pool, events)).isEqualTo(leader);
			this.clock.advance(Duration.ofNanos(100_000));
		}
		assertNoPromotions(pool);
		assertThat(events.handle.handleSet().leadership.term()).isOne();
	}

	@Test
	void theWatcherTakesOverWhenTheLeaseRunsOutAndNotBefore() throws Exception {
		LeaderFollowersPool pool = pool(3, 3, 1);
		Events events = new Events(pool).known();
		Events others = new Events(pool).known();
		Thread leader = leader(pool, events);
		Thread watcher = watcher(followers(pool, 2, leader));
		CountDownLatch gate = events.block();
		this.clock.advance(Duration.ofMillis(1));
		assertThat(events.fire()).isEqualTo(leader);
		assertThat(events.isLeased()).isTrue();
		// The watcher wakes in the middle of the lease, and then waits for the rest of
		// it.
		this.clock.advance(Duration.ofMillis(1));
		Engine.eventually().until(() -> this.clock.waits(watcher) == Duration.ofMillis(1).toNanos());
		this.clock.advance(Duration.ofMillis(1).minus(NANO));
		assertThat(this.clock.waits(watcher)).isOne();
		assertThat(events.isLeased()).isTrue();
		assertNoPromotions(pool);
		this.clock.advance(NANO);
		Engine.eventually().until(() -> holder(pool, events) == watcher);
		assertThat(leader(pool, events)).isEqualTo(watcher);
		assertThat(promotions(pool, PromotionKind.TAKEOVER)).isOne();
		assertThat(others.fire()).isEqualTo(watcher);
		Thread successor = leader(pool, events);
		followers(pool, 1, successor, leader);
		// The old leader returns, finds that another thread has taken over, and waits. No
		// thread is woken.
		long wakeUps = pool.snapshot().wakeUps();
		gate.countDown();
		assertThat(followers(pool, 2, successor)).contains(leader);
		assertThat(holder(pool, events)).isEqualTo(successor);
		assertThat(pool.snapshot().wakeUps()).isEqualTo(wakeUps);
		assertThat(promotions(pool, PromotionKind.TAKEOVER)).isOne();
	}

	@Test
	void aLeaderPromotesBeforeAHandlerOfWhichNothingIsKnown() throws Exception {
		LeaderFollowersPool pool = pool(2, 2, 1);
		Events events = new Events(pool);
		Thread leader = leader(pool, events);
		Thread follower = followers(pool, 1, leader).get(0);
		CountDownLatch gate = events.block();
		assertThat(events.fire()).isEqualTo(leader);
		// The clock does not have to move for this.
		Engine.eventually().until(() -> holder(pool, events) == follower);
		assertThat(leader(pool, events)).isEqualTo(follower);
		assertThat(promotions(pool, PromotionKind.EAGER)).isOne();
		assertThat(pool.snapshot().wakeUps()).isOne();
		gate.countDown();
		assertThat(followers(pool, 1, follower)).containsExactly(leader);
		assertThat(holder(pool, events)).isEqualTo(follower);
		assertThat(pool.snapshot().wakeUps()).isOne();
		assertThat(pool.snapshot().wastedWakeUps()).isZero();
	}

	@Test
	void theWatcherSleepsWhileNoHandlerIsRunAndIsRousedByABusyLeader() throws Exception {
		LeaderFollowersPool pool = pool(2, 3, 1);
		Events events = new Events(pool).known();
		Thread first = leader(pool, events);
		Thread watcher = watcher(followers(pool, 1, first));
		for (int i = 0; i < 8; i++) {
			this.clock.advance(LEASE);
			Engine.eventually().until(() -> this.clock.waits(watcher) > 0);
			assertThat(looksSoon(watcher)).isTrue();
		}
		this.clock.advance(LEASE);
		Engine.eventually().until(() -> this.clock.waits(watcher) > LONG);
		// No thread has anything to do before the end of the keep-alive time.
		this.clock.advance(Duration.ofSeconds(10));
		assertThat(this.clock.waits(watcher)).isGreaterThan(LONG);
		assertThat(this.clock.waits(first)).isGreaterThan(LONG);
		assertNoPromotions(pool);
		// A thread that begins to wait after the watcher is promoted before it.
		Thread second = new Thread(() -> pool.join(Duration.ofDays(1)));
		second.start();
		Engine.eventually().until(() -> this.clock.waits(second) > LONG);
		// For a single event, no thread is woken to watch: the leader promotes.
		CountDownLatch gate = events.block();
		assertThat(events.fire()).isEqualTo(first);
		assertThat(leader(pool, events)).isEqualTo(second);
		gate.countDown();
		followers(pool, 2, second);
		assertThat(this.clock.waits(watcher)).isGreaterThan(LONG);
		// For the next one, a thread is woken to watch.
		gate = events.block();
		this.clock.advance(Duration.ofMillis(1));
		assertThat(events.fire()).isEqualTo(second);
		Engine.eventually().until(() -> looksSoon(watcher));
		assertThat(events.isLeased()).isTrue();
		this.clock.advance(LEASE);
		Engine.eventually().until(() -> holder(pool, events) == watcher);
		assertThat(leader(pool, events)).isEqualTo(watcher);
		assertThat(promotions(pool, PromotionKind.TAKEOVER)).isOne();
		gate.countDown();
		followers(pool, 2, leader(pool, events));
	}

	@Test
	void aPoolOfOneThreadKeepsItsLeaderHoweverLongTheHandlerRuns() throws Exception {
		LeaderFollowersPool pool = pool(1, 1, 1);
		Events events = new Events(pool).known();
		Thread leader = leader(pool, events);
		CountDownLatch gate = events.block();
		assertThat(events.fire()).isEqualTo(leader);
		this.clock.advance(LEASE);
		assertThat(pool.snapshot().handleSets().get(0).leader()).isEqualTo(leader.getName());
		assertThat(pool.snapshot().count(ThreadRole.LEADER)).isOne();
		this.clock.advance(LEASE.multipliedBy(999));
		assertThat(events.isLeased()).isTrue();
		assertThat(pool.snapshot().handleSets().get(0).leader()).isNull();
		assertThat(pool.snapshot().handleSets().get(0).vacantFor()).isEqualTo(LEASE.multipliedBy(999));
		assertThat(pool.snapshot().count(ThreadRole.PROCESSING)).isOne();
		assertThat(pool.snapshot().starvedFor()).isEqualTo(LEASE.multipliedBy(999));
		gate.countDown();
		assertThat(leader(pool, events)).isEqualTo(leader);
		assertNoPromotions(pool);
		assertThat(pool.snapshot().starvedFor()).isZero();
		assertThat(pool.snapshot().starvations()).isOne();
		assertThat(pool.snapshot().leaderlessNanos()).isEqualTo(LEASE.multipliedBy(999).toNanos());
	}

	@Test
	void aSetWhoseLeaderHasLeftItIsShownAsVacantSinceThen() throws Exception {
		LeaderFollowersPool pool = pool(1, 1, 1);
		Events events = new Events(pool);
		leader(pool, events);
		this.clock.advance(LEASE);
		CountDownLatch gate = events.block();
		events.fire();
		this.clock.advance(Duration.ofSeconds(3));
		PoolSnapshot.HandleSetSnapshot set = pool.snapshot().handleSets().get(0);
		assertThat(set.leader()).isNull();
		assertThat(set.vacantFor()).isEqualTo(Duration.ofSeconds(3));
		assertThat(set.sharing().threads()).as("the handler is known to block").isZero();
		gate.countDown();
		Thread leader = leader(pool, events);
		assertThat(pool.snapshot().handleSets().get(0).leader()).isEqualTo(leader.getName());
		assertThat(pool.snapshot().handleSets().get(0).vacantFor()).isZero();
	}

	/** A pool that is fully used has no leader for moments, which is normal. */
	@Test
	void aMomentWithoutALeaderIsNoStarvation() throws Exception {
		LeaderFollowersPool pool = pool(1, 1, 1);
		Events events = new Events(pool).known();
		Thread leader = leader(pool, events);
		CountDownLatch gate = events.block();
		assertThat(events.fire()).isEqualTo(leader);
		this.clock.advance(LEASE.multipliedBy(2));
		assertThat(pool.snapshot().starvedFor()).isEqualTo(LEASE);
		gate.countDown();
		assertThat(leader(pool, events)).isEqualTo(leader);
		assertThat(pool.snapshot().starvations()).isZero();
		assertThat(pool.snapshot().leaderlessPeriods()).isOne();
		assertThat(pool.snapshot().leaderlessNanos()).isEqualTo(LEASE.toNanos());
		assertThat(pool.snapshot().threadsStarted()).isOne();
		assertThat(pool.snapshot().threadStartFailures()).isZero();
	}

	@Test
	void aPoolThatIsClosedIsNotStarved() throws Exception {
		LeaderFollowersPool pool = pool(1, 1, 1);
		Events events = new Events(pool);
		CountDownLatch gate = events.block();
		events.fire();
		// Long enough to be looked at, and too short to be told.
		this.clock.advance(LEASE);
		AtomicReference<@Nullable Thread> found = new AtomicReference<>();
		Engine.eventually().until(() -> {
			found.set(thread("lf-starvation-" + pool.name()));
			return found.get() != null;
		});
		Thread herald = Objects.requireNonNull(found.get());
		CompletableFuture<Boolean> closed = CompletableFuture.supplyAsync(() -> pool.close(Engine.DEADLINE));
		Engine.eventually().until(() -> pool.snapshot().state() == PoolSnapshot.State.STOPPING);
		// The herald learns of it a little later. If a look has begun before, the pause
		// after that look would never end.
		Engine.eventually().until(pool.threads::isStopping);
		Engine.eventually().until(() -> !herald.isAlive() || this.clock.waits(herald) > 0);
		this.clock.advance(LEASE.multipliedBy(1000));
		Engine.eventually().until(() -> !herald.isAlive());
		assertThat(thread(herald.getName())).as("the next herald").isNull();
		gate.countDown();
		assertThat(closed.get(60, TimeUnit.SECONDS)).isTrue();
		assertThat(this.engine.log()).noneMatch((line) -> line.contains("had no thread left"));
	}

	private static @Nullable Thread thread(String name) {
		return Thread.getAllStackTraces()
			.keySet()
			.stream()
			.filter((thread) -> thread.getName().equals(name))
			.findFirst()
			.orElse(null);
	}

	@ParameterizedTest(name = "handlers are known to be short: {0}")
	@ValueSource(booleans = { false, true })
	void theLastFreeThreadGoesRoundTheHandleSets(boolean known) throws Exception {
		LeaderFollowersPool pool = pool(2, 2, 2);
		List<Events> sets = new ArrayList<>();
		for (int i = 0; i < 4; i++) {
			Events events = new Events(pool);
			sets.add(known ? events.known() : events);
		}
		// Handles are dealt to the handle sets in turn.
		Thread blocked = leader(pool, sets.get(0));
		Thread free = leader(pool, sets.get(1));
		CountDownLatch gate = sets.get(0).block();
		assertThat(sets.get(0).fire()).isEqualTo(blocked);
		for (int round = 0; round < 3; round++) {
			for (Events events : List.of(sets.get(2), sets.get(3), sets.get(1))) {
				events.source.fire();
				goRoundUntil(events);
				assertThat(events.running.poll()).isEqualTo(free);
			}
		}
		gate.countDown();
		leader(pool, sets.get(0));
		leader(pool, sets.get(1));
	}

	// A pool that is changed while it runs

	@Test
	void aShorterLeaseTakesEffectAtOnce() throws Exception {
		LeaderFollowersPool pool = pool(3, 3, 1);
		Events events = new Events(pool).known();
		Thread leader = leader(pool, events);
		followers(pool, 2, leader);
		pool.promotionLease(Duration.ofMinutes(1));
		CountDownLatch gate = events.block();
		assertThat(events.fire()).isEqualTo(leader);
		this.clock.advance(Duration.ofMillis(20));
		assertThat(events.isLeased()).isTrue();
		// Not yet, but soon.
		pool.promotionLease(Duration.ofMillis(21));
		Thread watcher = watcher(followers(pool, 2, leader));
		Engine.eventually().until(() -> this.clock.waits(watcher) == Duration.ofMillis(1).toNanos());
		assertThat(events.isLeased()).isTrue();
		// The lease has ended long ago.
		pool.promotionLease(Duration.ofMillis(10));
		Engine.eventually().until(() -> holder(pool, events) == watcher);
		assertThat(leader(pool, events)).isEqualTo(watcher);
		assertThat(promotions(pool, PromotionKind.TAKEOVER)).isOne();
		// The hand-off was not late: it could not have been earlier.
		assertThat(pool.snapshot().handOffNanos()).isZero();
		assertThat(pool.snapshot().wakeUps()).isZero();
		gate.countDown();
		followers(pool, 2, watcher);
	}

	@Test
	void aLongerLeaseTakesEffectAtOnce() throws Exception {
		LeaderFollowersPool pool = pool(2, 2, 1);
		Events events = new Events(pool).known();
		Thread leader = leader(pool, events);
		Thread watcher = watcher(followers(pool, 1, leader));
		CountDownLatch gate = events.block();
		assertThat(events.fire()).isEqualTo(leader);
		this.clock.advance(LEASE.minus(NANO));
		Engine.eventually().until(() -> this.clock.waits(watcher) == 1);
		pool.promotionLease(LEASE.multipliedBy(2));
		Engine.eventually().until(() -> this.clock.waits(watcher) == LEASE.toNanos() + 1);
		this.clock.advance(LEASE);
		assertThat(events.isLeased()).isTrue();
		assertThat(this.clock.waits(watcher)).isOne();
		assertNoPromotions(pool);
		this.clock.advance(NANO);
		Engine.eventually().until(() -> holder(pool, events) == watcher);
		gate.countDown();
		followers(pool, 1, leader(pool, events));
	}

	@Test
	void theWatcherFallsAsleepAfterSoManyLeasesOfTheNewLength() throws Exception {
		LeaderFollowersPool pool = pool(2, 2, 1);
		Events events = new Events(pool).known();
		Thread leader = leader(pool, events);
		Thread watcher = watcher(followers(pool, 1, leader));
		pool.promotionLease(LEASE.multipliedBy(10));
		Engine.eventually().until(() -> this.clock.waits(watcher) == 10 * LEASE.toNanos());
		for (int i = 0; i < 8; i++) {
			this.clock.advance(LEASE.multipliedBy(10));
			Engine.eventually().until(() -> this.clock.waits(watcher) > 0);
			assertThat(this.clock.waits(watcher)).isEqualTo(10 * LEASE.toNanos());
		}
		this.clock.advance(LEASE.multipliedBy(10));
		Engine.eventually().until(() -> this.clock.waits(watcher) > LONG);
		// A change delays the watcher only for as long as one look takes.
		pool.promotionLease(LEASE.multipliedBy(20));
		pool.promotionLease(LEASE);
		Engine.eventually().until(() -> this.clock.waits(watcher) > LONG);
		assertNoPromotions(pool);
	}

	@Test
	void aLeaseOfTheOldPolicyEndsAtOnce() throws Exception {
		LeaderFollowersPool pool = pool(3, 3, 1);
		Events events = new Events(pool).known();
		Events others = new Events(pool).known();
		Thread leader = leader(pool, events);
		Thread watcher = watcher(followers(pool, 2, leader));
		CountDownLatch gate = events.block();
		assertThat(events.fire()).isEqualTo(leader);
		assertThat(events.isLeased()).isTrue();
		pool.promotionPolicy(PromotionPolicy.EAGER);
		Engine.eventually().until(() -> holder(pool, events) == watcher);
		assertThat(leader(pool, events)).isEqualTo(watcher);
		assertThat(promotions(pool, PromotionKind.TAKEOVER)).isOne();
		// The next leader promotes, however short its handler is.
		Thread follower = followers(pool, 1, leader, watcher).get(0);
		CountDownLatch other = others.block();
		assertThat(others.fire()).isEqualTo(watcher);
		assertThat(leader(pool, events)).isEqualTo(follower);
		assertThat(promotions(pool, PromotionKind.EAGER)).isOne();
		// The old leader finds that it no longer leads, and wakes no thread.
		gate.countDown();
		other.countDown();
		followers(pool, 2, follower);
		assertThat(holder(pool, events)).isEqualTo(follower);
		assertThat(pool.snapshot().wakeUps()).isOne();
	}

	@Test
	void theLastThreadKeepsItsLeaseWhenThePolicyIsChangedAndLeadsAfterwards() throws Exception {
		LeaderFollowersPool pool = pool(1, 1, 1);
		Events events = new Events(pool).known();
		Thread leader = leader(pool, events);
		CountDownLatch gate = events.block();
		assertThat(events.fire()).isEqualTo(leader);
		this.clock.advance(Duration.ofMillis(1));
		assertThat(pool.snapshot().starvedFor()).isZero();
		pool.promotionPolicy(PromotionPolicy.EAGER);
		// From now on, not from the end of the lease.
		this.clock.advance(Duration.ofMillis(7));
		assertThat(pool.snapshot().starvedFor()).isEqualTo(Duration.ofMillis(7));
		assertThat(events.isLeased()).isTrue();
		gate.countDown();
		assertThat(leader(pool, events)).isEqualTo(leader);
		assertThat(events.isLeased()).isFalse();
		assertThat(pool.snapshot().starvedFor()).isZero();
		assertNoPromotions(pool);
		// Now the leader promotes, although no follower waits: it reclaims the
		// leadership.
		assertThat(events.fire()).isEqualTo(leader);
		assertThat(leader(pool, events)).isEqualTo(leader);
		assertThat(promotions(pool, PromotionKind.RECLAIMED)).isOne();
	}

	@Test
	void aHandlerThatBeganAfterAPromotionEndsUnderTheAdaptivePolicy() throws Exception {
		LeaderFollowersPool pool = pool(2, 2, 1);
		pool.promotionPolicy(PromotionPolicy.EAGER);
		Events events = new Events(pool).known();
		Thread first = leader(pool, events);
		Thread second = followers(pool, 1, first).get(0);
		// No thread watches, since there is nothing to watch.
		Engine.eventually().until(() -> this.clock.waits(second) > LONG);
		CountDownLatch gate = events.block();
		assertThat(events.fire()).isEqualTo(first);
		assertThat(leader(pool, events)).isEqualTo(second);
		pool.promotionPolicy(PromotionPolicy.ADAPTIVE);
		gate.countDown();
		// It waits and watches.
		assertThat(watcher(followers(pool, 1, second))).isEqualTo(first);
		gate = events.block();
		assertThat(events.fire()).isEqualTo(second);
		assertThat(events.isLeased()).isTrue();
		this.clock.advance(LEASE);
		Engine.eventually().until(() -> holder(pool, events) == first);
		gate.countDown();
		followers(pool, 1, leader(pool, events));
	}

	@Test
	void aLeaderPromotesIfThoseThatWaitDoNotWatchYet() throws Exception {
		LeaderFollowersPool pool = pool(3, 3, 1);
		pool.promotionPolicy(PromotionPolicy.EAGER);
		Events events = new Events(pool).known();
		Thread leader = leader(pool, events);
		List<Thread> followers = followers(pool, 2, leader);
		pool.promotionPolicy(PromotionPolicy.ADAPTIVE);
		CountDownLatch gate = events.block();
		assertThat(events.fire()).isEqualTo(leader);
		Thread successor = leader(pool, events);
		assertThat(followers).contains(successor);
		assertThat(promotions(pool, PromotionKind.EAGER)).isOne();
		gate.countDown();
		assertThat(watcher(followers(pool, 2, successor))).isEqualTo(leader);
	}

	@ParameterizedTest(name = "the lease has run out: {0}")
	@ValueSource(booleans = { false, true })
	void aHigherMaximumBringsAWatcherToALeaseThatNobodyWatches(boolean late) throws Exception {
		LeaderFollowersPool pool = pool(1, 1, 1);
		Events events = new Events(pool).known();
		Thread leader = leader(pool, events);
		CountDownLatch gate = events.block();
		assertThat(events.fire()).isEqualTo(leader);
		this.clock.advance(late ? LEASE.multipliedBy(3) : LEASE.minus(NANO));
		assertThat(pool.snapshot().starvedFor()).isEqualTo(late ? LEASE.multipliedBy(2) : Duration.ZERO);
		pool.resize(1, 2);
		if (!late) {
			Thread watcher = watcher(followers(pool, 1, leader));
			Engine.eventually().until(() -> this.clock.waits(watcher) == 1);
			assertThat(events.isLeased()).isTrue();
			this.clock.advance(NANO);
		}
		Engine.eventually().until(() -> !leader.equals(holder(pool, events)));
		leader(pool, events);
		assertThat(promotions(pool, PromotionKind.TAKEOVER)).isOne();
		assertThat(pool.snapshot().starvedFor()).isZero();
		assertThat(pool.snapshot().leaderlessNanos()).isEqualTo(late ? LEASE.multipliedBy(2).toNanos() : 0);
		assertThat(pool.snapshot().handOffNanos()).isEqualTo(late ? LEASE.multipliedBy(2).toNanos() : 0);
		gate.countDown();
		followers(pool, 1, leader(pool, events));
	}

	@Test
	void aResizeThatDoesNotHelpLeavesThePoolStarvedSinceItWas() throws Exception {
		LeaderFollowersPool pool = pool(1, 2, 1);
		Events events = new Events(pool);
		Events others = new Events(pool);
		CountDownLatch gate = events.block();
		CountDownLatch otherGate = others.block();
		events.fire();
		leader(pool, events);
		others.fire();
		Engine.eventually().until(() -> events.handle.handleSet().leadership.isVacant());
		// The time is noted after the vacancy.
		Engine.eventually().until(() -> {
			this.clock.advance(NANO);
			return !pool.snapshot().starvedFor().isZero();
		});
		Duration before = pool.snapshot().starvedFor();
		this.clock.advance(Duration.ofSeconds(3));
		pool.resize(1, 1);
		pool.promotionLease(LEASE.multipliedBy(2));
		assertThat(pool.snapshot().starvedFor()).isEqualTo(before.plusSeconds(3));
		gate.countDown();
		leader(pool, events);
		assertThat(pool.snapshot().starvedFor()).isZero();
		// The thread that returns leads; the other one is surplus.
		assertThat(pool.snapshot().threads()).hasSize(2);
		otherGate.countDown();
		Engine.eventually().until(() -> pool.snapshot().threads().size() == 1);
	}

	@Test
	void aSurplusWatcherStaysAsLongAsItIsTheLastThatCouldLead() throws Exception {
		LeaderFollowersPool pool = pool(2, 2, 1);
		Events events = new Events(pool).known();
		Thread leader = leader(pool, events);
		Thread watcher = watcher(followers(pool, 1, leader));
		CountDownLatch gate = events.block();
		assertThat(events.fire()).isEqualTo(leader);
		pool.resize(1, 1);
		Engine.eventually().until(() -> this.clock.waits(watcher) > 0);
		assertThat(pool.snapshot().threads()).hasSize(2);
		this.clock.advance(LEASE);
		Engine.eventually().until(() -> holder(pool, events) == watcher);
		assertThat(leader(pool, events)).isEqualTo(watcher);
		assertThat(pool.snapshot().threads()).hasSize(2);
		gate.countDown();
		Engine.eventually().until(() -> pool.snapshot().threads().size() == 1);
		assertThat(leader(pool, events)).isEqualTo(watcher);
	}

	@Test
	void aSurplusWatcherEndsWhenTheHandlerHasReturnedHoweverLongTheLeaseIs() throws Exception {
		LeaderFollowersPool pool = pool(2, 2, 1);
		Events events = new Events(pool).known();
		Thread leader = leader(pool, events);
		Thread watcher = watcher(followers(pool, 1, leader));
		pool.promotionLease(Duration.ofMinutes(1));
		CountDownLatch gate = events.block();
		assertThat(events.fire()).isEqualTo(leader);
		pool.resize(1, 1);
		Engine.eventually().until(() -> looksSoon(watcher));
		this.clock.advance(Duration.ofMillis(1));
		Engine.eventually().until(() -> looksSoon(watcher));
		assertThat(events.isLeased()).isTrue();
		gate.countDown();
		assertThat(leader(pool, events)).isEqualTo(leader);
		this.clock.advance(Duration.ofMillis(1));
		Engine.eventually().until(() -> pool.snapshot().threads().size() == 1);
		assertThat(leader(pool, events)).isEqualTo(leader);
		assertNoPromotions(pool);
	}

	@Test
	void followersEndAtOnceAndTheSleepingWatcherToo() throws Exception {
		LeaderFollowersPool pool = pool(5, 5, 2);
		Events events = new Events(pool).known();
		Events others = new Events(pool).known();
		Thread leader = leader(pool, events);
		Thread other = leader(pool, others);
		Thread watcher = watcher(followers(pool, 3, leader, other));
		// A thread that has waited before there was a second vacancy was promoted to it.
		PoolSnapshot before = pool.snapshot();
		for (int i = 0; i < 9; i++) {
			this.clock.advance(LEASE);
			Engine.eventually().until(() -> this.clock.waits(watcher) > 0);
		}
		Engine.eventually().until(() -> this.clock.waits(watcher) > LONG);
		pool.resize(2, 2);
		Engine.eventually().until(() -> pool.snapshot().threads().size() == 2);
		assertThat(leader(pool, events)).isEqualTo(leader);
		assertThat(leader(pool, others)).isEqualTo(other);
		assertThat(pool.snapshot().promotions()).isEqualTo(before.promotions());
		assertThat(pool.snapshot().wakeUps()).isEqualTo(before.wakeUps());
	}

	@Test
	void threadsAboveALowerMinimumWaitForTheKeepAliveTime() throws Exception {
		LeaderFollowersPool pool = pool(2, 4, 1);
		pool.start();
		pool.resize(4, 4);
		Events events = new Events(pool).known();
		Thread leader = leader(pool, events);
		followers(pool, 3, leader);
		pool.resize(1, 4);
		this.clock.advance(Duration.ofSeconds(59));
		assertThat(pool.snapshot().threads()).hasSize(4);
		Engine.eventually().until(() -> {
			this.clock.advance(Duration.ofSeconds(1));
			return pool.snapshot().threads().size() == 1;
		});
		assertThat(leader(pool, events)).isEqualTo(leader);
	}

	/**
	 * Event sources that are all ready when their leader looks next.
	 * @param busy the threads that run handlers, and neither lead nor wait
	 */
	private List<Events> readyAtOnce(LeaderFollowersPool pool, int count, long nanos, Thread... busy) throws Exception {
		Events first = new Events(pool).known();
		List<Events> ready = new ArrayList<>();
		for (int i = 0; i < count; i++) {
			ready.add(new Events(pool).known(nanos));
		}
		List<Thread> others = new ArrayList<>(List.of(busy));
		others.add(leader(pool, first));
		// A thread that does not wait yet would take a ready handle without being woken.
		followers(pool, pool.snapshot().minThreads() - others.size(), others.toArray(new Thread[0]));
		CountDownLatch gate = first.block();
		first.fire();
		for (Events events : ready) {
			events.block();
			events.source.fire();
		}
		gate.countDown();
		return ready;
	}

	private static List<Events> running(List<Events> all) {
		return all.stream().filter((events) -> !events.running.isEmpty()).toList();
	}

	private static PoolSnapshot.SharingSnapshot sharing(LeaderFollowersPool pool) {
		return pool.snapshot().handleSets().get(0).sharing();
	}

	@Test
	void aLeaderForWhichTooMuchWorkWaitsIsRelieved() throws Exception {
		LeaderFollowersPool pool = pool(3, 3, 1);
		List<Events> ready = readyAtOnce(pool, 4, 50_000);
		Engine.eventually().until(() -> running(ready).size() == 2);
		List<Thread> threads = running(ready).stream().map((events) -> events.running.peek()).toList();
		assertThat(threads).doesNotHaveDuplicates().contains(holder(pool, ready.get(0)));
		// Counted after the thread was woken.
		Engine.eventually().until(() -> sharing(pool).latest() != null);
		PoolSnapshot.SharingSnapshot sharing = sharing(pool);
		assertThat(sharing.threads()).isOne();
		// The thread was a follower, and has not led.
		assertThat(pool.snapshot().count(ThreadRole.PROCESSING)).isOne();
		assertThat(pool.snapshot().runningHandlers()).singleElement()
			.satisfies((handler) -> assertThat(handler.threads()).isEqualTo(2));
		assertThat(sharing.events()).isOne();
		assertThat(sharing.reliefs()).isOne();
		assertThat(sharing.latest()).isNotNull();
		assertThat(sharing.latest().ready()).isEqualTo(3);
		assertThat(sharing.latest().work()).isBetween(Duration.ofNanos(140_000), Duration.ofNanos(160_000));
		assertThat(sharing.latest().reason()).startsWith("3 handles were ready, about 15");
		// No third thread: there are only two processors.
		assertThat(pool.snapshot().handleSets().get(0).ready()).isEqualTo(2);
		// Both take the remaining handles; afterwards there is one leader, and the others
		// are followers.
		ready.forEach((events) -> events.gate.countDown());
		Engine.eventually().until(() -> running(ready).size() == 4);
		followers(pool, 2, leader(pool, ready.get(0)));
		assertThat(sharing(pool).threads()).isZero();
		Duration since = sinceRelief(pool.snapshot());
		this.clock.advance(LEASE);
		assertThat(sinceRelief(pool.snapshot())).isEqualTo(since.plus(LEASE));
	}

	private static Duration sinceRelief(PoolSnapshot snapshot) {
		return Duration.between(snapshot.handleSets().get(0).sharing().latest().time(), snapshot.time());
	}

	@Test
	void aHandleThatBlocksInAThreadThatSharesHoldsUpNoOther() throws Exception {
		LeaderFollowersPool pool = pool(2, 2, 1);
		List<Events> ready = readyAtOnce(pool, 4, 50_000);
		Engine.eventually().until(() -> running(ready).size() == 2);
		Thread leader = holder(pool, ready.get(0));
		Events led = running(ready).stream()
			.filter((events) -> events.running.peek() == leader)
			.findFirst()
			.orElseThrow();
		// Before any gate is opened: then the leader begins with the next one.
		List<Events> others = ready.stream().filter((events) -> events.running.isEmpty()).toList();
		led.gate.countDown();
		others.forEach((events) -> events.gate.countDown());
		Engine.eventually().until(() -> running(ready).size() == 4);
		assertThat(ready.stream().filter((events) -> events.running.peek() == leader)).hasSize(3);
		assertThat(sharing(pool).threads()).isOne();
		ready.forEach((events) -> events.gate.countDown());
	}

	@Test
	void aThreadThatReturnsTooLateLeavesTheReadyHandlesToTheLeader() throws Exception {
		LeaderFollowersPool pool = pool(3, 3, 1, 1);
		Events late = new Events(pool).known();
		Events others = new Events(pool).known();
		Thread former = leader(pool, late);
		Thread successor = watcher(followers(pool, 2, former));
		CountDownLatch gate = late.block();
		assertThat(late.fire()).isEqualTo(former);
		this.clock.advance(LEASE);
		assertThat(leader(pool, late)).isEqualTo(successor);
		// Makes the third thread lead or watch.
		assertThat(others.fire()).isEqualTo(successor);
		Thread leader = leader(pool, others);
		watcher(followers(pool, 1, former, leader));
		List<Events> ready = readyAtOnce(pool, 2, 0, former);
		Engine.eventually().until(() -> running(ready).size() == 1);
		// There is only one processor, and the leader uses it.
		gate.countDown();
		assertThat(followers(pool, 2, leader)).contains(former);
		assertThat(running(ready)).singleElement()
			.satisfies((begun) -> assertThat(begun.running.peek()).isEqualTo(leader));
		assertThat(pool.snapshot().handleSets().get(0).ready()).isOne();
		this.clock.advance(LEASE);
		Engine.eventually().until(() -> running(ready).size() == 2);
		assertThat(promotions(pool, PromotionKind.TAKEOVER)).isEqualTo(2);
		assertThat(sharing(pool).events()).isZero();
		ready.forEach((events) -> events.gate.countDown());
	}

	@Test
	void aThreadThatIsKnownToBlockLeavesItsProcessorToAnother() throws Exception {
		LeaderFollowersPool pool = pool(4, 4, 1);
		Events blocking = new Events(pool);
		leader(pool, blocking);
		CountDownLatch gate = blocking.block();
		Thread blocked = blocking.fire();
		List<Events> ready = readyAtOnce(pool, 4, 50_000, blocked);
		Engine.eventually().until(() -> running(ready).size() == 2);
		assertThat(ready).noneMatch((events) -> events.running.peek() == blocked);
		gate.countDown();
		ready.forEach((events) -> events.gate.countDown());
	}

	@Test
	void aLeaderForWhichLittleWorkWaitsIsNotRelieved() throws Exception {
		LeaderFollowersPool pool = pool(2, 2, 1);
		assertNotRelieved(pool, readyAtOnce(pool, 4, 3_000));
		assertNoPromotions(pool);
	}

	@Test
	void aLeaderIsRelievedOnlyIfThereIsAProcessorToSpare() throws Exception {
		Told told = new Told();
		LeaderFollowersPool pool = this.engine.pool(builder(2, 2, 1, 2).processorTime(told));
		Events events = new Events(pool).known();
		measure(pool, events);
		measure(pool, events);
		assertNotRelieved(pool, readyAtOnce(pool, 4, 50_000));
		told.idle = true;
		measure(pool, events);
		measure(pool, events);
		List<Events> ready = readyAtOnce(pool, 4, 50_000);
		Engine.eventually().until(() -> running(ready).size() == 2);
		// Counted after the thread was woken.
		Engine.eventually().until(() -> sharing(pool).reliefs() == 1);
		ready.forEach((one) -> one.gate.countDown());
	}

	/** Measures as soon as it is time, before the leader waits again. */
	private void measure(LeaderFollowersPool pool, Events events) throws Exception {
		this.clock.advance(Duration.ofMillis(100));
		leader(pool, events);
		events.fire();
		followers(pool, 1, leader(pool, events));
	}

	@Test
	void aPoolWithAParallelismOfOneRelievesNoLeader() throws Exception {
		LeaderFollowersPool pool = pool(2, 2, 1, 1);
		assertNotRelieved(pool, readyAtOnce(pool, 4, 50_000));
		assertNoPromotions(pool);
	}

	private void assertNotRelieved(LeaderFollowersPool pool, List<Events> ready) throws Exception {
		for (int i = 1; i <= ready.size(); i++) {
			int begun = i;
			Engine.eventually().until(() -> running(ready).size() == begun);
			followers(pool, 1, holder(pool, ready.get(0)));
			assertThat(running(ready)).hasSize(begun);
			running(ready).forEach((events) -> events.gate.countDown());
		}
		assertThat(sharing(pool).reliefs()).isZero();
	}

	/**
	 * Moves the clock whenever the free thread waits for it, which it does for moments
	 * only.
	 */
	private void goRoundUntil(Events events) {
		Engine.eventually().until(() -> {
			this.clock.advance(Duration.ofMillis(1));
			return !events.running.isEmpty();
		});
	}

}
