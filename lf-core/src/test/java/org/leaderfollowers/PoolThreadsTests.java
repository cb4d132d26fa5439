package org.leaderfollowers;

import java.nio.channels.spi.SelectorProvider;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Consumer;

import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.leaderfollowers.internal.buffer.MemoryBudget;
import org.leaderfollowers.internal.exchange.Exchange;
import org.leaderfollowers.internal.logging.FailureLog;
import org.leaderfollowers.internal.promotion.Clock;
import org.leaderfollowers.internal.promotion.HandledWork;
import org.leaderfollowers.internal.promotion.Leadership;
import org.leaderfollowers.internal.promotion.PoolSettings;
import org.leaderfollowers.internal.promotion.ProcessorTime;
import org.leaderfollowers.internal.promotion.PromotionProtocol;
import org.leaderfollowers.internal.promotion.Starvation;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;

/**
 * A new thread that cannot join its pool, for example because memory is short, leaves no
 * trace: another one can be started in its place.
 */
class PoolThreadsTests {

	@RegisterExtension
	final Engine engine = new Engine();

	private final Pool pool = new Pool();

	@AfterEach
	void stop() {
		this.pool.promotion.stop();
	}

	@Test
	void aThreadThatCannotJoinIsNotCounted() {
		this.pool.threads.startMinimum();
		Engine.eventually().until(() -> this.pool.ended.get() > 0);
		assertThat(this.pool.countAtEnd).isZero();
		assertThat(this.pool.threads.started()).isZero();
		Engine.eventually()
			.until(() -> this.engine.log()
				.stream()
				.anyMatch((line) -> line.contains("A new thread of pool 'test' could not join it")));
		this.pool.isShort = false;
		this.pool.threads.startMinimum();
		Engine.pass(this.pool.participates);
		assertThat(this.pool.threads.started()).isOne();
	}

	/** No other thread may be left, not even one that would start others. */
	@Test
	void aThreadThatCannotJoinTriesAgain() {
		CompletableFuture<Integer> counted = new CompletableFuture<>();
		CompletableFuture<Boolean> leads = new CompletableFuture<>();
		this.pool.participation = (me) -> {
			leads.complete(me.leading() != null);
			counted.complete(this.pool.threads.count());
			this.pool.promotion.stop();
		};
		this.pool.promotion.signalIfVacant();
		Engine.eventually().until(() -> this.pool.ended.get() > 2);
		this.pool.isShort = false;
		assertThat(counted).succeedsWithin(Engine.DEADLINE).isEqualTo(1);
		assertThat(leads).as("it is not under way any more").isCompletedWithValue(false);
		assertThat(this.pool.threads.started()).isOne();
		assertThat(this.pool.inheritance)
			.hasValueSatisfying((inheritance) -> assertThat(inheritance.name()).isEqualTo("lf-test-1"));
	}

	/** Its number is free before the thread has ended. */
	@Test
	void aThreadThatEndsIsKnownAlthoughAnotherOneHasGotItsNumber() {
		CountDownLatch gate = this.engine.gate();
		CompletableFuture<Thread> ending = new CompletableFuture<>();
		CompletableFuture<Integer> number = new CompletableFuture<>();
		this.pool.isShort = false;
		this.pool.participation = (me) -> {
			if (ending.isDone()) {
				number.complete(me.number());
				this.pool.stop();
			}
		};
		this.pool.leaving = () -> {
			if (ending.complete(Thread.currentThread())) {
				Engine.pass(gate);
			}
		};
		this.pool.threads.startMinimum();
		Thread first = ending.join();
		this.pool.threads.startMinimum();
		assertThat(number).succeedsWithin(Engine.DEADLINE).isEqualTo(1);
		assertThat(this.pool.threads.own()).contains(first);
	}

