package org.leaderfollowers;

import java.time.Duration;
import java.util.List;
import java.util.Locale;

import org.jspecify.annotations.Nullable;

/**
 * A thread of a pool that has not come back for long. The watchdog of the pool raises it;
 * see {@link LeaderFollowersPool.Builder#stuckAfter} and
 * {@link LeaderFollowersPool.Builder#slowHandlerAfter}.
 *
 * @param kind the kind of the alarm
 * @param thread the name of the thread
 * @param handleSet the name of the handle set that it leads, or {@code null} if it runs a
 * handler
 * @param server the name of the server whose event it processes, or {@code null}
 * @param handle the handle whose event it processes, or {@code null}
 * @param handler the name of the handler that it runs, or {@code null}
 * @param duration how long the thread has not come back, as far as the watchdog has seen
 * @param stack where the thread is, innermost call first
 */
public record PoolAlarm(Kind kind, String thread, @Nullable String handleSet, @Nullable String server,
		@Nullable String handle, @Nullable String handler, Duration duration, List<StackTraceElement> stack) {

	/**
	 * The kinds of alarms.
	 */
	public enum Kind {

		/**
		 * A leader neither returns from its wait nor runs a handler: its handle set
		 * serves nobody.
		 */
		LEADER_STUCK(true),

		/** A handler waits for a lock that will never be released. */
		HANDLER_DEADLOCKED(true),

		/** A handler takes much longer than handlers should. It may still return. */
		HANDLER_SLOW(false);

		private final boolean fatal;

		Kind(boolean fatal) {
			this.fatal = fatal;
		}

		/**
		 * Whether the thread will probably never return, so that the process must be
		 * restarted.
		 * @return {@code false} if the alarm is only a warning
		 */
		public boolean isFatal() {
			return this.fatal;
		}

	}

	/**
	 * Describes the alarm in one sentence, without the stack.
	 * @return text for operators
	 */
	public String description() {
		String time = String.format(Locale.ROOT, "%.1f", this.duration.toMillis() / 1e3);
		String runs = (this.handler != null) ? "handler '%s'".formatted(this.handler) : "the engine";
		String where = (this.handle != null) ? " on " + this.handle : "";
		return switch (this.kind) {
			case LEADER_STUCK ->
				"Thread '%s' leads handle set '%s', but has neither returned from waiting nor run a handler for %s s%s"
					.formatted(this.thread, this.handleSet, time, where);
			case HANDLER_DEADLOCKED ->
				"Thread '%s' is deadlocked. It has run %s%s for %s s".formatted(this.thread, runs, where, time);
			case HANDLER_SLOW -> "Thread '%s' has run %s%s for %s s".formatted(this.thread, runs, where, time);
		};
	}

}
