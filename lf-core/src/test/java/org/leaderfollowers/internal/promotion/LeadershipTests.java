package org.leaderfollowers.internal.promotion;

import org.junit.jupiter.api.Test;

import static org.assertj.core.api.Assertions.assertThat;

/** The states of a leadership, and who may change them. */
class LeadershipTests {

	private final Leadership leadership = new Leadership(3, 77);

	@Test
	void itsTimesBeginWhenItIsCreated() {
		assertThat(this.leadership.leasedNanos()).isEqualTo(77);
		assertThat(this.leadership.vacatedNanos()).isEqualTo(77);
		assertThat(this.leadership.vacancyNanos(100)).as("it had no leader yet").isNegative();
	}

	/** A watchdog recognizes a new term by the word, even if the leader is the same. */
	@Test
	void eachTermHasItsOwnWord() {
		assertThat(this.leadership.term()).isZero();
		assertThat(this.leadership.take(1)).isTrue();
		assertThat(this.leadership.term()).isOne();
		long first = this.leadership.word();
		assertThat(this.leadership.giveUp(1, 80)).isTrue();
		assertThat(this.leadership.take(1)).isTrue();
		long second = this.leadership.word();
		this.leadership.rest(1);
		assertThat(this.leadership.resume(1)).isTrue();
		assertThat(this.leadership.word()).isNotIn(first, second);
		assertThat(second).isNotEqualTo(first);
	}

	@Test
	void onlyTheLeaderGivesUp() {
		this.leadership.take(2);
		assertThat(this.leadership.giveUp(1, 80)).isFalse();
		assertThat(this.leadership.holder()).isEqualTo(2);
		assertThat(this.leadership.giveUp(2, 80)).isTrue();
		assertThat(this.leadership.vacancyNanos(90)).isEqualTo(10);
		assertThat(this.leadership.vacancyNanos(70)).as("read before").isZero();
	}

	/** Another thread may have opened it, and a third one may lead. */
	@Test
	void onlyALeadershipAtRestIsOpened() {
		this.leadership.rest();
		assertThat(this.leadership.open(80)).isTrue();
		this.leadership.take(1);
		assertThat(this.leadership.open(90)).isFalse();
		assertThat(this.leadership.holder()).isOne();
		assertThat(this.leadership.vacatedNanos()).isEqualTo(80);
	}

	@Test
	void onlyALeaderWithoutALeaseLeadsForSure() {
		assertThat(Leadership.isLedWithoutLease(this.leadership.word())).as("vacant").isFalse();
		this.leadership.take(1);
		assertThat(Leadership.isLedWithoutLease(this.leadership.word())).isTrue();
		this.leadership.lease(1, 80);
		assertThat(Leadership.isLedWithoutLease(this.leadership.word())).as("leased").isFalse();
		assertThat(this.leadership.isLeasedBy(1)).isTrue();
		assertThat(this.leadership.isLeasedBy(2)).isFalse();
		this.leadership.regain(1);
		this.leadership.rest(1);
		assertThat(Leadership.isLedWithoutLease(this.leadership.word())).as("at rest").isFalse();
	}

}
