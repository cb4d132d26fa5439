package org.leaderfollowers.internal.promotion;

import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

/** What a thread of the pool does if it has, or finds, no leadership, step by step. */
class PromotionProtocolTests {

	private static final long LEASE = SteppedPool.LEASE_NANOS;

	private static final long KEEP_ALIVE = SteppedPool.LEASE_NANOS;

	private static final long SECOND = 1_000_000_000;

	private final SteppedPool pool = new SteppedPool(2, 2, 4);

	private final SteppedPool.TickingClock clock = this.pool.clock;

	private final SteppedPool.Set set = this.pool.sets[0];

	private final SteppedPool.Set other = this.pool.sets[1];

	private final PromotionProtocol promotion = this.pool.promotion;

	private final Leases leases = this.promotion.leases();

	private final Member me = this.pool.member();

	private final Member leader = this.pool.leader(this.set);

	private final Member otherLeader = this.pool.leader(this.other);

	private void lease() {
		this.leases.lease(this.leader, this.set, this.clock.now, this.pool.threads.settings());
		assertThat(this.leader.isOnLease()).isTrue();
	}

	/** The thread finds no handle that is ready. */
	private @Nullable Leadership lead(long nanos) {
		return this.promotion.lead(this.me, this.clock.now + nanos, false);
	}

	private void meanwhile(Runnable step) {
		this.clock.meanwhile.add(step);
	}

	private void changeThreads(int min, int max) {
		this.pool.threads.change((settings, now) -> settings.withThreads(min, max), this.clock.now);
	}

	private void beEager() {
		this.pool.threads.change((settings, now) -> settings.withPolicy(true, now), this.clock.now);
	}

	private void startThreads(int count) {
		while (this.pool.threads.count() < count) {
			this.pool.threads.start(true);
		}
	}

	/** With one processor, a thread waits at once. */
	private static void assumeThatAnotherProcessorWorks() {
		assumeTrue(Runtime.getRuntime().availableProcessors() > 1);
	}

	private void assertFollowsNoMore() {
		assertThat(this.me.follower.isWaiting()).isFalse();
		assertThat(this.me.follower.isSignalled()).isFalse();
		assertThat(this.pool.followers.isUnderWay()).isFalse();
		assertThat(this.promotion.parked()).hasValue(0);
	}

	// Looking for a leadership

	@Test
	void aThreadTakesTheNextVacancyAfterTheSetThatItLedLast() {
		this.pool.startAllThreads();
		this.promotion.promoteNewLeader(this.leader);
		this.promotion.promoteNewLeader(this.otherLeader);
		this.clock.now += 5;
		assertThat(this.promotion.attend(this.leader)).isSameAs(this.other).isSameAs(this.leader.leading());
		assertThat(this.leader.role()).isEqualTo(Member.Role.LEADER);
		assertThat(this.leader.sinceNanos()).isEqualTo(this.clock.now);
		assertThat(this.promotion.attend(this.otherLeader)).isSameAs(this.set);
		assertThat(this.promotion.attend(this.me)).isNull();
		this.promotion.promoteNewLeader(this.leader);
		this.promotion.promoteNewLeader(this.otherLeader);
		this.clock.now++;
		assertThat(this.promotion.attend(this.leader)).isSameAs(this.set);
		assertThat(this.promotion.attend(this.otherLeader)).isSameAs(this.other);
		assertThat(this.pool.handOffs).containsExactly("RECLAIMED 5", "RECLAIMED 5", "RECLAIMED 1", "RECLAIMED 1");
		assertThat(this.pool.starved).containsExactly(5L, 5L, 1L, 1L);
		HandOffRing.Copy<HandledWork> handOff = new HandOffRing.Copy<>();
		assertThat(this.set.handOffs().latest().read(2, handOff)).isTrue();
		assertThat(handOff.from()).isEqualTo(this.otherLeader.thread().getName());
		assertThat(handOff.to()).isEqualTo(this.leader.thread().getName());
		assertThat(handOff.work()).isNull();
		assertThat(handOff.vacancyNanos()).isOne();
		assertThat(handOff.nanos()).isEqualTo(this.clock.now);
	}

