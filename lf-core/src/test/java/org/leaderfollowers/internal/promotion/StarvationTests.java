package org.leaderfollowers.internal.promotion;

import java.util.ArrayList;
import java.util.List;

import org.junit.jupiter.api.Test;

import static org.assertj.core.api.Assertions.assertThat;

/** The periods without a leader, which may begin in the future. */
class StarvationTests {

	private static final Leadership FIRST = new Leadership(0, 0);

	private static final Leadership SECOND = new Leadership(1, 0);

	private final List<Long> ended = new ArrayList<>();

	/** The longest starvation at the time 1000, whenever a period has begun. */
	private final List<Long> begun = new ArrayList<>();

	private final Starvation starvation = new Starvation(2, new Starvation.Listener() {

		@Override
		public void began() {
			StarvationTests.this.begun.add(StarvationTests.this.starvation.longestNanos(1000));
		}

		@Override
		public void ended(long nanos) {
			StarvationTests.this.ended.add(nanos);
		}

	});

	private void assertNothingEnded() {
		assertThat(this.ended).isEmpty();
		assertThat(this.starvation.periods()).isZero();
		assertThat(this.starvation.totalNanos()).isZero();
	}

	@Test
	void periodIsCountedWhenItEnds() {
		this.starvation.begin(FIRST, 0);
		this.starvation.begin(FIRST, 50);
		this.starvation.begin(SECOND, 90);
		assertThat(this.starvation.nanos(FIRST, 101)).isEqualTo(100);
		assertThat(this.starvation.longestNanos(101)).isEqualTo(100);
		assertNothingEnded();
		this.starvation.end(FIRST, 201);
		this.starvation.end(FIRST, 301);
		assertThat(this.ended).containsExactly(200L);
		assertThat(this.starvation.periods()).isOne();
		assertThat(this.starvation.totalNanos()).isEqualTo(200);
		assertThat(this.starvation.nanos(FIRST, 301)).isZero();
		assertThat(this.starvation.longestNanos(301)).isEqualTo(211);
	}

	/** The listener may end its work at the first look that finds no period. */
	@Test
	void periodIsVisibleWhenItIsReported() {
		this.starvation.begin(FIRST, 100);
		assertThat(this.begun).containsExactly(900L);
	}

	@Test
	void periodThatIsStillToComeIsNotCounted() {
		this.starvation.begin(FIRST, 100);
		assertThat(this.starvation.nanos(FIRST, 50)).isZero();
		assertThat(this.starvation.longestNanos(50)).isZero();
		this.starvation.end(FIRST, 50);
		assertNothingEnded();
		assertThat(this.starvation.nanos(FIRST, 200)).isZero();
	}

	@Test
	void onlyAPeriodThatIsStillToComeIsMoved() {
		assertThat(this.starvation.move(FIRST, 300, -50)).isFalse();
		assertThat(this.starvation.nanos(FIRST, 400)).isZero();
		this.starvation.begin(FIRST, 100);
		assertThat(this.starvation.move(FIRST, 300, 50)).isTrue();
		assertThat(this.starvation.nanos(FIRST, 400)).isEqualTo(100);
		assertThat(this.starvation.move(FIRST, 500, 350)).isFalse();
		assertThat(this.starvation.nanos(FIRST, 400)).isEqualTo(100);
	}

	@Test
	void periodThatIsCancelledIsNotCounted() {
		this.starvation.begin(FIRST, 100);
		this.starvation.cancel(FIRST);
		assertThat(this.starvation.longestNanos(200)).isZero();
		this.starvation.end(FIRST, 200);
		assertNothingEnded();
	}

}