	@Test
	void threadsThatHaveEndedAreNotKept() {
		this.pool.isShort = false;
		this.pool.participation = (me) -> {
			if (this.pool.ended.get() >= 1000) {
				this.pool.stop();
			}
		};
		this.pool.threads.startMinimum();
		Engine.eventually().until(() -> this.pool.promotion.isStopping());
		assertThat(this.pool.threads.own()).hasSizeLessThan(500);
	}

	@Test
	void aThreadThatCannotJoinEndsIfThePoolStops() {
		CompletableFuture<Thread> joining = new CompletableFuture<>();
		this.pool.enrolling = () -> joining.complete(Thread.currentThread());
		this.pool.threads.startMinimum();
		Thread thread = joining.join();
		this.pool.promotion.stop();
		Engine.eventually().until(() -> !thread.isAlive());
		assertThat(this.pool.threads.count()).isZero();
	}

	@Test
	void aThreadThatCannotJoinEndsIfThePoolHasEnoughThreads() {
		CountDownLatch gate = this.engine.gate();
		AtomicReference<@Nullable Thread> first = new AtomicReference<>();
		this.pool.isShort = false;
		this.pool.enrolling = () -> {
			if (first.compareAndSet(null, Thread.currentThread()) || first.get() == Thread.currentThread()) {
				throw new OutOfMemoryError("made for the test");
			}
		};
		this.pool.participation = (me) -> Engine.pass(gate);
		this.pool.threads.startMinimum();
		Engine.eventually().until(() -> {
			this.pool.threads.startMinimum();
			Thread thread = first.get();
			return thread != null && !thread.isAlive();
		});
		assertThat(this.pool.threads.count()).isOne();
	}

	@Test
	void aThreadThatCannotBeStartedIsCountedAndLogged() {
		Pool pool = new Pool("test", 1, Thread.MAX_PRIORITY + 1);
		pool.threads.startMinimum();
		assertThat(pool.threads.count()).isZero();
		assertThat(pool.threads.startFailures()).isOne();
		assertThat(this.engine.log())
			.anyMatch((line) -> line.contains("A thread could not be started; the pool 'test' continues"));
	}

	@Test
	void aNewThreadHasThePriorityAndThePrintableNameOfItsPool() {
		Pool pool = new Pool("line\nbreak", 1, Thread.MIN_PRIORITY);
		pool.isShort = false;
		pool.threads.startMinimum();
		Engine.pass(pool.participates);
		assertThat(pool.inheritance).hasValueSatisfying((inheritance) -> {
			assertThat(inheritance.name()).isEqualTo("lf-line?break-1");
			assertThat(inheritance.priority()).isEqualTo(Thread.MIN_PRIORITY);
		});
	}

	/** The limit may have kept another thread from starting one. */
	@Test
	void aThreadThatEndsIsReplacedIfASetHasNoLeader() {
		AtomicInteger participants = new AtomicInteger();
		this.pool.isShort = false;
		this.pool.participation = (me) -> {
			if (participants.incrementAndGet() == 2) {
				this.pool.promotion.stop();
			}
		};
		this.pool.threads.startMinimum();
		Engine.eventually().until(() -> this.pool.ended.get() == 2);
	}

	@Test
	void aThreadThatIsStartedForASetLeadsItAndIsNoLongerUnderWay() {
		Pool pool = new Pool("test", 2, Thread.NORM_PRIORITY);
		CountDownLatch both = new CountDownLatch(2);
		pool.isShort = false;
		pool.participation = (me) -> {
			if (me.leading() != null) {
				both.countDown();
			}
			pool.promotion.leave(me);
			pool.threads.startIfWanted();
			Engine.pass(both);
			pool.promotion.stop();
		};
		pool.threads.startIfWanted();
		Engine.pass(both);
	}

	/** Somebody may wait for the end of the pool, which counts it. */
	@Test
	void theEndOfAThreadThatCouldNotBeStartedIsReported() {
		int noPriority = 0;
		Pool refused = new Pool("refused", 1, noPriority);
		refused.threads.startMinimum();
		assertThat(refused.ended).hasValue(1);
		assertThat(refused.countAtEnd).isZero();
	}

