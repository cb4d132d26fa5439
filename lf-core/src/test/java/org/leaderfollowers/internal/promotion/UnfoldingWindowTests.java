package org.leaderfollowers.internal.promotion;

import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.TimeUnit;

import org.junit.jupiter.api.Test;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.within;

/**
 * What is measured in a window, and how many windows change the number of handle sets in
 * use. The test tells how the time of the processors is used.
 */
class UnfoldingWindowTests {

	private static final long WINDOW_NANOS = TimeUnit.MILLISECONDS.toNanos(100);

	private static final int PARALLELISM = 4;

	private static final int OTHER_LEADERS = 1;

	private final SteppedPool pool = new SteppedPool(4, 1 + OTHER_LEADERS, 8);

	private final SteppedPool.TickingClock clock = this.pool.clock;

	private final Told told = new Told();

	private final SteppedPool.Set[] sets = this.pool.sets;

	private final Deal deal = new Deal(1);

	private final Unfolding unfolding = new Unfolding(this.pool.promotion, this.sets, this.deal, OTHER_LEADERS,
			this.pool.members, this.pool.threads,
			new DispatchPolicy(this.pool.promotion, this.pool.threads, PARALLELISM, this.clock), PARALLELISM, this.told,
			this.clock);

	private final Member leader = member();

	private static final class Told implements ProcessorTime {

		private final Map<Thread, Long> nanos = new HashMap<>();

		private long idleNanos = UNKNOWN;

		private boolean isMemoryShort;

		@Override
		public long nanos(Thread thread) {
			if (this.isMemoryShort) {
				throw new OutOfMemoryError("made for the test");
			}
			return this.nanos.getOrDefault(thread, UNKNOWN);
		}

		@Override
		public long idleNanos() {
			return this.idleNanos;
		}

	}

	private Member member() {
		Member member = this.pool.member();
		this.told.nanos.put(member.thread(), 0L);
		return member;
	}

	private void use(Member member, double processors) {
		this.told.nanos.merge(member.thread(), (long) (processors * WINDOW_NANOS), Long::sum);
	}

	private void window() {
		this.clock.now += WINDOW_NANOS;
		this.unfolding.measure(this.clock.now);
	}

	/** Windows in which the leaders of the sets in use are busy without a pause. */
	private void busyWindows(int count, double processors) {
		for (int i = 0; i < count; i++) {
			use(this.leader, processors);
			window();
		}
	}

	/** As {@link #busyWindows}, but the leader of set 0 waits. */
	private void idleWindows(int count) {
		for (int i = 0; i < count; i++) {
			this.sets[0].waitedNanos += WINDOW_NANOS;
			window();
		}
	}

	/** Windows in which one of two leaders waits. */
	private void halfBusyWindows(int count) {
		for (int i = 0; i < count; i++) {
			this.sets[1].waitedNanos += WINDOW_NANOS;
			busyWindows(1, 1);
		}
	}

	private void mayUse(int sets) {
		this.pool.threads.change((settings, now) -> settings.withThreads(sets + OTHER_LEADERS, 8), 0);
	}

	private void assertLatest(double processors, double spare, double leaders) {
		assertThat(this.unfolding.latest()).isNotNull().satisfies((change) -> {
			assertThat(change.processors()).as("processors").isEqualTo(processors, within(0.001));
			assertThat(change.spare()).as("spare").isEqualTo(spare, within(0.001));
			assertThat(change.leaders()).as("leaders").isEqualTo(leaders, within(0.001));
		});
	}

	@Test
	void twoBusyWindowsInARowUnfold() {
		mayUse(2);
		busyWindows(1, 1);
		idleWindows(1);
		busyWindows(1, 1);
		assertThat(this.unfolding.inUse()).isOne();
		busyWindows(1, 1);
		assertThat(this.unfolding.inUse()).isEqualTo(2);
		assertThat(this.unfolding.changes()).isOne();
		assertThat(this.unfolding.latest())
			.isEqualTo(new Unfolding.Change(this.clock.now, 1, 2, 1.0, PARALLELISM - 1.0, 1.0));
	}

	/** The processor time of the first window is not known: the members are new. */
	@Test
	void whatIsMeasuredForTheFirstTimeCountsForNoWindow() {
		mayUse(2);
		use(this.leader, 3);
		busyWindows(2, 1);
		assertLatest(1, 3, 1);
	}

