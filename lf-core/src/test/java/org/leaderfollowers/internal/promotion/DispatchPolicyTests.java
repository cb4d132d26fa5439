package org.leaderfollowers.internal.promotion;

import org.junit.jupiter.api.Test;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * What the policy counts and measures around a dispatch, step by step: the test plays all
 * threads.
 */
class DispatchPolicyTests {

	private static final int PARALLELISM = 2;

	private final SteppedPool pool = new SteppedPool(1, 1, 4);

	private final SteppedPool.TickingClock clock = this.pool.clock;

	private final SteppedPool.Set leadership = this.pool.sets[0];

	private final DispatchPolicy policy = new DispatchPolicy(this.pool.promotion, this.pool.threads, PARALLELISM,
			this.clock);

	private final Member me = this.pool.member();

	private final HandlerProfile known = new HandlerProfile();

	private void block(Member member) {
		this.policy.beforeDispatch(member, HandlerProfile.BLOCKING, this.leadership, 0);
		assertThat(member.isBlocking()).isTrue();
	}

	private void dispatchKnown(long nanos) {
		this.policy.beforeDispatch(this.me, this.known, this.leadership, 0);
		this.clock.now += nanos;
		this.policy.afterDispatch(this.me, this.known);
	}

	private void lead() {
		this.pool.lead(this.me, this.leadership);
	}

	private void learn() {
		for (int i = 0; i < 2000; i++) {
			this.known.record(1000);
		}
		assertThat(this.known.blocks()).isFalse();
	}

	@Test
	void threadsWhoseHandlersBlockNeedNoProcessor() {
		Member first = this.pool.member();
		Member second = this.pool.member();
		assertThat(this.policy.isSuperfluous(this.me)).as("3 threads, 2 processors").isTrue();
		block(first);
		assertThat(this.policy.isSuperfluous(this.me)).as("one of them blocks").isFalse();
		block(second);
		this.pool.member();
		assertThat(this.policy.isSuperfluous(this.me)).isFalse();
		this.policy.afterDispatch(first, HandlerProfile.BLOCKING);
		assertThat(first.isBlocking()).isFalse();
		assertThat(this.policy.isSuperfluous(this.me)).as("it has returned").isTrue();
		this.policy.afterDispatch(first, this.known);
		assertThat(this.policy.isSuperfluous(this.me)).as("it counts once").isTrue();
		this.policy.afterDispatch(second, HandlerProfile.BLOCKING);
		block(first);
		assertThat(this.policy.isSuperfluous(this.me)).as("both have returned, one blocks again").isTrue();
	}

	@Test
	void aLeaderIsNotSuperfluous() {
		this.pool.member();
		this.pool.member();
		lead();
		assertThat(this.policy.isSuperfluous(this.me)).isFalse();
	}

	/** The thread that waits works on something else meanwhile. */
	@Test
	void aHandlerThatIsInterruptedByAnotherOneOnTopBlocksAgainAfterwards() {
		Member waits = this.pool.member();
		this.pool.member();
		this.clock.now = 5_000_000;
		block(waits);
		assertThat(this.policy.isSuperfluous(this.me)).isFalse();
		DispatchPolicy.Suspended outer = this.policy.suspend(waits);
		assertThat(outer).isEqualTo(new DispatchPolicy.Suspended(5_000_000, true, false));
		assertThat(waits.isBlocking()).isFalse();
		assertThat(this.policy.isSuperfluous(this.me)).as("it works").isTrue();
		learn();
		this.clock.now = 6_000_000;
		this.policy.beforeDispatch(waits, this.known, this.leadership, 0);
		assertThat(waits.shares).isTrue();
		this.policy.afterDispatch(waits, this.known);
		this.policy.resume(waits, outer);
		assertThat(waits.isBlocking()).isTrue();
		assertThat(waits.dispatchNanos()).isEqualTo(5_000_000);
		assertThat(waits.shares).isFalse();
		assertThat(this.policy.isSuperfluous(this.me)).as("it waits again").isFalse();
	}

