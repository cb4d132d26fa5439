package org.leaderfollowers;

import java.io.IOException;
import java.time.Duration;
import java.util.List;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Semaphore;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import java.util.concurrent.locks.ReentrantLock;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.leaderfollowers.PoolAlarm.Kind;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

/** Tests for {@link PoolWatchdog}, with real faults. */
@Timeout(180)
class PoolWatchdogTests {

	private static final Duration SECOND = Duration.ofSeconds(1);

	@RegisterExtension
	final Engine engine = new Engine();

	private final Queue<PoolAlarm> told = new ConcurrentLinkedQueue<>();

	private final Deadlock deadlock = new Deadlock();

	private final PoolListener listener = new PoolListener() {

		@Override
		public void handedOff(PromotionKind kind, long vacancyNanos) {
		}

		@Override
		public void alarmed(PoolAlarm alarm) {
			PoolWatchdogTests.this.told.add(alarm);
		}

	};

	private LeaderFollowersPool.Builder builder(int min, int max) {
		return LeaderFollowersPool.builder().threads(min, max).handleSets(1).listener(this.listener);
	}

	@Test
	void leaderThatIsBlockedInTheSelectorIsAlarming() {
		AtomicBoolean blocks = new AtomicBoolean();
		CountDownLatch gate = this.engine.gate();
		AtomicInteger inside = new AtomicInteger();
		LeaderFollowersPool pool = this.engine.pool(builder(2, 2).stuckAfter(SECOND)
			.selectorProvider(new FaultySelectors(() -> block(blocks, inside, gate), () -> {
			})));
		TcpServer server = this.engine.lines(pool, Connection::send);
		Peer peer = this.engine.connect(server);
		assertThat(peer.send("x\n").readLine()).isEqualTo("x");
		blocks.set(true);
		peer.send("x\n");
		Engine.eventually().until(() -> inside.get() == 1);
		Engine.eventually().until(() -> !pool.snapshot().alarms().isEmpty());
		assertThat(pool.snapshot().alarms()).singleElement().satisfies((alarm) -> {
			assertThat(alarm.kind()).isEqualTo(Kind.LEADER_STUCK);
			assertThat(alarm.thread()).startsWith("lf-" + pool.name() + "-");
			assertThat(alarm.handleSet()).isEqualTo(pool.snapshot().handleSets().get(0).name());
			assertThat(alarm.duration()).isGreaterThanOrEqualTo(SECOND);
			assertThat(alarm.stack()).anySatisfy((frame) -> assertThat(frame.getMethodName()).startsWith("select"));
		});
		Engine.eventually().until(() -> this.told.size() == 1);
		assertThat(this.engine.log()).filteredOn((line) -> line.contains("neither returned from waiting"))
			.singleElement()
			.asString()
			.startsWith("WARN Thread 'lf-" + pool.name())
			.contains("The connections of this handle set are not served")
			.contains("org.leaderfollowers.HandleSet.await");
		blocks.set(false);
		gate.countDown();
		Engine.eventually().until(() -> pool.snapshot().alarms().isEmpty());
		assertThat(this.engine.log()).anyMatch((line) -> line.endsWith("is served again"));
		assertThat(peer.readLine()).isEqualTo("x");
	}

	@Test
	void idleLeaderThatCanNoLongerReturnIsNoticed() {
		ReentrantLock lock = new ReentrantLock();
		lock.lock();
		AtomicBoolean blocks = new AtomicBoolean();
		LeaderFollowersPool pool = this.engine
			.pool(builder(1, 1).stuckAfter(SECOND).selectorProvider(new FaultySelectors(() -> {
				if (blocks.get()) {
					lock.lock();
					lock.unlock();
				}
			}, () -> {
			})));
		pool.start();
		Engine.awaitIdle(pool);
		blocks.set(true);
		// Nothing happens: the watchdog itself makes the leader return from its wait.
		Engine.eventually().until(() -> this.told.size() == 1);
		assertThat(this.told.peek().kind()).isEqualTo(Kind.LEADER_STUCK);
		blocks.set(false);
		lock.unlock();
		Engine.eventually().until(() -> pool.snapshot().alarms().isEmpty());
	}

