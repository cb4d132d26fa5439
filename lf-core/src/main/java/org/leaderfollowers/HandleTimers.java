package org.leaderfollowers;

import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;

import org.leaderfollowers.internal.demultiplexing.Deadlines;

/**
 * The deadlines of the handles of one set: when its leader has to call a handler that no
 * event has called before. Used by the leader only, and passed on with the leadership.
 */
final class HandleTimers {

	/** How often to ask a handle that is held for another thread at most. */
	private static final long HELD_NANOS = TimeUnit.SECONDS.toNanos(1);

	private final HandleSet set;

	private final Deadlines<SelectableHandle> deadlines = new Deadlines<>();

	private final Consumer<SelectableHandle> onExpiry = this::expired;

	HandleTimers(HandleSet set) {
		this.set = set;
	}

	/** How long the leader may wait at most, in nanoseconds. */
	long maxWaitNanos(long nowNanos) {
		return this.deadlines.maxWaitNanos(nowNanos);
	}

	/** Calls the handles whose deadlines have passed. */
	void poll() {
		this.deadlines.poll(this.set.nowNanos(), this.onExpiry);
	}

	void cancel(SelectableHandle handle) {
		this.deadlines.cancel(handle);
	}

	/** Asks the handler for its deadline, which replaces an earlier one. */
	void schedule(SelectableHandle handle) {
		this.deadlines.cancel(handle);
		// Cleared before the handler is asked. An owner that sets a deadline too late for
		// this call sees that there is no timer, and requests one.
		handle.timerDeadline = EngineEventHandler.NO_DEADLINE;
		long deadline = handle.deadline(this.set.nowNanos());
		if (deadline != EngineEventHandler.NO_DEADLINE) {
			scheduleAt(handle, deadline);
		}
	}

	private void scheduleAt(SelectableHandle handle, long deadline) {
		this.deadlines.schedule(handle, deadline);
		handle.timerDeadline = deadline;
	}

	/**
	 * Makes sure that a handle that the leader holds for another thread has a timer: a
	 * later deadline, for example of output, does not need that thread. Only that thread
	 * can act on a deadline that has passed, so the leader asks once in a second at most.
	 */
	void hold(SelectableHandle handle) {
		if (handle.timerDeadline == EngineEventHandler.NO_DEADLINE) {
			long soonest = this.set.nowNanos() + HELD_NANOS;
			long deadline = handle.deadline(this.set.nowNanos());
			if (deadline != EngineEventHandler.NO_DEADLINE) {
				scheduleAt(handle, (deadline - soonest > 0) ? deadline : soonest);
			}
		}
	}

	private void expired(SelectableHandle handle) {
		if (handle.isMarkedClosed()) {
			return;
		}
		long nowNanos = this.set.nowNanos();
		handle.timerDeadline = EngineEventHandler.NO_DEADLINE;
		if (handle.isFailurePending()) {
			this.set.demultiplex(handle, SelectableHandle.LOOK);
			return;
		}
		long deadline = handle.handler.deadline(nowNanos);
		if (deadline != EngineEventHandler.NO_DEADLINE && deadline - nowNanos <= 0) {
			handle.handler.expire(nowNanos);
			this.set.demultiplex(handle, SelectableHandle.LOOK);
			deadline = handle.handler.deadline(nowNanos);
			if (deadline != EngineEventHandler.NO_DEADLINE && deadline - nowNanos <= 0) {
				// The thread that looks decides, and requests a timer if there is a later
				// deadline.
				return;
			}
		}
		schedule(handle);
	}

}
