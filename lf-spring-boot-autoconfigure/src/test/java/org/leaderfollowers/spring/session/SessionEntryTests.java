package org.leaderfollowers.spring.session;

import java.time.Clock;
import java.time.Duration;
import java.time.Instant;
import java.time.ZoneOffset;
import java.util.concurrent.ExecutionException;

import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

/**
 * Tests for {@link SessionEntry}: which of two logins prevails, and when a name is taken
 * over too often.
 */
class SessionEntryTests {

	private static final Instant NOW = Instant.ofEpochMilli(1_000_000);

	private static final Duration PERIOD = Duration.ofMinutes(1);

	private static SessionClaim claim(String node) {
		return new SessionClaim("4711", node, "default", 2, PERIOD);
	}

	private static SessionEntry next(@Nullable SessionEntry previous, boolean isHeld, SessionClaim claim, Instant now) {
		return SessionEntry.next(previous, isHeld, claim, 0, now);
	}

	@Test
	void theEpochIsGreaterThanTheLatestOneOfTheNode() {
		SessionEntry entry = SessionEntry.next(null, false, claim("a"), 2_000_000_000, NOW);
		assertThat(entry.epoch()).isEqualTo(2_000_000_001);
		assertThat(entry.since()).isEqualTo(NOW);
	}

	@Test
	void theEpochIsTheTimeAndGrowsWithEachLogin() {
		SessionEntry first = next(null, false, claim("a"), NOW);
		assertThat(first.epoch()).isEqualTo(1_000_000_000);
		SessionEntry second = next(first, true, claim("b"), NOW);
		assertThat(second.epoch()).isEqualTo(1_000_000_001);
		SessionEntry clockSetBack = next(second, true, claim("c"), NOW.minusSeconds(500));
		assertThat(clockSetBack.epoch()).isEqualTo(1_000_000_002);
		SessionEntry later = next(clockSetBack, true, claim("a"), NOW.plusSeconds(500));
		assertThat(later.epoch()).isEqualTo(1_500_000_000);
	}

	@Test
	void anEntryAfterOneThatWasForgottenHasAHigherEpoch() {
		SessionEntry forgotten = next(null, false, claim("a"), NOW);
		SessionEntry next = next(null, false, claim("b"), NOW.plusMillis(1));
		assertThat(next.prevailsOver(forgotten)).isTrue();
		assertThat(forgotten.prevailsOver(next)).isFalse();
	}

	@Test
	void allNodesAgreeWhichOfTwoEqualEpochsPrevails() {
		SessionEntry a = next(null, false, claim("a"), NOW);
		SessionEntry b = next(null, false, claim("b"), NOW);
		assertThat(b.prevailsOver(a)).isTrue();
		assertThat(a.prevailsOver(b)).isFalse();
		assertThat(a.prevailsOver(a)).isFalse();
		assertThat(a.isSameSession(b)).isFalse();
		assertThat(a.isSameSession(null)).isFalse();
		assertThat(a.isSameSession(next(null, false, new SessionClaim("4712", "a", "default", 2, PERIOD), NOW)))
			.isFalse();
		assertThat(a.isSameSession(next(null, false, claim("a"), NOW))).isTrue();
	}

	@Test
	void aNameThatIsTakenOverTooOftenStaysWithItsHolder() {
		SessionEntry first = next(null, false, claim("a"), NOW);
		SessionEntry second = next(first, true, claim("b"), NOW.plusSeconds(1));
		SessionEntry third = next(second, true, claim("a"), NOW.plusSeconds(2));
		assertThat(third.takeovers()).isEqualTo(2);
		assertThatExceptionOfType(SessionContestedException.class)
			.isThrownBy(() -> next(third, true, claim("b"), NOW.plusSeconds(59)))
			.withMessageContaining("'4711' was taken over 2 times within PT1M")
			.withMessageContaining("lf.sessions.max-takeovers");
		SessionEntry afterwards = next(third, true, claim("b"), NOW.plusSeconds(60));
		assertThat(afterwards.takeovers()).isEqualTo(1);
		assertThat(afterwards.takeoversSince()).isEqualTo(NOW.plusSeconds(60));
		SessionEntry clockSetBack = next(third, true, claim("b"), NOW.minusSeconds(60));
		assertThat(clockSetBack.takeovers()).isEqualTo(1);
		SessionEntry ofANodeThatHasGone = next(third, false, claim("b"), NOW.plusSeconds(3));
		assertThat(ofANodeThatHasGone.takeovers()).isEqualTo(2);
	}

	@Test
	void theNameOfANodeThatHasGoneIsNoTakeover() {
		SessionEntry entry = next(null, false, claim("a"), NOW);
		for (int i = 1; i <= 10; i++) {
			entry = next(entry, false, claim("b" + i), NOW.plusSeconds(i));
		}
		assertThat(entry.takeovers()).isZero();
	}

	@Test
	void aReleaseThatComesLateLeavesTheLaterSession() {
		SessionDirectory directory = SessionDirectory.inMemory(Clock.systemUTC());
		SessionEntry first = directory.claim(claim("a")).join();
		SessionEntry second = directory.claim(claim("a")).join();
		directory.release(first);
		assertThat(directory.find("4711")).isCompletedWithValue(second);
		directory.release(second);
		assertThat(directory.find("4711")).isCompletedWithValue(null);
	}

	@Test
	void aClaimThatIsRefusedFailsTheFutureAndLeavesTheHolder() {
		SessionDirectory directory = SessionDirectory.inMemory(Clock.fixed(NOW, ZoneOffset.UTC));
		directory.claim(claim("a"));
		directory.claim(claim("a"));
		SessionEntry holder = directory.claim(claim("a")).join();
		assertThat(directory.claim(claim("a"))).isCompletedExceptionally()
			.failsWithin(Duration.ZERO)
			.withThrowableOfType(ExecutionException.class)
			.withCauseInstanceOf(SessionContestedException.class);
		assertThat(directory.find("4711")).isCompletedWithValue(holder);
	}

}