	private static void block(AtomicBoolean blocks, AtomicInteger inside, CountDownLatch gate) {
		if (blocks.get()) {
			inside.incrementAndGet();
			Engine.pass(gate);
		}
	}

	@Test
	void leaderThatWaitsForLongIsNot() throws IOException {
		TestClock clock = new TestClock();
		ScriptedSelectors selectors = new ScriptedSelectors(clock);
		LeaderFollowersPool pool = this.engine.pool(builder(1, 1).clock(clock).selectorProvider(selectors));
		pool.start();
		Engine.eventually().until(() -> pool.snapshot().count(ThreadRole.LEADER) == 1);
		Thread leader = pool.living().get(0).thread();
		Engine.eventually().until(() -> selectors.isWaitedOn(0, leader));
		HandleSet set = pool.handleSets().iterator().next();
		for (int i = 0; i < 60; i++) {
			// Only while the leader waits: it reads the time before and after a wait.
			clock.advance(SECOND);
			long returned = set.nowNanos();
			pool.watchdog.look();
			if (clock.nanoTime() - returned >= Duration.ofSeconds(6).toNanos()) {
				// The watchdog has woken the leader.
				Engine.eventually().until(() -> set.nowNanos() != returned && selectors.isWaitedOn(0, leader));
			}
		}
		assertThat(pool.snapshot().alarms()).isEmpty();
		assertThat(this.told).isEmpty();
	}

	/** As if the process had been stopped: a time that is over is not enough. */
	@Test
	void leaderGetsAFewLooksToComeBack() throws Exception {
		TestClock clock = new TestClock();
		AtomicBoolean blocks = new AtomicBoolean();
		CountDownLatch gate = this.engine.gate();
		AtomicInteger inside = new AtomicInteger();
		AtomicBoolean waits = new AtomicBoolean();
		LeaderFollowersPool pool = this.engine
			.pool(builder(1, 1).clock(clock).selectorProvider(new FaultySelectors(() -> {
				waits.set(false);
				block(blocks, inside, gate);
			}, () -> {
			}).whileWaiting(() -> waits.set(true))));
		pool.start();
		// A leader that has not begun to wait would read the time after it was moved.
		Engine.eventually().until(waits::get);
		blocks.set(true);
		pool.watchdog.look();
		clock.advance(Duration.ofHours(1));
		pool.watchdog.look();
		Engine.eventually().until(() -> inside.get() == 1);
		pool.watchdog.look();
		pool.watchdog.look();
		assertThat(pool.snapshot().alarms()).isEmpty();
		pool.watchdog.look();
		assertThat(pool.snapshot().alarms()).hasSize(1);
		blocks.set(false);
		gate.countDown();
		Engine.eventually().untilAsserted(() -> {
			pool.watchdog.look();
			assertThat(pool.snapshot().alarms()).isEmpty();
		});
		HandleSet set = pool.handleSets().iterator().next();
		long returned = set.nowNanos();
		clock.advance(SECOND);
		Engine.eventually().until(() -> {
			// A leader that has not begun to wait misses it.
			set.wakeLeader();
			return set.nowNanos() != returned;
		});
		pool.watchdog.look();
		assertThat(this.told).hasSize(1);
		assertThat(this.engine.log()).filteredOn((line) -> line.endsWith("is served again")).hasSize(1);
	}

