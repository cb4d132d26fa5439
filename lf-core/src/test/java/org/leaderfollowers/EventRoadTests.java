package org.leaderfollowers;

import java.nio.channels.spi.SelectorProvider;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.atomic.AtomicInteger;

import ch.qos.logback.classic.Logger;
import ch.qos.logback.classic.spi.ILoggingEvent;
import ch.qos.logback.core.read.ListAppender;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.leaderfollowers.internal.buffer.MemoryBudget;
import org.leaderfollowers.internal.exchange.Exchange;
import org.leaderfollowers.internal.logging.EngineLog;
import org.leaderfollowers.internal.logging.FailureLog;
import org.leaderfollowers.internal.promotion.Clock;
import org.leaderfollowers.internal.promotion.DispatchPolicy;
import org.leaderfollowers.internal.promotion.Follower;
import org.leaderfollowers.internal.promotion.HandlerProfile;
import org.leaderfollowers.internal.promotion.PoolSettings;
import org.leaderfollowers.internal.promotion.ProcessorTime;
import org.leaderfollowers.internal.promotion.PromotionProtocol;
import org.leaderfollowers.internal.promotion.Starvation;
import org.leaderfollowers.internal.promotion.Unfolding;
import org.slf4j.LoggerFactory;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Tests for {@link EventRoad}.
 */
@Timeout(60)
class EventRoadTests {

	/** Fails once, when a thread asks at the end of its turn whether its time is up. */
	private static final class FailingClock extends Clock {

		private final Thread failing = Thread.currentThread();

		private final List<Long> pauses = new ArrayList<>();

		private boolean hasFailed;

		@Override
		public long nanoTime() {
			if (Thread.currentThread() == this.failing && !this.hasFailed && isTurn()) {
				this.hasFailed = true;
				throw new LinkageError("made for the test");
			}
			return super.nanoTime();
		}

		private static boolean isTurn() {
			Optional<String> caller = StackWalker.getInstance()
				.walk((frames) -> frames.skip(2).findFirst().map(StackWalker.StackFrame::getMethodName));
			return caller.equals(Optional.of("takeTurn"));
		}

		@Override
		public void parkNanos(Object blocker, long nanos) {
			if (blocker instanceof EventRoad) {
				this.pauses.add(nanos);
			}
			else {
				super.parkNanos(blocker, nanos);
			}
		}

	}

	/** Without a pause, a failure that lasts would occupy a processor. */
	@Test
	void threadThatFailsBetweenItsEventsLogsThisAndPauses() {
		FailingClock clock = new FailingClock();
		ListAppender<ILoggingEvent> log = new ListAppender<>();
		Logger logger = (Logger) LoggerFactory.getLogger("org.leaderfollowers.engine");
		log.start();
		logger.addAppender(log);
		try (LeaderFollowersPool pool = LeaderFollowersPool.builder()
			.name("fails")
			.threads(1, 1)
			.clock(clock)
			.build()) {
			assertThat(pool.join(Duration.ZERO)).as("the pool was closed").isFalse();
			assertThat(clock.hasFailed).isTrue();
			assertThat(clock.pauses).containsExactly(Duration.ofMillis(10).toNanos());
			EngineLog.INSTANCE.flush(Engine.DEADLINE.toMillis());
			assertThat(log.list).extracting(ILoggingEvent::getFormattedMessage)
				.contains("A thread of pool 'fails' failed");
		}
		finally {
			logger.detachAppender(log);
		}
	}

	/**
	 * The duration of a handler includes the time that it waits, and it still counts as
	 * one that blocks.
	 */
	@Test
	void dispatchOfAWaitingHandlerGoesOnAfterTheOneOnTopOfIt() {
		Stepped stepped = new Stepped();
		Participant me = stepped.me;
		SelectableHandle onTop = stepped.sets.newTimer(new Once(shortHandler(), stepped.clock));
		stepped.policy.beforeDispatch(me, HandlerProfile.BLOCKING, stepped.sets.get(0).leadership, 0);
		stepped.clock.advance(Duration.ofSeconds(1));
		DispatchPolicy.Suspended waiting = stepped.road.suspend(me);
		assertThat(waiting.blocks()).isTrue();
		stepped.road.processNested(me, onTop, waiting);
		assertThat(me.isBlocking()).isTrue();
		assertThat(stepped.road.suspend(me)).isEqualTo(waiting);
		stepped.sets.forEach(HandleSet::close);
	}

	/** A connection closes in good order, for which it needs another round. */
	@Test
	void handleWhoseHandlerHasFailedIsWorkedOnUntilItIsReleased() {
		Stepped stepped = new Stepped();
		AtomicInteger rounds = new AtomicInteger();
		stepped.work(new HandleSetUpdateTests.TestHandler() {

			@Override
			public boolean prepare(Participant me) {
				if (rounds.incrementAndGet() < 3) {
					throw new IllegalStateException("made for the test");
				}
				return false;
			}

			@Override
			public boolean failed(@Nullable Participant me, Throwable failure) {
				return true;
			}

		});
		stepped.road.participate(stepped.me, stepped.clock.nanoTime());
		assertThat(rounds).hasValue(3);
		assertThat(stepped.me.work()).isNull();
		stepped.sets.forEach(HandleSet::close);
	}

