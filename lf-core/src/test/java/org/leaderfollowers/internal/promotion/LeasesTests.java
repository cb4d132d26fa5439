package org.leaderfollowers.internal.promotion;

import java.time.Duration;

import org.junit.jupiter.api.Test;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

/** Leases that no thread watches, and leadership in place of a leader, step by step. */
class LeasesTests {

	private static final long LEASE = SteppedPool.LEASE_NANOS;

	private final SteppedPool pool = new SteppedPool(2, 1, 4);

	private final SteppedPool.TickingClock clock = this.pool.clock;

	private final SteppedPool.Set set = this.pool.sets[0];

	private final SteppedPool.Set other = this.pool.sets[1];

	private final Leases leases = this.pool.promotion.leases();

	private final Member leader = this.pool.leader(this.set);

	/** A handler begins, and the leader keeps the leadership. */
	private void lease() {
		this.leases.lease(this.leader, this.set, this.clock.now, this.pool.threads.settings());
	}

	private long starvedNanos(long at) {
		return this.pool.starvation.nanos(this.set, at);
	}

	@Test
	void aLeaderThatNobodyCanReplaceKeepsTheLeadership() {
		this.pool.startAllThreads();
		long began = this.clock.now;
		lease();
		assertThat(this.leader.isOnLease()).isTrue();
		assertThat(this.leader.leadsUnleased()).isFalse();
		assertThat(this.leases.isAnyUnwatched()).isTrue();
		assertThat(starvedNanos(began + LEASE)).as("the lease lasts").isZero();
		assertThat(starvedNanos(began + LEASE + 5)).as("it has expired").isEqualTo(5);
		assertThat(this.set.endedLongWaits).as("leaders take turns").isOne();
		assertThat(this.other.endedLongWaits).isOne();
		this.clock.now += LEASE + 7;
		this.leases.regain(this.leader, this.clock.now);
		assertThat(this.leader.leading()).isSameAs(this.set);
		assertThat(this.leader.leadsUnleased()).isTrue();
		assertThat(this.leases.isAnyUnwatched()).isFalse();
		assertThat(this.pool.starved).containsExactly(7L);
		assertThat(starvedNanos(this.clock.now + LEASE)).isZero();
	}

	@Test
	void aHandlerThatReturnsInTimeStarvesNobody() {
		this.pool.startAllThreads();
		lease();
		this.leases.regain(this.leader, this.clock.now + LEASE);
		assertThat(this.pool.starved).isEmpty();
		assertThat(starvedNanos(this.clock.now + 10 * LEASE)).isZero();
	}

	@Test
	void aLeaderIsReplacedIfAThreadWaitsOrMayBeStarted() {
		lease();
		assertThat(this.leader.leading()).isNull();
		assertThat(this.set.isVacant()).isTrue();
		assertThat(this.pool.threads.started).isOne();
		this.pool.startAllThreads();
		this.pool.followers.arrive();
		this.pool.lead(this.leader, this.set);
		Follower follower = this.pool.follower();
		lease();
		assertThat(this.leader.leading()).isNull();
		assertThat(follower.isSignalled()).isTrue();
	}

	@Test
	void aLeaseIsLeftToItsWatcher() {
		Member watcher = this.pool.member();
		assertThat(this.leases.appointWatcher(watcher)).isTrue();
		assertThat(this.leases.appointWatcher(this.pool.member())).as("there is one").isFalse();
		Follower follower = this.pool.follower();
		lease();
		assertThat(this.leader.isOnLease()).isTrue();
		assertThat(follower.isWaiting()).isTrue();
		assertThat(this.leases.isAnyUnwatched()).isFalse();
		assertThat(starvedNanos(this.clock.now + 2 * LEASE)).isZero();
		watcher.countedOn = false;
		this.leases.resignWatcher(watcher);
		assertThat(watcher.countedOn).isTrue();
		assertThat(this.leases.isAnyUnwatched()).isTrue();
	}

	@Test
	void withAnEagerPolicyOnlyLeasesThatAreLeftNeedAWatcher() {
		this.pool.startAllThreads();
		lease();
		this.pool.threads.change((settings, now) -> settings.withPolicy(true, now), this.clock.now);
		Member watcher = this.pool.member();
		assertThat(this.leases.appointWatcher(watcher)).isTrue();
		this.leases.resignWatcher(watcher);
		this.leases.regain(this.leader, this.clock.now);
		assertThat(this.leases.appointWatcher(watcher)).isFalse();
	}

