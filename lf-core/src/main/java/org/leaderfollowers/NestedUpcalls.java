package org.leaderfollowers;

import java.util.Map;
import java.util.concurrent.atomic.LongAdder;

import org.jspecify.annotations.Nullable;
import org.leaderfollowers.internal.logging.FailureLog;
import org.leaderfollowers.internal.promotion.DispatchPolicy;
import org.leaderfollowers.internal.window.MessageWindow;
import org.slf4j.MDC;

/**
 * Runs handlers on top of a waiting handler, if the pool is configured for it and the
 * handlers can be separated from each other.
 */
final class NestedUpcalls {

	private final Options options;

	private final EventRoad road;

	private final FailureLog failureLog;

	private final LongAdder count = new LongAdder();

	/**
	 * The options of a pool.
	 *
	 * @param policy whether handlers run on top of a waiting handler
	 * @param maxDepth the maximum number of handlers that a thread runs on top of its
	 * first one
	 * @param guard separates the handlers
	 */
	record Options(NestedDispatch policy, int maxDepth, NestingGuard guard) {
	}

	NestedUpcalls(Options options, EventRoad road, FailureLog failureLog) {
		this.options = options;
		this.road = road;
		this.failureLog = failureLog;
	}

	/** Whether the calling thread may run a handler on top of the waiting one. */
	boolean mayBegin(Participant me) {
		if (this.options.policy() != NestedDispatch.WHEN_STARVED || me.nestedUpcalls >= this.options.maxDepth()) {
			return false;
		}
		try {
			return this.options.guard().mayNest();
		}
		catch (Throwable ex) {
			this.failureLog.error("%s has failed", this.options.guard(), ex);
			return false;
		}
	}

	/**
	 * Processes an event of a handle that the calling thread has claimed.
	 * @return {@code false} if the event was not processed, because the guard has failed
	 */
	boolean run(Participant me, SelectableHandle handle) {
		Upcall upcall = null;
		me.nestedUpcalls++;
		try {
			upcall = new Upcall(me, handle);
			Map<String, String> outer = MDC.getCopyOfContextMap();
			MDC.clear();
			MessageWindow.Place answered = MessageWindow.Place.answer(null);
			try {
				this.options.guard().separate(upcall);
			}
			finally {
				MessageWindow.Place.answer(answered);
				restore(outer);
			}
		}
		catch (Throwable ex) {
			this.failureLog.error("%s has failed to separate nested handlers", this.options.guard(), ex);
		}
		finally {
			me.endNestedUpcall();
		}
		return upcall != null && upcall.done;
	}

	private static void restore(@Nullable Map<String, String> context) {
		if (context != null) {
			MDC.setContextMap(context);
		}
		else {
			MDC.clear();
		}
	}

	/** How many handlers have been run on top of others. Any thread. */
	long count() {
		return this.count.sum();
	}

	private final class Upcall implements Runnable {

		private final Participant me;

		private final SelectableHandle handle;

		private boolean done;

		Upcall(Participant me, SelectableHandle handle) {
			this.me = me;
			this.handle = handle;
		}

		@Override
		public void run() {
			if (!this.done) {
				NestedUpcalls.this.count.increment();
				DispatchPolicy.Suspended outer = NestedUpcalls.this.road.suspend(this.me);
				// Only now: if memory was too short before, another thread takes the
				// handle.
				this.done = true;
				NestedUpcalls.this.road.processNested(this.me, this.handle, outer);
			}
		}

	}

}
