package org.leaderfollowers;

import java.nio.channels.spi.SelectorProvider;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicInteger;

import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.leaderfollowers.internal.buffer.MemoryBudget;
import org.leaderfollowers.internal.logging.FailureLog;
import org.leaderfollowers.internal.promotion.Clock;
import org.leaderfollowers.internal.promotion.Leadership;
import org.leaderfollowers.internal.promotion.PoolSettings;
import org.leaderfollowers.internal.promotion.ProcessorTime;
import org.leaderfollowers.internal.promotion.PromotionProtocol;
import org.leaderfollowers.internal.promotion.Starvation;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * A new thread that cannot join its pool, for example because memory is short, leaves no
 * trace: another one can be started in its place.
 */
class PoolThreadsTests {

	private final Pool pool = new Pool();

	@Test
	void aThreadThatCannotJoinIsNotCounted() {
		this.pool.threads.startMinimum();
		Engine.eventually().until(() -> this.pool.ended.get() == 1);
		assertThat(this.pool.threads.count()).isZero();
		this.pool.isShort = false;
		this.pool.threads.startMinimum();
		Engine.pass(this.pool.participates);
	}

	@Test
	void aThreadThatCannotJoinIsNotExpectedToLead() {
		this.pool.promotion.signalIfVacant();
		Engine.eventually().until(() -> this.pool.ended.get() == 1);
		this.pool.isShort = false;
		this.pool.promotion.signalIfVacant();
		Engine.pass(this.pool.participates);
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
	void theWatchdogReplacesAThreadThatHasEnded() {
		this.pool.threads.startMinimum();
		Engine.eventually().until(() -> this.pool.ended.get() == 1);
		this.pool.isShort = false;
		new PoolWatchdog(this.pool.options, this.pool.sets, this.pool.threads, new PoolListeners(List.of())).look();
		Engine.pass(this.pool.participates);
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

	/** The attributes of a new thread that may depend on the thread that starts it. */
	private record Inheritance(@Nullable ClassLoader loader, @Nullable String local, boolean daemon) {
	}

	/** A pool of one thread and one handle set that has no leader. */
	private static final class Pool implements PoolThreads.Pool {

		private final PoolOptions options;

		private final PoolThreads threads;

		private final PromotionProtocol promotion;

		private final AtomicInteger ended = new AtomicInteger();

		private final CountDownLatch participates = new CountDownLatch(1);

		private final HandleSets sets = new HandleSets("test", 1, 1, Clock.SYSTEM, SelectorProvider.provider(),
				new FailureLog());

		private volatile boolean isShort = true;

		private final InheritableThreadLocal<@Nullable String> inherited = new InheritableThreadLocal<>();

		private volatile Optional<Inheritance> inheritance = Optional.empty();

		private Optional<Participant> looking = Optional.empty();

		Pool() {
			this.options = new PoolOptions("test", new PoolSettings(1, 1, false, 1, 0), Duration.ofHours(1),
					Thread.NORM_PRIORITY, 1, false, List.of(), 1, PromotionOrder.LIFO, 1L << 20,
					new NestedUpcalls.Options(NestedDispatch.NEVER, 1, new NestingGuard() {
					}), List.of(), Clock.SYSTEM, SelectorProvider.provider(), ProcessorTime.SYSTEM,
					new PoolWatchdog.Options(0, 0));
			this.threads = new PoolThreads(this.options, new MemoryBudget(1L << 20), new FailureLog());
			this.threads.of(this);
			this.promotion = new PromotionProtocol(new Leadership[] { this.sets.get(0).leadership },
					PromotionOrder.LIFO.followers(), this.threads.members(), this.threads,
					new Starvation(1, new Unheard()), (kind, vacancyNanos) -> {
					}, Duration.ofHours(1).toNanos(), Clock.SYSTEM);
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

		@Override
		public PromotionProtocol promotion() {
			return this.promotion;
		}

		@Override
		public Participant.@Nullable ReplyWait replyWait() {
			if (this.isShort) {
				throw new OutOfMemoryError("made for the test");
			}
			return null;
		}

		@Override
		public void participate(Participant me) {
			Thread thread = Thread.currentThread();
			this.inheritance = Optional
				.of(new Inheritance(thread.getContextClassLoader(), this.inherited.get(), thread.isDaemon()));
			this.participates.countDown();
			this.promotion.stop();
		}

		@Override
		public void threadEnded() {
			this.ended.incrementAndGet();
		}

	}

	private static final class Unheard implements Starvation.Listener {

		@Override
		public void began() {
		}

		@Override
		public void ended(long nanos) {
		}

	}

}
