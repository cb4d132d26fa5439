package org.leaderfollowers.spring.test.assertion;

import java.time.Duration;
import java.util.Locale;
import java.util.concurrent.TimeUnit;

/**
 * Repeats a check until it succeeds or the timeout ends.
 *
 * @param timeout how long to repeat
 */
record Eventually(Duration timeout) {

	static final Eventually NOW = new Eventually(Duration.ZERO);

	static final Eventually DEFAULT = new Eventually(Duration.ofSeconds(10));

	private static final long POLL_MILLIS = 10;

	Eventually {
		if (timeout.isNegative()) {
			throw new IllegalArgumentException("'timeout' must not be negative, but is " + timeout);
		}
	}

	void check(Runnable assertion) {
		long deadline = System.nanoTime() + this.timeout.toNanos();
		for (;;) {
			try {
				assertion.run();
				return;
			}
			catch (AssertionError ex) {
				if (System.nanoTime() - deadline >= 0) {
					throw this.timeout.isZero() ? ex
							: new AssertionError("Not within %s: %s".formatted(
									this.timeout.toString().substring(2).toLowerCase(Locale.ROOT), ex.getMessage()),
									ex.getCause());
				}
			}
			try {
				TimeUnit.MILLISECONDS.sleep(POLL_MILLIS);
			}
			catch (InterruptedException ex) {
				Thread.currentThread().interrupt();
				throw new AssertionError("Interrupted while waiting", ex);
			}
		}
	}

}
