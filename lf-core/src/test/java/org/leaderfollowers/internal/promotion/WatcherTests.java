package org.leaderfollowers.internal.promotion;

import java.time.Duration;
import java.util.Collections;

import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

import static org.assertj.core.api.Assertions.assertThat;

/** How long the watcher of the leases waits, and what ends its watch, step by step. */
class WatcherTests {

	private static final long LEASE = SteppedPool.LEASE_NANOS;

	private static final long SURPLUS_WATCH = 1_000_000;

	private static final int LEASES_UNTIL_QUIET = 9;

	private final SteppedPool pool = new SteppedPool(2, 1, 4);

	private final SteppedPool.TickingClock clock = this.pool.clock;

	private final SteppedPool.Set set = this.pool.sets[0];

	private final SteppedPool.Set other = this.pool.sets[1];

	private final Leases leases = this.pool.promotion.leases();

	private final Member leader = this.pool.leader(this.set);

	private final Member otherLeader = this.pool.leader(this.other);

	private Member watcher = this.pool.member();

	@BeforeEach
	void appoint() {
		this.pool.startAllThreads();
		this.clock.now += 1000 * LEASE;
		this.pool.followers.enqueue(this.watcher.follower);
		assertThat(this.leases.appointWatcher(this.watcher)).isTrue();
	}

	private void appoint(Member member) {
		this.pool.followers.leave(this.watcher.follower);
		this.leases.resignWatcher(this.watcher);
		this.watcher = member;
		this.pool.followers.enqueue(member.follower);
		assertThat(this.leases.appointWatcher(member)).isTrue();
	}

	private void lease() {
		this.leases.lease(this.leader, this.set, this.clock.now, this.pool.threads.settings());
	}

	private void regain() {
		this.leases.regain(this.leader, this.clock.now);
	}

	/** Returns whether the watcher was signalled. */
	private boolean watch(long nanos) {
		return this.leases.watch(this.watcher, this.clock.now + nanos);
	}

	private void meanwhile(Runnable step) {
		this.clock.meanwhile.add(step);
	}

	private void changeLease(long nanos) {
		this.pool.threads.change((settings, now) -> settings.withLease(Duration.ofNanos(nanos), now), this.clock.now);
	}

	private void changeThreads(int min, int max) {
		this.pool.threads.change((settings, now) -> settings.withThreads(min, max), this.clock.now);
	}

	@Test
	void takesOverAtTheEndOfALease() {
		lease();
		assertThat(watch(100 * LEASE)).isFalse();
		assertThat(this.clock.waits).containsExactly(LEASE);
		assertThat(this.watcher.leading()).isSameAs(this.set);
		assertThat(this.watcher.role()).isEqualTo(Member.Role.LEADER);
		assertThat(this.watcher.sinceNanos()).isEqualTo(this.clock.now);
		assertThat(Leadership.isLedWithoutLease(this.set.word())).isTrue();
		assertThat(this.set.holder()).isEqualTo(this.watcher.number());
		assertThat(this.pool.handOffs).containsExactly("TAKEOVER 0");
	}

	@Test
	void aLateTakeoverIsRecordedWithItsDelay() {
		lease();
		meanwhile(() -> this.clock.now += LEASE + 300);
		watch(100 * LEASE);
		assertThat(this.pool.handOffs).containsExactly("TAKEOVER 300");
	}

	@Test
	void waitsForTheLeaseThatEndsFirst() {
		lease();
		this.clock.now += LEASE / 4;
		this.leases.lease(this.otherLeader, this.other, this.clock.now, this.pool.threads.settings());
		this.clock.now += LEASE / 4;
		watch(100 * LEASE);
		assertThat(this.clock.waits).containsExactly(LEASE / 2);
		assertThat(this.watcher.leading()).isSameAs(this.set);
		this.leases.watch(this.watcher, this.clock.now + 100 * LEASE);
		assertThat(this.clock.waits).containsExactly(LEASE / 2, LEASE / 4);
		assertThat(this.watcher.leading()).isSameAs(this.other);
	}

	/** A lease that begins meanwhile does not end before it looks again. */
	@Test
	void looksOnceALeaseWhileHandlersRanOfLate() {
		lease();
		regain();
		assertThat(watch(20 * LEASE)).isFalse();
		assertThat(this.clock.waits.subList(0, LEASES_UNTIL_QUIET))
			.isEqualTo(Collections.nCopies(LEASES_UNTIL_QUIET, LEASE));
		assertThat(this.clock.waits).as("then it sleeps").hasSize(LEASES_UNTIL_QUIET + 1).endsWith(11 * LEASE);
	}

	@Test
	void isWokenByALeaseIfItHasFallenAsleepWhileHandlersRan() {
		appoint(this.pool.member(Thread.currentThread(), true));
		SteppedPool.clearPermit();
		meanwhile(() -> {
			this.set.dispatchedNanos = this.clock.now;
			lease();
			assertThat(this.leader.isOnLease()).isTrue();
			assertThat(SteppedPool.isUnparked()).isTrue();
		});
		meanwhile(this::regain);
		meanwhile(() -> {
			lease();
			assertThat(this.leader.isOnLease()).as("it is awake").isTrue();
		});
		watch(100 * LEASE);
		assertThat(this.clock.waits).containsExactly(100 * LEASE, LEASE, LEASE, LEASE);
		assertThat(this.watcher.leading()).isSameAs(this.set);
	}