	/** Until then, it relies on the new thread. */
	@Test
	void aBoundLeaderLooksAgainIfAThreadCouldNotBeStarted() {
		int noPriority = 0;
		Pool refused = new Pool("refused", 1, noPriority);
		refused.isShort = false;
		HandleSet set = refused.heldByBound();
		refused.threads.startMinimum();
		assertThat(refused.threads.startFailures()).isOne();
		assertThat(set.updates.isWaitedFor()).isFalse();
	}

	/** Until then, it relies on the new thread. */
	@Test
	void aBoundLeaderLooksAgainIfANewThreadCannotJoin() {
		this.pool.isShort = false;
		HandleSet set = this.pool.heldByBound();
		this.pool.isShort = true;
		this.pool.threads.startMinimum();
		Engine.eventually().until(() -> this.pool.ended.get() > 0);
		assertThat(set.updates.isWaitedFor()).isFalse();
	}

	/** The last thread closes connections, whose handlers would find it. */
	@Test
	void aThreadOfThePoolEndsWithoutAnInterruptOfItsHandlers() {
		this.pool.isShort = false;
		this.pool.participation = (me) -> {
			Thread.currentThread().interrupt();
			me.deferInterrupt();
			this.pool.promotion.stop();
		};
		this.pool.threads.startMinimum();
		Engine.eventually().until(() -> this.pool.ended.get() == 1);
		assertThat(this.pool.endsInterrupted).isFalse();
	}

	@Test
	void aPoolThatStopsTakesNoThreadOfTheApplication() {
		this.pool.isShort = false;
		this.pool.promotion.stop();
		assertThatIllegalStateException().isThrownBy(() -> this.pool.threads.join(Thread.currentThread()))
			.withMessage("Pool 'test' is closed");
	}

	@Test
	void aThreadThatCannotJoinAppliesNoUpdates() {
		this.pool.isShort = false;
		for (int i = 0; i < 64; i++) {
			this.pool.threads.join(Thread.currentThread());
		}
		this.pool.threads.applyUpdatesIfVacant(this.pool.requestedLook());
		assertThat(this.pool.looking).isEmpty();
	}

	@Test
	void aThreadThatCannotJoinIsNotExpectedToLead() {
		this.pool.promotion.signalIfVacant();
		Engine.eventually().until(() -> this.pool.ended.get() > 0);
		this.pool.isShort = false;
		Engine.eventually().until(() -> {
			// The first ones are in vain: the pool pauses after a failure.
			this.pool.promotion.signalIfVacant();
			return this.pool.threads.started() == 1;
		});
		Engine.pass(this.pool.participates);
	}

	/** Meanwhile, other threads have relied on the new thread. */
	@Test
	void aThreadThatCannotJoinLeavesTheVacancyToAFollower() throws InterruptedException {
		CountDownLatch gate = this.engine.gate();
		this.pool.isShort = false;
		Participant leader = this.pool.threads.join(Thread.currentThread());
		CompletableFuture<@Nullable Leadership> led = new CompletableFuture<>();
		Thread other = new Thread(() -> {
			Participant follower = this.pool.threads.join(Thread.currentThread());
			Engine.pass(gate);
			led.complete(
					this.pool.promotion.lead(follower, Clock.SYSTEM.nanoTime() + Engine.DEADLINE.toNanos(), false));
			this.pool.threads.leave(follower);
		});
		other.start();
		Engine.eventually().until(() -> this.pool.threads.members().count() == 2);
		CountDownLatch enrolls = new CountDownLatch(1);
		CountDownLatch fails = this.engine.gate();
		this.pool.enrolling = () -> {
			enrolls.countDown();
			Engine.pass(fails);
		};
		this.pool.isShort = true;
		this.pool.promotion.signalIfVacant();
		Engine.pass(enrolls);
		assertThat(this.pool.promotion.attend(leader)).isNotNull();
		gate.countDown();
		Engine.eventually().until(() -> other.getState() == Thread.State.TIMED_WAITING);
		assertThat(this.pool.promotion.promoteNewLeader(leader)).isTrue();
		fails.countDown();
		assertThat(led).succeedsWithin(Engine.DEADLINE).isNotNull();
		other.join();
	}

