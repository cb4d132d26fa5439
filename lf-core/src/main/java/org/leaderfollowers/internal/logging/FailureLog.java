package org.leaderfollowers.internal.logging;

import java.util.concurrent.TimeUnit;

import org.slf4j.event.Level;

/**
 * Logs failures of the engine itself, at most one a second, without blocking: the failed
 * thread may hold something that others wait for. Any thread.
 */
public final class FailureLog {

	private final RateLimit limit = new RateLimit(TimeUnit.SECONDS.toNanos(1));

	/** Creates a log. */
	public FailureLog() {
	}

	/**
	 * Logs a failure. Never throws, because the caller still has to clean up after the
	 * failure.
	 * @param format the message, with <code>%s</code> for the subject
	 * @param subject the failed object
	 * @param failure the failure
	 */
	public void error(String format, Object subject, Throwable failure) {
		try {
			long suppressed = this.limit.tryAcquire();
			if (suppressed >= 0) {
				EngineLog.INSTANCE.withoutBlocking(Level.ERROR, "{}{}", format.formatted(subject),
						RateLimit.heldBack(suppressed), failure);
			}
		}
		catch (Throwable ex) {
			// Usually memory is short, which was also the failure to be logged.
		}
	}

}