	@Test
	void theFirstLeaderIsNoHandOff() {
		SteppedPool fresh = new SteppedPool(1, 1, 4);
		assertThat(fresh.promotion.attend(fresh.member())).isSameAs(fresh.sets[0]);
		assertThat(fresh.handOffs).isEmpty();
		assertThat(fresh.sets[0].handOffs().count()).isZero();
	}

	@Test
	void aSurplusThreadEnds() {
		this.pool.startAllThreads();
		assertThat(this.promotion.attend(this.me)).isNull();
		assertThat(this.me.isRetired()).isFalse();
		changeThreads(1, 3);
		assertThat(this.promotion.attend(this.leader)).isSameAs(this.set);
		assertThat(this.leader.isRetired()).as("it leads").isFalse();
		Member joined = this.pool.member(new Thread(), false);
		this.promotion.attend(joined);
		assertThat(joined.isRetired()).as("it is not a thread of the pool").isFalse();
		this.promotion.attend(this.me);
		assertThat(this.me.isRetired()).isTrue();
		assertThat(this.pool.threads.count()).isEqualTo(3);
		Member next = this.pool.member();
		this.promotion.attend(next);
		assertThat(next.isRetired()).as("no surplus any more").isFalse();
	}

	@Test
	void aSurplusThreadStaysIfItIsNeededOrThePoolStops() {
		this.pool.startAllThreads();
		changeThreads(1, 3);
		lease();
		this.promotion.attend(this.me);
		assertThat(this.me.isRetired()).as("to watch a lease").isFalse();
		this.leases.regain(this.leader, this.clock.now);
		this.promotion.stop();
		this.promotion.attend(this.me);
		assertThat(this.me.isRetired()).isFalse();
	}

	@Test
	void aThreadThatIsAwakeLooksForReadyHandlesBeforeItWaits() {
		assertThat(this.promotion.lead(this.leader, this.clock.now + LEASE, false)).isSameAs(this.set);
		this.other.ready = 1;
		assertThat(lead(LEASE)).isNull();
		assertThat(this.clock.waits).isEmpty();
		assertThat(this.promotion.lead(this.me, this.clock.now + LEASE / 2, true)).as("superfluous").isNull();
		assertThat(this.clock.waits).containsExactly(LEASE / 2);
	}

	/** Its leader is busy, and this thread is not. */
	@Test
	void aThreadThatIsAwakeLeadsInsteadOfALeaderWhoseHandlerIsWorthIt() {
		assumeThatAnotherProcessorWorks();
		this.pool.startAllThreads();
		this.me.shares = true;
		lease();
		assertThat(lead(KEEP_ALIVE / 4)).as("a short handler").isNull();
		this.set.worthAProcessor(true);
		assertThat(this.promotion.lead(this.me, this.clock.now + KEEP_ALIVE / 4, true)).as("superfluous").isNull();
		this.me.shares = false;
		assertThat(lead(KEEP_ALIVE / 8)).as("it has run a handler that blocks").isNull();
		assertThat(this.clock.waits).hasSize(3);
		this.me.shares = true;
		assertThat(lead(KEEP_ALIVE / 8)).isSameAs(this.set);
		assertThat(this.clock.waits).hasSize(3);
		assertThat(this.leader.isOnLease()).isFalse();
		assertThat(this.pool.handOffs).containsExactly("RECLAIMED 0");
	}

	@Test
	void aThreadThatIsAwakeLooksAroundForAMoment() {
		assumeThatAnotherProcessorWorks();
		this.pool.startAllThreads();
		this.me.shares = true;
		int[] looks = { 0 };
		this.set.whenLookedAt = () -> this.set.ready = (++looks[0] >= 3) ? 1 : 0;
		assertThat(lead(LEASE)).as("a handle is ready").isNull();
		assertThat(looks[0]).isEqualTo(3 + 1);
		this.set.ready = 0;
		looks[0] = 0;
		this.set.whenLookedAt = () -> {
			if (++looks[0] == 3) {
				this.promotion.promoteNewLeader(this.leader);
			}
		};
		assertThat(lead(LEASE)).isSameAs(this.set);
		assertThat(looks[0]).isEqualTo(3);
		assertThat(this.clock.waits).isEmpty();
		assertThat(this.pool.followers.isEmpty()).as("it was not a follower").isTrue();
	}

