package org.leaderfollowers;

import java.io.IOException;
import java.nio.channels.Pipe;
import java.nio.channels.spi.SelectorProvider;
import java.time.Duration;

import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.leaderfollowers.internal.buffer.MemoryBudget;
import org.leaderfollowers.internal.logging.FailureLog;
import org.leaderfollowers.internal.promotion.DispatchPolicy;
import org.leaderfollowers.internal.promotion.HandlerProfile;
import org.leaderfollowers.internal.promotion.Leadership;
import org.leaderfollowers.internal.promotion.Members;
import org.leaderfollowers.internal.promotion.PoolSettings;
import org.leaderfollowers.internal.promotion.ProcessorTime;
import org.leaderfollowers.internal.promotion.PromotionProtocol;
import org.leaderfollowers.internal.promotion.Starvation;
import org.leaderfollowers.internal.promotion.ThreadSupply;
import org.leaderfollowers.internal.promotion.Unfolding;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Tests a {@link HandleSet} that rests because it is not in use, step by step: the test
 * is its leader. {@link HandleSetInterleavingTests} explores these steps among those of
 * other threads.
 */
@Timeout(60)
class HandleSetRestTests {

	private final HookedClock clock = new HookedClock();

	private final HandleSets sets = new HandleSets("test", 2, 1, this.clock, SelectorProvider.provider(),
			new FailureLog());

	/** Not in use, and at rest. */
	private final HandleSet set = this.sets.get(1);

	private final Members<Participant> members = new Members<>(this.clock);

	private final NoThreads threads = new NoThreads();

	private final PromotionProtocol promotion = new PromotionProtocol(this.sets.leaderships(),
			PromotionOrder.LIFO.followers(), this.members, this.threads,
			new Starvation(2, new PoolThreadsTests.Unheard()), (kind, vacancyNanos) -> {
			}, 1, this.clock);

	private final Unfolding unfolding = new Unfolding(this.promotion, this.sets.leaderships(), this.sets.deal(), 0,
			this.members, this.threads, new DispatchPolicy(this.promotion, this.threads, 1, this.clock), 1,
			ProcessorTime.SYSTEM, this.clock);

	/** Leads the set that is in use. */
	private final Participant leader = enroll();

	HandleSetRestTests() {
		this.sets.begin(this.unfolding);
	}

	@AfterEach
	void close() {
		this.sets.forEach(HandleSet::close);
	}

	private Leadership leadership() {
		return this.set.leadership;
	}

	private void request() {
		this.set.request(this.sets.newTimer(new HandleSetUpdateTests.TestHandler()), SelectableHandle.LOOK);
	}

	private Participant enroll() {
		Thread thread = Thread.currentThread();
		return this.members.enroll(thread, (number, follower) -> new Participant(number, follower, thread, false,
				this.promotion, null, new MemoryBudget(1), 0));
	}

	/** Opens the set, and leads it. The other one has a leader already. */
	private Participant lead() {
		this.promotion.attend(this.leader);
		request();
		Participant me = enroll();
		assertThat(this.promotion.attend(me)).isSameAs(leadership());
		assertThat(me.leads(this.set)).isTrue();
		assertThat(me.leads(this.sets.get(0))).isFalse();
		assertThat(this.set.isDeserted()).isTrue();
		return me;
	}

	@Test
	void aRequestOpensASetThatRests() {
		assertThat(leadership().isResting()).isTrue();
		request();
		assertThat(leadership().isResting()).isFalse();
		assertThat(leadership().isVacant()).isTrue();
		assertThat(this.threads.started).isOne();
	}

	@Test
	void aSetThatNobodyWantsRests() {
		Participant me = lead();
		this.set.rest(me, this.unfolding);
		assertThat(me.leading()).isNull();
		assertThat(leadership().isResting()).isTrue();
		request();
		assertThat(leadership().isVacant()).isTrue();
	}

	@Test
	void aRequestBeforeTheRestIsNotLost() {
		Participant me = lead();
		request();
		this.set.rest(me, this.unfolding);
		assertThat(leadership().isVacant()).isTrue();
	}

