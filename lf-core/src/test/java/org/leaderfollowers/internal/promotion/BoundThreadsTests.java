package org.leaderfollowers.internal.promotion;

import java.util.concurrent.atomic.AtomicReference;

import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;

/**
 * What a thread that waits in a handler leads, and for whom it gives up, step by step.
 */
class BoundThreadsTests {

	private static final long LEASE = SteppedPool.LEASE_NANOS;

	private final SteppedPool pool = new SteppedPool(3, 1, 4);

	private final SteppedPool.TickingClock clock = this.pool.clock;

	private final SteppedPool.Set set = this.pool.sets[0];

	private final SteppedPool.Set other = this.pool.sets[1];

	private final SteppedPool.Set third = this.pool.sets[2];

	private final PromotionProtocol promotion = this.pool.promotion;

	private final BoundThreads bound = this.promotion.bound();

	private final Member me = this.pool.member();

	private final Member leader = this.pool.leader(this.set);

	private final Member otherLeader = this.pool.leader(this.other);

	private boolean over;

	BoundThreadsTests() {
		this.pool.leader(this.third);
		this.pool.startAllThreads();
	}

	private @Nullable Leadership await(long nanos) {
		return this.bound.await(this.me, () -> this.over, this.clock.now + nanos);
	}

	private void meanwhile(Runnable step) {
		this.clock.meanwhile.add(step);
	}

	/** The thread waits in a handler, and leads. */
	private void leadBound(Member member, Leadership leadership) {
		member.isBound = true;
		leadership.boundLead(BoundLead.LEADS);
		member.leading = leadership;
	}

	private boolean isStarved(Leadership leadership) {
		return this.pool.starvation.nanos(leadership, this.clock.now + 1) > 0;
	}

	private void assertNobodyWaits() {
		assertThat(this.bound.isAny()).isFalse();
		assertThat(this.me.isBound).isFalse();
		assertThat(this.promotion.parked()).hasValue(0);
	}

	// Waiting

	@Test
	void takesAVacancyWithoutAWait() {
		this.promotion.promoteNewLeader(this.leader);
		this.clock.now += 5;
		assertThat(await(LEASE)).isSameAs(this.set).isSameAs(this.me.leading());
		assertThat(this.clock.waits).isEmpty();
		assertThat(this.set.boundLead()).isEqualTo(BoundLead.LEADS);
		assertThat(this.pool.handOffs).containsExactly("RECLAIMED 5");
		assertNobodyWaits();
	}

	@Test
	void leavesAVacancyToAFollowerThatIsUnderWay() {
		this.pool.followers.signal();
		this.promotion.promoteNewLeader(this.leader);
		assertThat(await(9 * LEASE)).isNull();
		assertThat(this.clock.waits).containsExactly(9 * LEASE);
		assertThat(this.set.isVacant()).isTrue();
		assertNobodyWaits();
	}

	@Test
	void isWokenForAVacancyIfNobodyElseIsLeft() {
		Follower follower = this.pool.follower();
		meanwhile(() -> {
			assertThat(this.bound.isAny()).isTrue();
			assertThat(this.promotion.parked()).hasValue(1);
			this.promotion.promoteNewLeader(this.leader);
			assertThat(follower.isSignalled()).as("the follower is").isTrue();
			this.pool.followers.leave(follower);
			this.pool.lead(this.leader, this.set);
		});
		meanwhile(() -> {
			this.promotion.promoteNewLeader(this.otherLeader);
			assertThat(isStarved(this.other)).isFalse();
			this.clock.now += 5;
		});
		assertThat(await(LEASE)).isSameAs(this.other);
		assertThat(this.clock.waits).hasSize(2);
		assertThat(this.pool.handOffs).containsExactly("EAGER 5");
		assertNobodyWaits();
		this.me.leading = null;
		this.other.giveUp(this.me.number(), this.clock.now);
		assertThat(this.bound.signal()).as("nobody waits").isFalse();
		this.pool.lead(this.otherLeader, this.other);
		meanwhile(() -> this.promotion.promoteNewLeader(this.leader));
		assertThat(await(LEASE)).as("again").isSameAs(this.set);
	}

