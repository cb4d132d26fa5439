package org.leaderfollowers;

import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.BooleanSupplier;

import org.junit.jupiter.api.Test;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

/** Tests that no thread goes on waiting when there is a place for it. */
class PlacesTests {

	private final TestClock clock = new TestClock();

	private final Places places = new Places(this.clock);

	private volatile boolean free;

	/** Lets one more thread wait. */
	private CompletableFuture<Boolean> await(BooleanSupplier isFree, Duration timeout) {
		long deadlineNanos = this.clock.nanoTime() + timeout.toNanos();
		int before = this.places.waiting();
		CompletableFuture<Boolean> result = CompletableFuture
			.supplyAsync(() -> this.places.await(isFree, deadlineNanos), (task) -> new Thread(task).start());
		Engine.eventually().until(() -> this.places.waiting() > before);
		return result;
	}

	private static boolean get(CompletableFuture<Boolean> result) throws Exception {
		return result.get(Engine.DEADLINE.toSeconds(), TimeUnit.SECONDS);
	}

	@Test
	void placeThatIsFreedWakesAThread() throws Exception {
		CompletableFuture<Boolean> waiting = await(() -> this.free, Duration.ofHours(1));
		this.free = true;
		this.places.freed();
		assertThat(get(waiting)).isTrue();
		assertThat(this.places.waiting()).isZero();
	}

	@Test
	void changeWakesAllThreads() throws Exception {
		CompletableFuture<Boolean> first = await(() -> this.free, Duration.ofHours(1));
		CompletableFuture<Boolean> second = await(() -> this.free, Duration.ofHours(1));
		this.free = true;
		this.places.changed();
		assertThat(get(first)).isTrue();
		assertThat(get(second)).isTrue();
	}

	/** It may have been notified of the place before. */
	@Test
	void threadThatIsInterruptedWakesAnother() throws Exception {
		AtomicReference<Thread> interrupted = new AtomicReference<>();
		CompletableFuture<Boolean> first = await(() -> {
			interrupted.set(Thread.currentThread());
			return false;
		}, Duration.ofHours(1));
		CompletableFuture<Boolean> other = await(() -> this.free, Duration.ofHours(1));
		this.free = true;
		interrupted.get().interrupt();
		assertThat(get(first)).isFalse();
		assertThat(get(other)).isTrue();
	}

	@Test
	void threadThatFailsWakesAnother() throws Exception {
		AtomicInteger looks = new AtomicInteger();
		CompletableFuture<Boolean> first = await(() -> {
			if (looks.incrementAndGet() > 1) {
				throw new OutOfMemoryError("made for the test");
			}
			return false;
		}, Duration.ofHours(1));
		CompletableFuture<Boolean> other = await(() -> this.free, Duration.ofHours(1));
		this.free = true;
		// One of the two wakes, and if it fails, the other one.
		this.places.freed();
		assertThat(get(other)).isTrue();
		this.places.changed();
		assertThatExceptionOfType(ExecutionException.class).isThrownBy(() -> get(first))
			.withCauseInstanceOf(OutOfMemoryError.class);
		assertThat(this.places.waiting()).isZero();
	}

	@Test
	void threadThatGivesUpWakesAnother() throws Exception {
		CompletableFuture<Boolean> late = await(() -> false, Duration.ofHours(1));
		CompletableFuture<Boolean> other = await(() -> this.free, Duration.ofHours(2));
		this.clock.advance(Duration.ofMinutes(90));
		this.free = true;
		// If this wakes the thread that is late, nothing else wakes the other one.
		this.places.freed();
		assertThat(get(other)).isTrue();
		this.places.changed();
		assertThat(get(late)).isFalse();
	}

}