	@Test
	void theNextIdleThreadEndsALeaseThatHasExpiredAndNobodyWatches() {
		this.pool.startAllThreads();
		Member me = this.pool.member();
		this.leases.endUnwatched(me);
		SteppedPool.Work work = new SteppedPool.Work();
		this.leader.worksOn(work);
		lease();
		this.clock.now += LEASE - 1;
		this.leases.endUnwatched(me);
		assertThat(this.leases.hasRunOut(this.set, this.clock.now)).isFalse();
		assertThat(this.leader.isOnLease()).isTrue();
		this.clock.now++;
		assertThat(this.leases.hasRunOut(this.set, this.clock.now)).isTrue();
		assertThat(this.leases.hasRunOut(this.other, this.clock.now)).as("it is not leased").isFalse();
		assertThat(work.uncorked).isZero();
		this.leases.endUnwatched(me);
		assertThat(work.uncorked).as("its replies do not wait").isOne();
		assertThat(this.set.isVacant()).isTrue();
		assertThat(this.leader.isOnLease()).isFalse();
		this.clock.now += 5;
		this.leases.regain(this.leader, this.clock.now);
		assertThat(this.leader.leading()).isNull();
		assertThat(this.leader.role()).isEqualTo(Member.Role.PROCESSING);
		assertThat(this.leader.sinceNanos()).isEqualTo(this.clock.now);
	}

	@Test
	void aLeaseThatIsWatchedIsNotEndedByOthers() {
		this.leases.appointWatcher(this.pool.member());
		lease();
		this.clock.now += 2 * LEASE;
		this.leases.endUnwatched(this.pool.member());
		assertThat(this.leader.isOnLease()).isTrue();
	}

	/** A thread that was the watcher has begun to work. */
	@Test
	void setsAreStarvedFromTheEndOfTheirLeasesOnIfNoThreadIsLeftToWatch() {
		Member watcher = this.pool.member();
		this.leases.appointWatcher(watcher);
		long began = this.clock.now;
		lease();
		this.leases.starve();
		assertThat(starvedNanos(began + 2 * LEASE)).as("it is watched").isZero();
		this.leases.resignWatcher(watcher);
		this.leases.starve();
		assertThat(starvedNanos(began + LEASE + 9)).isEqualTo(9);
		assertThat(this.pool.starvation.nanos(this.other, began + 2 * LEASE)).as("no lease").isZero();
	}

	/** The leader that regains it finds no period that it could end. */
	@Test
	void aLeaseThatEndsMeanwhileStarvesNobody() {
		watchThenStarve(() -> this.set.regain(this.leader.number()));
		assertThat(starvedNanos(this.clock.now + 10 * LEASE)).isZero();
	}

	@Test
	void aLeaseThatIsFollowedByAnotherOneMeanwhileStarvesFromTheEndOfThatOneOn() {
		watchThenStarve(() -> {
			this.pool.whenStarved = () -> {
			};
			this.set.regain(this.leader.number());
			this.clock.now += LEASE / 2;
			this.set.lease(this.leader.number(), this.clock.now);
		});
		assertThat(starvedNanos(this.clock.now + LEASE + 4)).isEqualTo(4);
	}

	/** The thread that gives up finds nobody either, and its period has just begun. */
	@Test
	void aVacancyStaysStarvedIfItFollowsALease() {
		watchThenStarve(() -> this.set.giveUp(this.leader.number(), this.clock.now));
		assertThat(starvedNanos(this.clock.now + LEASE + 4)).isEqualTo(4);
	}

	private void watchThenStarve(Runnable meanwhile) {
		Member watcher = this.pool.member();
		this.leases.appointWatcher(watcher);
		lease();
		this.leases.resignWatcher(watcher);
		this.pool.whenStarved = meanwhile;
		this.leases.starve();
	}

	@Test
	void aLeaderThatIsTakenOverMeanwhileStarvesNobody() {
		this.pool.startAllThreads();
		Member next = this.pool.member();
		this.pool.whenStarved = () -> this.set.takeOver(this.set.leaseWord(), next.number());
		lease();
		assertThat(starvedNanos(this.clock.now + 10 * LEASE)).isZero();
	}

	@Test
	void aChangedLeaseMovesTheBeginningOfAStarvation() {
		this.pool.startAllThreads();
		long began = this.clock.now;
		lease();
		this.pool.threads.change((settings, now) -> settings.withLease(Duration.ofNanos(5 * LEASE), now),
				this.clock.now);
		this.pool.promotion.settingsChanged();
		assertThat(starvedNanos(began + 5 * LEASE)).isZero();
		assertThat(starvedNanos(began + 5 * LEASE + 3)).isEqualTo(3);
		this.clock.now += 6 * LEASE;
		this.pool.threads.change((settings, now) -> settings.withLease(Duration.ofNanos(9 * LEASE), now),
				this.clock.now);
		this.leases.settingsChanged();
		assertThat(starvedNanos(began + 6 * LEASE)).as("it has begun already").isEqualTo(LEASE);
	}

