package org.leaderfollowers;

import java.util.concurrent.TimeUnit;
import java.util.function.BooleanSupplier;

import org.leaderfollowers.internal.exchange.Exchange;
import org.leaderfollowers.internal.exchange.Exchange.State;
import org.leaderfollowers.internal.logging.FailureLog;
import org.leaderfollowers.internal.promotion.BoundThreads;
import org.leaderfollowers.internal.promotion.Clock;
import org.leaderfollowers.internal.promotion.Leadership;
import org.leaderfollowers.internal.promotion.PromotionProtocol;
import org.leaderfollowers.internal.promotion.Unfolding;

/**
 * How a thread of the pool waits for a reply in the middle of a handler. Meanwhile it
 * leads if no other thread can: read {@link #await} and the methods below it (the paper,
 * 10.1 to 10.4). A pool with one thread can therefore finish a request that sends a
 * request itself.
 * <p>
 * While the thread leads, it passes replies to the threads that wait for them. It leaves
 * handlers of other events to other threads. If there is no other thread,
 * {@link NestedDispatch} decides: either the events are kept until there is one, or they
 * are processed on top of the waiting handler.
 */
final class BoundWait implements Participant.ReplyWait {

	private static final long SOON_NANOS = TimeUnit.MILLISECONDS.toNanos(10);

	private final HandleSets handleSets;

	private final PromotionProtocol promotion;

	private final BoundThreads bound;

	private final Unfolding unfolding;

	private final NestedUpcalls upcalls;

	private final Clock clock;

	private final FailureLog failureLog;

	BoundWait(HandleSets handleSets, PromotionProtocol promotion, Unfolding unfolding, NestedUpcalls upcalls,
			Clock clock, FailureLog failureLog) {
		this.handleSets = handleSets;
		this.promotion = promotion;
		this.bound = promotion.bound();
		this.unfolding = unfolding;
		this.upcalls = upcalls;
		this.clock = clock;
		this.failureLog = failureLog;
	}

	@Override
	public Clock clock() {
		return this.clock;
	}

	@Override
	public State await(Participant me, Exchange exchange) {
		boolean binds = me.boundInput.bind();
		try {
			me.boundInput.read();
			if (exchange.state() == State.PENDING) {
				awaitBound(me, exchange);
			}
			// Still pending: usually because the pool stops. Otherwise the exchange has
			// ended or is about to end.
			return exchange.await(this.clock);
		}
		finally {
			if (binds) {
				me.boundInput.unbind();
			}
		}
	}

	private void awaitBound(Participant me, Exchange exchange) {
		this.promotion.promoteNewLeader(me);
		BooleanSupplier over = () -> exchange.state() != State.PENDING || me.boundInput.isWanted()
				|| Thread.currentThread().isInterrupted();
		boolean goesOn = true;
		while (goesOn) {
			Leadership leadership = this.bound.await(me, over, exchange.deadlineNanos());
			goesOn = leadership != null || me.boundInput.isWanted();
			if (leadership != null) {
				try {
					lead(me, this.handleSets.of(leadership), exchange, over);
				}
				finally {
					// The handler continues, perhaps after a failure, and must not lead.
					this.promotion.promoteNewLeader(me);
				}
			}
			me.boundInput.read();
		}
	}

	private void lead(Participant me, HandleSet set, Exchange exchange, BooleanSupplier over) {
		boolean nests = this.upcalls.mayBegin(me);
		// Allocated before the state is saved, because nothing would restore it.
		Runnable wakes = set::wakeLeader;
		me.nest();
		exchange.wakeBy(wakes);
		Runnable outer = me.boundInput.wakeBy(wakes);
		try {
			boolean leads = true;
			boolean isFirst = true;
			while (leads && !over.getAsBoolean()) {
				boolean isDeserted = set.isDeserted();
				giveOut(me, set, nests);
				if (over.getAsBoolean()) {
					break;
				}
				boolean holds = !set.ready.isEmpty();
				if (this.bound.leavesToOthers(me, holds)) {
					leads = false;
				}
				else if (nests && !set.ready.isEmpty()) {
					nests = runNested(me, set);
					leads = me.leads(set);
				}
				else if (isDeserted && !holds) {
					set.rest(me, this.unfolding);
					leads = false;
				}
				else {
					int held = set.ready.size();
					boolean looksSoon = holds && this.bound.mayStartSoon();
					set.await(looksSoon ? soon(exchange) : exchange.deadlineNanos(), this.promotion, over);
					// What it has found may be replies: it passes them on before it leads
					// the next set, where it may wait. But only once, or a set with many
					// events would keep it from the others.
					if (!isFirst || set.ready.size() <= held) {
						this.promotion.takeTurns(me, nests);
					}
					isFirst = false;
					leads = me.leads(set) && exchange.deadlineNanos() - this.clock.nanoTime() > 0;
				}
			}
		}
		catch (Throwable ex) {
			// For example because memory is short. The thread continues to wait.
			this.failureLog.error("Leading handle set '%s' failed", set, ex);
			this.clock.parkNanos(this, SOON_NANOS);
		}
		finally {
			exchange.wakeBy(null);
			me.boundInput.wakeBy(outer);
			me.unnest();
		}
	}

	/**
	 * Processes one event on top of the waiting handler. Returns whether more handlers
	 * may be run on top of it.
	 */
	private boolean runNested(Participant me, HandleSet set) {
		SelectableHandle handle = Ready.take(set.ready);
		if (handle == null || this.upcalls.run(me, handle)) {
			this.promotion.takeTurns(me, true);
			return true;
		}
		set.ready.reserve();
		set.ready.add(handle);
		return false;
	}

	/** The time of the next check, because no thread could be started for some events. */
	private long soon(Exchange exchange) {
		long soon = this.clock.nanoTime() + SOON_NANOS;
		return (soon - exchange.deadlineNanos() < 0) ? soon : exchange.deadlineNanos();
	}

	/**
	 * Passes on the replies that are ready, and leaves other events to other threads, in
	 * the order in which they came.
	 */
	private void giveOut(Participant me, HandleSet set, boolean nests) {
		for (int i = set.ready.size(); i > 0; i--) {
			// Before an entry is taken: for its return and for a place, so that neither
			// can fail.
			set.ready.reserve();
			Ready next = set.ready.take();
			if (next != null && !(next instanceof SelectableHandle handle && giveOut(me, set, handle, nests))) {
				set.ready.add(next);
			}
		}
	}

	/** Returns {@code false} if another thread has to continue with the handle. */
	private boolean giveOut(Participant me, HandleSet set, SelectableHandle handle, boolean nests) {
		me.turn.begin();
		try {
			handle.failIfPending();
			boolean released = false;
			while (!released && handle.handler.prepareReplies(me)) {
				if (handle.handler.hasPostponed() && (nests || !handle.handler.keepPlace(set))) {
					break;
				}
				released = handle.handler.release(me);
			}
			if (!released) {
				set.timers.hold(handle);
			}
			return released;
		}
		catch (Throwable ex) {
			boolean closed = handle.closeAfterFailure(me, ex);
			this.failureLog.error("%s failed", handle, ex);
			return closed;
		}
	}

}
