package org.leaderfollowers.internal.promotion;

import java.time.Duration;
import java.time.Instant;

import org.junit.jupiter.api.Test;

import static org.assertj.core.api.Assertions.assertThat;

/** Tests the contents of a {@link HandOffRing}. */
class HandOffRingTests {

	private static final long SECOND = Duration.ofSeconds(1).toNanos();

	private final HandOffRing.Copy<String> copy = new HandOffRing.Copy<>();

	private static void add(HandOffRing<String> ring, long nanos) {
		ring.add(nanos, 0, 0, null, "thread", null, 0);
	}

	private Instant time(HandOffRing<String> ring, long sequence) {
		assertThat(ring.read(sequence, this.copy)).isTrue();
		return Instant.ofEpochSecond(0, this.copy.epochNanos());
	}

	@Test
	void copyIsComplete() {
		HandOffRing<String> ring = new HandOffRing<>();
		ring.add(1, 2, 3, "old", "new", "work", 4);
		assertThat(ring.latest()).isOne();
		assertThat(ring.read(1, this.copy)).isTrue();
		assertThat(this.copy.nanos()).isEqualTo(1);
		assertThat(this.copy.vacancyNanos()).isEqualTo(2);
		assertThat(this.copy.kind()).isEqualTo(3);
		assertThat(this.copy.from()).isEqualTo("old");
		assertThat(this.copy.to()).isEqualTo("new");
		assertThat(this.copy.work()).isEqualTo("work");
		assertThat(this.copy.workNumber()).isEqualTo(4);
	}

	@Test
	void overwrittenHandOffIsMissedAndLeavesNothing() {
		HandOffRing<String> ring = new HandOffRing<>(1);
		ring.add(1, 2, 3, "old", "new", "work", 4);
		add(ring, 5);
		assertThat(ring.read(1, this.copy)).isFalse();
		assertThat(ring.read(2, this.copy)).isTrue();
		assertThat(this.copy.from()).isNull();
		assertThat(this.copy.work()).isNull();
	}

	@Test
	void handOffHasTheTimeOfDay() {
		HandOffRing<String> ring = new HandOffRing<>();
		Instant before = Instant.now();
		add(ring, 10 * SECOND);
		Instant after = Instant.now();
		assertThat(time(ring, 1)).isBetween(before, after);
		add(ring, 10 * SECOND + SECOND / 2);
		assertThat(time(ring, 2)).isEqualTo(time(ring, 1).plusMillis(500));
	}

	/** The clock may be set while the pool runs. */
	@Test
	void timeOfDayFollowsTheClock() {
		HandOffRing<String> ring = new HandOffRing<>();
		add(ring, 10 * SECOND);
		Instant before = Instant.now();
		add(ring, 70 * SECOND);
		assertThat(time(ring, 2)).isBetween(before, Instant.now());
		add(ring, 70 * SECOND + SECOND / 2);
		assertThat(time(ring, 3)).isEqualTo(time(ring, 2).plusMillis(500));
	}

	/** The clock of a pool may begin anywhere. */
	@Test
	void theFirstTimeIsThatOfTheSystem() {
		HandOffRing<String> ring = new HandOffRing<>();
		Instant before = Instant.now();
		add(ring, -SECOND);
		assertThat(time(ring, 1)).isBetween(before, Instant.now());
	}

}
