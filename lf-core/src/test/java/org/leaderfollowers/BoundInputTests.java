package org.leaderfollowers;

import java.io.IOException;
import java.nio.channels.Pipe;
import java.nio.channels.SelectionKey;
import java.nio.channels.spi.SelectorProvider;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.LockSupport;

import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.leaderfollowers.internal.buffer.MemoryBudget;
import org.leaderfollowers.internal.demultiplexing.HandleState.Claim;
import org.leaderfollowers.internal.exchange.Exchange;
import org.leaderfollowers.internal.logging.FailureLog;
import org.leaderfollowers.internal.promotion.Clock;
import org.leaderfollowers.internal.promotion.Follower;
import org.leaderfollowers.internal.promotion.HandledWork;
import org.leaderfollowers.internal.promotion.HandlerProfile;
import org.leaderfollowers.internal.promotion.Members;
import org.leaderfollowers.internal.promotion.PoolSettings;
import org.leaderfollowers.internal.promotion.PromotionProtocol;
import org.leaderfollowers.internal.promotion.Starvation;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

/**
 * Tests how a thread that waits in a handler learns that the connection of this handler
 * has input, and how it reads it.
 */
class BoundInputTests {

	private final HandleSets sets = new HandleSets("test", 1, 1, Clock.SYSTEM, SelectorProvider.provider(),
			new FailureLog());

	private final TestConnection connection = new TestConnection();

	private static Participant participant(Thread thread) {
		return new Participant(1, new Follower(1, thread), thread, true, null,
				(participant, exchange) -> Exchange.State.REPLIED, new MemoryBudget(1000), 0);
	}

	@Test
	void inputWakesTheThreadAndTheSelectorThatItMayWaitAt() throws Exception {
		CompletableFuture<BoundInput> waiting = new CompletableFuture<>();
		CountDownLatch woken = new CountDownLatch(1);
		Thread thread = new Thread(() -> {
			BoundInput input = participant(Thread.currentThread()).boundInput;
			waiting.complete(input);
			while (!input.isWanted()) {
				LockSupport.park();
			}
			woken.countDown();
		});
		thread.setDaemon(true);
		thread.start();
		BoundInput input = waiting.get(Engine.DEADLINE.toSeconds(), TimeUnit.SECONDS);
		AtomicInteger wakeUps = new AtomicInteger();
		assertThat(input.wakeBy(wakeUps::incrementAndGet)).isNull();
		Engine.eventually().until(() -> thread.getState() == Thread.State.WAITING);
		input.look();
		assertThat(woken.await(Engine.DEADLINE.toSeconds(), TimeUnit.SECONDS)).isTrue();
		assertThat(wakeUps).hasValue(1);
		assertThat(input.wakeBy(null)).isNotNull();
	}

	@Test
	void handleIsReadOnceForEachLookAndArmedAgainWhileItsOwnerWaits() throws Exception {
		Pipe pipe = Pipe.open();
		try (Pipe.SourceChannel source = pipe.source(); Pipe.SinkChannel sink = pipe.sink()) {
			source.configureBlocking(false);
			SelectableHandle handle = this.sets.newHandle(source, this.connection, SelectionKey.OP_READ,
					new HandlerProfile());
			this.connection.handle = handle;
			HandleSet set = handle.handleSet();
			handle.release();
			handle.request(SelectableHandle.REGISTER | SelectableHandle.REARM);
			set.applyUpdates();
			assertThat(handle.claimFired()).isEqualTo(Claim.CLAIMED);
			Participant me = participant(Thread.currentThread());
			me.begin(handle);
			assertThat(me.boundInput.bind()).isTrue();
			assertThat(me.boundInput.isWanted()).isTrue();
			assertThat(this.connection.reader).isSameAs(me.boundInput);
			set.demultiplex(handle, SelectionKey.OP_READ);
			assertThat(handle.key.interestOps()).isZero();
			me.boundInput.read();
			assertThat(me.boundInput.isWanted()).isFalse();
			assertThat(this.connection.reads).isOne();
			set.applyUpdates();
			assertThat(handle.key.interestOps()).isEqualTo(SelectionKey.OP_READ);
			me.boundInput.read();
			assertThat(this.connection.reads).isOne();
			// One read leaves a task behind, and another one bytes. There is no room for
			// more.
			set.demultiplex(handle, SelectionKey.OP_READ);
			this.connection.more = 1;
			this.connection.tasks = 1;
			this.connection.isFull = true;
			me.boundInput.read();
			assertThat(this.connection.reads).isEqualTo(4);
			assertThat(this.connection.saves).as("before each of the three calls").isEqualTo(3);
			assertThat(this.connection.ran).isOne();
			set.applyUpdates();
			assertThat(handle.key.interestOps()).isZero();
			me.boundInput.unbind();
			assertThat(this.connection.reader).isNull();
		}
		finally {
			this.sets.forEach(HandleSet::close);
		}
	}

