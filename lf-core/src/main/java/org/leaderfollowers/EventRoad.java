package org.leaderfollowers;

import java.util.concurrent.TimeUnit;

import org.jspecify.annotations.Nullable;
import org.leaderfollowers.internal.logging.FailureLog;
import org.leaderfollowers.internal.promotion.Clock;
import org.leaderfollowers.internal.promotion.DispatchPolicy;
import org.leaderfollowers.internal.promotion.HandledWork;
import org.leaderfollowers.internal.promotion.HandlerProfile;
import org.leaderfollowers.internal.promotion.Leadership;
import org.leaderfollowers.internal.promotion.PromotionProtocol;
import org.leaderfollowers.internal.promotion.Unfolding;

/**
 * The path of an event, from the thread that waits for it to the end of its handler: read
 * {@link #participate} and the methods below it. This is activity 4 of the paper.
 */
final class EventRoad {

	/**
	 * A pause, so that a thread that fails again and again leaves the processor to
	 * others.
	 */
	private static final long FAILURE_PAUSE_NANOS = TimeUnit.MILLISECONDS.toNanos(10);

	private final String pool;

	private final Clock clock;

	private final HandleSets handleSets;

	private final EventSources sources;

	private final PromotionProtocol promotion;

	private final DispatchPolicy policy;

	private final Unfolding unfolding;

	private final FailureLog failureLog;

	EventRoad(PoolOptions options, HandleSets handleSets, EventSources sources, PromotionProtocol promotion,
			DispatchPolicy policy, Unfolding unfolding, FailureLog failureLog) {
		this.pool = options.name();
		this.clock = options.clock();
		this.handleSets = handleSets;
		this.sources = sources;
		this.promotion = promotion;
		this.policy = policy;
		this.unfolding = unfolding;
		this.failureLog = failureLog;
	}

	/**
	 * Takes turns until the pool stops, the deadline passes, or the thread is retired.
	 */
	void participate(Participant me, long deadlineNanos) {
		boolean remains = true;
		while (remains && !this.promotion.isStopping()) {
			try {
				remains = takeTurn(me, deadlineNanos);
			}
			catch (Throwable ex) {
				// Usually because memory is short. The thread continues, and keeps its
				// leadership.
				survive(ex);
			}
		}
	}

	/** Never fails: the pool would lose a thread, and in the end all of them. */
	private void survive(Throwable failure) {
		try {
			this.failureLog.error("A thread of pool '%s' failed", this.pool, failure);
			this.clock.parkNanos(this, FAILURE_PAUSE_NANOS);
		}
		catch (Throwable ex) {
			// Even the constant above needs memory when it is used for the first time.
		}
	}

	/**
	 * Processes one event, or leads once, or follows once. Returns whether the thread
	 * remains in the pool.
	 */
	private boolean takeTurn(Participant me, long deadlineNanos) {
		me.deferInterrupt();
		Leadership leadership = this.promotion.attend(me);
		boolean superfluous = this.policy.isSuperfluous(me);
		SelectableHandle handle = (superfluous || me.isRetired()) ? null : takeReady(leadership);
		if (handle != null) {
			process(me, handle);
		}
		else if (!me.isRetired()) {
			lead(me, deadlineNanos, superfluous);
		}
		// A joined thread that leads at its deadline gives the leadership up when it
		// leaves. Inside this loop, it would take the leadership again and again if no
		// other thread is idle.
		return !me.isRetired() && (me.isOwned() || hasReady(me) || deadlineNanos - this.clock.nanoTime() > 0);
	}

	private boolean hasReady(Participant me) {
		Leadership leadership = me.leading();
		return leadership != null && this.sources.of(leadership) == null
				&& !this.handleSets.of(leadership).ready.isEmpty();
	}

	/**
	 * Takes a ready handle: a leader takes one of its own handle set, any other thread
	 * takes one of any set.
	 */
	private @Nullable SelectableHandle takeReady(@Nullable Leadership leadership) {
		SelectableHandle handle = null;
		for (int i = 0; i < this.handleSets.count() && handle == null; i++) {
			boolean mayTake = leadership == null || leadership.index() == i;
			handle = mayTake ? Ready.take(this.handleSets.get(i).ready) : null;
		}
		return handle;
	}

	/** Leads, and waits for events, or follows (the paper, activity 4). */
	private void lead(Participant me, long deadlineNanos, boolean superfluous) {
		Leadership leadership = this.promotion.lead(me, deadlineNanos, superfluous);
		LedSource source = (leadership != null) ? this.sources.of(leadership) : null;
		if (source != null) {
			lead(me, source, deadlineNanos);
		}
		else if (leadership != null) {
			lead(me, this.handleSets.of(leadership), deadlineNanos);
		}
	}