	@Test
	void isWokenIfTheThreadThatWasStartedForAVacancyCannotJoin() {
		meanwhile(() -> {
			this.pool.followers.signal();
			this.promotion.promoteNewLeader(this.leader);
			this.promotion.started();
			this.promotion.startedInVain();
		});
		assertThat(await(LEASE)).isSameAs(this.set);
		assertThat(this.pool.handOffs).containsExactly("EAGER 0");
	}

	@Test
	void isWokenByALeaderThatWouldOtherwiseKeepTheLeadershipUnderALease() {
		meanwhile(() -> {
			this.promotion.leases().lease(this.leader, this.set, this.clock.now, this.pool.threads.settings());
			assertThat(this.leader.leading()).isNull();
		});
		assertThat(await(100 * LEASE)).isSameAs(this.set);
	}

	@Test
	void isNotWokenForASource() {
		this.set.isForBound = false;
		meanwhile(() -> this.promotion.promoteNewLeader(this.leader));
		meanwhile(() -> this.over = true);
		assertThat(await(LEASE)).isNull();
		assertThat(this.clock.waits).hasSize(2);
		assertThat(isStarved(this.set)).isTrue();
		assertThat(this.set.isVacant()).isTrue();
	}

	@Test
	void passesASignalOnIfItsWaitIsOver() {
		Follower[] follower = new Follower[1];
		meanwhile(() -> {
			this.promotion.promoteNewLeader(this.leader);
			follower[0] = this.pool.follower();
			this.over = true;
		});
		assertThat(await(LEASE)).isNull();
		assertThat(follower[0].isSignalled()).isTrue();
		assertThat(this.set.isVacant()).isTrue();
		assertNobodyWaits();
	}

	@Test
	void passesASignalOnThatComesWhileItTakesAVacancy() {
		this.promotion.promoteNewLeader(this.leader);
		Follower[] follower = new Follower[1];
		this.pool.whenHandedOff = () -> {
			this.promotion.promoteNewLeader(this.otherLeader);
			follower[0] = this.pool.follower();
		};
		assertThat(await(LEASE)).isSameAs(this.set);
		assertThat(follower[0].isSignalled()).isTrue();
		assertNobodyWaits();
	}

	@Test
	void leavesAVacancyToAFollowerThatBeginsToWaitMeanwhile() {
		Follower[] follower = new Follower[1];
		meanwhile(() -> {
			this.pool.threads.whenStarting = () -> {
				this.pool.threads.whenStarting = () -> {
				};
				follower[0] = this.pool.follower();
			};
			this.promotion.promoteNewLeader(this.leader);
			assertThat(follower[0].isSignalled()).isTrue();
			assertThat(this.me.bound.isSignalled()).isFalse();
		});
		assertThat(await(LEASE)).isNull();
	}

	@Test
	void leavesASecondVacancyToAnotherThread() {
		Follower[] follower = new Follower[1];
		meanwhile(() -> {
			this.promotion.promoteNewLeader(this.leader);
			this.promotion.promoteNewLeader(this.otherLeader);
			follower[0] = this.pool.follower();
		});
		assertThat(await(LEASE)).isSameAs(this.set);
		assertThat(follower[0].isSignalled()).isTrue();
	}

	@Test
	void looksForAVacancyOnlyWhileItWaits() {
		this.promotion.promoteNewLeader(this.leader);
		assertThat(await(0)).isNull();
		this.over = true;
		assertThat(await(LEASE)).isNull();
		this.over = false;
		this.promotion.stop();
		assertThat(await(LEASE)).isNull();
		assertThat(this.clock.waits).isEmpty();
		assertThat(this.set.isVacant()).isTrue();
	}

	@Test
	void endsALeaseThatNobodyWatches() {
		this.promotion.leases().lease(this.leader, this.set, this.clock.now, this.pool.threads.settings());
		assertThat(await(LEASE / 4)).isNull();
		this.clock.now += LEASE / 4;
		assertThat(await(100 * LEASE)).isSameAs(this.set);
		assertThat(this.clock.waits).as("a lease that begins meanwhile").containsExactly(LEASE / 4, LEASE);
		assertThat(this.leader.isOnLease()).isFalse();
	}