	@Test
	void aShortHandlerThatIsInterruptedDoesNotBlockAfterwards() {
		this.pool.member();
		learn();
		this.policy.beforeDispatch(this.me, this.known, this.leadership, 0);
		DispatchPolicy.Suspended outer = this.policy.suspend(this.me);
		assertThat(outer.blocks()).isFalse();
		assertThat(outer.shares()).isTrue();
		assertThat(this.policy.isSuperfluous(this.me)).as("2 threads, 2 processors").isFalse();
		block(this.me);
		assertThat(this.me.shares).isFalse();
		this.policy.afterDispatch(this.me, HandlerProfile.BLOCKING);
		this.policy.resume(this.me, outer);
		assertThat(this.me.isBlocking()).isFalse();
		assertThat(this.me.shares).isTrue();
		assertThat(this.policy.isSuperfluous(this.me)).isFalse();
	}

	@Test
	void aLeaderKeepsTheLeadershipUnderALeaseWhileAShortHandlerRuns() {
		this.pool.startAllThreads();
		learn();
		lead();
		this.policy.beforeDispatch(this.me, this.known, this.leadership, 0);
		assertThat(this.me.isOnLease()).isTrue();
		assertThat(this.leadership.isLeasedBy(this.me.number)).isTrue();
		this.policy.afterDispatch(this.me, this.known);
		assertThat(this.me.isOnLease()).isFalse();
		assertThat(this.me.leading()).isSameAs(this.leadership);
		assertThat(this.leadership.isVacant()).isFalse();
	}

	@Test
	void aLeaderGivesTheLeadershipUpBeforeAHandlerThatMayBlock() {
		lead();
		this.policy.beforeDispatch(this.me, this.known, this.leadership, 0);
		assertThat(this.me.leading()).isNull();
		assertThat(this.leadership.isVacant()).isTrue();
		assertThat(this.me.shares).isFalse();
		this.policy.afterDispatch(this.me, this.known);
		assertThat(this.me.isBlocking()).isFalse();
	}

	@Test
	void aThreadThatWasTakenOverLeadsNoMore() {
		this.pool.startAllThreads();
		learn();
		lead();
		this.policy.beforeDispatch(this.me, this.known, this.leadership, 0);
		assertThat(this.me.isOnLease()).isTrue();
		this.leadership.giveUp(this.me.number, this.clock.now);
		this.policy.afterDispatch(this.me, this.known);
		assertThat(this.me.leading()).isNull();
		assertThat(this.me.role()).isEqualTo(Member.Role.PROCESSING);
		assertThat(this.me.sinceNanos()).isEqualTo(this.clock.now);
	}

	@Test
	void theTimeOfTheHandlerIsLearned() {
		learn();
		for (int i = 0; i < 2000; i++) {
			dispatchKnown(5000);
		}
		assertThat(this.known.meanNanos()).isBetween(4900L, 5000L);
		long before = this.known.meanNanos();
		this.policy.beforeDispatch(this.me, this.known, this.leadership, 0);
		this.clock.now += 100;
		this.me.handled(this.clock.now);
		// What the engine does after the message is not the time of the handler.
		this.clock.now += 200_000;
		this.policy.afterDispatch(this.me, this.known);
		assertThat(this.known.meanNanos()).isLessThan(before);
	}

	@Test
	void eachMessageOfADispatchTakesTheTimeSinceTheOneBefore() {
		this.policy.beforeDispatch(this.me, this.known, this.leadership, 0);
		assertThat(this.me.handled(this.clock.now + 100)).isEqualTo(100);
		assertThat(this.me.handled(this.clock.now + 130)).isEqualTo(30);
		this.policy.beforeDispatch(this.me, this.known, this.leadership, 0);
		assertThat(this.me.handled(this.clock.now + 7)).isEqualTo(7);
	}