	/** To wait, and to be woken, would not cost more. */
	@Test
	void theMomentIsAsLongAsAWakeUpTakesBothSides() {
		assumeThatAnotherProcessorWorks();
		this.me.shares = true;
		long wakeUp = this.promotion.vacancies().wakeUpNanos();
		this.clock.tick = wakeUp / 10;
		long began = this.clock.now;
		int[] looks = { 0 };
		long[] latest = { 0 };
		this.set.whenLookedAt = () -> {
			looks[0]++;
			latest[0] = this.clock.now;
		};
		assertThat(lead(LEASE)).isNull();
		assertThat(latest[0] - began).isBetween(2 * wakeUp, 2 * wakeUp + 2 * this.clock.tick);
		assertThat(looks[0]).as("more often than at the clock").isGreaterThan(100);
	}

	// Giving a leadership up

	@Test
	void aLeaderIsReplacedOnce() {
		Follower follower = this.pool.follower();
		SteppedPool.Work work = new SteppedPool.Work();
		this.leader.worksOn(work);
		this.clock.now++;
		assertThat(this.promotion.promoteNewLeader(this.leader)).isTrue();
		assertThat(this.leader.leading()).isNull();
		assertThat(this.leader.role()).isEqualTo(Member.Role.PROCESSING);
		assertThat(this.leader.sinceNanos()).isEqualTo(this.clock.now);
		assertThat(this.set.isVacant()).isTrue();
		assertThat(follower.isSignalled()).isTrue();
		assertThat(work.uncorked).isOne();
		assertThat(this.promotion.promoteNewLeader(this.leader)).isFalse();
		assertThat(work.uncorked).isOne();
	}

	@Test
	void aLeaderMayEndItsLease() {
		this.pool.startAllThreads();
		lease();
		this.clock.now += 3;
		assertThat(this.promotion.promoteNewLeader(this.leader)).isTrue();
		assertThat(this.set.isVacant()).isTrue();
		assertThat(this.leader.leased).isFalse();
		this.clock.now += 4;
		this.promotion.attend(this.me);
		assertThat(this.pool.handOffs).containsExactly("RECLAIMED 4");
	}

	@Test
	void aLeaderThatWasTakenOverLeavesTheNextOneAlone() {
		this.pool.startAllThreads();
		lease();
		Follower follower = this.pool.follower();
		this.set.takeOver(this.set.leaseWord(), this.me.number());
		assertThat(this.promotion.promoteNewLeader(this.leader)).isFalse();
		assertThat(this.leader.leading()).isNull();
		assertThat(this.leader.leased).isFalse();
		assertThat(this.leader.role()).isEqualTo(Member.Role.PROCESSING);
		assertThat(this.set.holder()).isEqualTo(this.me.number());
		assertThat(follower.isWaiting()).isTrue();
	}

	@Test
	void aLeaderThatWasTakenOverIsNotRecordedAsTheOneBeforeTheNext() {
		this.pool.startAllThreads();
		lease();
		this.promotion.takeOver(this.me, this.set, this.set.leaseWord(), HandOffKind.TAKEOVER, 0);
		this.promotion.leave(this.me);
		this.promotion.promoteNewLeader(this.leader);
		assertThat(this.promotion.attend(this.pool.member())).isSameAs(this.set);
		HandOffRing.Copy<HandledWork> handOff = new HandOffRing.Copy<>();
		assertThat(this.set.handOffs().latest().read(2, handOff)).isTrue();
		assertThat(handOff.from()).isEqualTo(this.me.thread().getName());
	}