	/** It continues with its handler. */
	@Test
	void doesNotLeadIfItFailsAfterItHasTakenAVacancy() {
		this.promotion.promoteNewLeader(this.leader);
		Follower next = this.pool.follower();
		this.pool.whenHandedOff = () -> {
			throw new IllegalStateException("listener");
		};
		assertThatIllegalStateException().isThrownBy(() -> await(LEASE)).withMessage("listener");
		assertThat(this.me.leading()).isNull();
		assertThat(this.set.isVacant()).isTrue();
		assertThat(next.isSignalled()).isTrue();
		assertNobodyWaits();
	}

	@Test
	void passesASignalOnIfItFails() {
		AtomicReference<Follower> next = new AtomicReference<>();
		meanwhile(() -> {
			this.promotion.promoteNewLeader(this.leader);
			assertThat(this.me.bound.isSignalled()).isTrue();
			next.set(this.pool.follower());
			throw new IllegalStateException("wait");
		});
		assertThatIllegalStateException().isThrownBy(() -> await(LEASE)).withMessage("wait");
		assertThat(next.get().isSignalled()).isTrue();
		assertNobodyWaits();
	}

	@Test
	void waitsNoMoreIfItHasFailed() {
		meanwhile(() -> {
			throw new IllegalStateException("wait");
		});
		assertThatIllegalStateException().isThrownBy(() -> await(LEASE)).withMessage("wait");
		assertNobodyWaits();
		this.promotion.promoteNewLeader(this.leader);
		assertThat(isStarved(this.set)).as("it is not counted on").isTrue();
	}

	// Events for unbound threads

	@Test
	void aLeaderLeavesEventsToAThreadThatWaitsOrMayBeStarted() {
		leadBound(this.leader, this.set);
		assertThat(this.bound.leavesToOthers(this.leader, true)).as("nobody").isFalse();
		assertThat(this.set.boundLead()).isEqualTo(BoundLead.HOLDS);
		assertThat(this.bound.looksAgain(this.set)).isFalse();
		assertThat(this.bound.mayStartSoon()).isFalse();
		this.pool.followers.signal();
		assertThat(this.bound.leavesToOthers(this.leader, true)).as("under way").isTrue();
		assertThat(this.bound.looksAgain(this.set)).isTrue();
		this.pool.followers.arrive();
		assertThat(this.bound.looksAgain(this.set)).isFalse();
		Follower follower = this.pool.follower();
		assertThat(this.bound.leavesToOthers(this.leader, true)).as("a follower").isTrue();
		assertThat(this.bound.leavesToOthers(this.leader, false)).as("no events").isFalse();
		assertThat(this.set.boundLead()).isEqualTo(BoundLead.LEADS);
		assertThat(this.bound.looksAgain(this.set)).isFalse();
		this.pool.followers.signal();
		this.pool.followers.leave(follower);
		this.pool.threads.ended();
		assertThat(this.bound.mayStartSoon()).isTrue();
		assertThat(this.bound.leavesToOthers(this.leader, true)).as("may be started").isTrue();
		assertThat(this.set.boundLead()).isEqualTo(BoundLead.HOLDS);
		this.leader.leading = null;
		assertThat(this.bound.leavesToOthers(this.leader, false)).as("taken over").isTrue();
	}

	@Test
	void aLeaderLeavesItsSetToAnUnboundLeaderThatWaits() {
		leadBound(this.leader, this.set);
		leadBound(this.otherLeader, this.other);
		this.other.waitedOn = true;
		assertThat(this.bound.leavesToOthers(this.leader, true)).as("that one is bound").isFalse();
		assertThat(this.bound.looksAgain(this.set)).isFalse();
		this.third.waitedOn = true;
		assertThat(this.bound.looksAgain(this.set)).isTrue();
		assertThat(this.bound.leavesToOthers(this.leader, true)).isTrue();
		assertThat(this.set.boundLead()).isEqualTo(BoundLead.LEFT);
	}