	/** For example, because memory is short. */
	@Test
	void aNewThreadParticipatesAlthoughItsLeadershipCouldNotBeReported() {
		this.pool.isShort = false;
		Participant former = this.pool.threads.join(Thread.currentThread());
		assertThat(this.pool.promotion.attend(former)).isNotNull();
		this.pool.handedOff = () -> {
			throw new OutOfMemoryError("made for the test");
		};
		assertThat(this.pool.promotion.promoteNewLeader(former)).isTrue();
		Engine.pass(this.pool.participates);
		assertThat(this.engine.log()).anyMatch((line) -> line.contains("A thread of pool 'test' failed"));
	}

	@Test
	void aNewThreadHasNothingOfTheThreadThatStartsIt() {
		this.pool.isShort = false;
		Thread starter = Thread.currentThread();
		ClassLoader loader = starter.getContextClassLoader();
		starter.setContextClassLoader(null);
		this.pool.inherited.set("of the request that is being handled");
		try {
			this.pool.threads.startMinimum();
			Engine.pass(this.pool.participates);
		}
		finally {
			starter.setContextClassLoader(loader);
			this.pool.inherited.remove();
		}
		assertThat(this.pool.inheritance).hasValueSatisfying((inheritance) -> {
			assertThat(inheritance.loader()).as("that of the thread that built the pool").isSameAs(loader);
			assertThat(inheritance.local()).isNull();
			assertThat(inheritance.daemon()).isFalse();
		});
	}

	@Test
	void theWatchdogStartsAThreadThatCouldNotBeStarted() {
		// With a clock of its own, so that the pause after a failure lasts.
		Pool pool = new Pool("test", 1, Thread.MAX_PRIORITY + 1, new TestClock());
		pool.threads.startMinimum();
		assertThat(pool.threads.startFailures()).isOne();
		newWatchdog(pool).look();
		assertThat(pool.threads.startFailures()).isEqualTo(2);
	}

	private static PoolWatchdog newWatchdog(Pool pool) {
		return new PoolWatchdog(pool.options, pool.sets, pool.threads, new PoolListeners(List.of()));
	}

	/** A pool of up to 2 threads, whose first one is busy until the gate opens. */
	private static Pool busyPool(Clock clock, CountDownLatch gate) {
		Pool pool = new Pool("test", 2, Thread.NORM_PRIORITY, clock);
		pool.isShort = false;
		pool.participation = (me) -> {
			Engine.pass(gate);
			pool.promotion.stop();
		};
		pool.threads.startMinimum();
		Engine.pass(pool.participates);
		return pool;
	}

	/** All other threads are busy, so none of them would try again. */
	@Test
	void theWatchdogStartsAThreadThatTheSystemHasRefused() {
		CountDownLatch gate = this.engine.gate();
		Pool pool = busyPool(Clock.SYSTEM, gate);
		PoolWatchdog watchdog = newWatchdog(pool);
		watchdog.look();
		assertThat(pool.threads.count()).isOne();
		pool.threads.startFailed(new OutOfMemoryError("made for the test"));
		watchdog.look();
		assertThat(pool.threads.count()).isEqualTo(2);
		gate.countDown();
	}

