package org.leaderfollowers.internal.lifecycle;

import java.io.IOException;
import java.util.List;
import java.util.concurrent.TimeUnit;

import ch.qos.logback.classic.Level;
import ch.qos.logback.classic.Logger;
import ch.qos.logback.classic.spi.ILoggingEvent;
import ch.qos.logback.core.read.ListAppender;
import org.junit.jupiter.api.Test;
import org.leaderfollowers.internal.logging.EngineLog;
import org.leaderfollowers.internal.logging.RateLimit;
import org.slf4j.LoggerFactory;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

class RetryBackoffTests {

	private static final long FIRST = TimeUnit.MILLISECONDS.toNanos(100);

	private static final long LONGEST = TimeUnit.SECONDS.toNanos(10);

	private static final String FAILS = "Server 'test' fails: java.io.IOException: made for the test";

	private static final String WORKS = "Server 'test' works";

	private RetryBackoff backoff = new RetryBackoff("test", 2, "Server '{}' fails: {}", "Server '{}' works");

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
		assertPauses(FIRST);
	}

	@Test
	void failureAfterAPauseBeginsTheNextOne() {
		for (int i = 0; i < 3; i++) {
			fail();
		}
		long retry = this.backoff.retryNanos();
		while (System.nanoTime() - retry < 0) {
			Thread.onSpinWait();
		}
		assertPauses(2 * FIRST);
	}

	/** Otherwise the operation would be tried again at once, which fails again. */
	@Test
	void pausesAlthoughMemoryIsTooShortForTheLine() {
		fail();
		fail();
		assertThatExceptionOfType(OutOfMemoryError.class).isThrownBy(() -> this.backoff.failed(new IOException() {

			@Override
			public String toString() {
				throw new OutOfMemoryError("made for the test");
			}

		}));
		assertThat(this.backoff.isBackingOff()).isTrue();
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

	private void failsAndWorks() {
		for (int i = 0; i < 4; i++) {
			fail();
		}
		endPause();
		fail();
		this.backoff.succeeded();
		this.backoff.succeeded();
	}

	private static List<String> lines(Runnable action) {
		Logger logger = (Logger) LoggerFactory.getLogger("org.leaderfollowers.engine");
		ListAppender<ILoggingEvent> lines = new ListAppender<>();
		lines.start();
		// Another thread writes the lines, so some of an earlier test may be left.
		EngineLog.INSTANCE.flush(60_000);
		logger.setLevel(Level.INFO);
		logger.addAppender(lines);
		try {
			action.run();
			EngineLog.INSTANCE.flush(60_000);
		}
		finally {
			logger.detachAppender(lines);
			logger.setLevel(null);
		}
		return lines.list.stream().map(ILoggingEvent::getFormattedMessage).toList();
	}

	private RetryBackoff backoff(long intervalNanos) {
		return new RetryBackoff("test", 2, "Server '{}' fails: {}", "Server '{}' works", new RateLimit(intervalNanos));
	}

	@Test
	void oneLineSaysThatItFailsAndOneThatItWorksAgain() {
		assertThat(lines(this::failsAndWorks)).containsExactly(FAILS, WORKS);
	}

	@Test
	void eachTimeThatItFailsIsOneLine() {
		this.backoff = backoff(0);
		assertThat(lines(() -> {
			failsAndWorks();
			failsAndWorks();
		})).containsExactly(FAILS, WORKS, FAILS, WORKS);
	}

	@Test
	void linesAreLimitedIfItFailsAndWorksAllTheTime() {
		this.backoff = backoff(TimeUnit.DAYS.toNanos(1));
		assertThat(lines(() -> {
			failsAndWorks();
			failsAndWorks();
		})).containsExactly(FAILS, WORKS);
	}

}