	/** No other thread might join for a long time. */
	@Test
	void threadHandlesWhatIsReadyAlthoughItsTimeIsOver() {
		Stepped stepped = new Stepped();
		AtomicInteger prepared = new AtomicInteger();
		for (int i = 0; i < 3; i++) {
			stepped.work(new HandleSetUpdateTests.TestHandler() {

				@Override
				public boolean prepare(Participant me) {
					prepared.incrementAndGet();
					return false;
				}

			});
		}
		stepped.road.participate(stepped.me, stepped.clock.nanoTime());
		assertThat(prepared).hasValue(3);
		stepped.sets.forEach(HandleSet::close);
	}

	/** Otherwise a shortage of memory would occupy a processor. */
	@Test
	void leaderThatFailsPauses() {
		Stepped stepped = new Stepped();
		HandleSetUpdateTests.TestHandler handler = new HandleSetUpdateTests.TestHandler();
		SelectableHandle handle = stepped.work(handler);
		handle.request(SelectableHandle.TIMER);
		handler.lacksMemory = true;
		stepped.road.participate(stepped.me, stepped.clock.nanoTime());
		handler.lacksMemory = false;
		assertThat(stepped.clock.pauses).containsExactly(Duration.ofMillis(10).toNanos());
		stepped.sets.forEach(HandleSet::close);
	}

	/** The parts of a pool, and a joined thread in whose place the test acts. */
	private static final class Stepped {

		private final PausingClock clock = new PausingClock();

		private final HandleSets sets;

		private final DispatchPolicy policy;

		private final EventRoad road;

		private final Participant me;

		Stepped() {
			FailureLog failureLog = new FailureLog();
			PoolOptions options = new PoolOptions("test", new PoolSettings(1, 1, false, 1, 0), Duration.ofHours(1),
					Thread.NORM_PRIORITY, 1, false, List.of(), 1, PromotionOrder.LIFO, 1L << 20,
					new NestedUpcalls.Options(NestedDispatch.WHEN_STARVED, 1, new NestingGuard() {
					}), List.of(), this.clock, SelectorProvider.provider(), ProcessorTime.SYSTEM,
					new PoolWatchdog.Options(0, 0));
			this.sets = new HandleSets("test", 1, 1, this.clock, SelectorProvider.provider(), failureLog);
			EventSources sources = new EventSources("test", List.of(), 1, this.clock);
			PoolThreads threads = new PoolThreads(options, new MemoryBudget(1L << 20), failureLog);
			PromotionProtocol promotion = new PromotionProtocol(this.sets.leaderships(),
					PromotionOrder.LIFO.followers(), threads.members(), threads,
					new Starvation(1, new PoolThreadsTests.Unheard()), (kind, nanos) -> {
					}, 1, this.clock);
			this.policy = new DispatchPolicy(promotion, threads, 1, this.clock);
			Unfolding unfolding = new Unfolding(promotion, this.sets.leaderships(), this.sets.deal(), 0,
					threads.members(), threads, this.policy, 1, ProcessorTime.SYSTEM, this.clock);
			this.road = new EventRoad(options, this.sets, sources, promotion, this.policy, unfolding, failureLog);
			Thread thread = Thread.currentThread();
			this.me = new Participant(1, new Follower(1, thread), thread, false, promotion,
					(participant, exchange) -> Exchange.State.REPLIED, new MemoryBudget(1), 0);
		}

		/** A handle that the leader finds ready. */
		private SelectableHandle work(EngineEventHandler handler) {
			SelectableHandle handle = this.sets.newTimer(handler);
			handle.release();
			handle.request(SelectableHandle.LOOK);
			return handle;
		}

	}

	private static final class PausingClock extends TestClock {

		private final List<Long> pauses = new ArrayList<>();

		@Override
		public void parkNanos(Object blocker, long nanos) {
			this.pauses.add(nanos);
		}

	}

	private static HandlerProfile shortHandler() {
		HandlerProfile profile = new HandlerProfile();
		for (int i = 0; i < 1000; i++) {
			profile.record(1);
		}
		assertThat(profile.blocks()).isFalse();
		return profile;
	}

	/** Has one event, and is handled for a second. */
	private static final class Once extends HandleSetUpdateTests.TestHandler {

		private final HandlerProfile profile;

		private final TestClock clock;

		Once(HandlerProfile profile, TestClock clock) {
			this.profile = profile;
			this.clock = clock;
		}

		@Override
		public boolean prepare(Participant me) {
			return true;
		}

		@Override
		public void dispatch(Participant me) {
			this.clock.advance(Duration.ofSeconds(1));
		}

		@Override
		public HandlerProfile profile() {
			return this.profile;
		}

	}

}