	/** The pool pauses after a failure, and nothing else would try after the pause. */
	@Test
	void theWatchdogTriesAgainAfterALookDuringThePause() {
		TestClock clock = new TestClock();
		CountDownLatch gate = this.engine.gate();
		Pool pool = busyPool(clock, gate);
		pool.isShort = true;
		pool.promotion.signalIfVacant();
		Engine.eventually().until(() -> pool.ended.get() == 1);
		pool.threads.startFailed(new OutOfMemoryError("made for the test"));
		pool.isShort = false;
		PoolWatchdog watchdog = newWatchdog(pool);
		watchdog.look();
		assertThat(pool.threads.count()).isOne();
		clock.advance(Duration.ofSeconds(1));
		watchdog.look();
		assertThat(pool.threads.count()).isEqualTo(2);
		gate.countDown();
	}

	/** For example, because memory is short. */
	@Test
	void theWatchdogLooksAgainAfterAnError() {
		AtomicInteger looks = new AtomicInteger();
		Pool pool = new Pool("looks again", 1, Thread.NORM_PRIORITY);
		PoolWatchdog watchdog = watch(pool, () -> {
			if (looks.incrementAndGet() == 1) {
				throw new OutOfMemoryError("made for the test");
			}
		});
		Engine.eventually().until(() -> !watchdog.alarms().isEmpty());
		pool.promotion.stop();
		watchdog.stop();
	}

	@Test
	void theWatchdogThatEndsLeavesNoAlarm() {
		CountDownLatch gate = this.engine.gate();
		CountDownLatch looks = new CountDownLatch(1);
		Pool pool = new Pool("ends", 1, Thread.NORM_PRIORITY);
		PoolWatchdog watchdog = watch(pool, () -> {
			looks.countDown();
			Engine.pass(gate);
		});
		Engine.pass(looks);
		pool.promotion.stop();
		watchdog.stop();
		gate.countDown();
		Engine.eventually()
			.until(() -> Thread.getAllStackTraces()
				.keySet()
				.stream()
				.noneMatch((thread) -> thread.getName().equals("lf-watchdog-ends")));
		assertThat(watchdog.alarms()).isEmpty();
	}

	/**
	 * Begins to watch the calling thread, whose handler takes too long.
	 * @param look called by the watchdog when it names the handler
	 */
	private PoolWatchdog watch(Pool pool, Runnable look) {
		CountDownLatch end = this.engine.gate();
		pool.isShort = false;
		pool.participation = (me) -> {
			Engine.pass(end);
			pool.stop();
		};
		pool.threads.join(Thread.currentThread()).worksOn(new HandledWork.Source() {

			@Override
			public HandledWork work() {
				look.run();
				return HandledWork.ofConnections("server", "handler");
			}

			@Override
			public long workNumber() {
				return 1;
			}

			@Override
			public void uncork() {
			}

		});
		PoolWatchdog watchdog = newWatchdog(pool);
		watchdog.start();
		return watchdog;
	}

	/** If a handler of the engine fails, it needs the participant. */
	@Test
	void aThreadThatStandsInForALeaderParticipatesMeanwhile() {
		this.pool.isShort = false;
		this.pool.threads.applyUpdatesIfVacant(this.pool.requestedLook());
		assertThat(this.pool.looking).hasValueSatisfying((me) -> {
			assertThat(me.isOf(this.pool.promotion)).isTrue();
			assertThat(me.thread()).isSameAs(Thread.currentThread());
		});
		assertThat(Participant.current()).isNull();
	}

	@Test
	void aThreadOfAnotherPoolThatStandsInForALeaderParticipatesInItsOwnPoolAfterwards() {
		this.pool.isShort = false;
		Pool other = new Pool();
		other.isShort = false;
		Participant own = other.threads.join(Thread.currentThread());
		own.enter();
		try {
			this.pool.threads.applyUpdatesIfVacant(this.pool.requestedLook());
			assertThat(this.pool.looking).hasValueSatisfying((me) -> assertThat(me.isOf(this.pool.promotion)).isTrue());
			assertThat(Participant.current()).isSameAs(own);
		}
		finally {
			other.threads.leave(own);
		}
	}

