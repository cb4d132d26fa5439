package org.leaderfollowers.spring.handler;

import java.io.IOException;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.Map;
import java.util.Queue;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.LongSupplier;
import java.util.stream.Collectors;
import java.util.stream.StreamSupport;

import jakarta.validation.ConstraintViolation;
import jakarta.validation.ConstraintViolationException;
import jakarta.validation.ElementKind;
import org.apache.commons.logging.Log;
import org.apache.commons.logging.LogFactory;
import org.jspecify.annotations.Nullable;
import org.leaderfollowers.ClientLimitException;
import org.leaderfollowers.CloseReason;
import org.leaderfollowers.Connection;
import org.leaderfollowers.FramingException;
import org.leaderfollowers.spring.internal.Printable;

import org.springframework.messaging.handler.annotation.support.MethodArgumentNotValidException;
import org.springframework.security.access.AccessDeniedException;
import org.springframework.security.authentication.AuthenticationCredentialsNotFoundException;
import org.springframework.security.authentication.AuthenticationServiceException;
import org.springframework.security.core.AuthenticationException;
import org.springframework.util.ClassUtils;
import org.springframework.validation.BindException;
import org.springframework.validation.method.MethodValidationResult;

/**
 * Logs the failures that no method and no error handler handles. A kind of failure is a
 * type of exception that is thrown at one place in the code. Each kind is logged at once,
 * and then at most once in ten seconds. Therefore neither a hostile peer nor a broken
 * handler can fill a disk, and frequent failures do not hide a rare one.
 * <p>
 * If nobody reads the log, at most one thread waits for it; see {@link Output}.
 */
final class FailureLog {

	private static final Log logger = LogFactory.getLog(FailureLog.class);

	private static final Output OUTPUT = new Output();

	/** Bounds the memory: all further kinds count as one. */
	private static final int MAX_KINDS = 100;

	private static final long INTERVAL_NANOS = Duration.ofSeconds(10).toNanos();

	private static final String OTHER_KINDS = "";