	/** Otherwise it would be alarming for ever. */
	@Test
	void leaderThatWaitsLaterThanItWasWokenComesBack() {
		CountDownLatch gate = this.engine.gate();
		AtomicInteger calls = new AtomicInteger();
		AtomicInteger blocked = new AtomicInteger();
		AtomicInteger inside = new AtomicInteger();
		AtomicInteger waits = new AtomicInteger();
		AtomicInteger callsPerWait = new AtomicInteger();
		TestClock clock = new TestClock() {

			@Override
			public long nanoTime() {
				long read = super.nanoTime();
				if (Thread.currentThread().getName().endsWith("-1") && calls.incrementAndGet() == blocked.get()) {
					inside.incrementAndGet();
					Engine.pass(gate);
				}
				return read;
			}

		};
		LeaderFollowersPool pool = this.engine
			.pool(builder(1, 1).clock(clock).stuckAfter(SECOND).selectorProvider(new FaultySelectors(() -> {
			}, () -> {
			}).whileWaiting(() -> {
				callsPerWait.set(calls.getAndSet(0));
				waits.incrementAndGet();
			})));
		pool.start();
		HandleSet set = pool.handleSets().iterator().next();
		Engine.eventually().until(() -> waits.get() == 1);
		set.wakeLeader();
		Engine.eventually().until(() -> waits.get() == 2);
		// It has read the time, and does not wait yet.
		blocked.set(callsPerWait.get());
		set.wakeLeader();
		Engine.eventually().until(() -> inside.get() == 1);
		pool.watchdog.look();
		clock.advance(SECOND);
		pool.watchdog.look();
		gate.countDown();
		Engine.eventually().until(() -> waits.get() == 3);
		for (int i = 0; i < 5; i++) {
			pool.watchdog.look();
		}
		Engine.eventually().untilAsserted(() -> {
			pool.watchdog.look();
			assertThat(pool.snapshot().alarms()).isEmpty();
		});
	}

	@Test
	void setWithoutALeaderHasNoneThatIsStuck() {
		TestClock clock = new TestClock();
		CountDownLatch gate = this.engine.gate();
		AtomicInteger inside = new AtomicInteger();
		LeaderFollowersPool pool = this.engine
			.pool(builder(1, 1).clock(clock).stuckAfter(SECOND).slowHandlerAfter(Duration.ZERO));
		TcpServer server = this.engine.lines(pool, (connection, message) -> {
			inside.incrementAndGet();
			Engine.pass(gate);
		});
		this.engine.connect(server).send("x\n");
		Engine.eventually().until(() -> inside.get() == 1);
		for (int i = 0; i < 6; i++) {
			pool.watchdog.look();
			clock.advance(SECOND);
		}
		assertThat(pool.snapshot().alarms()).isEmpty();
		gate.countDown();
	}

	@Test
	void withoutATimeForLeadersNoneIsStuck() {
		TestClock clock = new TestClock();
		LeaderFollowersPool pool = this.engine.pool(builder(1, 1).clock(clock).stuckAfter(Duration.ZERO));
		pool.start();
		Engine.awaitIdle(pool);
		for (int i = 0; i < 6; i++) {
			pool.watchdog.look();
		}
		assertThat(pool.snapshot().alarms()).isEmpty();
	}

	private static void interruptThoseWithAlarms(LeaderFollowersPool pool) {
		List<String> names = pool.snapshot().alarms().stream().map(PoolAlarm::thread).toList();
		pool.living()
			.stream()
			.map(Participant::thread)
			.filter((thread) -> names.contains(thread.getName()))
			.forEach(Thread::interrupt);
	}