	@Test
	void aSetThatIsUsedAgainDoesNotRest() {
		Participant me = lead();
		this.sets.deal().use(2);
		this.set.rest(me, this.unfolding);
		assertThat(leadership().isVacant()).isTrue();
	}

	/** The next request would find no wait that it could end. */
	@Test
	void aSetDoesNotRestIfItsAnnouncedWaitWasEnded() {
		Participant me = lead();
		this.clock.hook = () -> {
			this.clock.hook = null;
			this.set.wakeLeader();
		};
		this.set.rest(me, this.unfolding);
		assertThat(leadership().isVacant()).isTrue();
	}

	/** A thread that leaves a vacancy ends long waits; the set has none any more. */
	@Test
	void aRestIsNoLongWait() {
		Participant me = lead();
		this.sets.deal().use(2);
		this.set.wakeSelector();
		this.set.await(this.clock.nanoTime() + Duration.ofHours(1).toNanos(), this.promotion, null);
		this.sets.deal().use(1);
		this.set.rest(me, this.unfolding);
		// The thread that was started for the first request is busy, so none can be
		// started for the set in use.
		this.promotion.started();
		this.promotion.leave(this.leader);
		this.promotion.signalIfVacant();
		assertThat(this.threads.started).isOne();
		assertThat(leadership().isResting()).isTrue();
	}

	/** It was taken out of use after its leader had looked, and rests after the wait. */
	@Test
	void aLeaderDoesNotWaitForLongIfItsSetIsDeserted() {
		lead();
		this.set.await(this.clock.nanoTime() + Duration.ofHours(1).toNanos(), this.promotion, null);
		assertThat(this.set.isDeserted()).isTrue();
	}

	@Test
	void aSetThatRestsIsNotOpenedWhenItsLeaderIsWoken() {
		this.set.wakeLeader();
		this.set.doubtKeys();
		assertThat(leadership().isResting()).isTrue();
		assertThat(this.threads.started).isZero();
	}

	/** Otherwise a bound leader would leave its events to it. */
	@Test
	void nobodyWaitsAtASetThatRests() {
		Participant me = lead();
		this.set.rest(me, this.unfolding);
		assertThat(leadership().isResting()).isTrue();
		// The thread that was started for the request is busy.
		this.promotion.started();
		assertThat(this.promotion.bound().leavesToOthers(this.leader, true)).isFalse();
	}

	@Test
	void aSetIsNotDesertedWhileItHasHandles() throws IOException {
		lead();
		this.sets.deal().use(2);
		Pipe pipe = Pipe.open();
		try (Pipe.SourceChannel source = pipe.source(); Pipe.SinkChannel sink = pipe.sink()) {
			source.configureBlocking(false);
			SelectableHandle handle;
			do {
				handle = this.sets.newHandle(source, new HandleSetUpdateTests.TestHandler(), 0, new HandlerProfile());
			}
			while (handle.handleSet() != this.set);
			this.sets.deal().use(1);
			handle.release();
			handle.request(SelectableHandle.REGISTER);
			assertThat(this.set.isDeserted()).as("it is registered").isFalse();
			this.set.demultiplex(handle, SelectableHandle.LOOK);
			handle.key.cancel();
			assertThat(this.set.isDeserted()).as("it is ready").isFalse();
			assertThat(this.set.ready.take()).isSameAs(handle);
			assertThat(this.set.isDeserted()).isTrue();
		}
	}

	/** Runs something when the time is read. */
	private static final class HookedClock extends TestClock {

		private Runnable hook;

		@Override
		public long nanoTime() {
			if (this.hook != null) {
				this.hook.run();
			}
			return super.nanoTime();
		}

	}

	/** Counts one thread instead of starting it. */
	private final class NoThreads extends ThreadSupply {

		private int started;

		NoThreads() {
			super(new PoolSettings(1, 1, false, 1, 0), HandleSetRestTests.this.clock);
		}

		@Override
		protected void startThread(boolean underWay) {
			this.started++;
		}

		@Override
		protected boolean isStopping() {
			return false;
		}

	}

}