	/** To wake it costs the same, and it may as well lead. */
	@Test
	void isPromotedByTheFirstLeaseAfterAPause() {
		meanwhile(this::lease);
		assertThat(watch(100 * LEASE)).isTrue();
		assertThat(this.clock.waits).containsExactly(100 * LEASE);
		assertThat(this.leader.leading()).isNull();
		assertThat(this.set.isVacant()).isTrue();
	}

	@Test
	void aPauseIsCountedFromTheLatestLeaseOfTheSet() {
		lease();
		regain();
		this.clock.now += LEASES_UNTIL_QUIET * LEASE;
		meanwhile(() -> {
			changeLease(100 * LEASE);
			lease();
			assertThat(this.leader.isOnLease()).as("no pause, by the new lease").isTrue();
		});
		assertThat(watch(1000 * LEASE)).isFalse();
		assertThat(this.clock.waits).containsExactly(1000 * LEASE, 100 * LEASE);
	}

	@Test
	void obeysAChangedLeaseAtOnce() {
		lease();
		meanwhile(() -> changeLease(LEASE / 4));
		watch(100 * LEASE);
		assertThat(this.clock.waits).containsExactly(LEASE, LEASE / 4);
		assertThat(this.watcher.leading()).isSameAs(this.set);
	}

	@Test
	void isAwakeAfterAChangeOfTheSettings() {
		meanwhile(() -> changeLease(1000 * LEASE));
		meanwhile(() -> {
			lease();
			assertThat(this.leader.isOnLease()).isTrue();
		});
		watch(2 * LEASE);
		assertThat(this.clock.waits).containsExactly(2 * LEASE, 2 * LEASE, 2 * LEASE);
	}

	@Test
	void endsWhenThePoolStops() {
		meanwhile(this.pool.promotion::stop);
		assertThat(watch(100 * LEASE)).isFalse();
		assertThat(this.clock.waits).as("it slept").containsExactly(100 * LEASE);
		lease();
		assertThat(watch(100 * LEASE)).isFalse();
		assertThat(this.clock.waits).hasSize(1);
	}

	@Test
	void endsWhenThePoolStopsWhileItWatchesALease() {
		lease();
		meanwhile(this.pool.promotion::stop);
		assertThat(watch(100 * LEASE)).isFalse();
		assertThat(this.clock.waits).hasSize(1);
		assertThat(this.watcher.leading()).isNull();
	}

	@Test
	void endsWhenItsTimeIsOver() {
		lease();
		assertThat(watch(LEASE / 2)).isFalse();
		assertThat(this.clock.waits).containsExactly(LEASE / 2);
		assertThat(watch(0)).isFalse();
		assertThat(this.clock.waits).hasSize(1);
		assertThat(this.leader.isOnLease()).isTrue();
	}

	/** There is a vacancy, which it looks for first. */
	@Test
	void takesNothingOverAfterASignal() {
		lease();
		meanwhile(() -> {
			this.clock.now += 2 * LEASE;
			this.pool.followers.signal();
		});
		assertThat(watch(100 * LEASE)).isTrue();
		assertThat(this.leader.isOnLease()).isTrue();
	}

	@Test
	void aSurplusThreadStaysOnlyWhileThereIsALease() {
		changeLease(10 * LEASE);
		lease();
		changeThreads(1, 1);
		meanwhile(() -> this.clock.now += SURPLUS_WATCH);
		meanwhile(() -> {
			this.clock.now += SURPLUS_WATCH;
			regain();
		});
		assertThat(watch(100 * LEASE)).isFalse();
		assertThat(this.clock.waits).containsExactly(SURPLUS_WATCH, SURPLUS_WATCH);
		assertThat(this.watcher.leading()).isNull();
	}

	@Test
	void aSurplusThreadTakesOverToo() {
		changeLease(10 * LEASE);
		lease();
		changeThreads(1, 1);
		this.clock.now += 10 * LEASE - SURPLUS_WATCH / 4;
		assertThat(watch(100 * LEASE)).isFalse();
		assertThat(this.clock.waits).containsExactly(SURPLUS_WATCH / 4);
		assertThat(this.watcher.leading()).isSameAs(this.set);
	}

	@Test
	void aThreadOfTheApplicationIsNeverSurplus() {
		appoint(this.pool.member(new Thread(), false));
		changeLease(10 * LEASE);
		lease();
		changeThreads(1, 1);
		watch(100 * LEASE);
		assertThat(this.clock.waits).containsExactly(10 * LEASE);
	}

	/** When the settings have changed. */
	@Test
	void canBeWokenWhileItSleeps() {
		appoint(this.pool.member(Thread.currentThread(), true));
		SteppedPool.clearPermit();
		meanwhile(() -> {
			this.leases.unparkWatcher();
			assertThat(SteppedPool.isUnparked()).isTrue();
		});
		watch(LEASE);
	}

	@Test
	void endsIfItHasBecomeSurplusWhileItSlept() {
		meanwhile(() -> changeThreads(1, 1));
		assertThat(watch(100 * LEASE)).isFalse();
		assertThat(this.clock.waits).containsExactly(100 * LEASE);
	}

}
