package org.leaderfollowers.internal.logging;

import java.util.concurrent.atomic.AtomicLong;
import java.util.regex.Pattern;

import org.jspecify.annotations.Nullable;

/**
 * Lets one log line through per interval and counts the lines that are held back, so that
 * neither a hostile peer nor a broken handler can fill a disk. Any thread.
 */
public final class RateLimit {

	/**
	 * Characters that begin a new line, move the cursor of a terminal, or change the
	 * direction of text.
	 */
	private static final Pattern HARMFUL = Pattern.compile("[\\p{Cc}\\p{Cf}\\p{Zl}\\p{Zp}]");

	private final long intervalNanos;

	private final AtomicLong nextNanos;

	private final AtomicLong suppressed = new AtomicLong();

	/**
	 * Creates a limit that lets the first line through.
	 * @param intervalNanos the time between two lines, in nanoseconds
	 */
	public RateLimit(long intervalNanos) {
		this.intervalNanos = intervalNanos;
		this.nextNanos = new AtomicLong(System.nanoTime());
	}

	/**
	 * Requests permission to log a line now.
	 * @return how many lines were held back since the last one, or -1 if this line must
	 * be held back as well
	 */
	public long tryAcquire() {
		long now = System.nanoTime();
		long next = this.nextNanos.get();
		if (now - next >= 0 && this.nextNanos.compareAndSet(next, now + this.intervalNanos)) {
			return this.suppressed.getAndSet(0);
		}
		this.suppressed.incrementAndGet();
		return -1;
	}

	/**
	 * Describes how many lines were held back.
	 * @param suppressed the result of {@link #tryAcquire()}
	 * @return text for the end of a line, empty if no lines were held back
	 */
	public static String heldBack(long suppressed) {
		return (suppressed > 0) ? " (%d more since the last such line)".formatted(suppressed) : "";
	}

	/**
	 * Makes text of a peer or an application safe for a log.
	 * @param text the text
	 * @return the text with a question mark for each control character
	 */
	public static String printable(@Nullable String text) {
		return HARMFUL.matcher(String.valueOf(text)).replaceAll("?");
	}

}
