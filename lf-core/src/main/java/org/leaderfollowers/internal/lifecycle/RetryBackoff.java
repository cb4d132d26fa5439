package org.leaderfollowers.internal.lifecycle;

import java.util.concurrent.TimeUnit;

import org.leaderfollowers.internal.logging.EngineLog;
import org.leaderfollowers.internal.logging.RateLimit;
import org.slf4j.event.Level;

/**
 * Pauses an operation that fails, for a longer time after each failure, or that has to be
 * postponed. A socket that cannot accept or receive stays ready, so an immediate retry
 * would spin. One line is logged when the first pause begins and one when the operation
 * succeeds again.
 * <p>
 * The owner of the socket reports the results; any thread may ask whether the operation
 * pauses.
 */
public final class RetryBackoff {

	/** The time of the next attempt if the operation does not pause. */
	public static final long NOT_BACKING_OFF = Long.MAX_VALUE;

	private static final long FIRST_PAUSE_NANOS = TimeUnit.MILLISECONDS.toNanos(100);

	private static final long LONGEST_PAUSE_NANOS = TimeUnit.SECONDS.toNanos(10);

	private final String server;

	private final String warning;

	private final String allClear;

	private final int toleratedFailures;

	/**
	 * A server at the limit of descriptors would otherwise log a line for each
	 * connection.
	 */
	private final RateLimit log;

	private volatile long retryNanos = NOT_BACKING_OFF;

	private int failures;

	/** Whether it has paused since it succeeded last. */
	private boolean paused;

	/** Whether the failure was logged. */
	private boolean announced;

	private long pauseNanos = FIRST_PAUSE_NANOS;

	/**
	 * Creates the backoff of one operation.
	 * @param server the name of the server
	 * @param toleratedFailures how many failures in a row do not lead to a pause
	 * @param warning the line to log, with <code>{}</code> for the server and for the
	 * failure
	 * @param allClear the line to log when the operation succeeds again, with
	 * <code>{}</code> for the server
	 */
	public RetryBackoff(String server, int toleratedFailures, String warning, String allClear) {
		this(server, toleratedFailures, warning, allClear, new RateLimit(TimeUnit.SECONDS.toNanos(10)));
	}

	/** For tests: with another limit of the lines. */
	RetryBackoff(String server, int toleratedFailures, String warning, String allClear, RateLimit log) {
		this.server = server;
		this.toleratedFailures = toleratedFailures;
		this.warning = warning;
		this.allClear = allClear;
		this.log = log;
	}

	/**
	 * Records a failure.
	 * @param cause the failure
	 */
	public void failed(Throwable cause) {
		if (++this.failures > this.toleratedFailures) {
			pause(cause, Math.min(this.pauseNanos * 2, LONGEST_PAUSE_NANOS));
		}
	}

	/**
	 * Records that the operation was not tried, because it lacks something that may be
	 * there at any moment. It costs little to look again, so the pauses do not grow.
	 * @param cause what it lacks
	 */
	public void postponed(Throwable cause) {
		this.pauseNanos = FIRST_PAUSE_NANOS;
		pause(cause, FIRST_PAUSE_NANOS);
	}

	private void pause(Throwable cause, long nextPauseNanos) {
		if (isBackingOff() && System.nanoTime() - this.retryNanos < 0) {
			// An attempt during the pause does not make the pause longer.
			return;
		}
		boolean isFirst = !this.paused;
		this.paused = true;
		// Before the line, for which memory may be too short.
		this.retryNanos = System.nanoTime() + this.pauseNanos;
		this.pauseNanos = nextPauseNanos;
		if (isFirst && this.log.tryAcquire() >= 0) {
			this.announced = true;
			EngineLog.INSTANCE.withoutBlocking(Level.WARN, this.warning, this.server, cause.toString());
		}
	}

	/**
	 * Records a success. Does not fail if memory is short, because the caller may have
	 * received something that would be lost.
	 */
	public void succeeded() {
		this.failures = 0;
		this.paused = false;
		if (isBackingOff()) {
			this.retryNanos = NOT_BACKING_OFF;
		}
		this.pauseNanos = FIRST_PAUSE_NANOS;
		if (this.announced) {
			try {
				EngineLog.INSTANCE.withoutBlocking(Level.INFO, this.allClear, this.server);
				this.announced = false;
			}
			catch (OutOfMemoryError ex) {
				// The next success is logged instead.
			}
		}
	}

	/**
	 * Ends the pause if its time is over, although the operation was not tried. Called by
	 * the leader, or by the owner that would have tried it.
	 * @param nowNanos the current time, {@link System#nanoTime()}
	 */
	public void endPauseIfOver(long nowNanos) {
		if (isBackingOff() && nowNanos - this.retryNanos >= 0) {
			this.retryNanos = NOT_BACKING_OFF;
		}
	}

	/**
	 * Whether the operation pauses because it failed. Any thread.
	 * @return whether it is backing off
	 */
	public boolean isBackingOff() {
		return this.retryNanos != NOT_BACKING_OFF;
	}

	/**
	 * When to retry. Any thread.
	 * @return {@link System#nanoTime()}, or {@link #NOT_BACKING_OFF}
	 */
	public long retryNanos() {
		return this.retryNanos;
	}

}