	/** For example, because memory is short. Its handler continues, perhaps for long. */
	@Test
	void aThreadThatCannotBeginToLeadWhileItWaitsKeepsNoLeadership() {
		this.pool.isShort = false;
		Participant waiting = this.pool.threads.join(Thread.currentThread());
		HandleSets none = new HandleSets("none", 0, 1, Clock.SYSTEM, SelectorProvider.provider(), new FailureLog());
		BoundWait wait = new BoundWait(none, this.pool.promotion, null, null, Clock.SYSTEM, new FailureLog());
		Exchange exchange = Exchange.ofCaller(Clock.SYSTEM.nanoTime() + Engine.DEADLINE.toNanos());
		assertThatExceptionOfType(ArrayIndexOutOfBoundsException.class).isThrownBy(() -> wait.await(waiting, exchange));
		assertThat(waiting.leading()).isNull();
	}

	/** The other one goes on waiting, because the first one will read its reply. */
	@Test
	void ofTwoThreadsThatWaitForPlacesOneGivesUp() {
		Pool pool = new Pool("test", 2, Thread.NORM_PRIORITY);
		AtomicInteger arrived = new AtomicInteger();
		AtomicInteger givenUp = new AtomicInteger();
		AtomicInteger wrongRounds = new AtomicInteger();
		pool.isShort = false;
		pool.participation = (me) -> {
			pool.promotion.leave(me);
			pool.threads.startIfWanted();
			for (int round = 0; round < 5000; round++) {
				me.waitsForPlace = true;
				meet(arrived, 6 * round + 2);
				if (pool.threads.mustGiveUp(me, true)) {
					givenUp.incrementAndGet();
				}
				meet(arrived, 6 * round + 4);
				if (givenUp.get() != round + 1) {
					wrongRounds.incrementAndGet();
					givenUp.set(round + 1);
				}
				meet(arrived, 6 * round + 6);
			}
			pool.promotion.stop();
		};
		pool.threads.startIfWanted();
		Engine.eventually().until(() -> pool.ended.get() == 2);
		assertThat(wrongRounds).hasValue(0);
		assertThat(givenUp).hasValue(5000);
	}

	/** Waits for another thread, so that both go on at the same time. */
	private static void meet(AtomicInteger arrived, int expected) {
		arrived.incrementAndGet();
		long deadline = System.nanoTime() + Engine.DEADLINE.toNanos();
		for (int spins = 1; arrived.get() < expected; spins++) {
			if (spins % 1000 == 0) {
				assertThat(System.nanoTime() - deadline).as("nanoseconds too late").isNegative();
				Thread.yield();
			}
			Thread.onSpinWait();
		}
	}

	/** For example because memory is short. */
	@Test
	void aThreadThatCannotLeaveInOrderIsNoMemberAnyMore() {
		this.pool.isShort = false;
		Participant me = this.pool.threads.join(Thread.currentThread());
		assertThat(this.pool.threads.living()).contains(me);
		int count = this.pool.threads.count();
		this.pool.asked = () -> {
			throw new OutOfMemoryError("made for the test");
		};
		assertThatExceptionOfType(OutOfMemoryError.class).isThrownBy(() -> this.pool.threads.leave(me));
		assertThat(this.pool.threads.living()).doesNotContain(me);
		assertThat(this.pool.threads.count()).as("threads of the pool itself").isEqualTo(count);
	}

	/** The attributes of a new thread that may depend on the thread that starts it. */
	private record Inheritance(@Nullable ClassLoader loader, @Nullable String local, boolean daemon, String name,
			int priority) {
	}

	/** A pool with one handle set that has no leader. */
	private static final class Pool implements PoolThreads.Pool {

		private final PoolOptions options;

		private final PoolThreads threads;

		private final PromotionProtocol promotion;

		private final AtomicInteger ended = new AtomicInteger();

		private volatile int countAtEnd;

		private volatile boolean endsInterrupted;

		private final CountDownLatch participates = new CountDownLatch(1);