	@Test
	void aThreadThatLeavesGivesItsLeadershipUp() {
		this.promotion.leave(this.leader);
		assertThat(this.set.isVacant()).isTrue();
		this.promotion.leave(this.leader);
		assertThat(this.set.isVacant()).isTrue();
	}

	@Test
	void aTakeoverWritesTheRepliesOfTheFormerLeader() {
		this.pool.startAllThreads();
		SteppedPool.Work work = new SteppedPool.Work();
		this.leader.worksOn(work);
		lease();
		this.clock.now += LEASE + 3;
		assertThat(lead(LEASE)).isSameAs(this.set);
		assertThat(this.clock.waits).isEmpty();
		assertThat(work.uncorked).isOne();
		assertThat(this.pool.handOffs).containsExactly("TAKEOVER 3");
		assertThat(this.pool.starved).containsExactly(3L);
		HandOffRing.Copy<HandledWork> handOff = new HandOffRing.Copy<>();
		assertThat(this.set.handOffs().latest().read(1, handOff)).isTrue();
		assertThat(handOff.from()).isEqualTo(this.leader.thread().getName());
		assertThat(handOff.work()).isEqualTo(SteppedPool.Work.WORK);
		assertThat(handOff.workNumber()).isEqualTo(SteppedPool.Work.NUMBER);
	}

	// Turns

	@Test
	void aLeaderTakesTurnsIfNoThreadIsLeftForAnotherSet() {
		this.pool.startAllThreads();
		this.promotion.takeTurns(this.leader, true);
		assertThat(this.leader.leading()).as("both are led").isSameAs(this.set);
		this.promotion.leave(this.otherLeader);
		this.set.ready = 1;
		this.promotion.takeTurns(this.leader, true);
		assertThat(this.leader.leading()).as("it has work").isSameAs(this.set);
		Follower follower = this.pool.follower();
		this.promotion.takeTurns(this.leader, false);
		assertThat(this.leader.leading()).as("a follower takes it").isSameAs(this.set);
		assertThat(follower.isSignalled()).isTrue();
		this.pool.followers.leave(follower);
		this.set.ready = 0;
		assertThat(this.promotion.attend(this.leader)).as("it leads the other one now").isSameAs(this.other);
		assertThat(this.set.isVacant()).isTrue();
	}

	@Test
	void aLeaderEndsALeaseThatNobodyWatchesToTakeTurns() {
		this.pool.startAllThreads();
		lease();
		this.clock.now += LEASE;
		assertThat(this.promotion.attend(this.otherLeader)).isSameAs(this.set);
		assertThat(this.other.isVacant()).isTrue();
	}

	@Test
	void theOnlyLeaderHasNobodyToTakeTurnsWith() {
		SteppedPool single = new SteppedPool(1, 1, 1);
		single.startAllThreads();
		Member only = single.leader(single.sets[0]);
		single.promotion.takeTurns(only, false);
		assertThat(only.leading()).isSameAs(single.sets[0]);
		assertThat(single.promotion.maxWaitNanos(single.sets[0])).isEqualTo(PromotionProtocol.FOREVER_NANOS);
	}

	/** It may have seen the set of this leader, which was still led. */
	@Test
	void aThreadThatBeginsToWaitMeanwhileIsWokenForTheSetThatIsGivenUp() {
		this.pool.startAllThreads();
		this.promotion.leave(this.otherLeader);
		Follower[] follower = new Follower[1];
		this.pool.whenStarved = () -> follower[0] = (follower[0] != null) ? follower[0] : this.pool.follower();
		this.promotion.takeTurns(this.leader, true);
		assertThat(this.leader.leading()).isNull();
		assertThat(follower[0].isSignalled()).isTrue();
	}