	/** It was not watched when it began, but it is now. */
	@Test
	void aChangedLeaseThatIsWatchedStarvesNobodyFromItsFormerEndOn() {
		this.pool.startAllThreads();
		lease();
		Member watcher = this.pool.member();
		this.pool.followers.enqueue(watcher.follower);
		this.leases.appointWatcher(watcher);
		this.pool.threads.change((settings, now) -> settings.withLease(Duration.ofNanos(5 * LEASE), now),
				this.clock.now);
		this.leases.settingsChanged();
		assertThat(starvedNanos(this.clock.now + 4 * LEASE)).isZero();
		assertThat(this.leases.watch(watcher, this.clock.now + 100 * LEASE)).isFalse();
		assertThat(watcher.leading()).isSameAs(this.set);
		assertThat(this.pool.starved).isEmpty();
	}

	@Test
	void aVacancyOfAnotherSetLeavesTheStarvationAsItIs() {
		this.pool.startAllThreads();
		long began = this.clock.now;
		lease();
		assertThat(this.other.isVacant()).isTrue();
		assertThat(this.pool.promotion.vacancies().signalFollower()).isFalse();
		assertThat(starvedNanos(began + LEASE + 5)).isEqualTo(5);
	}

	// In place of a leader

	@Test
	void aThreadThatStandsInLeadsNoLongerThanItsAction() {
		this.pool.startAllThreads();
		Member me = this.pool.member();
		Follower follower = this.pool.follower();
		StandIn standIn = this.pool.promotion.standIn();
		assertThatExceptionOfType(OutOfMemoryError.class).isThrownBy(() -> standIn.lead(me, this.other, () -> {
			throw new OutOfMemoryError("made for the test");
		}));
		assertThat(this.other.isVacant()).isTrue();
		assertThat(follower.isSignalled()).isTrue();
	}

	/** The last thread closes the handle sets, perhaps at the same time. */
	@Test
	void noThreadStandsInWhenThePoolStops() {
		this.pool.promotion.stop();
		this.pool.promotion.standIn().lead(this.pool.member(), this.other, () -> {
			throw new AssertionError("the pool stops");
		});
	}

	@Test
	void aThreadStandsInForALeaderThatIsMissing() {
		this.pool.startAllThreads();
		Member me = this.pool.member();
		Follower follower = this.pool.follower();
		StandIn standIn = this.pool.promotion.standIn();
		assertThat(standIn.isWanted(this.other)).isTrue();
		assertThat(standIn.isWanted(this.set)).as("it has a leader").isFalse();
		int[] calls = { 0 };
		long vacantSince = this.clock.now;
		this.pool.lead(me, this.other);
		this.other.giveUp(me.number, vacantSince);
		me.leading = null;
		this.clock.now += 500;
		standIn.lead(me, this.other, () -> {
			assertThat(this.other.isVacant()).isFalse();
			calls[0]++;
		});
		assertThat(calls[0]).isOne();
		assertThat(this.other.isVacant()).isTrue();
		assertThat(this.other.vacancyNanos(this.clock.now)).as("the whole vacancy").isEqualTo(500);
		assertThat(follower.isSignalled()).isTrue();
		standIn.lead(me, this.set, () -> calls[0]++);
		assertThat(calls[0]).as("there is a leader").isOne();
	}

	@Test
	void aThreadStandsInForALeaderWhoseLeaseHasExpired() {
		this.pool.startAllThreads();
		Member me = this.pool.member();
		lease();
		StandIn standIn = this.pool.promotion.standIn();
		int[] calls = { 0 };
		standIn.lead(me, this.set, () -> calls[0]++);
		assertThat(standIn.isWanted(this.set)).isFalse();
		assertThat(calls[0]).isZero();
		this.clock.now += LEASE;
		assertThat(standIn.isWanted(this.set)).isTrue();
		standIn.lead(me, this.set, () -> calls[0]++);
		assertThat(calls[0]).isOne();
		assertThat(this.set.isVacant()).isTrue();
		assertThat(this.leader.isOnLease()).isFalse();
		standIn.lead(this.pool.leader(this.other), this.set, () -> calls[0]++);
		assertThat(calls[0]).as("the caller leads another set").isOne();
	}

}
