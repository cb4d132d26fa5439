package org.leaderfollowers.internal.lifecycle;

import java.io.IOException;
import java.util.concurrent.TimeUnit;

import ch.qos.logback.classic.Level;
import ch.qos.logback.classic.Logger;
import ch.qos.logback.classic.spi.ILoggingEvent;
import ch.qos.logback.core.read.ListAppender;
import org.junit.jupiter.api.Test;
import org.leaderfollowers.internal.logging.EngineLog;
import org.slf4j.LoggerFactory;

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

	@Test
	void oneLineSaysThatItFailsAndOneThatItWorksAgain() {
		Logger logger = (Logger) LoggerFactory.getLogger("org.leaderfollowers.engine");
		ListAppender<ILoggingEvent> lines = new ListAppender<>();
		lines.start();
		// Another thread writes the lines, so some of an earlier test may be left.
		EngineLog.INSTANCE.flush(60_000);
		logger.setLevel(Level.INFO);
		logger.addAppender(lines);
		try {
			for (int i = 0; i < 4; i++) {
				fail();
			}
			this.backoff.succeeded();
			this.backoff.succeeded();
			EngineLog.INSTANCE.flush(60_000);
		}
		finally {
			logger.detachAppender(lines);
			logger.setLevel(null);
		}
		assertThat(lines.list).extracting(ILoggingEvent::getFormattedMessage)
			.containsExactly("Server 'test' fails: java.io.IOException: made for the test", "Server 'test' works");
	}

}
