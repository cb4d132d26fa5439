package org.leaderfollowers;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.Pipe;
import java.time.Duration;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicInteger;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Threads of the application that take part for a while.
 */
@Timeout(value = 60, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class JoinedThreadTests {

	@Test
	void theyReturnInTimeAlsoIfNobodyElseCanLead() throws Exception {
		CountDownLatch busy = new CountDownLatch(1);
		CountDownLatch release = new CountDownLatch(1);
		Pipe pipe = Pipe.open();
		try (LeaderFollowersPool pool = LeaderFollowersPool.builder().threads(1, 1).build()) {
			pipe.source().configureBlocking(false);
			pool.register(pipe.source(), (handle, type) -> {
				busy.countDown();
				uninterruptibly(release);
				handle.close();
			}, EventType.READ);
			pipe.sink().write(ByteBuffer.wrap(new byte[1]));
			busy.await();
			assertThat(pool.join(Duration.ofMillis(20))).isFalse();
			assertThat(pool.join(Duration.ZERO)).isFalse();
			release.countDown();
		}
		finally {
			release.countDown();
			pipe.sink().close();
		}
	}

	/** An interrupt that the handler leaves behind ends with it. */
	@Test
	void theyHandleTheEventThatTheyFindAlthoughTheirTimeIsUp() throws Exception {
		CountDownLatch busy = new CountDownLatch(1);
		CountDownLatch release = new CountDownLatch(1);
		AtomicInteger handled = new AtomicInteger();
		Pipe pipe = Pipe.open();
		Pipe other = Pipe.open();
		try (LeaderFollowersPool pool = LeaderFollowersPool.builder().threads(1, 1).build()) {
			pipe.source().configureBlocking(false);
			other.source().configureBlocking(false);
			pool.register(pipe.source(), (handle, type) -> {
				busy.countDown();
				uninterruptibly(release);
				handle.close();
			}, EventType.READ);
			pipe.sink().write(ByteBuffer.wrap(new byte[1]));
			busy.await();
			pool.register(other.source(), (handle, type) -> {
				handled.incrementAndGet();
				handle.close();
				Thread.currentThread().interrupt();
			}, EventType.READ);
			other.sink().write(ByteBuffer.wrap(new byte[1]));
			assertThat(pool.join(Duration.ZERO)).isFalse();
			assertThat(Thread.interrupted()).isFalse();
			assertThat(handled).hasValue(1);
			release.countDown();
		}
		finally {
			release.countDown();
			pipe.sink().close();
			other.sink().close();
		}
	}

	/** It came before the handler, so it is not meant for it. */
	@Test
	void anInterruptIsRestoredButDoesNotReachTheHandlerOfAnEventThatWasReady() throws Exception {
		CountDownLatch busy = new CountDownLatch(2);
		CountDownLatch release = new CountDownLatch(1);
		AtomicInteger interrupted = new AtomicInteger();
		AtomicInteger handled = new AtomicInteger();
		Pipe[] pipes = { Pipe.open(), Pipe.open(), Pipe.open() };
		try (LeaderFollowersPool pool = LeaderFollowersPool.builder().threads(1, 1).build()) {
			EventHandler handler = (handle, type) -> {
				if (Thread.currentThread().isInterrupted()) {
					interrupted.incrementAndGet();
				}
				handle.close();
				if (handled.incrementAndGet() < 3) {
					busy.countDown();
					uninterruptibly(release);
				}
			};
			register(pool, pipes[0], handler);
			Engine.eventually().until(() -> busy.getCount() == 1);
			// One thread takes both events and handles one of them.
			register(pool, pipes[1], handler);
			register(pool, pipes[2], handler);
			Thread joined = new Thread(() -> pool.join(Duration.ZERO));
			joined.start();
			busy.await();
			Thread.currentThread().interrupt();
			pool.join(Duration.ZERO);
			assertThat(Thread.interrupted()).isTrue();
			assertThat(handled).hasValue(3);
			assertThat(interrupted).hasValue(0);
			release.countDown();
			joined.join();
		}
		finally {
			release.countDown();
			for (Pipe pipe : pipes) {
				pipe.sink().close();
			}
		}
	}

	/** Registers one end of a pipe for an event. */
	private static void register(LeaderFollowersPool pool, Pipe pipe, EventHandler handler) throws IOException {
		pipe.source().configureBlocking(false);
		pipe.sink().write(ByteBuffer.wrap(new byte[1]));
		pool.register(pipe.source(), handler, EventType.READ);
	}

	@Test
	void theyMayComeAndGoWhileTheLeaderJustWaits() {
		try (LeaderFollowersPool pool = LeaderFollowersPool.builder().threads(1, 1).build()) {
			for (int i = 0; i < 200; i++) {
				assertThat(pool.join(Duration.ofNanos(1))).isFalse();
			}
		}
	}

	private static void uninterruptibly(CountDownLatch latch) {
		try {
			latch.await();
		}
		catch (InterruptedException ex) {
			Thread.currentThread().interrupt();
		}
	}

}