	/** Its next owner may read it at the same time. */
	@Test
	void connectionThatCouldNotBeBoundIsNotRead() throws Exception {
		Pipe pipe = Pipe.open();
		try (Pipe.SourceChannel source = pipe.source(); Pipe.SinkChannel sink = pipe.sink()) {
			source.configureBlocking(false);
			this.connection.handle = this.sets.newHandle(source, this.connection, SelectionKey.OP_READ,
					new HandlerProfile());
			Participant me = participant(Thread.currentThread());
			me.begin(this.connection.handle);
			this.connection.isMemoryShort = true;
			assertThatExceptionOfType(OutOfMemoryError.class).isThrownBy(me.boundInput::bind);
			this.connection.keeps = true;
			me.boundInput.read();
			assertThat(this.connection.reads).isZero();
		}
		finally {
			this.sets.forEach(HandleSet::close);
		}
	}

	private TestConnection bind(Participant me, Pipe pipe) throws IOException {
		pipe.source().configureBlocking(false);
		TestConnection bound = new TestConnection();
		bound.handle = this.sets.newHandle(pipe.source(), bound, SelectionKey.OP_READ, new HandlerProfile());
		me.begin(bound.handle);
		assertThat(me.boundInput.bind()).isTrue();
		assertThat(bound.reader).isSameAs(me.boundInput);
		return bound;
	}

	/** Only the innermost handler continues when its wait is over. */
	@Test
	void connectionsAreBoundUntilTheWaitOfTheirHandlerIsOver() throws Exception {
		Pipe first = Pipe.open();
		Pipe second = Pipe.open();
		try {
			Participant me = participant(Thread.currentThread());
			Turn turn = me.turn;
			TestConnection outer = bind(me, first);
			TestConnection inner = bind(me, second);
			outer.keeps = true;
			inner.keeps = true;
			me.boundInput.read();
			assertThat(List.of(outer.reads, inner.reads)).as("input that was kept").containsExactly(1, 1);
			me.boundInput.unbind();
			assertThat(inner.reader).isNull();
			assertThat(outer.reader).isSameAs(me.boundInput);
			me.boundInput.read();
			assertThat(List.of(outer.reads, inner.reads)).containsExactly(2, 1);
			me.boundInput.unbind();
			assertThat(outer.reader).isNull();
			me.boundInput.read();
			assertThat(outer.reads).isEqualTo(2);
			assertThat(me.turn).isSameAs(turn);
		}
		finally {
			this.sets.forEach(HandleSet::close);
			for (Pipe pipe : List.of(first, second)) {
				pipe.source().close();
				pipe.sink().close();
			}
		}
	}

	@Test
	void handlerWithoutAConnectionBindsNothing() {
		Participant me = participant(Thread.currentThread());
		assertThat(me.boundInput.bind()).isFalse();
		assertThat(me.boundInput.isWanted()).isFalse();
		this.sets.forEach(HandleSet::close);
	}

