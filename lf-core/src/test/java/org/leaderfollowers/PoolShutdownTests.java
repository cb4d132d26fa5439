package org.leaderfollowers;

import java.lang.reflect.Field;
import java.nio.ByteBuffer;
import java.nio.channels.Pipe;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;

import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

/** Tests the order in which a pool closes its parts, even if some of them fail. */
class PoolShutdownTests {

	private final List<String> calls = new CopyOnWriteArrayList<>();

	private final class Served implements Drainable {

		private final String name;

		private final boolean isClient;

		/** How it fails when it drains and when it is closed. */
		private final @Nullable Error failure;

		Served(String name, boolean isClient) {
			this(name, isClient, null);
		}

		Served(String name, boolean isClient, @Nullable Error failure) {
			this.name = name;
			this.isClient = isClient;
			this.failure = failure;
		}

		private void call(String method) {
			PoolShutdownTests.this.calls.add(method + " " + this.name);
			if (this.failure != null) {
				throw this.failure;
			}
		}

		@Override
		public boolean isClient() {
			return this.isClient;
		}

		@Override
		public void beginDrain(long deadlineNanos) {
			call("begin");
		}

		@Override
		public boolean close(Duration grace) {
			call("close");
			return true;
		}

	}

	/**
	 * No server accepts connections while another one drains, and the handlers of all
	 * need the clients to answer their messages.
	 */
	@Test
	void allBeginToDrainBeforeOneIsClosedAndClientsAreClosedLast() {
		LeaderFollowersPool pool = LeaderFollowersPool.builder().name("test").build();
		pool.serves(new Served("client", true));
		pool.serves(new Served("server 1", false));
		pool.serves(new Served("server 2", false));
		assertThat(pool.close(Duration.ofSeconds(10))).isTrue();
		assertThat(this.calls).containsExactly("begin client", "begin server 1", "begin server 2", "close server 1",
				"close server 2", "close client");
	}

	/** Its threads would otherwise go on for ever. */
	@Test
	void poolIsClosedAlthoughAServerFails() {
		LinkageError failure = new LinkageError("made for the test");
		LeaderFollowersPool pool = LeaderFollowersPool.builder().name("test").threads(1, 1).build();
		pool.start();
		pool.serves(new Served("client", true));
		pool.serves(new Served("server 1", false, failure));
		pool.serves(new Served("server 2", false));
		assertThatExceptionOfType(LinkageError.class).isThrownBy(() -> pool.close(Engine.DEADLINE)).isSameAs(failure);
		assertThat(this.calls).containsExactly("begin client", "begin server 1", "begin server 2", "close server 1",
				"close server 2", "close client");
		assertThat(pool.snapshot().state()).isEqualTo(PoolSnapshot.State.STOPPED);
		assertThat(pool.living()).isEmpty();
	}

	@Test
	void allHandleSetsAreClosedAlthoughOneFails() {
		AtomicInteger closed = new AtomicInteger();
		LeaderFollowersPool pool = pool(2, () -> {
			if (closed.incrementAndGet() == 1) {
				throw new LinkageError("made for the test");
			}
		});
		assertThatExceptionOfType(LinkageError.class).isThrownBy(() -> pool.close(Engine.DEADLINE));
		assertThat(closed).hasValue(2);
	}

	/** The last thread closes the handle sets. */
	@Test
	void closeWaitsNoLongerIfTheLastThreadFails() throws Exception {
		AtomicReference<Thread> closing = new AtomicReference<>();
		LeaderFollowersPool pool = pool(1, () -> {
			Engine.eventually().until(() -> closing.get().getState() == Thread.State.TIMED_WAITING);
			throw new LinkageError("made for the test");
		});
		pool.start();
		// Otherwise the closing thread could find no thread, and close the set itself.
		Engine.eventually().until(() -> pool.snapshot().count(ThreadRole.LEADER) == 1);
		closing.set(new Thread(() -> pool.close(Duration.ofHours(1))));
		closing.get().setDaemon(true);
		closing.get().start();
		closing.get().join(Engine.DEADLINE.toMillis());
		assertThat(closing.get().isAlive()).isFalse();
	}

	/** It is not counted any more when another thread reports its own end. */
	@Test
	void closeWaitsForTheLastThreadAfterAnInterrupt() throws Exception {
		AtomicReference<PoolShutdown> shutdown = new AtomicReference<>();
		CountDownLatch handles = new CountDownLatch(1);
		CountDownLatch closes = new CountDownLatch(1);
		CountDownLatch gate = new CountDownLatch(1);
		LeaderFollowersPool pool = pool(1, () -> {
			shutdown.get().threadEnded();
			closes.countDown();
			Engine.pass(gate);
		});
		Field field = LeaderFollowersPool.class.getDeclaredField("shutdown");
		field.setAccessible(true);
		shutdown.set((PoolShutdown) field.get(pool));
		Thread closing = new Thread(() -> pool.close(Duration.ZERO));
		closing.setDaemon(true);
		Pipe pipe = Pipe.open();
		try (Pipe.SourceChannel source = pipe.source(); Pipe.SinkChannel sink = pipe.sink()) {
			source.configureBlocking(false);
			pool.start();
			pool.register(source, (handle, type) -> {
				handles.countDown();
				try {
					new CountDownLatch(1).await();
				}
				catch (InterruptedException ex) {
					// The handler ends.
				}
			}, EventType.READ);
			sink.write(ByteBuffer.allocate(1));
			Engine.pass(handles);
			closing.start();
			Engine.pass(closes);
			Engine.eventually().until(() -> !closing.isAlive() || joins(closing));
			assertThat(closing.isAlive()).as("the last thread still closes the handle set").isTrue();
		}
		finally {
			gate.countDown();
		}
		closing.join(Engine.DEADLINE.toMillis());
		assertThat(closing.isAlive()).isFalse();
	}

	/** Whether the thread waits for the end of another one. */
	private static boolean joins(Thread thread) {
		return Arrays.stream(thread.getStackTrace())
			.anyMatch((frame) -> frame.getClassName().equals(Thread.class.getName())
					&& frame.getMethodName().equals("join"));
	}

	/**
	 * Creates a pool.
	 * @param whenClosed called when one of its selectors has been closed
	 */
	private static LeaderFollowersPool pool(int handleSets, Runnable whenClosed) {
		return LeaderFollowersPool.builder()
			.name("test")
			.threads(handleSets, handleSets)
			.handleSets(handleSets)
			.selectorProvider(new FaultySelectors(() -> {
			}, () -> {
			}).whenClosed(whenClosed))
			.build();
	}

}
