package org.leaderfollowers.internal.lifecycle;

import java.io.IOException;
import java.util.concurrent.TimeUnit;

import org.junit.jupiter.api.Test;

import static org.assertj.core.api.Assertions.assertThat;

class RetryBackoffTests {

	private static final long FIRST = TimeUnit.MILLISECONDS.toNanos(100);

	private static final long LONGEST = TimeUnit.SECONDS.toNanos(10);

	private final RetryBackoff backoff = new RetryBackoff("test", 2, "Server '{}' fails: {}", "Server '{}' works");

	private void fail() {
		this.backoff.failed(new IOException("made for the test"));
	}

	private void assertPauses(long nanos) {
		long before = System.nanoTime();
		fail();
		long after = System.nanoTime();
		assertThat(this.backoff.isBackingOff()).isTrue();
		assertThat(this.backoff.retryNanos()).isBetween(before + nanos, after + nanos);
	}

	private void endPause() {
		long retry = this.backoff.retryNanos();
		this.backoff.endPauseIfOver(retry - 1);
		assertThat(this.backoff.isBackingOff()).isTrue();
		this.backoff.endPauseIfOver(retry);
		assertThat(this.backoff.isBackingOff()).isFalse();
	}

	@Test
	void eachPauseIsTwiceAsLongUpToALimit() {
		fail();
		fail();
		assertThat(this.backoff.isBackingOff()).isFalse();
		for (long nanos = FIRST; nanos < LONGEST; nanos *= 2) {
			assertPauses(nanos);
			endPause();
		}
		assertPauses(LONGEST);
		endPause();
		assertPauses(LONGEST);
	}

	@Test
	void failureDuringAPauseDoesNotMakeItLonger() {
		fail();
		fail();
		for (long nanos = FIRST; nanos < LONGEST; nanos *= 2) {
			assertPauses(nanos);
			endPause();
		}
		assertPauses(LONGEST);
		long retry = this.backoff.retryNanos();
		fail();
		// Otherwise the test has stood still for longer than the pause.
		if (System.nanoTime() - retry < 0) {
			assertThat(this.backoff.retryNanos()).isEqualTo(retry);
		}
	}

	@Test
	void whatIsPostponedIsTriedAgainAfterTheShortestPause() {
		for (int i = 0; i < 5; i++) {
			fail();
		}
		endPause();
		for (int i = 0; i < 3; i++) {
			long before = System.nanoTime();
			this.backoff.postponed(new IOException("made for the test"));
			assertThat(this.backoff.retryNanos()).isBetween(before + FIRST, System.nanoTime() + FIRST);
			endPause();
		}
	}

	@Test
	void successEndsThePauseAndIsForgiving() {
		for (int i = 0; i < 2; i++) {
			fail();
			fail();
			assertThat(this.backoff.isBackingOff()).isFalse();
			assertPauses(FIRST);
			this.backoff.succeeded();
			assertThat(this.backoff.isBackingOff()).isFalse();
			assertThat(this.backoff.retryNanos()).isEqualTo(RetryBackoff.NOT_BACKING_OFF);
		}
	}

}