	private static final boolean SECURITY = ClassUtils
		.isPresent("org.springframework.security.access.AccessDeniedException", FailureLog.class.getClassLoader());

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
		if (isOfTheSocket(connection, failure)) {
			// Broken connections are normal, so they are not logged in production.
			if (logger.isDebugEnabled()) {
				String line = "%s failed".formatted(connection);
				OUTPUT.write(() -> logger.debug(line, Printable.of(failure)));
			}
			return;
		}
		String more = next(failure);
		if (more == null) {
			return;
		}
		// If messages are handled in parallel, a failure does not close the connection.
		String consequence = connection.isOpen() ? "A message of %s is not answered".formatted(connection)
				: "%s is closed".formatted(connection);
		if (isOfThePeer(failure)) {
			// The causes are left out, because they may quote the message.
			String line = "%s, since '%s' did not handle %s: %s%s".formatted(consequence, this.handler,
					failure.getClass().getSimpleName(), describe(failure), more);
			OUTPUT.write(() -> logger.warn(line));
		}
		else {
			String line = "%s, since '%s' failed%s".formatted(consequence, this.handler, more);
			OUTPUT.write(() -> logger.error(line, Printable.of(failure)));
		}
	}

	/**
	 * Logs that the handling of a failure has failed, unless the failure is logged with
	 * its stack trace, which shows it as suppressed.
	 * @param second the exception of the method or of the error handler
	 */
	void logHandling(Connection connection, Throwable failure, Throwable second) {
		if (!isOfTheSocket(connection, failure) && !isOfThePeer(failure)) {
			return;
		}
		String more = next(second);
		if (more == null) {
			return;
		}
		String line = "The handling of %s of %s by '%s' failed".formatted(failure.getClass().getSimpleName(),
				connection, this.handler);
		if (isOfThePeer(second)) {
			String whole = "%s with %s: %s%s".formatted(line, second.getClass().getSimpleName(), describe(second),
					more);
			OUTPUT.write(() -> logger.warn(whole));
		}
		else {
			OUTPUT.write(() -> logger.error(line + more, Printable.of(second)));
		}
	}

	/**
	 * Whether the connection is broken. If the handler throws an exception of the same
	 * type, because a file or another server has failed, an operator has to know.
	 */
	private static boolean isOfTheSocket(Connection connection, Throwable failure) {
		CloseReason reason = connection.closeReason();
		return failure instanceof IOException && reason != null && reason != CloseReason.HANDLER_ERROR;
	}

	/**
	 * Returns the part of the next line that counts the suppressed lines of this kind, or
	 * {@code null} to suppress this line too.
	 */
	private @Nullable String next(Throwable failure) {
		String kind = kind(failure);
		if (!this.kinds.containsKey(kind) && this.kinds.size() >= MAX_KINDS) {
			kind = OTHER_KINDS;
		}
		long heldBack = this.kinds.computeIfAbsent(kind, (key) -> new Lines()).next(this.clock.getAsLong());
		if (heldBack < 0) {
			return null;
		}
		return (heldBack > 0) ? " (%d more of this kind since the last such line)".formatted(heldBack) : "";
	}

	/** Whether the client has caused the failure, rather than a bug. */
	private static boolean isOfThePeer(Throwable failure) {
		return failure instanceof PayloadConversionException || failure instanceof PayloadValidationException
				|| failure instanceof UnmatchedMessageException || failure instanceof FramingException
				|| failure instanceof LoginRequiredException || failure instanceof ClientLimitException
				|| InvalidArguments.isCauseOf(failure) || (SECURITY && Refusals.isOne(failure));
	}

	private static String describe(Throwable failure) {
		String described = InvalidArguments.describe(failure);
		return Printable.of((described != null) ? described : failure.getMessage());
	}

	private static String kind(Throwable failure) {
		StackTraceElement[] trace = failure.getStackTrace();
		return failure.getClass().getName() + ((trace.length > 0) ? trace[0].toString() : "");
	}

	/**
	 * Lets one thread write at a time. The log may block for ever, and each thread that
	 * waits for it is one less that serves. Lines of other threads are therefore left to
	 * the one that writes.
	 */
	private static final class Output {

		/** The maximum number of lines that wait. Further ones are dropped. */
		private static final int CAPACITY = 1000;

		private final Queue<Runnable> waiting = new ArrayDeque<>();

		private final Runnable lossLine = this::writeLoss;

		private boolean writing;

		private long dropped;

		void write(Runnable line) {
			if (!beginOrLeave(line)) {
				return;
			}
			for (Runnable next = line; next != null; next = nextOrEnd()) {
				try {
					next.run();
				}
				catch (Throwable ex) {
					// The line is lost. The others must not be, nor the right to write.
				}
			}
		}

		private synchronized boolean beginOrLeave(Runnable line) {
			if (!this.writing) {
				this.writing = true;
				return true;
			}
			if (this.waiting.size() < CAPACITY) {
				this.waiting.add(line);
			}
			else {
				this.dropped++;
			}
			return false;
		}

		/**
		 * A thread that comes later either leaves its line here in time, or writes.
		 * Allocates nothing: if it failed, nobody could write any more.
		 */
		private synchronized @Nullable Runnable nextOrEnd() {
			Runnable next = this.waiting.poll();
			if (next == null && this.dropped > 0) {
				return this.lossLine;
			}
			this.writing = next != null;
			return next;
		}

		private void writeLoss() {
			long lost;
			synchronized (this) {
				lost = this.dropped;
				this.dropped = 0;
			}
			logger.warn(
					"%d lines about failures were dropped, because the log accepted none for a while".formatted(lost));
		}

	}

	/**
	 * The lines of one kind.
	 */
	private static final class Lines {

		private boolean any;

		private long lastNanos;

		private long heldBack;

		/**
		 * Returns the number of lines suppressed since the last one, or -1 to suppress
		 * this line.
		 */
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

	/**
	 * The failures of Spring Security, an optional dependency: wrong credentials and
	 * denied access.
	 */
	private static final class Refusals {

		private Refusals() {
		}

		static boolean isOne(Throwable failure) {
			// The others are faults of the application: no database of users, no login.
			return failure instanceof AccessDeniedException || (failure instanceof AuthenticationException
					&& !(failure instanceof AuthenticationServiceException)
					&& !(failure instanceof AuthenticationCredentialsNotFoundException));
		}

	}

	/**
	 * Failures of validation outside this package that the data of a client has caused:
	 * those of a validated bean, or of a validator that the handler calls. An invalid
	 * return value is a bug of the application, so it is not among them.
	 */
	private static final class InvalidArguments {

		private static final boolean JAKARTA = ClassUtils.isPresent(Arguments.CONSTRAINT,
				InvalidArguments.class.getClassLoader());

		private InvalidArguments() {
		}

		/** Whether a failure is about invalid arguments. */
		static boolean isCauseOf(Throwable failure) {
			return describe(failure) != null;
		}

		/**
		 * Names the fields and the constraints, but no values, which come from the
		 * client.
		 * @return the description, or {@code null} if the failure is not about invalid
		 * arguments
		 */
		static @Nullable String describe(Throwable failure) {
			if (failure instanceof MethodValidationResult result) {
				return result.isForReturnValue() ? null : PayloadValidationException.describe(result.getAllErrors());
			}
			if (failure instanceof BindException bind) {
				return PayloadValidationException.describe(bind.getAllErrors());
			}
			if (failure instanceof MethodArgumentNotValidException argument && argument.getBindingResult() != null) {
				return PayloadValidationException.describe(argument.getBindingResult().getAllErrors());
			}
			return JAKARTA ? Violations.describe(failure) : null;
		}

		/**
		 * The failures of Jakarta Validation, an optional dependency.
		 */
		private static final class Violations {

			private Violations() {
			}

			static @Nullable String describe(Throwable failure) {
				Set<ConstraintViolation<?>> violations = (failure instanceof ConstraintViolationException invalid)
						? invalid.getConstraintViolations() : null;
				if (violations == null || violations.isEmpty()
						|| violations.stream().anyMatch(Violations::isOfReturnValue)) {
					return null;
				}
				return violations.stream()
					.map((violation) -> "%s (%s)".formatted(violation.getPropertyPath(),
							violation.getConstraintDescriptor().getAnnotation().annotationType().getSimpleName()))
					.sorted()
					.collect(Collectors.joining(", "));
			}

			private static boolean isOfReturnValue(ConstraintViolation<?> violation) {
				return StreamSupport.stream(violation.getPropertyPath().spliterator(), false)
					.anyMatch((node) -> node.getKind() == ElementKind.RETURN_VALUE);
			}

		}

	}

}