	/** It takes longer than many handlers. */
	@Test
	void theTimeToWakeAThreadIsNotTimeOfTheHandler() {
		Follower follower = this.pool.follower();
		lead();
		this.clock.tick = 1000;
		long before = this.clock.now;
		this.policy.beforeDispatch(this.me, this.known, this.leadership, 0);
		assertThat(follower.isSignalled()).isTrue();
		assertThat(this.me.dispatchNanos()).isEqualTo(this.clock.now).isGreaterThan(before + this.clock.tick);
		before = this.clock.now;
		this.policy.beforePreparation(this.me, this.known);
		assertThat(this.me.dispatchNanos()).as("nobody was woken").isEqualTo(before + this.clock.tick);
	}

	/** There is nobody to watch a lease, so the leader is replaced. */
	@Test
	void theTimeToStartAThreadIsNotTimeOfTheHandler() {
		learn();
		lead();
		this.clock.tick = 1000;
		this.policy.beforeDispatch(this.me, this.known, this.leadership, 0);
		assertThat(this.me.leading()).isNull();
		assertThat(this.pool.threads.count()).isOne();
		assertThat(this.me.dispatchNanos()).isEqualTo(this.clock.now);
		this.pool.startAllThreads();
		this.policy.afterDispatch(this.me, this.known);
		lead();
		long before = this.clock.now;
		this.policy.beforeDispatch(this.me, this.known, this.leadership, 0);
		assertThat(this.me.isOnLease()).isTrue();
		assertThat(this.me.dispatchNanos()).as("nobody was started").isEqualTo(before + this.clock.tick);
	}

	@Test
	void aThreadThatWasCountedOnPassesThisOnBeforeItWorks() {
		Follower follower = this.pool.follower();
		assertThat(this.leadership.isVacant()).isTrue();
		this.policy.beforeDispatch(this.me, this.known, this.leadership, 0);
		assertThat(follower.isWaiting()).isTrue();
		this.policy.afterDispatch(this.me, this.known);
		this.me.countedOn = true;
		this.clock.now++;
		this.policy.beforeDispatch(this.me, this.known, this.leadership, 0);
		assertThat(follower.isSignalled()).isTrue();
		assertThat(this.me.countedOn).isFalse();
		assertThat(this.me.role()).isEqualTo(Member.Role.PROCESSING);
		assertThat(this.me.sinceNanos()).isEqualTo(this.clock.now);
	}

	@Test
	void eventsOfThreadsThatDoNotLeadAreShared() {
		this.pool.startAllThreads();
		learn();
		dispatchKnown(1000);
		dispatchKnown(1000);
		assertThat(this.leadership.sharing().events()).isEqualTo(2);
		lead();
		dispatchKnown(1000);
		assertThat(this.leadership.sharing().events()).isEqualTo(2);
	}

	@Test
	void aThreadIsWokenForHandlesThatAreReadyIfAProcessorIsFree() {
		learn();
		Follower follower = this.pool.follower();
		Member first = this.pool.member();
		Member second = this.pool.member();
		block(first);
		block(second);
		this.leadership.ready = 1_000_000;
		this.policy.pauseSharing(this.clock.now + 1);
		this.policy.beforeDispatch(this.me, this.known, this.leadership, 0);
		assertThat(follower.isWaiting()).as("no processor is free").isTrue();
		this.policy.afterDispatch(this.me, this.known);
		this.clock.now++;
		this.policy.afterDispatch(second, HandlerProfile.BLOCKING);
		this.policy.beforeDispatch(this.me, this.known, this.leadership, 0);
		assertThat(follower.isWaiting()).as("two threads run").isTrue();
		this.policy.afterDispatch(this.me, this.known);
		block(second);
		this.leadership.ready = 1;
		this.policy.beforeDispatch(this.me, this.known, this.leadership, 0);
		assertThat(follower.isWaiting()).as("it would cost more than it gains").isTrue();
		this.policy.afterDispatch(this.me, this.known);
		assertThat(this.leadership.sharing().latest()).isNull();
		this.clock.tick = 1000;
		long wakeUp = this.pool.promotion.vacancies().wakeUpNanos();
		this.policy.beforeDispatch(this.me, this.known, this.leadership, 999_999);
		assertThat(follower.isSignalled()).isTrue();
		assertThat(this.leadership.sharing().reliefs()).isOne();
		assertThat(this.leadership.sharing().latest()).satisfies((latest) -> {
			assertThat(latest.ready()).isEqualTo(1_000_000);
			assertThat(latest.workNanos()).isEqualTo(1_000_000 * (this.known.meanNanos() + 1000));
			assertThat(latest.wakeUpNanos()).isEqualTo(wakeUp);
			assertThat(latest.nanoTime()).isBetween(this.clock.now - 10_000, this.clock.now);
		});
		assertThat(this.me.dispatchNanos()).isEqualTo(this.clock.now);
	}

