package org.leaderfollowers;

import java.time.Duration;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;

import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * A queue as an event source: its wait ends when it must, and nothing else is
 * interrupted.
 */
@Timeout(120)
class QueueSourceTests {

	private static final Duration LONG = Duration.ofHours(1);

	/** Runs in the thread between the end of its wait and the check of its status. */
	private volatile Runnable whenPolled = () -> {
	};

	private final BlockingQueue<String> queue = new LinkedBlockingQueue<>() {

		@Override
		public @Nullable String poll(long timeout, TimeUnit unit) throws InterruptedException {
			String element = super.poll(timeout, unit);
			QueueSourceTests.this.whenPolled.run();
			return element;
		}

	};

	private final EventSource<String> source = EventSource.of(this.queue);

	@Test
	void anElementEndsTheWait() throws Exception {
		this.queue.add("event");
		assertThat(this.source.await(LONG)).isEqualTo("event");
	}

	/** The thread may run a handler by then. */
	@Test
	void aWakeUpAfterTheWaitDoesNotInterrupt() throws Exception {
		this.queue.add("event");
		assertThat(this.source.await(LONG)).isEqualTo("event");
		this.source.wakeup();
		assertThat(Thread.interrupted()).isFalse();
	}

	@Test
	void theTimeEndsTheWait() throws Exception {
		assertThat(this.source.await(Duration.ofMillis(1))).isNull();
		assertThat(this.source.await(Duration.ZERO)).isNull();
	}

	@Test
	void aWakeUpBeforeTheWaitEndsItOnceAndDoesNotHideAnElement() throws Exception {
		this.source.wakeup();
		this.source.wakeup();
		assertThat(this.source.await(LONG)).isNull();
		this.source.wakeup();
		this.queue.add("event");
		assertThat(this.source.await(LONG)).isEqualTo("event");
		AtomicInteger waits = new AtomicInteger();
		this.whenPolled = waits::incrementAndGet;
		assertThat(this.source.await(Duration.ofMillis(1))).isNull();
		assertThat(waits).hasValue(1);
		assertThat(Thread.interrupted()).isFalse();
	}

	@Test
	void aWakeUpEndsTheWaitAndLeavesNoInterruptBehind() throws Exception {
		AtomicReference<@Nullable Thread> waiter = new AtomicReference<>();
		CompletableFuture<Boolean> interrupted = new CompletableFuture<>();
		Thread thread = new Thread(() -> {
			waiter.set(Thread.currentThread());
			try {
				this.source.await(LONG);
			}
			catch (InterruptedException ex) {
				// A wait that is woken ends in this way.
			}
			catch (Exception ex) {
				interrupted.completeExceptionally(ex);
			}
			interrupted.complete(Thread.currentThread().isInterrupted());
		});
		thread.start();
		Engine.eventually().until(() -> thread.getState() == Thread.State.TIMED_WAITING);
		this.source.wakeup();
		assertThat(interrupted.get(30, TimeUnit.SECONDS)).isFalse();
		thread.join();
	}

	@Test
	void aWakeUpThatMeetsAnElementLosesNeither() throws Exception {
		this.queue.add("event");
		this.whenPolled = this.source::wakeup;
		assertThat(this.source.await(LONG)).isEqualTo("event");
		assertThat(Thread.currentThread().isInterrupted()).isFalse();
	}

}