	@Test
	void aLeaderLooksOftenForASetThatIsNotLed() {
		assertThat(this.promotion.maxWaitNanos(this.set)).isEqualTo(PromotionProtocol.FOREVER_NANOS);
		this.promotion.leave(this.otherLeader);
		assertThat(this.promotion.maxWaitNanos(this.set)).isEqualTo(PromotionProtocol.ROTATION_NANOS);
		this.pool.lead(this.otherLeader, this.other);
		this.set.boundLead(BoundLead.HOLDS);
		assertThat(this.promotion.maxWaitNanos(this.set)).as("a thread may be started")
			.isEqualTo(PromotionProtocol.ROTATION_NANOS);
		assertThat(this.promotion.maxWaitNanos(this.other)).isEqualTo(PromotionProtocol.FOREVER_NANOS);
		assertThat(this.set.endedWaits).isOne();
	}

	// Followers

	@Test
	void aThreadThatIsPromotedLeads() {
		this.pool.startAllThreads();
		Follower next = this.pool.follower();
		this.me.countedOn = true;
		meanwhile(() -> {
			assertThat(this.me.role()).isEqualTo(Member.Role.FOLLOWER);
			assertThat(this.me.countedOn).isFalse();
			assertThat(this.promotion.parked()).hasValue(1);
			this.clock.now++;
			this.promotion.promoteNewLeader(this.leader);
			this.clock.now += 5;
			assertThat(next.isWaiting()).isTrue();
		});
		assertThat(lead(LEASE)).isSameAs(this.set);
		assertThat(this.me.sinceNanos()).isEqualTo(this.clock.now);
		assertThat(this.me.countedOn).isFalse();
		assertThat(this.pool.handOffs).containsExactly("EAGER 5");
		assertThat(next.isWaiting()).as("there is no other vacancy").isTrue();
		assertThat(this.promotion.wakeUps()).isOne();
		assertThat(this.promotion.wastedWakeUps()).isZero();
		assertFollowsNoMore();
		assertThat(this.leases.appointWatcher(this.leader)).as("it watches no more").isTrue();
	}

	@Test
	void aThreadThatIsPromotedLeavesTheNextVacancyToTheNextThread() {
		this.pool.startAllThreads();
		Follower next = this.pool.follower();
		meanwhile(() -> {
			this.promotion.promoteNewLeader(this.leader);
			this.promotion.promoteNewLeader(this.otherLeader);
		});
		assertThat(lead(LEASE)).isSameAs(this.set);
		assertThat(next.isSignalled()).isTrue();
	}

	@Test
	void aThreadThatIsWokenInVainIsCountedOn() {
		meanwhile(this.pool.followers::signal);
		assertThat(lead(LEASE)).isNull();
		assertThat(this.me.countedOn).isTrue();
		assertThat(this.promotion.wastedWakeUps()).isOne();
		assertFollowsNoMore();
		meanwhile(() -> {
			this.other.ready = 1;
			this.pool.followers.signal();
		});
		assertThat(lead(LEASE)).isNull();
		assertThat(this.promotion.wastedWakeUps()).as("it shares").isOne();
	}

	@Test
	void aThreadTakesAVacancyOnceMoreBeforeItWaits() {
		this.pool.startAllThreads();
		this.promotion.leave(this.leader);
		assertThat(lead(LEASE)).isSameAs(this.set);
		assertThat(this.clock.waits).isEmpty();
		assertThat(this.pool.handOffs).containsExactly("RECLAIMED 0");
		assertFollowsNoMore();
	}

	/** The thread that woke it relies on it for the other vacancy. */
	@Test
	void aThreadThatIsSignalledWhileItTakesAVacancyPassesTheSignalOn() {
		this.pool.startAllThreads();
		Follower next = this.pool.follower();
		this.promotion.leave(this.leader);
		this.pool.whenHandedOff = () -> this.promotion.promoteNewLeader(this.otherLeader);
		assertThat(lead(LEASE)).isSameAs(this.set);
		assertThat(next.isSignalled()).isTrue();
	}

	@Test
	void aThreadThatTakesOverLeavesOtherLeasesToTheNextThread() {
		startThreads(2);
		Follower next = this.pool.follower();
		meanwhile(() -> {
			lease();
			this.clock.now += LEASE / 4;
			this.leases.lease(this.otherLeader, this.other, this.clock.now, this.pool.threads.settings());
			this.clock.now += LEASE;
		});
		assertThat(lead(100 * LEASE)).isSameAs(this.set);
		assertThat(next.isSignalled()).isTrue();
		assertThat(this.me.follower.isWaiting()).isFalse();
		assertThat(this.me.countedOn).isTrue();
	}

