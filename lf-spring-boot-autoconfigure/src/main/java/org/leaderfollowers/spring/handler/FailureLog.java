package org.leaderfollowers.spring.handler;

import java.io.IOException;
import java.time.Duration;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.LongSupplier;

import org.apache.commons.logging.Log;
import org.apache.commons.logging.LogFactory;
import org.leaderfollowers.Connection;
import org.leaderfollowers.FramingException;
import org.leaderfollowers.spring.internal.Printable;

/**
 * Logs the failures that nobody handles: each kind of them, which is a type of exception
 * at a place in the code, at once and then not more than once in ten seconds. So neither
 * a hostile peer nor a broken handler fills a disk, and a rare failure is not lost among
 * frequent ones.
 */
final class FailureLog {

	private static final Log logger = LogFactory.getLog(FailureLog.class);

	/** Further kinds count as one. */
	private static final int MAX_KINDS = 100;

	private static final long INTERVAL_NANOS = Duration.ofSeconds(10).toNanos();

	private static final String OTHER_KINDS = "";

	private final String handler;

	private final LongSupplier clock;

	private final Map<String, Lines> kinds = new ConcurrentHashMap<>();

	FailureLog(String handler) {
		this(handler, System::nanoTime);
	}

	FailureLog(String handler, LongSupplier clock) {
		this.handler = handler;
		this.clock = clock;
	}

	void log(Connection connection, Throwable failure) {
		if (failure instanceof IOException) {
			// Peers come and go; that is not worth a line of a production log.
			logger.debug("%s failed".formatted(connection), failure);
			return;
		}
		String kind = kind(failure);
		if (!this.kinds.containsKey(kind) && this.kinds.size() >= MAX_KINDS) {
			kind = OTHER_KINDS;
		}
		long heldBack = this.kinds.computeIfAbsent(kind, (key) -> new Lines()).next(this.clock.getAsLong());
		if (heldBack < 0) {
			return;
		}
		String more = (heldBack > 0) ? " (%d more of this kind since the last such line)".formatted(heldBack) : "";
		if (isOfThePeer(failure)) {
			// Without its causes, which may quote the message.
			logger.warn("%s is closed, since '%s' did not handle %s: %s%s".formatted(connection, this.handler,
					failure.getClass().getSimpleName(), Printable.of(failure.getMessage()), more));
		}
		else {
			logger.error("%s is closed, since '%s' failed%s".formatted(connection, this.handler, more), failure);
		}
	}

	/** Whether the message is to blame, and not the code. */
	private static boolean isOfThePeer(Throwable failure) {
		return failure instanceof PayloadConversionException || failure instanceof PayloadValidationException
				|| failure instanceof UnmatchedMessageException || failure instanceof FramingException;
	}

	private static String kind(Throwable failure) {
		StackTraceElement[] trace = failure.getStackTrace();
		return failure.getClass().getName() + ((trace.length > 0) ? trace[0].toString() : "");
	}

	/**
	 * The lines of one kind.
	 */
	private static final class Lines {

		private boolean any;

		private long lastNanos;

		private long heldBack;

		/** Returns how many were held back before this line, or -1 to hold it back. */
		synchronized long next(long nowNanos) {
			if (this.any && nowNanos - this.lastNanos < INTERVAL_NANOS) {
				this.heldBack++;
				return -1;
			}
			long count = this.heldBack;
			this.any = true;
			this.lastNanos = nowNanos;
			this.heldBack = 0;
			return count;
		}

	}

}