	@Test
	void noThreadIsWokenToShareWithAHandlerThatBlocksOrOnlyPrepares() {
		Follower follower = this.pool.follower();
		this.leadership.ready = 1_000_000;
		block(this.me);
		assertThat(follower.isWaiting()).isTrue();
		this.policy.afterDispatch(this.me, HandlerProfile.BLOCKING);
		learn();
		this.policy.beforePreparation(this.me, this.known);
		assertThat(follower.isWaiting()).isTrue();
	}

	@Test
	void aThreadThatIsAwakeLeadsOnlyForHandlersThatAreWorthIt() {
		this.pool.startAllThreads();
		learn();
		lead();
		dispatchKnown(1000);
		assertThat(this.leadership.isWorthAProcessor()).isFalse();
		for (int i = 0; i < 200; i++) {
			dispatchKnown(10_000);
		}
		assertThat(this.leadership.isWorthAProcessor()).isTrue();
	}

	@Test
	void withAnEagerPolicyNothingIsLearned() {
		this.pool.startAllThreads();
		learn();
		this.pool.threads.change((settings, now) -> settings.withPolicy(true, now), this.clock.now);
		lead();
		long before = this.known.meanNanos();
		dispatchKnown(200_000);
		assertThat(this.known.meanNanos()).isEqualTo(before);
		assertThat(this.leadership.isVacant()).isTrue();
	}

	@Test
	void aLeaseEndsWithItsHandlerAlthoughThePolicyHasBecomeEager() {
		this.pool.startAllThreads();
		learn();
		lead();
		this.policy.beforeDispatch(this.me, this.known, this.leadership, 0);
		assertThat(this.me.isOnLease()).isTrue();
		this.pool.threads.change((settings, now) -> settings.withPolicy(true, now), this.clock.now);
		this.policy.afterDispatch(this.me, this.known);
		assertThat(this.leadership.isLeased()).isFalse();
		assertThat(this.me.leading()).isSameAs(this.leadership);
		assertThat(this.me.leadsUnleased()).isTrue();
	}

	/** The time that it takes to wake another thread is not that of the handler. */
	@Test
	void theDurationOfAHandlerBeginsWhenAnotherThreadWasWoken() {
		learn();
		lead();
		this.pool.follower();
		this.clock.tick = 10;
		long before = this.clock.now;
		this.policy.beforeDispatch(this.me, this.known, this.leadership, 0);
		assertThat(this.me.leading()).isNull();
		assertThat(this.me.dispatchNanos()).isEqualTo(before + 20);
	}

	@Test
	void aHandlerThatAlwaysCountsAsBlockingIsNotMeasured() {
		for (int i = 0; i < 2000; i++) {
			block(this.me);
			this.policy.afterDispatch(this.me, HandlerProfile.BLOCKING);
		}
		assertThat(HandlerProfile.BLOCKING.blocks()).isTrue();
	}

	/** Otherwise it would be taken for the time of the next handler. */
	@Test
	void theEndOfAHandlerIsTakenOnce() {
		this.me.beginDispatch(3);
		assertThat(this.me.handled(5)).isEqualTo(2);
		assertThat(this.me.takeHandledNanos()).isEqualTo(5);
		assertThat(this.me.takeHandledNanos()).isZero();
	}

}