	/** The message of the waiting handler lies in the buffers of the thread. */
	@Test
	void connectionIsReadWithStateOfItsOwn() throws Exception {
		Pipe pipe = Pipe.open();
		try {
			Participant me = participant(Thread.currentThread());
			Turn turn = me.turn;
			TestConnection bound = bind(me, pipe);
			bound.keeps = true;
			bound.failure = new OutOfMemoryError("made for the test");
			assertThatExceptionOfType(OutOfMemoryError.class).isThrownBy(me.boundInput::read);
			assertThat(bound.turn).isNotNull().isNotSameAs(turn);
			assertThat(me.turn).isSameAs(turn);
		}
		finally {
			this.sets.forEach(HandleSet::close);
			pipe.source().close();
			pipe.sink().close();
		}
	}

	/** Its next owner may read it at the same time. */
	@Test
	void connectionThatCouldNotBeReadIsNotBoundAnyMore() throws Exception {
		Pipe pipe = Pipe.open();
		try {
			PromotionProtocol promotion = new PromotionProtocol(this.sets.leaderships(),
					PromotionOrder.LIFO.followers(), new Members<>(Clock.SYSTEM),
					new StandInSupply(new PoolSettings(1, 1, false, 1, 0), Clock.SYSTEM),
					new Starvation(1, new PoolThreadsTests.Unheard()), (kind, vacancyNanos) -> {
					}, 1, Clock.SYSTEM);
			BoundWait wait = new BoundWait(this.sets, promotion, null, null, Clock.SYSTEM, new FailureLog());
			Participant me = participant(Thread.currentThread());
			TestConnection bound = bind(me, pipe);
			me.boundInput.unbind();
			bound.keeps = true;
			bound.failure = new OutOfMemoryError("made for the test");
			assertThatExceptionOfType(OutOfMemoryError.class)
				.isThrownBy(() -> wait.await(me, Exchange.ofCaller(System.nanoTime())));
			assertThat(bound.reader).isNull();
		}
		finally {
			this.sets.forEach(HandleSet::close);
			pipe.source().close();
			pipe.sink().close();
		}
	}

	private static final class TestConnection implements EngineEventHandler, BoundInput.BoundConnection {

		private SelectableHandle handle;

		private @Nullable BoundInput reader;

		private int reads;

		/** How many reads leave bytes behind. */
		private int more;

		/** How many reads leave tasks behind. */
		private int tasks;

		private int ran;

		private boolean isFull;

		private boolean keeps;

		/** How often the bytes that follow the message were saved. */
		private int saves;

		private boolean isMemoryShort;

		/** In which it was read. */
		private @Nullable Turn turn;

		private @Nullable Error failure;

		@Override
		public SelectableHandle handle() {
			return this.handle;
		}

		@Override
		public void readBy(@Nullable BoundInput reads) {
			if (this.isMemoryShort) {
				throw new OutOfMemoryError("made for the test");
			}
			this.reader = reads;
		}

		@Override
		public boolean keepsInput(Participant me) {
			this.saves++;
			return this.keeps;
		}

		@Override
		public boolean readBound(Participant me) {
			this.reads++;
			this.turn = me.turn;
			if (this.failure != null) {
				throw this.failure;
			}
			return this.tasks-- > 0;
		}

		@Override
		public void runTasks() {
			this.ran++;
		}

		@Override
		public boolean hasMoreToRead() {
			return this.more-- > 0;
		}

		@Override
		public boolean mayReadOn() {
			return !this.isFull;
		}

		@Override
		public BoundInput.BoundConnection boundConnection() {
			return this;
		}

		@Override
		public boolean prepare(Participant me) {
			return false;
		}

		@Override
		public void dispatch(Participant me) {
		}

		@Override
		public boolean release(Participant me) {
			return true;
		}

		@Override
		public HandlerProfile profile() {
			return HandlerProfile.BLOCKING;
		}

		@Override
		public boolean failed(@Nullable Participant me, Throwable failure) {
			return false;
		}

		@Override
		public void abandon() {
		}

		@Override
		public HandledWork work() {
			return new HandledWork("a handle", null, null);
		}

	}

}
