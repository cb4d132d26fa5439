package org.leaderfollowers.internal.promotion;

import java.time.Duration;

import org.junit.jupiter.api.Test;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

class PoolSettingsTests {

	private static final long NOW = Long.MAX_VALUE - 100;

	private final PoolSettings settings = new PoolSettings(2, 8, false, 1000, NOW);

	@Test
	void aLeaseEndsAfterItsTime() {
		assertThat(this.settings.leaseEndNanos(NOW)).isEqualTo(NOW + 1000);
		assertThat(this.settings.leaseEndNanos(NOW + 5000)).isEqualTo(NOW + 6000);
		assertThat(this.settings.quietNanos()).isEqualTo(8000);
	}

	@Test
	void aLeaseThatWasShortenedDoesNotEndBeforeTheChange() {
		assertThat(this.settings.leaseEndNanos(NOW - 1000)).isEqualTo(NOW);
		assertThat(this.settings.leaseEndNanos(NOW - 1001)).isEqualTo(NOW);
		assertThat(this.settings.leaseEndNanos(NOW - 999)).isEqualTo(NOW + 1);
		PoolSettings shorter = this.settings.withLease(Duration.ofNanos(10), NOW + 500);
		assertThat(shorter.leaseEndNanos(NOW)).isEqualTo(NOW + 500);
		assertThat(shorter.leaseEndNanos(NOW + 495)).isEqualTo(NOW + 505);
	}

	@Test
	void aLeaseThatIsLeftOfAnAdaptivePolicyEndsAtOnce() {
		PoolSettings eager = this.settings.withPolicy(true, NOW + 500);
		assertThat(eager.leaseEndNanos(NOW)).isEqualTo(NOW + 500);
		assertThat(eager.leaseEndNanos(NOW + 600)).isEqualTo(NOW + 600);
	}

	@Test
	void aChangeOfTheThreadsChangesNoLease() {
		PoolSettings other = this.settings.withThreads(1, 3);
		assertThat(other).isEqualTo(new PoolSettings(1, 3, false, 1000, NOW));
	}

	@Test
	void theMaximumHasALimit() {
		PoolSettings.checkThreads("min", 1, "max", 10_000);
		assertThatIllegalArgumentException().isThrownBy(() -> PoolSettings.checkThreads("min", 1, "max", 10_001));
		assertThatIllegalArgumentException().isThrownBy(() -> PoolSettings.checkThreads("min", 0, "max", 1));
		assertThatIllegalArgumentException().isThrownBy(() -> PoolSettings.checkThreads("min", 2, "max", 1));
	}

	@Test
	void differencesAreDescribed() {
		assertThat(this.settings.differenceTo(this.settings)).isEmpty();
		assertThat(this.settings.differenceTo(this.settings.withThreads(2, 9))).isEqualTo("threads 2..8 -> 2..9");
		assertThat(this.settings.differenceTo(this.settings.withThreads(1, 8))).isEqualTo("threads 2..8 -> 1..8");
		assertThat(this.settings.differenceTo(this.settings.withPolicy(true, NOW).withLease(Duration.ofMillis(1), NOW)))
			.isEqualTo("promotion policy ADAPTIVE -> EAGER, promotion lease PT0.000001S -> PT0.001S");
	}

}
