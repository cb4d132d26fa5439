package org.leaderfollowers.internal.logging;

import java.util.concurrent.TimeUnit;

/**
 * Logs failures of the engine itself, at most one a second. Any thread.
 */
public final class FailureLog {

	private final RateLimit limit = new RateLimit(TimeUnit.SECONDS.toNanos(1));

	/** Creates a log that has held nothing back. */
	public FailureLog() {
	}

	/**
	 * Logs a failure. Never throws: a caller that has failed has something to put in
	 * order.
	 * @param format the message, with <code>%s</code> for the subject
	 * @param subject the failed object
	 * @param failure the failure
	 */
	public void error(String format, Object subject, Throwable failure) {
		try {
			long suppressed = this.limit.tryAcquire();
			if (suppressed >= 0) {
				EngineLog.INSTANCE.error("{}{}", format.formatted(subject), RateLimit.heldBack(suppressed), failure);
			}
		}
		catch (Throwable ex) {
			// Out of memory, most likely, and so was the failure that is to be logged.
		}
	}

}
