package org.leaderfollowers;

import java.time.Duration;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;

import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.leaderfollowers.PoolAlarm.Kind;
import org.leaderfollowers.internal.promotion.HandledWork;

import static org.assertj.core.api.Assertions.assertThat;

/** Tests single looks of a {@link PoolWatchdog}, on a clock that the test moves. */
@Timeout(180)
class PoolWatchdogLookTests {

	private static final Duration SECOND = Duration.ofSeconds(1);

	@RegisterExtension
	final Engine engine = new Engine();

	private final TestClock clock = new TestClock();

	/**
	 * What the listener was told about handlers. An idle leader may seem to be stuck,
	 * because the clock runs faster than a leader that was woken.
	 */
	private final Queue<Kind> told = new ConcurrentLinkedQueue<>();

	private final Deadlock deadlock = new Deadlock();

	private LeaderFollowersPool pool(int threads, Duration stuckAfter, Duration slowAfter) {
		return this.engine.pool(builder(threads).clock(this.clock).stuckAfter(stuckAfter).slowHandlerAfter(slowAfter));
	}

	private LeaderFollowersPool.Builder builder(int threads) {
		return LeaderFollowersPool.builder().threads(threads, threads).handleSets(1).listener(new PoolListener() {

			@Override
			public void handedOff(PromotionKind kind, long vacancyNanos) {
			}

			@Override
			public void alarmed(PoolAlarm alarm) {
				if (alarm.kind() != Kind.LEADER_STUCK) {
					PoolWatchdogLookTests.this.told.add(alarm.kind());
				}
			}

		});
	}

	/** Work that is not done, but that a thread is said to do. */
	private static class Pretended implements HandledWork.Source {

		@Override
		public HandledWork work() {
			return HandledWork.ofConnections("orders", "shop");
		}

		@Override
		public long workNumber() {
			return 1;
		}

		@Override
		public void uncork() {
		}

	}

	/** A thread of a pool that has nothing to do. */
	private static Participant idle(LeaderFollowersPool pool, ThreadRole role) {
		Engine.awaitIdle(pool);
		return pool.living()
			.stream()
			.filter((member) -> member.role().name().equals(role.name()))
			.findFirst()
			.orElseThrow();
	}

	/** Makes two of the threads block each other. */
	private void beginDeadlock(LeaderFollowersPool pool) {
		TcpServer server = this.engine.lines(pool, (connection, message) -> this.deadlock.enter(message));
		this.engine.connect(server).send("1\n");
		this.engine.connect(server).send("2\n");
		this.deadlock.await();
	}

	@AfterEach
	void resolve() {
		this.deadlock.resolve();
	}

	@Test
	void deadlockMustLastForTheTime() {
		LeaderFollowersPool pool = pool(3, SECOND, Duration.ZERO);
		beginDeadlock(pool);
		pool.watchdog.look();
		this.clock.advance(SECOND.minusNanos(1));
		pool.watchdog.look();
		assertThat(pool.snapshot().alarms()).isEmpty();
		this.clock.advance(Duration.ofNanos(1));
		pool.watchdog.look();
		assertThat(pool.snapshot().alarms()).hasSize(2);
	}

	@Test
	void withoutATimeForLeadersNoDeadlockIsSought() {
		LeaderFollowersPool pool = pool(3, Duration.ZERO, Duration.ZERO);
		beginDeadlock(pool);
		for (int i = 0; i < 4; i++) {
			pool.watchdog.look();
			this.clock.advance(SECOND);
		}
		assertThat(pool.snapshot().alarms()).isEmpty();
	}

	/** The thread of the test is the last one that is looked at, and it is running. */
	@Test
	void deadlockIsFoundAlthoughOtherHandlersAreBusy() {
		LeaderFollowersPool pool = pool(3, SECOND, Duration.ZERO);
		beginDeadlock(pool);
		Participant me = pool.threads.join(Thread.currentThread());
		me.worksOn(new Pretended());
		pool.watchdog.look();
		this.clock.advance(SECOND);
		pool.watchdog.look();
		assertThat(pool.snapshot().alarms()).hasSize(2);
		me.worksOn(null);
		pool.threads.leave(me);
	}

