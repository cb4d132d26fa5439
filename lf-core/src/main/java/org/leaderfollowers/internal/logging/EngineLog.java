package org.leaderfollowers.internal.logging;

import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.slf4j.helpers.FormattingTuple;
import org.slf4j.helpers.MessageFormatter;

/**
 * The log of the engine: each message is one line, made {@linkplain RateLimit#printable
 * printable} as a whole. Names of pools, servers, handlers and threads come from others,
 * and none of the places that log them has to remember it. What is thrown follows as the
 * layout has it.
 */
public final class EngineLog {

	private static final Logger logger = LoggerFactory.getLogger("org.leaderfollowers.engine");

	/** The only one. */
	public static final EngineLog INSTANCE = new EngineLog();

	private EngineLog() {
	}

	/**
	 * Logs what explains how it came to something.
	 * @param format the message, with <code>{}</code> for each argument
	 * @param arguments what to put there; what is thrown may follow
	 */
	public void debug(String format, @Nullable Object... arguments) {
		if (logger.isDebugEnabled()) {
			FormattingTuple line = MessageFormatter.arrayFormat(format, arguments);
			logger.debug(RateLimit.printable(line.getMessage()), line.getThrowable());
		}
	}

	/**
	 * The same, and allocates nothing if nobody wants to know.
	 * @param format the message, with <code>{}</code> for each argument
	 * @param first what to put there
	 * @param second what to put there, or what was thrown
	 */
	public void debug(String format, @Nullable Object first, @Nullable Object second) {
		if (logger.isDebugEnabled()) {
			debug(format, new @Nullable Object[] { first, second });
		}
	}

	/**
	 * Logs what was done.
	 * @param format the message, with <code>{}</code> for each argument
	 * @param arguments what to put there; what is thrown may follow
	 */
	public void info(String format, @Nullable Object... arguments) {
		if (logger.isInfoEnabled()) {
			FormattingTuple line = MessageFormatter.arrayFormat(format, arguments);
			logger.info(RateLimit.printable(line.getMessage()), line.getThrowable());
		}
	}

	/**
	 * Logs what somebody should look after.
	 * @param format the message, with <code>{}</code> for each argument
	 * @param arguments what to put there; what is thrown may follow
	 */
	public void warn(String format, @Nullable Object... arguments) {
		if (logger.isWarnEnabled()) {
			FormattingTuple line = MessageFormatter.arrayFormat(format, arguments);
			logger.warn(RateLimit.printable(line.getMessage()), line.getThrowable());
		}
	}

	/**
	 * Logs what has failed.
	 * @param format the message, with <code>{}</code> for each argument
	 * @param arguments what to put there; what is thrown may follow
	 */
	public void error(String format, @Nullable Object... arguments) {
		if (logger.isErrorEnabled()) {
			FormattingTuple line = MessageFormatter.arrayFormat(format, arguments);
			logger.error(RateLimit.printable(line.getMessage()), line.getThrowable());
		}
	}

}
