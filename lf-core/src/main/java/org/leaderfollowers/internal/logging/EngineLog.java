package org.leaderfollowers.internal.logging;

import java.util.function.BooleanSupplier;

import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.slf4j.event.Level;
import org.slf4j.helpers.FormattingTuple;
import org.slf4j.helpers.MessageFormatter;

/**
 * The log of the engine. Each message is one line, and the whole line is made
 * {@linkplain RateLimit#printable printable}, and so are the messages of exceptions.
 * Names of pools, servers, handlers and threads come from applications, so no caller has
 * to escape them. The stack trace of an exception follows as the layout of the log
 * defines. A method of this class never throws.
 * <p>
 * A log may block, for example because nobody reads the standard output of the process.
 * Lines of a thread that leads are therefore passed to {@link LeaderLines}, and so are
 * those of {@link #debug} and {@link #withoutBlocking}. All other threads log their lines
 * themselves.
 */
public final class EngineLog {

	private static final Logger logger = LoggerFactory.getLogger("org.leaderfollowers.engine");

	/** The only instance. */
	public static final EngineLog INSTANCE = new EngineLog();

	/** How long a close waits for a log that blocks. */
	public static final long CLOSE_MILLIS = 1000;

	private final LeaderLines leaderLines = new LeaderLines(EngineLog::write);

	/** Whether the calling thread must not block. Set before any thread leads. */
	private volatile BooleanSupplier leads = () -> false;

	private EngineLog() {
		// Loads the class, which is impossible when there are no descriptors left.
		PrintableFailure.of(null);
	}

	/**
	 * Sets which threads must not block.
	 * @param test whether the calling thread leads
	 */
	public void leads(BooleanSupplier test) {
		this.leads = test;
	}

	/**
	 * Waits until the lines of leaders are logged. The caller must not lead.
	 * @param millis how long to wait at most, in milliseconds
	 */
	public void flush(long millis) {
		this.leaderLines.flush(millis);
	}

	/**
	 * Logs the lines of leaders that wait because no thread could be started for them.
	 * Never blocks, and never throws.
	 */
	public void resume() {
		this.leaderLines.resume();
	}

	/**
	 * Logs details that explain an earlier event, and never blocks: clients cause most of
	 * these lines.
	 * @param format the message, with <code>{}</code> for each argument
	 * @param arguments the arguments, followed by an exception if there is one
	 */
	public void debug(String format, @Nullable Object... arguments) {
		withoutBlocking(Level.DEBUG, format, arguments);
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
		log(Level.INFO, format, arguments);
	}

	/**
	 * Logs a problem that an operator should look at.
	 * @param format the message, with <code>{}</code> for each argument
	 * @param arguments the arguments, followed by an exception if there is one
	 */
	public void warn(String format, @Nullable Object... arguments) {
		log(Level.WARN, format, arguments);
	}

	/**
	 * Logs a line, and never blocks: the thread that logs the lines of leaders logs it.
	 * For threads that hold something that others wait for, such as a listening socket.
	 * @param level the level
	 * @param format the message, with <code>{}</code> for each argument
	 * @param arguments the arguments, followed by an exception if there is one
	 */
	public void withoutBlocking(Level level, String format, @Nullable Object... arguments) {
		pass(level, format, false, arguments);
	}

	/**
	 * Logs a problem of a close, and waits for the log, but not for long: the close has
	 * to go on if nobody reads the log. The caller must not lead.
	 * @param format the message, with <code>{}</code> for each argument
	 * @param arguments the arguments, followed by an exception if there is one
	 */
	public void warnOfClose(String format, @Nullable Object... arguments) {
		withoutBlocking(Level.WARN, format, arguments);
		// The virtual machine often ends next.
		boolean interrupted = Thread.interrupted();
		flush(CLOSE_MILLIS);
		if (interrupted) {
			Thread.currentThread().interrupt();
		}
	}

	/**
	 * Logs a failure.
	 * @param format the message, with <code>{}</code> for each argument
	 * @param arguments the arguments, followed by an exception if there is one
	 */
	public void error(String format, @Nullable Object... arguments) {
		log(Level.ERROR, format, arguments);
	}

	private void log(Level level, String format, @Nullable Object... arguments) {
		pass(level, format, true, arguments);
	}

	private void pass(Level level, String format, boolean mayBlock, @Nullable Object... arguments) {
		try {
			if (!logger.isEnabledForLevel(level)) {
				return;
			}
			// Formatted by the caller: the arguments may change later.
			FormattingTuple tuple = MessageFormatter.arrayFormat(format, arguments);
			String line = RateLimit.printable(tuple.getMessage());
			Throwable failure = PrintableFailure.of(tuple.getThrowable());
			if (mayBlock && !this.leads.getAsBoolean()) {
				write(level, line, failure);
			}
			else {
				this.leaderLines.add(level, line, failure);
			}
		}
		catch (Throwable ex) {
			// The line is lost, but not the caller, which may be cleaning up: usually
			// memory is short, or the application's log has failed.
		}
	}

	private static void write(Level level, String line, @Nullable Throwable failure) {
		logger.atLevel(level).setCause(failure).log(line);
	}

}