	@Test
	void handlersThatAreDeadlockedAreAlarming() {
		LeaderFollowersPool pool = this.engine.pool(builder(3, 3).stuckAfter(SECOND));
		TcpServer server = this.engine.lines(pool, (connection, message) -> this.deadlock.enter(message));
		this.engine.connect(server).send("1\n");
		this.engine.connect(server).send("2\n");
		Engine.eventually().until(() -> pool.snapshot().alarms().size() == 2);
		assertThat(pool.snapshot().alarms()).allSatisfy((alarm) -> {
			assertThat(alarm.kind()).isEqualTo(Kind.HANDLER_DEADLOCKED);
			assertThat(alarm.server()).isEqualTo("default");
			assertThat(alarm.handle()).startsWith("Connection ");
			assertThat(alarm.handler()).startsWith(getClass().getName());
			assertThat(alarm.stack()).anySatisfy((frame) -> assertThat(frame.getMethodName()).startsWith("lambda"));
		});
		Engine.eventually().until(() -> this.told.size() == 2);
		assertThat(this.engine.log()).filteredOn((line) -> line.contains("is deadlocked. It has run handler"))
			.singleElement()
			.asString()
			.contains("restart the process", "org.leaderfollowers.PoolWatchdogTests.lambda");
		interruptThoseWithAlarms(pool);
		Engine.eventually().until(() -> pool.snapshot().alarms().isEmpty());
	}

	@Test
	void threadThatWasDeadlockedIsNotAlarmingAfterwards() {
		TestClock clock = new TestClock();
		CountDownLatch gate = this.engine.gate();
		AtomicInteger inside = new AtomicInteger();
		LeaderFollowersPool pool = this.engine
			.pool(builder(2, 2).clock(clock).stuckAfter(SECOND).slowHandlerAfter(Duration.ZERO));
		TcpServer server = this.engine.lines(pool, (connection, message) -> {
			inside.incrementAndGet();
			if (Engine.text(message).equals("block")) {
				Engine.pass(gate);
			}
			else {
				this.deadlock.enter(message);
			}
		});
		this.engine.connect(server).send("1\n");
		this.engine.connect(server).send("2\n");
		Engine.eventually().until(() -> {
			pool.watchdog.look();
			clock.advance(SECOND);
			return pool.snapshot().alarms().size() == 2;
		});
		interruptThoseWithAlarms(pool);
		Engine.awaitIdle(pool);
		pool.watchdog.look();
		this.engine.connect(server).send("block\n");
		this.engine.connect(server).send("block\n");
		Engine.eventually().until(() -> inside.get() == 4);
		pool.watchdog.look();
		assertThat(pool.snapshot().alarms()).isEmpty();
		gate.countDown();
	}

	@Test
	void handlerThatTakesLongIsNamedOnce() throws Exception {
		TestClock clock = new TestClock();
		CountDownLatch gate = this.engine.gate();
		AtomicInteger inside = new AtomicInteger();
		LeaderFollowersPool pool = this.engine
			.pool(builder(2, 2).clock(clock).slowHandlerAfter(Duration.ofSeconds(60)));
		TcpServer server = this.engine.start(TcpServer.builder(pool)
			.name("orders")
			.framing(Framing.line())
			.handlerName("shop")
			.handler((connection, message) -> {
				inside.incrementAndGet();
				Engine.pass(gate);
			}));
		this.engine.connect(server).send("x\n");
		Engine.eventually().until(() -> inside.get() == 1);
		pool.watchdog.look();
		clock.advance(Duration.ofSeconds(59));
		pool.watchdog.look();
		assertThat(pool.snapshot().alarms()).isEmpty();
		clock.advance(SECOND);
		pool.watchdog.look();
		assertThat(pool.snapshot().alarms()).hasSize(1);
		clock.advance(SECOND);
		pool.watchdog.look();
		assertThat(pool.snapshot().alarms()).singleElement().satisfies((alarm) -> {
			assertThat(alarm.kind()).isEqualTo(Kind.HANDLER_SLOW);
			assertThat(alarm.description())
				.endsWith("has run handler 'shop' on Connection 1 of server 'orders' for 61.0 s");
		});
		assertThat(this.told).hasSize(1);
		gate.countDown();
		Engine.eventually().untilAsserted(() -> {
			pool.watchdog.look();
			assertThat(pool.snapshot().alarms()).isEmpty();
		});
	}

