package org.leaderfollowers.internal.lifecycle;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.BooleanSupplier;
import java.util.function.Supplier;

import org.junit.jupiter.api.Test;
import org.leaderfollowers.Engine;
import org.leaderfollowers.internal.promotion.Clock;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

class QuiescenceTests {

	private final Quiescence quiescence = new Quiescence(Clock.SYSTEM);

	private final AtomicInteger running = new AtomicInteger();

	private final AtomicBoolean ended = new AtomicBoolean();

	private boolean await(boolean handler, long seconds) {
		return this.quiescence.await((exceptHandlers) -> this.running.get() <= exceptHandlers, handler,
				System.nanoTime() + TimeUnit.SECONDS.toNanos(seconds), this.ended::get);
	}

	/**
	 * Runs in a thread of its own: the common pool may have a single thread, in which one
	 * task would wait for the other.
	 */
	private static CompletableFuture<Boolean> inItsOwnThread(Supplier<Boolean> action) {
		return CompletableFuture.supplyAsync(action, (task) -> new Thread(task).start());
	}

	@Test
	void aHandlerDoesNotWaitForItself() {
		this.running.set(1);
		assertThat(await(true, 30)).isTrue();
	}

	@Test
	void handlersThatWaitAreLetGoTogether() throws Exception {
		this.running.set(2);
		CompletableFuture<Boolean> first = inItsOwnThread(() -> await(true, 30));
		CompletableFuture<Boolean> second = inItsOwnThread(() -> await(true, 30));
		// Neither has returned from its handler: both still run.
		assertThat(first.get(30, TimeUnit.SECONDS)).isTrue();
		assertThat(second.get(30, TimeUnit.SECONDS)).isTrue();
	}

	@Test
	void aHandlerThatHasGivenUpCountsAgain() {
		this.running.set(2);
		assertThat(await(true, 0)).isFalse();
		assertThat(await(true, 0)).isFalse();
	}

	/** How many handlers wait if another one does. */
	private int counted() {
		AtomicInteger waiting = new AtomicInteger();
		assertThat(await((handlers) -> {
			waiting.set(handlers);
			return true;
		})).isTrue();
		return waiting.get();
	}

	/** As a handler, for longer than a test takes. */
	private boolean await(Quiescence.Condition condition) {
		return this.quiescence.await(condition, true, System.nanoTime() + TimeUnit.HOURS.toNanos(1), this.ended::get);
	}

	/** Otherwise a server would later close although a handler is running. */
	@Test
	void aHandlerCountsOnlyWhileItWaits() throws Exception {
		assertThat(counted()).isOne();
		assertThat(counted()).as("after a rest").isOne();
		assertThat(await(false, 30)).isTrue();
		assertThat(counted()).as("after a rest that another caller has awaited").isOne();
		handlersThatWaitAreLetGoTogether();
		assertThat(counted()).as("after a rest that another handler has noticed").isOne();
		Thread.currentThread().interrupt();
		assertThat(await(true, 30)).isFalse();
		assertThat(Thread.interrupted()).isTrue();
		assertThat(counted()).as("after an interrupt").isOne();
		assertThatExceptionOfType(OutOfMemoryError.class).isThrownBy(() -> await((handlers) -> {
			throw new OutOfMemoryError("made for the test");
		}));
		assertThat(counted()).as("after a failure").isOne();
	}

	private CompletableFuture<Boolean> waiting(Quiescence.Condition condition) {
		return waiting(condition, true, this.ended::get);
	}

	private CompletableFuture<Boolean> waiting(Quiescence.Condition condition, boolean handler, BooleanSupplier end) {
		CompletableFuture<Boolean> result = new CompletableFuture<>();
		Thread waiting = new Thread(() -> result
			.complete(this.quiescence.await(condition, handler, System.nanoTime() + TimeUnit.HOURS.toNanos(1), end)));
		waiting.setDaemon(true);
		waiting.start();
		Engine.eventually().until(() -> waiting.getState() == Thread.State.TIMED_WAITING);
		return result;
	}

	@Test
	void aHandlerThatBeginsToWaitIsNoticed() throws Exception {
		CompletableFuture<Boolean> first = waiting((handlers) -> handlers == 2);
		CompletableFuture<Boolean> second = inItsOwnThread(() -> await((handlers) -> false));
		assertThat(second.get(60, TimeUnit.SECONDS)).as("let go together").isTrue();
		assertThat(first.get(60, TimeUnit.SECONDS)).isTrue();
	}

