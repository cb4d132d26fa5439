package org.leaderfollowers.internal.promotion;

import org.junit.jupiter.api.Test;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

/** Who is woken or started for a vacancy, step by step. */
class VacanciesTests {

	private final SteppedPool pool = new SteppedPool(2, 1, 4);

	private final SteppedPool.TickingClock clock = this.pool.clock;

	private final SteppedPool.Set set = this.pool.sets[0];

	private final SteppedPool.Set other = this.pool.sets[1];

	private final Vacancies vacancies = this.pool.promotion.vacancies();

	private long starvedNanos(Leadership leadership) {
		return this.pool.starvation.nanos(leadership, this.clock.now + 10);
	}

	@Test
	void aFollowerIsWoken() {
		Follower follower = this.pool.follower();
		assertThat(this.vacancies.signalFollower()).isTrue();
		assertThat(follower.isSignalled()).isTrue();
		assertThat(this.vacancies.wakeUps()).isOne();
		assertThat(this.pool.threads.started).isZero();
		this.pool.follower();
		assertThat(this.vacancies.signalFollower()).as("one is under way").isTrue();
		assertThat(this.vacancies.wakeUps()).isOne();
	}

	@Test
	void aThreadIsStartedIfNobodyWaits() {
		assertThat(this.vacancies.signalFollower()).isTrue();
		assertThat(this.pool.threads.started).isOne();
		assertThat(this.pool.followers.isUnderWay()).isTrue();
		assertThat(this.vacancies.signalFollower()).isTrue();
		assertThat(this.pool.threads.started).as("one is under way").isOne();
		assertThat(this.vacancies.wakeUps()).isZero();
	}

	/** Otherwise no thread would be woken or started any more. */
	@Test
	void nobodyIsUnderWayIfMemoryIsTooShortToReportThatNoThreadStarts() {
		this.pool.threads.failure = new OutOfMemoryError("made for the test");
		assertThatExceptionOfType(OutOfMemoryError.class).isThrownBy(this.vacancies::signalFollower);
		assertThat(this.pool.followers.isUnderWay()).isFalse();
		this.pool.follower();
		assertThat(this.vacancies.signalFollower()).isTrue();
		assertThat(this.vacancies.wakeUps()).isOne();
	}

	@Test
	void setsWithoutALeaderAreStarvedIfNoThreadIsLeft() {
		this.pool.startAllThreads();
		this.pool.leader(this.other);
		assertThat(this.vacancies.isAny()).isTrue();
		assertThat(this.vacancies.signalFollower()).isFalse();
		assertThat(this.pool.followers.isUnderWay()).as("nobody is").isFalse();
		assertThat(starvedNanos(this.set)).isEqualTo(10);
		assertThat(starvedNanos(this.other)).as("it has a leader").isZero();
		assertThat(this.set.endedLongWaits).as("leaders take turns").isOne();
		assertThat(this.other.endedLongWaits).isOne();
		this.pool.leader(this.set);
		assertThat(this.vacancies.isAny()).isFalse();
		assertThat(this.vacancies.isAnythingWanted()).isFalse();
	}

	@Test
	void theLeaderOfTheOnlySetHasNobodyToTakeTurnsWith() {
		SteppedPool single = new SteppedPool(1, 1, 4);
		single.promotion.vacancies().rotateLeaders();
		assertThat(single.sets[0].endedLongWaits).isZero();
	}

	@Test
	void aLeaseThatNobodyWatchesWantsAThread() {
		Member leader = this.pool.leader(this.set);
		this.pool.leader(this.other);
		assertThat(this.vacancies.isAnythingWanted()).isFalse();
		this.set.lease(leader.number, this.clock.now);
		assertThat(this.vacancies.isAnythingWanted()).isTrue();
		this.pool.promotion.leases().appointWatcher(this.pool.member());
		assertThat(this.vacancies.isAnythingWanted()).isFalse();
	}

	@Test
	void anyReadyHandleCounts() {
		assertThat(this.vacancies.isAnyReady()).isFalse();
		this.other.ready = 1;
		assertThat(this.vacancies.isAnyReady()).isTrue();
	}