	@Test
	void slowHandlerThatIsDeadlockedIsToldAgain() {
		LeaderFollowersPool pool = pool(3, SECOND.multipliedBy(10), SECOND);
		beginDeadlock(pool);
		for (int i = 0; i < 12; i++) {
			pool.watchdog.look();
			this.clock.advance(SECOND);
		}
		Engine.eventually().until(() -> this.told.size() == 4);
		assertThat(this.told).containsExactly(Kind.HANDLER_SLOW, Kind.HANDLER_SLOW, Kind.HANDLER_DEADLOCKED,
				Kind.HANDLER_DEADLOCKED);
	}

	@Test
	void eventsThatBeganAtTheSameTimeAreNotOneSlowHandler() {
		LeaderFollowersPool pool = pool(2, SECOND, SECOND.multipliedBy(60));
		pool.start();
		Participant follower = idle(pool, ThreadRole.FOLLOWER);
		for (int i = 0; i < 3; i++) {
			follower.worksOn(new Pretended());
			pool.watchdog.look();
			this.clock.advance(SECOND.multipliedBy(40));
		}
		assertThat(this.told).isEmpty();
		follower.worksOn(null);
	}

	@Test
	void leaderThatIsStuckRunsNoSlowHandler() {
		AtomicBoolean blocks = new AtomicBoolean();
		CountDownLatch gate = this.engine.gate();
		AtomicInteger inside = new AtomicInteger();
		LeaderFollowersPool pool = this.engine.pool(builder(1).clock(this.clock)
			.stuckAfter(SECOND)
			.slowHandlerAfter(SECOND)
			.selectorProvider(new FaultySelectors(() -> {
				if (blocks.get()) {
					inside.incrementAndGet();
					Engine.pass(gate);
				}
			}, () -> {
			})));
		pool.start();
		Participant leader = idle(pool, ThreadRole.LEADER);
		// A leader that begins to wait after the first look is not stuck since then.
		Engine.awaitSelecting(leader.thread());
		blocks.set(true);
		pool.watchdog.look();
		this.clock.advance(SECOND);
		pool.watchdog.look();
		Engine.eventually().until(() -> inside.get() == 1);
		pool.watchdog.look();
		pool.watchdog.look();
		leader.worksOn(new Pretended());
		pool.watchdog.look();
		this.clock.advance(SECOND);
		pool.watchdog.look();
		assertThat(pool.snapshot().alarms()).singleElement()
			.satisfies((alarm) -> assertThat(alarm.kind()).isEqualTo(Kind.LEADER_STUCK));
		assertThat(this.told).isEmpty();
		leader.worksOn(null);
		blocks.set(false);
	}

	@Test
	void clockOfATestHasNoWatchdog() {
		LeaderFollowersPool pool = pool(1, SECOND, SECOND);
		pool.start();
		assertThat(Thread.getAllStackTraces().keySet())
			.noneMatch((thread) -> thread.getName().equals("lf-watchdog-" + pool.name()));
	}

	@Test
	void lookThatFailsIsNotTheLastOne() {
		LeaderFollowersPool pool = this.engine.pool(builder(2).stuckAfter(SECOND).slowHandlerAfter(SECOND));
		pool.start();
		Participant follower = idle(pool, ThreadRole.FOLLOWER);
		AtomicInteger failures = new AtomicInteger();
		follower.worksOn(new Pretended() {

			@Override
			public HandledWork work() {
				if (failures.incrementAndGet() <= 2) {
					throw new OutOfMemoryError("made for the test");
				}
				return super.work();
			}

		});
		Engine.eventually().until(() -> this.told.contains(Kind.HANDLER_SLOW));
		assertThat(failures).hasValueGreaterThan(2);
		follower.worksOn(null);
	}

}
