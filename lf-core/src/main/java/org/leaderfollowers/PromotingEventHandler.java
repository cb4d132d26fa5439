package org.leaderfollowers;

import java.nio.channels.SelectionKey;

/**
 * Decorates an application's {@link EventHandler} with the promotion of a new leader
 * before each dispatch and the release of the handle after it: the paper's
 * {@code LF_Event_Handler} (activity 5.1). The handle was claimed by the leader, which
 * takes the place of the paper's deactivation.
 */
final class PromotingEventHandler implements EngineEventHandler {

	private final LeaderFollowersPool pool;

	private final EventHandler concreteEventHandler;

	private final HandledWork work;

	PromotingEventHandler(LeaderFollowersPool pool, EventHandler concreteEventHandler) {
		this.pool = pool;
		this.concreteEventHandler = concreteEventHandler;
		this.work = new HandledWork(toString(), null, toString());
	}

	@Override
	public void handleEvent(Handle handle, EventType type) {
		SelectableHandle selectable = (SelectableHandle) handle;
		if ((selectable.claimedEvents & SelectionKey.OP_CONNECT) != 0) {
			// As soon as the handler has finished the connection, the JDK reports the
			// event no more, but the kernel goes on: the next leader would turn without
			// ever seeing which handle to deactivate. So it is done now, as if it had
			// fired.
			selectable.claimFired();
			selectable.handleSet().deactivate(selectable);
		}
		Participant me = Participant.current();
		if (me != null) {
			this.pool.beginDispatch(me, selectable.profile);
		}
		try {
			int operations = selectable.claimedEvents & selectable.operations();
			for (; operations != 0 && !selectable.closeRequested; operations &= operations - 1) {
				this.concreteEventHandler.handleEvent(handle, EventType.first(Integer.lowestOneBit(operations)));
			}
		}
		catch (Throwable ex) {
			selectable.closeRequested = true;
			this.pool.logFailure("%s failed; its handle is closed", this, ex);
		}
		do {
			if (selectable.closeRequested || !selectable.channel().isOpen()) {
				selectable.closeByOwner();
				return;
			}
		}
		while (!selectable.releaseOrLookAgain());
	}

	@Override
	public HandledWork work() {
		return this.work;
	}

	static int operations(EventType... types) {
		int operations = EventType.operations(types);
		if (operations == 0) {
			throw new IllegalArgumentException("'types' must name at least one event type");
		}
		if ((operations & SelectionKey.OP_CONNECT) != 0 && (operations & SelectionKey.OP_ACCEPT) != 0) {
			throw new IllegalArgumentException("'types' must not hold both ACCEPT and CONNECT");
		}
		return operations;
	}

	@Override
	public String toString() {
		return this.concreteEventHandler.getClass().getName();
	}

}
