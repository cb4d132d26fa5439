package org.leaderfollowers.benchmarks.load;

import java.util.concurrent.TimeUnit;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * When requests are due.
 */
class ScheduleTests {

	private static final long START = -123_456_789;

	@ParameterizedTest
	@ValueSource(ints = { 1, 3, 7, 2000, 20_000, 60_000, 999_983 })
	void aRequestIsDueFromItsTimeOn(int rate) {
		Schedule schedule = new Schedule(START, rate, 1);
		assertThat(schedule.due(START - 1)).isZero();
		for (long index : new long[] { 0, 1, 2, rate - 1, rate, rate + 1, 10L * rate + 5, 86_400L * rate - 1 }) {
			assertThat(schedule.due(schedule.dueNs(index))).isEqualTo(index + 1);
			assertThat(schedule.due(schedule.dueNs(index) - 1)).isEqualTo(index);
		}
	}

	@ParameterizedTest
	@ValueSource(ints = { 1, 3, 7, 20_000, 60_000 })
	void asManyAreDueInASecondAsTheRateSays(int rate) {
		Schedule schedule = new Schedule(START, rate, 1);
		for (long second = 0; second < 100; second++) {
			assertThat(schedule.dueNs(second * rate)).isEqualTo(START + TimeUnit.SECONDS.toNanos(second));
		}
	}

	@Test
	void connectionsTakeTurns() {
		Schedule schedule = new Schedule(START, 1000, 3);
		assertThat(schedule.dueNs(0, 0)).isEqualTo(schedule.dueNs(0));
		assertThat(schedule.dueNs(2, 0)).isEqualTo(schedule.dueNs(2));
		assertThat(schedule.dueNs(0, 1)).isEqualTo(schedule.dueNs(3));
		assertThat(schedule.dueNs(1, 7)).isEqualTo(schedule.dueNs(22));
		for (long count = 0; count < 20; count++) {
			assertThat(schedule.of(0, count) + schedule.of(1, count) + schedule.of(2, count)).isEqualTo(count);
			assertThat(schedule.of(0, count) - schedule.of(2, count)).isBetween(0L, 1L);
		}
	}

}