	@Test
	void anUnboundLeaderThatWillWaitMakesBoundOnesLookAgain() {
		leadBound(this.leader, this.set);
		leadBound(this.otherLeader, this.other);
		this.bound.leavesToOthers(this.leader, true);
		this.bound.looksAgain(this.other);
		assertThat(this.set.endedWaits).as("the other one is bound").isZero();
		this.bound.looksAgain(this.third);
		assertThat(this.set.endedWaits).isOne();
		assertThat(this.other.endedWaits).as("it holds no events").isZero();
	}

	/** The set is left for an unbound leader that waits for events of the third one. */
	private void leave() {
		this.third.waitedOn = true;
		leadBound(this.leader, this.set);
		assertThat(this.bound.leavesToOthers(this.leader, true)).isTrue();
		this.promotion.leave(this.leader);
	}

	@Test
	void boundThreadsDoNotTakeWhatWasLeftForAnUnboundLeader() {
		leave();
		meanwhile(() -> assertThat(this.bound.signal()).isFalse());
		meanwhile(() -> {
			this.third.waitedOn = false;
			assertThat(this.bound.signal()).as("it has other work").isTrue();
		});
		assertThat(await(LEASE)).isSameAs(this.set);
		assertThat(this.clock.waits).hasSize(2);
	}

	@Test
	void aThreadThatBecomesBusyLeavesItToBoundOnes() {
		leave();
		this.bound.isAny();
		assertThat(this.set.boundLead()).isEqualTo(BoundLead.LEFT);
		this.third.waitedOn = false;
		this.bound.isAny();
		assertThat(this.set.boundLead()).isEqualTo(BoundLead.NONE);
	}

	@Test
	void theUnboundLeaderChangesPlaces() {
		leave();
		Member third = this.pool.members.get(this.third.holder());
		leadBound(this.otherLeader, this.other);
		this.promotion.takeTurns(this.otherLeader, true);
		assertThat(this.otherLeader.leading()).as("not for a bound one").isSameAs(this.other);
		Follower follower = this.pool.follower();
		this.promotion.takeTurns(third, true);
		assertThat(third.leading()).isSameAs(this.set);
		assertThat(this.set.boundLead()).isEqualTo(BoundLead.NONE);
		assertThat(this.third.isVacant()).isTrue();
		assertThat(follower.isSignalled()).isTrue();
		assertThat(this.pool.handOffs).containsExactly("RECLAIMED 0");
	}

	@Test
	void aBoundLeaderTakesTurnsOnlyWithWhatItMayLead() {
		this.set.isForBound = false;
		this.promotion.leave(this.leader);
		leadBound(this.otherLeader, this.other);
		this.promotion.takeTurns(this.otherLeader, true);
		assertThat(this.otherLeader.leading()).isSameAs(this.other);
		this.set.isForBound = true;
		this.promotion.takeTurns(this.otherLeader, true);
		assertThat(this.otherLeader.leading()).isNull();
		assertThat(this.other.isVacant()).isTrue();
	}

	@Test
	void anUnboundLeaderTakesWhatWasLeftForIt() {
		this.third.waitedOn = true;
		leadBound(this.otherLeader, this.other);
		assertThat(this.bound.leavesToOthers(this.otherLeader, true)).isTrue();
		this.promotion.leave(this.otherLeader);
		this.promotion.leave(this.leader);
		Member third = this.pool.members.get(this.third.holder());
		this.promotion.takeTurns(third, true);
		assertThat(third.leading()).isSameAs(this.other);
		assertThat(this.set.isVacant()).isTrue();
	}

	@Test
	void anUnboundLeaderTakesTurnsWithASource() {
		this.set.isForBound = false;
		this.promotion.leave(this.leader);
		Member third = this.pool.members.get(this.third.holder());
		this.promotion.takeTurns(third, true);
		assertThat(third.leading()).isNull();
		assertThat(this.third.isVacant()).isTrue();
	}

}
