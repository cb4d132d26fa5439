package org.leaderfollowers.internal.lifecycle;

import java.util.concurrent.TimeUnit;

import org.leaderfollowers.internal.logging.EngineLog;
import org.leaderfollowers.internal.logging.RateLimit;

/**
 * Pauses an operation that fails, for longer each time: a socket that cannot accept or
 * receive stays ready, so trying at once would spin. One line is logged when the first
 * pause begins and one when the operation succeeds again.
 * <p>
 * The owner of the socket reports; any thread may ask whether it is backing off.
 */
public final class RetryBackoff {

	/** When to try again, if it is not backing off. */
	public static final long NOT_BACKING_OFF = Long.MAX_VALUE;

	private static final long FIRST_PAUSE_NANOS = TimeUnit.MILLISECONDS.toNanos(100);

	private static final long LONGEST_PAUSE_NANOS = TimeUnit.SECONDS.toNanos(10);

	private final String server;

	private final String warning;

	private final String allClear;

	private final int toleratedFailures;

	/** A server at the limit of descriptors would log a line for each connection. */
	private final RateLimit log = new RateLimit(TimeUnit.SECONDS.toNanos(10));

	private volatile long retryNanos = NOT_BACKING_OFF;

	private int failures;

	/** Whether the log says that the operation fails. */
	private boolean announced;

	private long pauseNanos = FIRST_PAUSE_NANOS;

	/**
	 * Creates the pauses of one operation.
	 * @param server the name of the server
	 * @param toleratedFailures how many failures in a row do not lead to a pause
	 * @param warning the line to log, with <code>{}</code> for the server and for the
	 * failure
	 * @param allClear the line to log when the operation succeeds again, with
	 * <code>{}</code> for the server
	 */
	public RetryBackoff(String server, int toleratedFailures, String warning, String allClear) {
		this.server = server;
		this.toleratedFailures = toleratedFailures;
		this.warning = warning;
		this.allClear = allClear;
	}

	/**
	 * The operation has failed.
	 * @param cause the failure
	 */
	public void failed(Throwable cause) {
		if (++this.failures <= this.toleratedFailures) {
			return;
		}
		if (isBackingOff() && System.nanoTime() - this.retryNanos < 0) {
			// An early attempt does not make the pause longer.
			return;
		}
		if (this.pauseNanos == FIRST_PAUSE_NANOS && this.log.tryAcquire() >= 0) {
			this.announced = true;
			EngineLog.INSTANCE.warn(this.warning, this.server, cause.toString());
		}
		this.retryNanos = System.nanoTime() + this.pauseNanos;
		this.pauseNanos = Math.min(this.pauseNanos * 2, LONGEST_PAUSE_NANOS);
	}

	/** The operation has succeeded. */
	public void succeeded() {
		this.failures = 0;
		if (this.announced) {
			this.announced = false;
			EngineLog.INSTANCE.info(this.allClear, this.server);
		}
		if (isBackingOff()) {
			this.retryNanos = NOT_BACKING_OFF;
		}
		this.pauseNanos = FIRST_PAUSE_NANOS;
	}

	/**
	 * Allows another attempt if the pause is over. Called by the leader.
	 * @param nowNanos the time, {@link System#nanoTime()}
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
	 * When to try again. Any thread.
	 * @return {@link System#nanoTime()}, or {@link #NOT_BACKING_OFF}
	 */
	public long retryNanos() {
		return this.retryNanos;
	}

}