		private final HandleSets sets = new HandleSets("test", 1, 1, Clock.SYSTEM, SelectorProvider.provider(),
				new FailureLog());

		private volatile boolean isShort = true;

		private volatile Runnable enrolling = () -> {
		};

		private volatile Runnable handedOff = () -> {
		};

		/** Called whenever the threads ask for the protocol. */
		private volatile Runnable asked = () -> {
		};

		private final InheritableThreadLocal<@Nullable String> inherited = new InheritableThreadLocal<>();

		private volatile Optional<Inheritance> inheritance = Optional.empty();

		private Optional<Participant> looking = Optional.empty();

		private volatile Consumer<Participant> participation = (me) -> stop();

		private volatile Runnable leaving = () -> {
		};

		Pool() {
			this("test", 1, Thread.NORM_PRIORITY);
		}

		Pool(String name, int maxThreads, int priority) {
			this(name, maxThreads, priority, Clock.SYSTEM);
		}

		Pool(String name, int maxThreads, int priority, Clock clock) {
			this.options = new PoolOptions(name, new PoolSettings(1, maxThreads, false, 1, 0), Duration.ofHours(1),
					priority, 1, false, List.of(), 1, PromotionOrder.LIFO, 1L << 20,
					new NestedUpcalls.Options(NestedDispatch.NEVER, 1, new NestingGuard() {
					}), List.of(), clock, SelectorProvider.provider(), ProcessorTime.SYSTEM,
					new PoolWatchdog.Options(0, 1));
			this.threads = new PoolThreads(this.options, new MemoryBudget(1L << 20), new FailureLog());
			this.threads.of(this);
			this.promotion = new PromotionProtocol(new Leadership[] { this.sets.get(0).leadership },
					PromotionOrder.LIFO.followers(), this.threads.members(), this.threads,
					new Starvation(1, new Unheard()), (kind, vacancyNanos) -> this.handedOff.run(),
					Duration.ofHours(1).toNanos(), clock);
		}

		/** Requests a look at a handle, and returns its set. */
		HandleSet requestedLook() {
			SelectableHandle handle = this.sets.newTimer(new HandleSetUpdateTests.TestHandler() {

				@Override
				public boolean lookAtOnce() {
					Pool.this.looking = Optional.ofNullable(Participant.current());
					return true;
				}

			});
			handle.request(SelectableHandle.LOOK);
			return handle.handleSet();
		}

		/**
		 * The calling thread leads in the middle of a handler, has events for another
		 * thread, and waits. Returns its set.
		 */
		HandleSet heldByBound() {
			Participant leader = this.threads.join(Thread.currentThread());
			assertThat(this.promotion.attend(leader)).isNotNull();
			this.promotion.bound().leavesToOthers(leader, true);
			HandleSet set = this.sets.get(0);
			set.updates.beginWait();
			return set;
		}

		@Override
		public PromotionProtocol promotion() {
			this.asked.run();
			return this.promotion;
		}

		@Override
		public Participant.@Nullable ReplyWait replyWait() {
			this.enrolling.run();
			if (this.isShort) {
				throw new OutOfMemoryError("made for the test");
			}
			return null;
		}

		@Override
		public void participate(Participant me) {
			Thread thread = Thread.currentThread();
			this.inheritance = Optional.of(new Inheritance(thread.getContextClassLoader(), this.inherited.get(),
					thread.isDaemon(), thread.getName(), thread.getPriority()));
			this.participates.countDown();
			this.participation.accept(me);
		}

		private void stop() {
			this.promotion.stop();
		}

		@Override
		public void threadEnded() {
			this.countAtEnd = this.threads.count();
			this.endsInterrupted |= Thread.currentThread().isInterrupted();
			this.ended.incrementAndGet();
			this.leaving.run();
		}

	}

	static final class Unheard implements Starvation.Listener {

		@Override
		public void began() {
		}

		@Override
		public void ended(long nanos) {
		}

	}

}