	@Test
	void aThreadThatBeginsToWaitIsThereForEventsOfABoundLeader() {
		this.set.boundLead(BoundLead.HOLDS);
		lead(LEASE);
		assertThat(this.set.endedWaits).isOne();
	}

	@ParameterizedTest
	@ValueSource(booleans = { true, false })
	void aThreadAboveTheMinimumEndsAfterTheKeepAliveTime(boolean eager) {
		startThreads(3);
		if (eager) {
			beEager();
		}
		long began = this.clock.now;
		assertThat(lead(KEEP_ALIVE)).isNull();
		assertThat(this.me.isRetired()).as("its own deadline").isFalse();
		assertThat(lead(SECOND)).isNull();
		assertThat(this.clock.now - began).isEqualTo(2 * KEEP_ALIVE);
		assertThat(this.me.isRetired()).isTrue();
		assertThat(this.pool.threads.count()).isEqualTo(2);
		assertFollowsNoMore();
	}

	@Test
	void aThreadEndsAfterTheKeepAliveTimeAlthoughThereIsAVacancyForAnother() {
		this.pool.startAllThreads();
		meanwhile(() -> {
			Follower next = this.pool.follower();
			this.promotion.promoteNewLeader(this.leader);
			assertThat(next.isSignalled()).isTrue();
			this.clock.now += KEEP_ALIVE;
		});
		assertThat(lead(SECOND)).isNull();
		assertThat(this.me.isRetired()).isTrue();
		assertThat(this.set.isVacant()).isTrue();
	}

	@Test
	void aThreadThatIsNotSurplusLooksOnceASecondWhetherItIs() {
		startThreads(2);
		beEager();
		assertThat(lead(5 * SECOND)).isNull();
		assertThat(this.me.isRetired()).isFalse();
		Member joined = this.pool.member(new Thread(), false);
		assertThat(this.promotion.lead(joined, this.clock.now + 5 * SECOND, false)).isNull();
		assertThat(this.clock.waits).containsExactly(SECOND, 5 * SECOND);
	}

	@Test
	void aFollowerEndsIfTheMaximumIsLoweredOrThePoolStops() {
		startThreads(4);
		beEager();
		meanwhile(() -> changeThreads(1, 3));
		assertThat(lead(5 * SECOND)).isNull();
		assertThat(this.me.isRetired()).isTrue();
		assertThat(this.clock.waits).hasSize(1);
		changeThreads(1, 2);
		Member joined = this.pool.member(new Thread(), false);
		meanwhile(this.promotion::stop);
		assertThat(this.promotion.lead(joined, this.clock.now + 5 * SECOND, false)).isNull();
		assertThat(this.clock.waits).hasSize(2);
		assertThat(joined.isRetired()).isFalse();
	}

	@Test
	void aThreadWhoseWaitHasFailedIsNotCountedOn() {
		meanwhile(() -> {
			throw new IllegalStateException("wait");
		});
		assertThatIllegalStateException().isThrownBy(() -> lead(LEASE)).withMessage("wait");
		assertThat(this.me.role()).isEqualTo(Member.Role.PROCESSING);
		assertFollowsNoMore();
		assertThat(this.leases.appointWatcher(this.leader)).as("there is no watcher").isTrue();
	}

	/** It does not look for the vacancy before its pause is over. */
	@Test
	void aThreadWhoseWaitHasFailedPassesItsSignalOn() {
		this.pool.startAllThreads();
		Follower next = this.pool.follower();
		meanwhile(() -> {
			this.promotion.promoteNewLeader(this.leader);
			assertThat(this.me.follower.isSignalled()).isTrue();
			throw new IllegalStateException("wait");
		});
		assertThatIllegalStateException().isThrownBy(() -> lead(LEASE)).withMessage("wait");
		assertThat(this.me.follower.isSignalled()).isFalse();
		assertThat(next.isSignalled()).isTrue();
	}

