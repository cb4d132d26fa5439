package org.leaderfollowers;

import java.nio.ByteBuffer;
import java.nio.channels.Pipe;
import java.nio.channels.SelectionKey;
import java.time.Duration;
import java.util.Objects;
import java.util.concurrent.atomic.AtomicInteger;

import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.leaderfollowers.internal.promotion.Clock;
import org.leaderfollowers.internal.promotion.HandledWork;
import org.leaderfollowers.internal.promotion.HandlerProfile;
import org.leaderfollowers.internal.promotion.Leadership;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Memory stays so short that not even a failure can be handled. The handle is neither
 * lost nor left half closed: later owners try again until they succeed.
 */
@Timeout(120)
class FailureRetryTests {

	@RegisterExtension
	final Engine engine = new Engine();

	/** Fails, and cannot handle the failure a few times. */
	private static final class Failing implements EngineEventHandler {

		private final HandledWork work = new HandledWork("a failing handle", null, null);

		/** A handle that has failed is not processed any more. */
		private final AtomicInteger rounds = new AtomicInteger();

		private final AtomicInteger attempts = new AtomicInteger();

		private final int shortages;

		/** Whether the socket was closed before memory was short. */
		private final boolean halfClosed;

		private volatile @Nullable SelectableHandle handle;

		Failing(int shortages, boolean halfClosed) {
			this.shortages = shortages;
			this.halfClosed = halfClosed;
		}

		private SelectableHandle handle() {
			SelectableHandle current = this.handle;
			assertThat(current).isNotNull();
			return current;
		}

		@Override
		public boolean prepare(Participant me) {
			this.rounds.incrementAndGet();
			throw new OutOfMemoryError("made for the test");
		}

		@Override
		public boolean failed(Participant me, Throwable failure) {
			boolean isShort = this.attempts.incrementAndGet() <= this.shortages;
			if (!isShort || this.halfClosed) {
				handle().closeByOwner();
			}
			if (isShort) {
				throw new OutOfMemoryError("made for the test");
			}
			return false;
		}

		@Override
		public void dispatch(Participant me) {
			throw new IllegalStateException("nothing was prepared");
		}

		@Override
		public boolean release(Participant me) {
			throw new IllegalStateException("the handle was not processed");
		}

		@Override
		public HandlerProfile profile() {
			return handle().profile();
		}

		@Override
		public void abandon() {
		}

		@Override
		public HandledWork work() {
			return this.work;
		}

	}

	@Test
	void aHandleIsClosedAsSoonAsThereIsMemoryForIt() throws Exception {
		assertClosed(new Failing(7, false));
	}

	@Test
	void theEndOfAClosedHandleIsReachedAsSoonAsThereIsMemoryForIt() throws Exception {
		assertClosed(new Failing(7, true));
	}

	private void assertClosed(Failing handler) throws Exception {
		LeaderFollowersPool pool = this.engine.pool(2, 4);
		pool.start();
		int handles = handles(pool);
		Pipe pipe = Pipe.open();
		try (Pipe.SinkChannel sink = pipe.sink()) {
			pipe.source().configureBlocking(false);
			SelectableHandle handle = pool.handleSets()
				.newHandle(pipe.source(), handler, SelectionKey.OP_READ, new HandlerProfile());
			handler.handle = handle;
			handle.release();
			handle.request(SelectableHandle.REGISTER | SelectableHandle.REARM);
			sink.write(ByteBuffer.allocate(1));
			Engine.eventually().until(() -> handler.attempts.get() == handler.shortages + 1);
			Engine.eventually().until(handle::isMarkedClosed);
			assertThat(pipe.source().isOpen()).isFalse();
			Engine.eventually().until(() -> handles(pool) == handles);
			Engine.awaitIdle(pool);
			assertThat(handler.attempts).hasValue(handler.shortages + 1);
			assertThat(handler.rounds).hasValue(1);
		}
	}

	/** Fails when it is dispatched, and closes its handle in the next round. */
	private static final class ClosingLater extends HandleSetUpdateTests.TestHandler {

		private final HandlerProfile profile = new HandlerProfile();

		private volatile @Nullable SelectableHandle handle;

		private boolean hasFailed;

		/** The handler counts as short, so its thread leases the leadership. */
		ClosingLater() {
			while (this.profile.blocks()) {
				this.profile.record(0);
			}
		}

		@Override
		public boolean prepare(Participant me) {
			return !this.hasFailed;
		}

		@Override
		public void dispatch(Participant me) {
			throw new IllegalStateException("made for the test");
		}

		@Override
		public boolean failed(@Nullable Participant me, Throwable failure) {
			this.hasFailed = true;
			return true;
		}

		@Override
		public boolean release(Participant me) {
			Objects.requireNonNull(this.handle).closeByOwner();
			return true;
		}

		@Override
		public HandlerProfile profile() {
			return this.profile;
		}

	}

	@Test
	void aHandleThatCannotBeClosedAtOnceIsClosedByTheSameThreadWhichLeadsOn() throws Exception {
		LeaderFollowersPool pool = this.engine
			.pool(LeaderFollowersPool.builder().threads(1, 1).promotionLease(Duration.ofMinutes(1)));
		pool.start();
		ClosingLater handler = new ClosingLater();
		Pipe pipe = Pipe.open();
		try (Pipe.SinkChannel sink = pipe.sink()) {
			pipe.source().configureBlocking(false);
			SelectableHandle handle = pool.handleSets()
				.newHandle(pipe.source(), handler, SelectionKey.OP_READ, new HandlerProfile());
			handler.handle = handle;
			handle.release();
			handle.request(SelectableHandle.REGISTER | SelectableHandle.REARM);
			sink.write(ByteBuffer.allocate(1));
			Engine.eventually().until(handle::isMarkedClosed);
			Engine.eventually().until(() -> Leadership.isLedWithoutLease(handle.handleSet().leadership.word()));
		}
	}

	/** Fails whenever a thread is about to wait, and cannot even wait for more memory. */
	private static final class FailingClock extends Clock {

		private final AtomicInteger failures = new AtomicInteger();

		private volatile boolean isShort;

		@Override
		public void parkNanos(Object blocker, long nanos) {
			if (this.isShort) {
				this.failures.incrementAndGet();
				throw new OutOfMemoryError("made for the test");
			}
			super.parkNanos(blocker, nanos);
		}

	}

	@Test
	void noThreadIsLostIfNotEvenItsFailureCanBeHandled() {
		FailingClock clock = new FailingClock();
		LeaderFollowersPool pool = this.engine.pool(LeaderFollowersPool.builder().threads(3, 3).clock(clock));
		clock.isShort = true;
		try {
			pool.start();
			Engine.eventually().until(() -> clock.failures.get() > 10);
		}
		finally {
			clock.isShort = false;
		}
		assertThat(Engine.awaitIdle(pool).threadsStarted()).isEqualTo(3);
	}

	private static int handles(LeaderFollowersPool pool) {
		return pool.snapshot().handleSets().stream().mapToInt(PoolSnapshot.HandleSetSnapshot::handles).sum();
	}

}
