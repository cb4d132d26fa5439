package org.leaderfollowers;

import java.nio.channels.SelectableChannel;
import java.nio.channels.SelectionKey;

import org.leaderfollowers.internal.promotion.HandledWork;
import org.leaderfollowers.internal.promotion.HandlerProfile;

/**
 * Runs an {@link EventHandler} of the application as a handler of the engine. Together
 * with the promotion before each dispatch and the release of the handle after it, this is
 * the paper's {@code LF_Event_Handler} (activity 5.1). The leader has claimed the handle,
 * which replaces the deactivation of the paper.
 */
final class RawEventHandler implements EngineEventHandler {

	private final EventHandler concreteEventHandler;

	private final HandledWork work;

	private final SelectableHandle handle;

	RawEventHandler(SelectableChannel channel, EventHandler concreteEventHandler, HandleFactory handles) {
		this.concreteEventHandler = concreteEventHandler;
		this.work = new HandledWork(toString(), null, toString());
		this.handle = handles.newHandle(channel, this);
	}

	/** Registers the handle with its handle set. */
	SelectableHandle open() {
		this.handle.release();
		this.handle.request(SelectableHandle.REGISTER | SelectableHandle.REARM);
		return this.handle;
	}

	@Override
	public boolean prepare(Participant me) {
		return wantedEvents() != 0;
	}

	private int wantedEvents() {
		return this.handle.closeRequested ? 0 : this.handle.claimedEvents & this.handle.operations();
	}

	@Override
	public void dispatch(Participant me) throws Exception {
		for (int events = wantedEvents(); events != 0 && !this.handle.closeRequested; events &= events - 1) {
			this.concreteEventHandler.handleEvent(this.handle, EventType.first(Integer.lowestOneBit(events)));
		}
	}

	@Override
	public boolean release(Participant me) {
		this.handle.claimedEvents = 0;
		if (this.handle.closeRequested || !this.handle.channel().isOpen()) {
			this.handle.closeByOwner();
			return true;
		}
		return this.handle.releaseOrLookAgain();
	}

	@Override
	public HandlerProfile profile() {
		return this.handle.profile();
	}

	@Override
	public boolean failed(Participant me, Throwable failure) {
		this.handle.closeRequested = true;
		if (!this.handle.isMarkedClosed()) {
			this.handle.closeByOwner();
		}
		return false;
	}

	@Override
	public void abandon() {
		this.handle.closeChannel();
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
			throw new IllegalArgumentException("'types' must not contain both ACCEPT and CONNECT");
		}
		return operations;
	}

	@Override
	public String toString() {
		return this.concreteEventHandler.getClass().getName();
	}

}
