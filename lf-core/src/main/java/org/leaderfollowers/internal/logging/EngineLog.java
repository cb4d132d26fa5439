package org.leaderfollowers.internal.logging;

import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.slf4j.helpers.FormattingTuple;
import org.slf4j.helpers.MessageFormatter;

/**
 * The log of the engine. Each message is one line, and the whole line is made
 * {@linkplain RateLimit#printable printable}. Names of pools, servers, handlers and
 * threads come from applications, so no caller has to escape them. The stack trace of an
 * exception follows as the layout of the log defines.
 */
public final class EngineLog {

	private static final Logger logger = LoggerFactory.getLogger("org.leaderfollowers.engine");

	/** The only instance. */
	public static final EngineLog INSTANCE = new EngineLog();

	private EngineLog() {
	}

	/**
	 * Logs details that explain an earlier event.
	 * @param format the message, with <code>{}</code> for each argument
	 * @param arguments the arguments, followed by an exception if there is one
	 */
	public void debug(String format, @Nullable Object... arguments) {
		if (logger.isDebugEnabled()) {
			FormattingTuple line = MessageFormatter.arrayFormat(format, arguments);
			logger.debug(RateLimit.printable(line.getMessage()), line.getThrowable());
		}
	}

	/**
	 * Logs details, and allocates nothing if the level is disabled.
	 * @param format the message, with <code>{}</code> for each argument
	 * @param first the first argument
	 * @param second the second argument, or an exception
	 */
	public void debug(String format, @Nullable Object first, @Nullable Object second) {
		if (logger.isDebugEnabled()) {
			debug(format, new @Nullable Object[] { first, second });
		}
	}

	/**
	 * Logs a completed action.
	 * @param format the message, with <code>{}</code> for each argument
	 * @param arguments the arguments, followed by an exception if there is one
	 */
	public void info(String format, @Nullable Object... arguments) {
		if (logger.isInfoEnabled()) {
			FormattingTuple line = MessageFormatter.arrayFormat(format, arguments);
			logger.info(RateLimit.printable(line.getMessage()), line.getThrowable());
		}
	}

	/**
	 * Logs a problem that an operator should look at.
	 * @param format the message, with <code>{}</code> for each argument
	 * @param arguments the arguments, followed by an exception if there is one
	 */
	public void warn(String format, @Nullable Object... arguments) {
		if (logger.isWarnEnabled()) {
			FormattingTuple line = MessageFormatter.arrayFormat(format, arguments);
			logger.warn(RateLimit.printable(line.getMessage()), line.getThrowable());
		}
	}

	/**
	 * Logs a failure.
	 * @param format the message, with <code>{}</code> for each argument
	 * @param arguments the arguments, followed by an exception if there is one
	 */
	public void error(String format, @Nullable Object... arguments) {
		if (logger.isErrorEnabled()) {
			FormattingTuple line = MessageFormatter.arrayFormat(format, arguments);
			logger.error(RateLimit.printable(line.getMessage()), line.getThrowable());
		}
	}

}