	/**
	 * A server whose handlers wait until the test lets them go on, one after the other.
	 */
	private TcpServer stepping(LeaderFollowersPool pool, Semaphore inside, Semaphore steps) {
		CountDownLatch end = this.engine.gate();
		return this.engine.lines(pool, (connection, message) -> {
			inside.release();
			Engine.eventually().until(() -> steps.tryAcquire() || end.getCount() == 0);
			connection.send(message);
		});
	}

	@Test
	void handlersOfOneConnectionAreNotOneSlowHandler() throws Exception {
		TestClock clock = new TestClock();
		Semaphore inside = new Semaphore(0);
		Semaphore steps = new Semaphore(0);
		LeaderFollowersPool pool = this.engine
			.pool(builder(1, 1).clock(clock).slowHandlerAfter(Duration.ofSeconds(60)));
		Peer peer = this.engine.connect(stepping(pool, inside, steps)).send("1\n");
		inside.acquire();
		pool.watchdog.look();
		clock.advance(Duration.ofSeconds(40));
		steps.release();
		assertThat(peer.readLine()).isEqualTo("1");
		peer.send("2\n");
		inside.acquire();
		pool.watchdog.look();
		clock.advance(Duration.ofSeconds(40));
		pool.watchdog.look();
		assertThat(pool.snapshot().alarms()).isEmpty();
		clock.advance(Duration.ofSeconds(20));
		pool.watchdog.look();
		assertThat(pool.snapshot().alarms()).hasSize(1);
		steps.release();
		assertThat(peer.readLine()).isEqualTo("2");
		peer.close();
		assertThat(pool.close(Engine.DEADLINE)).isTrue();
		assertThat(pool.snapshot().alarms()).isEmpty();
	}

	@Test
	void threadThatHasLeftIsNotSlow() throws Exception {
		TestClock clock = new TestClock();
		Semaphore inside = new Semaphore(0);
		Semaphore steps = new Semaphore(0);
		LeaderFollowersPool pool = this.engine
			.pool(builder(1, 1).clock(clock).slowHandlerAfter(Duration.ofSeconds(60)));
		TcpServer server = stepping(pool, inside, steps);
		Thread joined = new Thread(() -> pool.join(SECOND), "joined");
		joined.start();
		Engine.eventually().until(() -> pool.snapshot().threads().size() == 2);
		List<Peer> peers = List.of(this.engine.connect(server).send("1\n"), this.engine.connect(server).send("2\n"));
		inside.acquire(2);
		pool.watchdog.look();
		clock.advance(SECOND);
		steps.release(2);
		peers.forEach(Peer::readLine);
		joined.join();
		Engine.awaitIdle(pool);
		clock.advance(Duration.ofSeconds(60));
		pool.watchdog.look();
		assertThat(pool.snapshot().alarms()).isEmpty();
	}

	/** A long time for leaders does not make the looks rare. */
	@Test
	void interruptOfAListenerDoesNotStay() {
		AtomicReference<Thread> watching = new AtomicReference<>();
		LeaderFollowersPool pool = this.engine.pool(LeaderFollowersPool.builder()
			.threads(2, 2)
			.stuckAfter(Duration.ofHours(24))
			.slowHandlerAfter(SECOND)
			.listener(new PoolListener() {

				@Override
				public void handedOff(PromotionKind kind, long vacancyNanos) {
				}

				@Override
				public void alarmed(PoolAlarm alarm) {
					Thread.currentThread().interrupt();
					watching.set(Thread.currentThread());
				}

			}));
		CountDownLatch gate = this.engine.gate();
		TcpServer server = this.engine.lines(pool, (connection, message) -> Engine.pass(gate));
		this.engine.connect(server).send("x\n");
		Engine.eventually().until(() -> watching.get() != null);
		// With its interrupt status, the thread would not park.
		Engine.eventually().until(() -> !watching.get().isInterrupted());
	}