	private void lead(Participant me, HandleSet set, long deadlineNanos) {
		try {
			if (set.ready.isEmpty()) {
				this.unfolding.measure(set.nowNanos());
				if (set.isDeserted()) {
					set.rest(me, this.unfolding);
				}
				else {
					me.deferInterrupt();
					set.await(deadlineNanos, this.promotion, null);
				}
			}
		}
		catch (Throwable ex) {
			// For example because memory is short. The thread continues, and keeps its
			// leadership.
			this.failureLog.error("Leading handle set '%s' failed", set, ex);
			this.clock.parkNanos(this, FAILURE_PAUSE_NANOS);
		}
	}

	/** Leads a source: the thread that receives an event processes it immediately. */
	private void lead(Participant me, LedSource source, long deadlineNanos) {
		if (!source.isInUse()) {
			this.sources.rest(me, source);
			return;
		}
		LedSource.SourceEvent<?> event = null;
		try {
			me.deferInterrupt();
			event = source.await(deadlineNanos, this.promotion);
			// The interrupt came before the handler, so it is not meant for it.
			me.deferInterrupt();
		}
		finally {
			if (event == null) {
				source.endAwait();
			}
		}
		if (event != null) {
			process(me, event);
		}
	}

	/**
	 * Processes an event of a handle that the calling thread has claimed. The thread
	 * leads until the policy promotes another leader, or until a follower takes over
	 * while a handler runs.
	 */
	private void process(Participant me, SelectableHandle handle) {
		me.begin(handle);
		try {
			boolean done = false;
			while (!done) {
				done = runRound(me, handle);
			}
		}
		finally {
			endWork(me);
		}
	}

	/** Saves the dispatch of a handler that waits, for {@link #processNested}. */
	DispatchPolicy.Suspended suspend(Participant me) {
		return this.policy.suspend(me);
	}

	/**
	 * Like {@link #process(Participant, SelectableHandle)}, but on top of a handler that
	 * waits: a nested upcall. The caller has saved the state of the waiting handler.
	 */
	void processNested(Participant me, SelectableHandle handle, DispatchPolicy.Suspended dispatch) {
		HandledWork.Source outer = me.work();
		Participant.Awaited awaited = me.awaits(null);
		try {
			process(me, handle);
		}
		finally {
			me.awaits(awaited);
			this.policy.resume(me, dispatch);
			me.worksOn(outer);
		}
	}

	private static void endWork(Participant me) {
		me.worksOn(null);
		Participant.endInterrupt();
	}

	/**
	 * The path of a message in five steps. The thread prepares the work for the
	 * application while it leads, and dispatches it after a promotion or under a lease.
	 * @return whether the event is completely processed
	 */
	private boolean runRound(Participant me, SelectableHandle handle) {
		EngineEventHandler handler = handle.handler;
		try {
			handle.failIfPending();
			if (prepare(me, handler)) {
				HandlerProfile profile = handler.profile();
				try {
					this.policy.beforeDispatch(me, profile, handle.handleSet().leadership, handler.more(me));
					handler.dispatch(me);
				}
				finally {
					this.policy.afterDispatch(me, profile);
				}
			}
			return handler.release(me);
		}
		catch (Throwable ex) {
			// Handlers catch the failures of the application, so this one is a failure of
			// the engine's own handler.
			if (handle.closeAfterFailure(me, ex)) {
				this.failureLog.error(
						handle.isMarkedClosed() ? "%s failed; its handle is closed" : "%s failed; it continues later",
						handle, ex);
				return true;
			}
			return false;
		}
	}

	/** If code of the application decodes, it runs like a handler: it may block. */
	private boolean prepare(Participant me, EngineEventHandler handler) {
		HandlerProfile profile = handler.preparation();
		if (profile == null) {
			return handler.prepare(me);
		}
		try {
			this.policy.beforePreparation(me, profile);
			return handler.prepare(me);
		}
		finally {
			this.policy.afterDispatch(me, profile);
		}
	}

	/**
	 * The path of an event that belongs to no handle. The wait has prepared it already,
	 * and only the place of the thread has to be released.
	 */
	private void process(Participant me, LedSource.SourceEvent<?> event) {
		me.begin(event);
		try {
			try {
				beforeDispatch(me, event);
				event.dispatch();
			}
			finally {
				this.policy.afterDispatch(me, event.profile());
			}
		}
		finally {
			this.sources.end(me, event.source());
			endWork(me);
		}
	}

	/**
	 * The source has handed the event over, so the event is handled even if this method
	 * fails.
	 */
	private void beforeDispatch(Participant me, LedSource.SourceEvent<?> event) {
		try {
			try {
				this.sources.begin(me, event.source());
			}
			finally {
				this.policy.beforeDispatch(me, event.profile(), event.source().leadership, 0);
			}
		}
		catch (Throwable ex) {
			this.failureLog.error("Promoting a leader of event source '%s' failed", event.source(), ex);
		}
	}

}
