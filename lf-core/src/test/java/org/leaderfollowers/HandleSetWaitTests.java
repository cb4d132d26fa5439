package org.leaderfollowers;

import java.io.IOException;
import java.nio.channels.SelectionKey;
import java.nio.channels.Selector;
import java.nio.channels.spi.AbstractSelectableChannel;
import java.nio.channels.spi.AbstractSelector;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Set;
import java.util.function.Consumer;

import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.leaderfollowers.internal.logging.FailureLog;
import org.leaderfollowers.internal.promotion.Members;
import org.leaderfollowers.internal.promotion.PoolSettings;
import org.leaderfollowers.internal.promotion.PromotionProtocol;
import org.leaderfollowers.internal.promotion.Starvation;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatCode;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

/** When and for how long the leader of a handle set waits, at a selector of the test. */
class HandleSetWaitTests {

	private static final long LONG = Duration.ofHours(1).toNanos();

	private static final long RETURNS_OF_A_BROKEN_SELECTOR = 600;

	private final TestClock clock = new TestClock();

	private final Selectors selectors = new Selectors();

	private final HandleSets sets = new HandleSets("test", 2, 2, this.clock, this.selectors, new FailureLog());

	private final HandleSet set = this.sets.get(0);

	private final HandleSetUpdateTests.TestHandler handler = new HandleSetUpdateTests.TestHandler();

	private final SelectableHandle handle = this.sets.newTimer(this.handler);

	private final PromotionProtocol promotion = new PromotionProtocol(this.sets.leaderships(),
			PromotionOrder.LIFO.followers(), new Members<>(this.clock),
			new StandInSupply(new PoolSettings(1, 1, false, 1, 0), this.clock),
			new Starvation(2, new PoolThreadsTests.Unheard()), (kind, vacancyNanos) -> {
			}, 1, this.clock);

	HandleSetWaitTests() {
		assertThat(this.set.leadership.take(1)).isTrue();
		assertThat(this.sets.get(1).leadership.take(2)).isTrue();
		this.handle.release();
	}

	@AfterEach
	void close() {
		this.sets.forEach(HandleSet::close);
	}

	private void await() {
		this.set.await(this.clock.nanoTime() + LONG, this.promotion, () -> false);
	}

	/**
	 * What it waits for came after it had looked, and before it announced its wait. A
	 * wake-up of the selector would not be enough: the updates that it applies may call
	 * the selector too.
	 */
	@Test
	void leaderDoesNotWaitIfItsOwnWaitIsOver() {
		this.set.await(this.clock.nanoTime() + LONG, this.promotion, () -> {
			assertThat(this.set.updates.isWaitedFor()).as("announced").isTrue();
			return true;
		});
		assertThat(this.selectors.waits).isEmpty();
	}

	/** It holds the events for other threads, and would otherwise go in circles. */
	@Test
	void leaderWaitsAlthoughItHoldsEvents() {
		this.set.demultiplex(this.handle, SelectableHandle.LOOK);
		assertThat(this.set.ready.isEmpty()).isFalse();
		await();
		assertThat(this.selectors.waits).hasSize(1);
	}

	/**
	 * Slots are cleared only when the queue is empty, or they would be those of others.
	 */
	@Test
	void heldEventsRemainIfTheQueueIsFull() {
		int length = 64;
		fill(length);
		for (int i = 0; i < length; i++) {
			assertThat(this.set.ready.take()).isSameAs(this.handle);
		}
		fill(length);
		await();
		for (int i = 0; i < length; i++) {
			assertThat(this.set.ready.take()).isSameAs(this.handle);
		}
		assertThat(this.set.ready.isEmpty()).isTrue();
	}

	private void fill(int length) {
		for (int i = 0; i < length; i++) {
			this.set.ready.reserve();
			this.set.ready.add(this.handle);
		}
	}

	/** A busy thread would leave events to it, and requesters would wake its selector. */
	@ParameterizedTest
	@MethodSource
	void leaderDoesNotSeemToWaitAfterAWaitThatHasFailed(Throwable failure) {
		int opened = this.selectors.opened;
		this.selectors.meanwhile = () -> {
			assertThat(this.set.updates.isWaitedFor()).isTrue();
			throwUnchecked(failure);
		};
		boolean isError = failure instanceof Error;
		assertThatCode(this::await).isEqualTo(isError ? failure : null);
		assertThat(this.set.updates.isWaitedFor()).isFalse();
		assertThat(this.selectors.opened).as("replaced").isEqualTo(isError ? opened : opened + 1);
	}

	static List<Throwable> leaderDoesNotSeemToWaitAfterAWaitThatHasFailed() {
		return List.of(new IOException("made for the test"), new IllegalStateException("made for the test"),
				new OutOfMemoryError("made for the test"));
	}

	@SuppressWarnings("unchecked")
	private static <T extends Throwable> void throwUnchecked(Throwable failure) throws T {
		throw (T) failure;
	}