	@Test
	void nothingIsMeasuredBeforeAWindowHasPassed() {
		mayUse(2);
		this.clock.now += WINDOW_NANOS - 1;
		this.unfolding.measure(this.clock.now);
		this.clock.now++;
		this.unfolding.measure(this.clock.now);
		this.unfolding.measure(this.clock.now + WINDOW_NANOS - 1);
		assertThat(this.unfolding.changes()).isZero();
		this.unfolding.measure(this.clock.now + WINDOW_NANOS);
		assertThat(this.unfolding.changes()).isOne();
	}

	@Test
	void aLongWindowIsMeasuredByItsWholeLength() {
		mayUse(2);
		window();
		use(this.leader, 4);
		this.sets[0].waitedNanos += WINDOW_NANOS / 4;
		this.clock.now += 3 * WINDOW_NANOS;
		window();
		use(this.leader, 4);
		this.sets[0].waitedNanos += WINDOW_NANOS / 4;
		this.clock.now += 3 * WINDOW_NANOS;
		window();
		assertLatest(1, 3 + 1 - 15.0 / 16, 15.0 / 16);
	}

	@Test
	void asManySetsAreUsedAsTheMinimumOfThreadsLeads() {
		busyWindows(20, 1);
		assertThat(this.unfolding.inUse()).isOne();
		mayUse(3);
		busyWindows(2, 1);
		assertThat(this.unfolding.inUse()).isEqualTo(2);
		mayUse(8);
		busyWindows(1, 2);
		assertThat(this.unfolding.inUse()).as("after one window").isEqualTo(2);
		busyWindows(1, 2);
		assertThat(this.unfolding.inUse()).isEqualTo(4);
		busyWindows(2, 2);
		assertThat(this.unfolding.changes()).isEqualTo(2);
	}

	@Test
	void aLeaderThatWaitsIsNotBusy() {
		mayUse(2);
		for (int i = 0; i < 20; i++) {
			this.sets[0].waitedNanos += WINDOW_NANOS / 5;
			busyWindows(1, 0.8);
		}
		assertThat(this.unfolding.inUse()).isOne();
	}

	/** Nobody leads it, so nobody waits. */
	@Test
	void aSetAtRestIsNotBusy() {
		mayUse(2);
		idleWindows(20);
		assertThat(this.unfolding.changes()).isZero();
		busyWindows(2, 1);
		assertLatest(1, 3, 1);
	}

	@Test
	void tenWindowsInARowFold() {
		mayUse(2);
		busyWindows(2, 1);
		halfBusyWindows(9);
		busyWindows(1, 2);
		halfBusyWindows(9);
		assertThat(this.unfolding.inUse()).isEqualTo(2);
		assertThat(this.sets[1].endedLongWaits).isZero();
		halfBusyWindows(1);
		assertThat(this.unfolding.inUse()).isOne();
		assertThat(this.unfolding.changes()).isEqualTo(2);
		assertThat(this.sets[1].endedLongWaits).as("its leader may rest").isOne();
		assertThat(this.sets[0].endedLongWaits).isZero();
	}

	@Test
	void aSetThatIsUsedAgainNeedsALeader() {
		this.sets[1].rest(Leadership.VACANT);
		assertThat(this.sets[1].isResting()).isTrue();
		mayUse(2);
		Follower follower = this.pool.follower();
		busyWindows(2, 1);
		assertThat(this.sets[1].isResting()).isFalse();
		assertThat(this.sets[1].isVacant()).isTrue();
		assertThat(follower.isSignalled()).isTrue();
	}

	@Test
	void theProcessorTimeOfAllMembersIsCounted() {
		Member other = member();
		mayUse(2);
		window();
		use(other, 1.5);
		busyWindows(1, 1);
		assertLatest(2.5, 1.5 + 1.5, 1);
	}

	@Test
	void theProcessorTimeOfAMemberThatWaitedOrWithdrewIsNotCounted() {
		Member waits = member();
		Member withdrew = member();
		mayUse(2);
		idleWindows(1);
		waits.become(Member.Role.FOLLOWER, this.clock.now - 1);
		this.pool.members.withdraw(withdrew);
		use(waits, 1);
		busyWindows(1, 1);
		// It waits no more, but what it used meanwhile belongs to no window.
		waits.become(Member.Role.PROCESSING, this.clock.now);
		use(waits, 1);
		use(withdrew, 1);
		busyWindows(1, 1);
		assertLatest(1, 3, 1);
	}