	/** Whichever thread looks first after a change. */
	@Test
	void handlersThatWaitForSomethingElseAreLetGoToo() throws Exception {
		CompletableFuture<Boolean> first = waiting((handlers) -> false);
		CompletableFuture<Boolean> second = waiting((handlers) -> this.running.get() > 0);
		CompletableFuture<Boolean> third = waiting((handlers) -> false);
		this.running.set(1);
		this.quiescence.changed();
		for (CompletableFuture<Boolean> rest : List.of(first, second, third)) {
			assertThat(rest.get(60, TimeUnit.SECONDS)).isTrue();
		}
	}

	@Test
	void allThreadsThatWaitNoticeAHandlerThatBeginsToWait() throws Exception {
		CompletableFuture<Boolean> other = waiting((handlers) -> false, false, this.ended::get);
		CompletableFuture<Boolean> first = waiting((handlers) -> handlers == 3);
		CompletableFuture<Boolean> second = waiting((handlers) -> false);
		CompletableFuture<Boolean> third = inItsOwnThread(() -> await((handlers) -> false));
		for (CompletableFuture<Boolean> handler : List.of(first, second, third)) {
			assertThat(handler.get(60, TimeUnit.SECONDS)).isTrue();
		}
		this.ended.set(true);
		this.quiescence.changed();
		assertThat(other.get(60, TimeUnit.SECONDS)).isFalse();
	}

	/** They run no handler, so nothing excepts the handlers that they wait for. */
	@Test
	void otherCallersAreNotLetGoWithHandlers() throws Exception {
		CompletableFuture<Boolean> handler = waiting((handlers) -> this.running.get() > 0);
		CompletableFuture<Boolean> other = waiting((handlers) -> handlers > 0, false, this.ended::get);
		this.running.set(1);
		this.quiescence.changed();
		assertThat(handler.get(60, TimeUnit.SECONDS)).isTrue();
		this.ended.set(true);
		this.quiescence.changed();
		assertThat(other.get(60, TimeUnit.SECONDS)).isFalse();
	}

	@Test
	void handlersAreNotLetGoWithOtherCallers() throws Exception {
		CompletableFuture<Boolean> handler = waiting((handlers) -> false);
		assertThat(await(false, 30)).isTrue();
		this.ended.set(true);
		this.quiescence.changed();
		assertThat(handler.get(60, TimeUnit.SECONDS)).isFalse();
	}

	@Test
	void otherCallersWaitForHandlersThatWait() throws Exception {
		this.running.set(1);
		CompletableFuture<Boolean> other = inItsOwnThread(() -> await(false, 30));
		assertThat(await(true, 30)).isTrue();
		assertThat(other).isNotDone();
		this.running.set(0);
		this.quiescence.changed();
		assertThat(other.get(30, TimeUnit.SECONDS)).isTrue();
	}

	@Test
	void allThreadsThatWaitNoticeAChange() throws Exception {
		this.running.set(1);
		List<CompletableFuture<Boolean>> rests = new ArrayList<>();
		for (int i = 0; i < 2; i++) {
			CompletableFuture<Boolean> rest = new CompletableFuture<>();
			Thread waiting = new Thread(() -> rest.complete(await(false, 3600)));
			waiting.setDaemon(true);
			waiting.start();
			Engine.eventually().until(() -> waiting.getState() == Thread.State.TIMED_WAITING);
			rests.add(rest);
		}
		this.running.set(0);
		this.quiescence.changed();
		for (CompletableFuture<Boolean> rest : rests) {
			assertThat(rest.get(60, TimeUnit.SECONDS)).isTrue();
		}
	}

	@Test
	void theDeadlineAndTheEndAreNoRest() throws Exception {
		this.running.set(1);
		assertThat(await(false, 0)).isFalse();
		CompletableFuture<Boolean> other = inItsOwnThread(() -> await(false, 30));
		this.ended.set(true);
		this.quiescence.changed();
		assertThat(other.get(30, TimeUnit.SECONDS)).isFalse();
	}

	@Test
	void theWaitEndsAtTheDeadline() throws Exception {
		CompletableFuture<Boolean> late = inItsOwnThread(() -> this.quiescence.await((handlers) -> false, false,
				System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(1), () -> false));
		assertThat(late.get(60, TimeUnit.SECONDS)).isFalse();
	}

	@Test
	void theDeadlineIsTooLate() {
		AtomicInteger looks = new AtomicInteger();
		Quiescence now = new Quiescence(new Clock() {

			@Override
			public long nanoTime() {
				return 100;
			}

			@Override
			public void parkNanos(Object blocker, long nanos) {
				throw new UnsupportedOperationException();
			}

		});
		assertThat(now.await((handlers) -> looks.incrementAndGet() > 1, false, 100, () -> false)).isFalse();
	}

	@Test
	void anInterruptEndsTheWaitAndIsKept() {
		this.running.set(1);
		Thread.currentThread().interrupt();
		assertThat(await(false, 30)).isFalse();
		assertThat(Thread.interrupted()).isTrue();
	}

}