	/** The failure must be handled, but the events of others are taken first. */
	@Test
	void leaderThatLacksMemoryLooksForEventsAndDoesNotWait() {
		this.handler.deadline = this.clock.nanoTime() + 1;
		this.handle.request(SelectableHandle.TIMER);
		await();
		assertThat(this.selectors.waits).hasSize(1);
		this.clock.advance(Duration.ofMillis(1));
		this.handler.lacksMemory = true;
		assertThatExceptionOfType(OutOfMemoryError.class).isThrownBy(this::await);
		this.handler.lacksMemory = false;
		assertThat(this.selectors.waits).hasSize(1);
		assertThat(this.selectors.looks).isOne();
	}

	/** The thread that stops the pool wakes only a leader whose wait it can see. */
	@Test
	void leaderDoesNotWaitIfThePoolStops() {
		this.promotion.stop();
		await();
		assertThat(this.set.updates.isWaitedFor()).isFalse();
		assertThat(this.selectors.waits).isEmpty();
		assertThat(this.selectors.looks).isOne();
	}

	@Test
	void timeAfterAWaitIsThatOfItsEnd() {
		this.selectors.meanwhile = () -> this.clock.advance(Duration.ofMinutes(1));
		await();
		await();
		assertThat(this.set.nowNanos()).isEqualTo(this.clock.nanoTime());
		assertThat(this.set.waitedNanos).isEqualTo(Duration.ofMinutes(2).toNanos());
	}

	/** Only a set without handles is about to rest. */
	@Test
	void leaderOfASetThatGetsNoNewHandlesWaitsForEventsOfTheOthers() {
		HandleSet unused = this.sets.get(1);
		this.sets.deal().use(1);
		this.selectors.hasKeys = true;
		unused.await(this.clock.nanoTime() + LONG, this.promotion, null);
		this.selectors.hasKeys = false;
		unused.await(this.clock.nanoTime() + LONG, this.promotion, null);
		assertThat(this.selectors.waits).hasSize(2);
		assertThat(this.selectors.waits.get(0)).isGreaterThan(Duration.ofMinutes(59).toMillis());
		assertThat(this.selectors.waits.get(1)).isLessThanOrEqualTo(2);
	}

	private void returnsAtOnce(long times) {
		for (long i = 0; i < times; i++) {
			await();
			this.clock.advance(Duration.ofMillis(1));
		}
	}

	@Test
	void selectorThatReturnsAtOnceAgainAndAgainIsReplaced() {
		int opened = this.selectors.opened;
		returnsAtOnce(RETURNS_OF_A_BROKEN_SELECTOR);
		assertThat(this.selectors.opened).isGreaterThan(opened);
	}

	/** The ready handle may be owned, so that nothing becomes of the event. */
	@Test
	void selectorThatReportsEventsIsNotReplaced() {
		int opened = this.selectors.opened;
		this.selectors.count = 1;
		returnsAtOnce(RETURNS_OF_A_BROKEN_SELECTOR);
		assertThat(this.selectors.opened).isEqualTo(opened);
	}

	@Test
	void selectorThatWaitsMeanwhileIsNotReplaced() {
		int opened = this.selectors.opened;
		returnsAtOnce(RETURNS_OF_A_BROKEN_SELECTOR / 2);
		this.selectors.meanwhile = () -> this.clock.advance(Duration.ofNanos(LONG));
		await();
		this.selectors.meanwhile = () -> {
		};
		returnsAtOnce(RETURNS_OF_A_BROKEN_SELECTOR / 2);
		assertThat(this.selectors.opened).isEqualTo(opened);
	}

	/** Selectors without events that return at once. */
	private static final class Selectors extends TestSelectors {

		/** How long each wait was to last, in milliseconds. */
		private final List<Long> waits = new ArrayList<>();

		private int looks;

		/** How many events they report. */
		private int count;

		private int opened;

		private boolean hasKeys;

		/** What happens during a wait. */
		private Runnable meanwhile = () -> {
		};

		@Override
		public AbstractSelector openSelector() {
			this.opened++;
			return new AbstractSelector(this) {

				@Override
				protected void implCloseSelector() {
				}

				@Override
				protected SelectionKey register(AbstractSelectableChannel channel, int operations, Object attachment) {
					throw new UnsupportedOperationException();
				}

				@Override
				public Set<SelectionKey> keys() {
					// Only whether there is any counts here.
					return Selectors.this.hasKeys ? Collections.singleton(null) : Set.of();
				}

				@Override
				public Set<SelectionKey> selectedKeys() {
					return Set.of();
				}

				@Override
				public int selectNow(Consumer<SelectionKey> action) {
					Selectors.this.looks++;
					return 0;
				}

				@Override
				public int select(Consumer<SelectionKey> action, long millis) {
					Selectors.this.waits.add(millis);
					Selectors.this.meanwhile.run();
					return Selectors.this.count;
				}

				@Override
				public int selectNow() {
					return 0;
				}

				@Override
				public int select(long millis) {
					throw new UnsupportedOperationException();
				}

				@Override
				public int select() {
					throw new UnsupportedOperationException();
				}

				@Override
				public Selector wakeup() {
					return this;
				}

			};
		}

	}

}