	@Test
	void handlerThatWaitsForItsPeerIsNotSlow() {
		TestClock clock = new TestClock();
		LeaderFollowersPool pool = this.engine.pool(builder(2, 2).clock(clock));
		TcpServer server = this.engine.lines(pool,
				(connection, message) -> connection.send(connection.receive(Duration.ofHours(2))));
		Peer peer = this.engine.connect(server).send("x\n");
		Engine.eventually()
			.until(() -> pool.snapshot().threads().stream().anyMatch((thread) -> thread.waitsFor() != null));
		for (int i = 0; i < 3; i++) {
			pool.watchdog.look();
			clock.advance(Duration.ofMinutes(2));
		}
		assertThat(pool.snapshot().alarms()).isEmpty();
		assertThat(peer.send("y\n").readLine()).isEqualTo("y");
	}

	@Test
	void watchdogEndsWithItsPool() {
		LeaderFollowersPool pool = this.engine.pool(builder(1, 1));
		pool.start();
		assertThat(isWatched(pool)).isTrue();
		pool.close(Engine.DEADLINE);
		Engine.eventually().until(() -> !isWatched(pool));
	}

	/** It must neither keep the virtual machine nor an application that was removed. */
	@Test
	void watchdogKeepsNothing() {
		LeaderFollowersPool pool = this.engine.pool(builder(1, 1));
		pool.start();
		assertThat(watchdogs(pool)).singleElement().satisfies((thread) -> {
			assertThat(thread.isDaemon()).isTrue();
			assertThat(thread.getContextClassLoader()).isNull();
		});
	}

	/** Two threads that start the pool at the same time may both begin the watch. */
	@Test
	void poolHasOneWatchdog() {
		LeaderFollowersPool pool = this.engine.pool(1, 1);
		pool.start();
		pool.watchdog.start();
		assertThat(watchdogs(pool)).hasSize(1);
	}

	@Test
	void withoutTimesThereIsNoWatchdog() {
		LeaderFollowersPool pool = this.engine
			.pool(builder(1, 1).stuckAfter(Duration.ZERO).slowHandlerAfter(Duration.ZERO));
		pool.start();
		assertThat(isWatched(pool)).isFalse();
	}

	@Test
	void oneOfTheTimesIsEnoughForAWatchdog() {
		LeaderFollowersPool leaders = this.engine.pool(builder(1, 1).slowHandlerAfter(Duration.ZERO));
		leaders.start();
		assertThat(isWatched(leaders)).isTrue();
		LeaderFollowersPool handlers = this.engine.pool(builder(1, 1).stuckAfter(Duration.ZERO));
		handlers.start();
		assertThat(isWatched(handlers)).isTrue();
		Thread watchdog = watchdogs(handlers).get(0);
		Engine.eventually().until(() -> watchdog.getState() == Thread.State.TIMED_WAITING);
	}

	private static boolean isWatched(LeaderFollowersPool pool) {
		return !watchdogs(pool).isEmpty();
	}

	private static List<Thread> watchdogs(LeaderFollowersPool pool) {
		return Thread.getAllStackTraces()
			.keySet()
			.stream()
			.filter((thread) -> thread.getName().equals("lf-watchdog-" + pool.name()))
			.toList();
	}

	@Test
	void timesAreChecked() {
		assertThatIllegalArgumentException()
			.isThrownBy(() -> LeaderFollowersPool.builder().stuckAfter(Duration.ofMillis(999)))
			.withMessage("'stuckAfter' must be 0, or from 1 second to 24 hours, but is PT0.999S");
		assertThatIllegalArgumentException()
			.isThrownBy(() -> LeaderFollowersPool.builder().slowHandlerAfter(Duration.ofHours(25)))
			.withMessage("'slowHandlerAfter' must be 0, or from 1 second to 24 hours, but is PT25H");
	}

}
