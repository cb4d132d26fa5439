package org.leaderfollowers;

import java.util.List;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

import static org.assertj.core.api.Assertions.assertThat;

/** The deadlines of a connection, by a clock that the test sets. */
class ConnectionWatchTests {

	private static final long MILLI = 1_000_000;

	private static final long READ = 10 * MILLI;

	private static final long WRITE = 20 * MILLI;

	/** The clock overflows during the first period. */
	private static final long START = Long.MAX_VALUE - 5 * MILLI;

	private static ConnectionWatch watch(long readIdleNanos, long writeIdleNanos, long loginNanos) {
		return new ConnectionWatch(new ConnectionTimeouts(0, 0, 0, 0, readIdleNanos, writeIdleNanos, loginNanos, 0),
				START);
	}

	private final ConnectionWatch watch = watch(READ, WRITE, 0);

	@Test
	void theFirstPeriodsBeginWithTheConnection() {
		assertThat(this.watch.deadline()).isEqualTo(START + READ);
		this.watch.received(START + 15 * MILLI);
		assertThat(this.watch.deadline()).isEqualTo(START + WRITE);
		this.watch.sent(START + 15 * MILLI);
		assertThat(this.watch.deadline()).isEqualTo(START + 15 * MILLI + READ);
		this.watch.isPostponed = true;
		assertThat(this.watch.deadline()).isEqualTo(EngineEventHandler.NO_DEADLINE);
	}

	@Test
	void aPeriodThatIsNotAskedForNeverEnds() {
		ConnectionWatch never = watch(0, 0, 0);
		assertThat(never.deadline()).isEqualTo(EngineEventHandler.NO_DEADLINE);
		assertThat(never.deadlineFrom(START)).isEqualTo(EngineEventHandler.NO_DEADLINE);
		assertThat(never.takeSilence(START + 1000 * READ, true, false)).isNull();
		assertThat(never.isLoginLate(START + 1000 * READ)).isFalse();
		assertThat(never.isDrainLate(START + 1000 * READ)).isFalse();
	}

	/** A leader would otherwise be busy with these deadlines alone. */
	@ParameterizedTest
	@ValueSource(longs = { 1, 999_999, MILLI })
	void noPeriodIsShorterThanAMillisecond(long nanos) {
		assertThat(watch(nanos, 0, 0).deadline()).isEqualTo(START + MILLI);
		assertThat(watch(0, nanos, 0).deadline()).isEqualTo(START + MILLI);
		ConnectionWatch changed = watch(0, 0, 0);
		changed.readIdleAfter(nanos, START + 1);
		assertThat(changed.deadline()).isEqualTo(START + 1 + MILLI);
		changed.readIdleAfter(0, START + 1);
		changed.writeIdleAfter(nanos, START + 2);
		assertThat(changed.deadline()).isEqualTo(START + 2 + MILLI);
	}

	@Test
	void whileAThreadWorksAllPeriodsBeginNow() {
		assertThat(this.watch.deadlineFrom(START + 7)).isEqualTo(START + 7 + READ);
		assertThat(watch(0, WRITE, 0).deadlineFrom(START + 7)).isEqualTo(START + 7 + WRITE);
		this.watch.drainsUntil(START + 8);
		assertThat(this.watch.deadlineFrom(START + 7)).isEqualTo(START + 8);
		ConnectionWatch login = watch(0, 0, READ);
		assertThat(login.deadlineFrom(START + 7)).isEqualTo(START + READ);
		assertThat(login.deadlineFrom(START + READ)).as("it looks again").isEqualTo(START + READ + 1000 * MILLI);
	}

	/** Another thread may log the client in while the owner delays the timeout. */
	@Test
	void aTimeoutIsDelayedOnlyWhileTheClientHasNotLoggedIn() {
		ConnectionWatch login = watch(0, 0, READ);
		login.delayLogin(START + READ);
		assertThat(login.isLoginLate(START + READ + 1000 * MILLI - 1)).isFalse();
		assertThat(login.isLoginLate(START + READ + 1000 * MILLI)).isTrue();
		login.loggedIn();
		login.delayLogin(START + READ + 1000 * MILLI);
		assertThat(login.isLoginLate(START + READ + 5000 * MILLI)).isFalse();
		assertThat(login.deadline()).isEqualTo(EngineEventHandler.NO_DEADLINE);
	}

	@Test
	void theGracePeriodThatEndsFirstCounts() {
		this.watch.drainsUntil(START + 8 * MILLI);
		this.watch.drainsUntil(START + 9 * MILLI);
		assertThat(this.watch.deadline()).isEqualTo(START + 8 * MILLI);
		assertThat(this.watch.isDrainLate(START + 8 * MILLI - 1)).isFalse();
		assertThat(this.watch.isDrainLate(START + 8 * MILLI)).isTrue();
		this.watch.drainsUntil(START + 7 * MILLI);
		assertThat(this.watch.deadline()).isEqualTo(START + 7 * MILLI);
	}

	@Test
	void onlyAConnectionThatIsReadCanBeSilent() {
		long now = START + READ;
		assertThat(this.watch.isSilent(now - 1, true, false)).isFalse();
		assertThat(this.watch.isSilent(now, true, false)).isTrue();
		assertThat(this.watch.takeSilence(now, false, false)).isNull();
		assertThat(this.watch.isSilent(now, false, false)).isFalse();
		assertThat(this.watch.isSilent(now, true, false)).as("a new period has begun").isFalse();
		assertThat(this.watch.takeSilence(now + READ, true, true)).isEqualTo(EventType.READ);
		assertThat(this.watch.takeSilence(now + READ, true, true)).as("it was taken").isNull();
	}

	@Test
	void onlyAConnectionThatHasNothingToWriteCanBeSilent() {
		long now = START + WRITE;
		this.watch.received(now);
		assertThat(this.watch.isSilent(now - 1, true, false)).isFalse();
		assertThat(this.watch.isSilent(now, true, false)).isTrue();
		assertThat(this.watch.takeSilence(now, true, true)).isNull();
		assertThat(this.watch.isSilent(now, true, true)).isFalse();
		assertThat(this.watch.isSilent(now, true, false)).as("a new period has begun").isFalse();
		assertThat(this.watch.takeSilence(now + WRITE, false, false)).isEqualTo(EventType.WRITE);
		assertThat(this.watch.takeSilence(now + WRITE, false, false)).as("it was taken").isNull();
	}

	/** A look of its owner for another reason is neither input nor output. */
	@Test
	void aPeriodThatLastsIsNotBegunAgain() {
		for (boolean reads : List.of(true, false)) {
			for (boolean writes : List.of(true, false)) {
				assertThat(this.watch.isSilent(START + 1, reads, writes)).isFalse();
				assertThat(this.watch.takeSilence(START + 1, reads, writes)).isNull();
			}
		}
		assertThat(this.watch.deadline()).isEqualTo(START + READ);
		this.watch.received(START + WRITE);
		assertThat(this.watch.deadline()).isEqualTo(START + WRITE);
	}

}