	@Test
	void aMemberThatBeganToWaitInTheWindowIsCounted() {
		Member waits = member();
		mayUse(2);
		window();
		waits.become(Member.Role.FOLLOWER, this.clock.now);
		use(waits, 0.5);
		busyWindows(1, 1);
		assertLatest(1.5, 2.5 + 0.5, 1);
	}

	@Test
	void noMoreIsFreeThanTheProcessorsThatAreIdle() {
		this.told.idleNanos = 7;
		mayUse(2);
		busyWindows(1, 1);
		this.told.idleNanos += WINDOW_NANOS / 2;
		busyWindows(1, 1);
		assertLatest(1, 0.5, 1);
	}

	@Test
	void processorsThatThePoolMayNotUseAreNotFree() {
		this.told.idleNanos = 0;
		mayUse(2);
		for (int i = 0; i < 2; i++) {
			this.told.idleNanos += 64 * WINDOW_NANOS;
			busyWindows(1, 1);
		}
		assertLatest(1, PARALLELISM - 1, 1);
	}

	@Test
	void anIdleTimeThatIsNotKnownAnyMoreIsNotUsed() {
		this.told.idleNanos = WINDOW_NANOS;
		mayUse(2);
		busyWindows(1, 1);
		this.told.idleNanos = ProcessorTime.UNKNOWN;
		busyWindows(1, 1);
		assertLatest(1, 3, 1);
	}

	@Test
	void noSetIsAddedWithoutAFreeProcessor() {
		mayUse(2);
		this.told.idleNanos = 0;
		for (int i = 0; i < 20; i++) {
			this.told.idleNanos += WINDOW_NANOS / 4;
			busyWindows(1, 1);
		}
		assertThat(this.unfolding.inUse()).isOne();
	}

	/** Otherwise neither the sets nor the shared work would be adapted any more. */
	@Test
	void itIsMeasuredAgainAfterAFailure() {
		mayUse(2);
		this.told.isMemoryShort = true;
		assertThatExceptionOfType(OutOfMemoryError.class).isThrownBy(this::window);
		this.told.isMemoryShort = false;
		busyWindows(3, 1);
		assertThat(this.unfolding.inUse()).isEqualTo(2);
	}

	@Test
	void aPoolWhoseSetsAreAllInUseKeepsThem() {
		Deal all = new Deal(this.sets.length);
		Unfolding fixed = new Unfolding(this.pool.promotion, this.sets, all, OTHER_LEADERS, this.pool.members,
				this.pool.threads, new DispatchPolicy(this.pool.promotion, this.pool.threads, PARALLELISM, this.clock),
				PARALLELISM, this.told, this.clock);
		for (int i = 0; i < 20; i++) {
			for (SteppedPool.Set set : this.sets) {
				set.waitedNanos += WINDOW_NANOS;
			}
			this.clock.now += WINDOW_NANOS;
			fixed.measure(this.clock.now);
		}
		assertThat(all.inUse()).isEqualTo(this.sets.length);
		assertThat(fixed.changes()).isZero();
	}

	/** The rest of its work is not processor time, and does not use up a processor. */
	@Test
	void aLeaderThatIsBusyWithoutAProcessorLeavesItFree() {
		mayUse(2);
		busyWindows(2, 0.5);
		busyWindows(1, 0.5);
		assertLatest(0.5, PARALLELISM - 0.5, 1);
	}

	@Test
	void moreProcessorsThanThePoolMayUseLeaveNoneFree() {
		mayUse(2);
		busyWindows(2, PARALLELISM + 2);
		assertLatest(PARALLELISM + 2, PARALLELISM + 1, 1);
	}

	/** A wait counts when it ends, even if it began in an earlier window. */
	@Test
	void aLeaderIsNotBusyIfItHasWaitedForLongerThanTheWindow() {
		mayUse(2);
		busyWindows(2, 1);
		assertThat(this.unfolding.inUse()).isEqualTo(2);
		for (int i = 0; i < 10; i++) {
			this.sets[0].waitedNanos += 3 * WINDOW_NANOS;
			this.sets[1].waitedNanos += 3 * WINDOW_NANOS;
			window();
		}
		assertThat(this.unfolding.inUse()).isOne();
		assertLatest(0, PARALLELISM, 0);
	}

	@Test
	void aMemberThatWithdrawsTakesNothingFromTheOthers() {
		Member withdraws = member();
		mayUse(2);
		use(withdraws, 1);
		idleWindows(1);
		busyWindows(1, 1);
		this.pool.members.withdraw(withdraws);
		busyWindows(1, 1);
		assertLatest(1, 3, 1);
	}

}