	@Test
	void theCostOfAWakeUpIsLearned() {
		this.clock.tick = 100_000;
		long before = this.vacancies.wakeUpNanos();
		for (int i = 1; i <= 200; i++) {
			Follower follower = this.pool.follower();
			assertThat(this.vacancies.relieve()).isTrue();
			assertThat(this.vacancies.wakeUps()).isEqualTo(i);
			if (i == 1) {
				assertThat(this.vacancies.wakeUpNanos()).as("at most 25 microseconds, times 1/16")
					.isEqualTo(before + ((25_000 - before) >> 4));
			}
			assertThat(this.pool.followers.leave(follower)).as("it is signalled").isFalse();
		}
		assertThat(this.vacancies.wakeUpNanos()).isGreaterThan(before).isLessThanOrEqualTo(100_000);
		long learned = this.vacancies.wakeUpNanos();
		this.clock.tick = 0;
		this.pool.follower();
		assertThat(this.vacancies.relieve()).isTrue();
		assertThat(this.vacancies.wakeUpNanos()).isLessThan(learned);
		for (int i = 0; i < 200; i++) {
			this.pool.followers.arrive();
			this.pool.follower();
			this.vacancies.relieve();
		}
		assertThat(this.vacancies.wakeUpNanos()).isBetween(3000L, 3100L);
	}

	private void whenStarting(Runnable step) {
		this.pool.threads.whenStarting = () -> {
			this.pool.threads.whenStarting = () -> {
			};
			step.run();
		};
	}

	/** Another thread that leaves a vacancy relies on the mark of this one. */
	@Test
	void aFollowerThatBeginsToWaitMeanwhileIsWoken() {
		this.pool.startAllThreads();
		Follower[] follower = new Follower[1];
		whenStarting(() -> follower[0] = this.pool.follower());
		assertThat(this.vacancies.signalFollower()).isTrue();
		assertThat(follower[0].isSignalled()).isTrue();
	}

	@Test
	void aThreadThatEndsMeanwhileIsReplaced() {
		this.pool.startAllThreads();
		int started = this.pool.threads.started;
		whenStarting(this.pool.threads::ended);
		assertThat(this.vacancies.signalFollower()).isTrue();
		assertThat(this.pool.threads.started).isEqualTo(started + 1);
	}

	@Test
	void nobodyIsWokenForWhatHasFoundALeaderMeanwhile() {
		this.pool.startAllThreads();
		Follower[] follower = new Follower[1];
		whenStarting(() -> {
			follower[0] = this.pool.follower();
			this.pool.leader(this.set);
			this.pool.leader(this.other);
		});
		assertThat(this.vacancies.signalFollower()).isFalse();
		assertThat(follower[0].isSignalled()).isFalse();
	}

	@Test
	void aThreadThatCouldNotBeStartedIsNotTriedAgainAtOnce() {
		this.pool.threads.failure = new OutOfMemoryError("made for the test");
		assertThatExceptionOfType(OutOfMemoryError.class).isThrownBy(this.vacancies::signalFollower);
		this.pool.threads.failure = null;
		assertThat(this.vacancies.signalFollower()).isFalse();
		assertThat(this.pool.threads.started).isZero();
		assertThat(starvedNanos(this.set)).isEqualTo(10);
	}

	@Test
	void aThreadIsStartedToShareIfNobodyWaits() {
		this.pool.leader(this.set);
		this.pool.leader(this.other);
		assertThat(this.vacancies.relieve()).isTrue();
		assertThat(this.pool.threads.started).isOne();
		assertThat(this.vacancies.relieve()).as("one is under way").isFalse();
		this.pool.followers.arrive();
		this.pool.startAllThreads();
		assertThat(this.vacancies.relieve()).as("no thread is left").isFalse();
		assertThat(this.pool.followers.isUnderWay()).isFalse();
		assertThat(starvedNanos(this.set) + starvedNanos(this.other)).isZero();
	}

	/** The thread that left it relied on the mark of the thread that could not start. */
	@Test
	void aVacancyIsNotForgottenIfNoThreadCanBeStartedToShare() {
		this.pool.startAllThreads();
		this.pool.leader(this.other);
		assertThat(this.vacancies.relieve()).isFalse();
		assertThat(starvedNanos(this.set)).isEqualTo(10);
	}

}