	@Test
	void aThreadThatFailsAfterItHasTakenAVacancyLeads() {
		this.promotion.leave(this.leader);
		this.pool.whenHandedOff = () -> {
			throw new IllegalStateException("listener");
		};
		assertThatIllegalStateException().isThrownBy(() -> lead(LEASE)).withMessage("listener");
		assertThat(this.me.leading()).isSameAs(this.set);
		assertThat(this.me.role()).isEqualTo(Member.Role.LEADER);
		assertFollowsNoMore();
	}

	// Threads that start

	@Test
	void aThreadThatCannotJoinLeavesTheVacancyToAnother() {
		this.promotion.leave(this.leader);
		assertThat(this.pool.followers.signal()).isEqualTo(Followers.Signal.NOBODY_WAITS);
		this.promotion.started();
		assertThat(this.pool.followers.isUnderWay()).isFalse();
		this.promotion.startedInVain();
		assertThat(this.pool.threads.started).as("nobody waits").isZero();
		Follower follower = this.pool.follower();
		this.promotion.startedInVain();
		assertThat(follower.isSignalled()).isTrue();
	}

	@Test
	void aThreadThatBeginsToWorkPassesALeaseOn() {
		this.pool.startAllThreads();
		this.leases.appointWatcher(this.me);
		long began = this.clock.now;
		lease();
		this.leases.resignWatcher(this.me);
		this.promotion.passOn(this.me);
		assertThat(this.me.countedOn).isFalse();
		assertThat(this.pool.starvation.nanos(this.set, began + LEASE + 5)).isEqualTo(5);
		Follower follower = this.pool.follower();
		this.promotion.passOn(this.me);
		assertThat(follower.isSignalled()).isTrue();
		this.pool.followers.leave(follower);
		this.pool.followers.enqueue(follower);
		this.leases.regain(this.leader, this.clock.now);
		this.promotion.passOn(this.me);
		assertThat(follower.isWaiting()).as("nothing is wanted").isTrue();
	}

	// Changed settings

	@Test
	void surplusThreadsAreWokenAndMissingOnesStarted() {
		this.pool.member(Thread.currentThread(), true);
		SteppedPool.clearPermit();
		this.pool.startAllThreads();
		changeThreads(1, 3);
		this.promotion.settingsChanged();
		assertThat(SteppedPool.isUnparked()).isTrue();
		changeThreads(6, 8);
		this.promotion.settingsChanged();
		assertThat(this.pool.threads.count()).isEqualTo(6);
	}

	@Test
	void theWatcherIsWokenForChangedSettings() {
		this.leases.appointWatcher(this.pool.member(Thread.currentThread(), true));
		SteppedPool.clearPermit();
		this.promotion.settingsChanged();
		assertThat(SteppedPool.isUnparked()).isTrue();
	}

	@Test
	void aThreadIsStartedForAVacancyOrForABoundLeaderIfTheMaximumIsRaised() {
		this.pool.startAllThreads();
		this.promotion.leave(this.otherLeader);
		this.set.boundLead(BoundLead.HOLDS);
		this.pool.threads.started = 0;
		changeThreads(2, 5);
		this.promotion.settingsChanged();
		assertThat(this.pool.threads.started).isOne();
		assertThat(this.set.endedWaits).isOne();
		this.promotion.started();
		this.promotion.stop();
		changeThreads(2, 6);
		this.promotion.settingsChanged();
		assertThat(this.pool.threads.started).isOne();
	}

	// Monitoring

	@Test
	void threadsThatWaitDoNotRun() {
		assertThat(this.promotion.running()).isEqualTo(3);
		this.set.waitedOn = true;
		assertThat(this.promotion.running()).isEqualTo(2);
		meanwhile(() -> assertThat(this.promotion.running()).isOne());
		lead(LEASE);
		assertThat(this.promotion.running()).isEqualTo(2);
	}

}
