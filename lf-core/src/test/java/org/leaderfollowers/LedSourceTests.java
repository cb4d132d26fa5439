package org.leaderfollowers;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;

import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.leaderfollowers.internal.promotion.Leadership;
import org.leaderfollowers.internal.promotion.Members;
import org.leaderfollowers.internal.promotion.PoolSettings;
import org.leaderfollowers.internal.promotion.PromotionProtocol;
import org.leaderfollowers.internal.promotion.Starvation;

import static org.assertj.core.api.Assertions.assertThat;

/** How a leader waits for the events of a source, step by step. */
class LedSourceTests {

	private static final Duration LONG = Duration.ofHours(1);

	private final TestClock clock = new TestClock();

	private final LedSource led = new LedSource("events", 0, this.clock);

	private final PromotionProtocol promotion = new PromotionProtocol(new Leadership[] { this.led.leadership },
			PromotionOrder.LIFO.followers(), new Members<>(this.clock),
			new StandInSupply(new PoolSettings(1, 1, false, 1, 0), this.clock),
			new Starvation(1, new PoolThreadsTests.Unheard()), (kind, vacancyNanos) -> {
			}, 1, this.clock);

	private final Source source = new Source();

	private final List<String> handled = new ArrayList<>();

	LedSourceTests() {
		this.led.use(this.source, (event) -> {
			this.handled.add(event);
			if (event.equals("bad")) {
				throw new IllegalStateException("made for the test");
			}
		});
	}

	/** No other test must find it. */
	@AfterEach
	void clearInterrupt() {
		Thread.interrupted();
	}

	private LedSource.@Nullable SourceEvent<?> await(Duration timeout) {
		return this.led.await(this.clock.nanoTime() + timeout.toNanos(), this.promotion);
	}

	private void handle(String event) {
		this.source.next = event;
		LedSource.SourceEvent<?> received = await(LONG);
		assertThat(received).isNotNull();
		this.source.next = null;
		received.dispatch();
	}

	/** A wake-up that the source loses does little harm. */
	@Test
	void leaderWaitsForTenSecondsAtMost() {
		await(LONG);
		await(Duration.ofSeconds(5));
		await(Duration.ofSeconds(-5));
		assertThat(this.source.waits).containsExactly(Duration.ofSeconds(10), Duration.ofSeconds(5), Duration.ZERO);
	}

	@Test
	void eventsAndTheirFailuresAreCounted() {
		handle("good");
		handle("bad");
		handle("good");
		assertThat(this.handled).containsExactly("good", "bad", "good");
		PoolSnapshot.EventSourceSnapshot snapshot = this.led.snapshot(null, Duration.ZERO, 2);
		assertThat(snapshot.events()).isEqualTo(3);
		assertThat(snapshot.handlerFailures()).isOne();
		assertThat(snapshot.sourceFailures()).isZero();
		this.source.meanwhile = () -> {
			throw new IllegalStateException("made for the test");
		};
		assertThat(await(LONG)).isNull();
		assertThat(this.led.snapshot(null, Duration.ZERO, 2).sourceFailures()).isOne();
	}

	@Test
	void nobodyWaitsAtASourceThatIsClosedOrInAPoolThatStops() {
		this.promotion.stop();
		assertThat(await(LONG)).isNull();
		LedSource closed = new LedSource("closed", 0, this.clock);
		assertThat(closed.isLeftAlone()).as("no registration").isTrue();
		closed.use(this.source, (event) -> {
		});
		closed.disuse();
		assertThat(closed.isInUse()).isFalse();
		assertThat(this.source.waits).isEmpty();
	}

	/** Its deregistration waits until nobody uses it. */
	@Test
	void sourceIsLeftAloneWhenItsLeaderHasReturned() {
		List<Boolean> left = new ArrayList<>();
		assertThat(this.led.isLeftAlone()).as("in use").isFalse();
		this.source.meanwhile = () -> {
			this.led.disuse();
			left.add(this.led.isLeftAlone());
			// Another thread, which has waited before.
			CompletableFuture.runAsync(this.led::endAwait, (task) -> new Thread(task).start()).join();
			left.add(this.led.isLeftAlone());
		};
		assertThat(await(LONG)).isNull();
		this.source.meanwhile = () -> {
		};
		assertThat(this.source.wakeUps).isOne();
		left.add(this.led.isLeftAlone());
		this.led.endAwait();
		assertThat(left).containsExactly(false, false, false);
		assertThat(this.led.isLeftAlone()).isTrue();
		// A leader that is about to wait sees that the source is closed.
		assertThat(await(LONG)).isNull();
		assertThat(this.led.isLeftAlone()).as("it stays so").isTrue();
		assertThat(this.source.waits).hasSize(1);
	}

	@Test
	void onlyALeaderThatWaitsIsWoken() {
		this.led.wakeLeader();
		assertThat(this.source.wakeUps).isZero();
		this.source.meanwhile = () -> {
			this.led.wakeLeader();
			this.led.wakeLeader();
		};
		await(LONG);
		assertThat(this.source.wakeUps).isOne();
		this.led.wakeLeader();
		assertThat(this.source.wakeUps).isOne();
	}

	/** The leader may have to end a lease, or to retire, before the source is retried. */
	@Test
	void leaderPausesNoLongerThanItMayWait() {
		List<Duration> pauses = new ArrayList<>();
		LedSource failing = new LedSource("failing", 0, new TestClock() {

			@Override
			public void parkNanos(Object blocker, long nanos) {
				pauses.add(Duration.ofNanos(nanos));
			}

		});
		this.source.meanwhile = () -> {
			throw new IllegalStateException("made for the test");
		};
		failing.use(this.source, (event) -> {
		});
		Duration wait = Duration.ofMillis(1);
		for (int i = 0; i < 100 && pauses.isEmpty(); i++) {
			failing.await(this.clock.nanoTime() + wait.toNanos(), this.promotion);
		}
		assertThat(pauses).singleElement().satisfies((pause) -> assertThat(pause).isLessThanOrEqualTo(wait));
	}

	/** It was meant for a thread of the application that has joined. */
	@Test
	void interruptThatEndsAWaitIsKept() {
		this.source.isInterrupted = true;
		assertThat(await(LONG)).isNull();
		assertThat(Thread.interrupted()).isTrue();
		assertThat(this.led.snapshot(null, Duration.ZERO, 0).sourceFailures()).isZero();
	}

	/** The source wakes its thread by an interrupt. */
	@Test
	void interruptThatWakesTheLeaderIsNotKept() {
		this.source.isInterrupted = true;
		this.source.meanwhile = this.led::wakeLeader;
		assertThat(await(LONG)).isNull();
		assertThat(Thread.interrupted()).isFalse();
	}

	/** A source whose wait ends at once. */
	private static final class Source implements EventSource<String> {

		private final List<Duration> waits = new ArrayList<>();

		private int wakeUps;

		private @Nullable String next;

		private boolean isInterrupted;

		/** What happens during the wait. */
		private Runnable meanwhile = () -> {
		};

		@Override
		public @Nullable String await(Duration timeout) throws InterruptedException {
			this.waits.add(timeout);
			this.meanwhile.run();
			if (this.isInterrupted) {
				throw new InterruptedException("made for the test");
			}
			return this.next;
		}

		@Override
		public void wakeup() {
			this.wakeUps++;
		}

	}

}
