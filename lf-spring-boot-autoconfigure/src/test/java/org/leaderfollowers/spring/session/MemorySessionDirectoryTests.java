package org.leaderfollowers.spring.session;

import java.time.Clock;
import java.time.Duration;
import java.time.Instant;
import java.time.ZoneOffset;
import java.util.HashSet;
import java.util.Set;

import org.junit.jupiter.api.Test;

import static org.assertj.core.api.Assertions.assertThat;
import static org.mockito.BDDMockito.given;
import static org.mockito.Mockito.mock;

/**
 * Tests for {@link MemorySessionDirectory}: epochs tell sessions apart, whatever the
 * clock does.
 */
class MemorySessionDirectoryTests {

	private static final Instant NOW = Instant.ofEpochSecond(1_000_000);

	private final Clock clock = mock();

	private final SessionDirectory directory = SessionDirectory.inMemory(this.clock);

	private SessionEntry claim(String name, Instant now) {
		given(this.clock.instant()).willReturn(now);
		return this.directory.claim(new SessionClaim(name, this.directory.node(), "default", 2, Duration.ofMinutes(1)))
			.join();
	}

	@Test
	void twoNamesThatAreClaimedAtTheSameTimeHaveDifferentEpochs() {
		SessionDirectory stopped = SessionDirectory.inMemory(Clock.fixed(NOW, ZoneOffset.UTC));
		Set<Long> epochs = new HashSet<>();
		for (int i = 0; i < 100; i++) {
			SessionClaim claim = new SessionClaim("name " + i, stopped.node(), "default", 2, Duration.ofMinutes(1));
			epochs.add(stopped.claim(claim).join().epoch());
		}
		assertThat(epochs).hasSize(100);
	}

	@Test
	void theNextSessionOfANameHasAGreaterEpochAlthoughTheClockWasSetBack() {
		SessionEntry first = claim("a", NOW);
		this.directory.release(first);
		Instant earlier = NOW.minus(Duration.ofHours(5));
		SessionEntry second = claim("a", earlier);
		assertThat(second.prevailsOver(first)).isTrue();
		assertThat(second.since()).isEqualTo(earlier);
	}

	/** The time of the takeovers must not stand still until the clock has caught up. */
	@Test
	void takeoversAreCountedForOnePeriodAlthoughTheClockWasSetBack() {
		claim("a", NOW);
		Instant earlier = NOW.minus(Duration.ofHours(5));
		for (int i = 0; i < 10; i++) {
			SessionEntry entry = claim("a", earlier.plus(Duration.ofSeconds(40L * i)));
			assertThat(entry.takeovers()).isBetween(1, 2);
		}
	}

}
