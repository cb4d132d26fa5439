package org.leaderfollowers;

import java.util.Iterator;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReference;

import org.jspecify.annotations.Nullable;
import org.leaderfollowers.internal.demultiplexing.HandleState.Release;
import org.leaderfollowers.internal.logging.EngineLog;
import org.leaderfollowers.internal.promotion.Clock;
import org.leaderfollowers.internal.promotion.HandledWork;
import org.leaderfollowers.internal.promotion.HandlerProfile;

/**
 * The pace of an evacuation: drains the connections of a server in groups, with pauses in
 * between.
 * <p>
 * This is a concrete event handler without a channel. Its only event is the deadline of
 * its handle, when the next group is due, so it needs no thread of its own. Only the
 * owner of the handle drains connections, one thread at a time.
 * <p>
 * The phases: CLOSING_PORT until the server accepts nothing more, because only then are
 * all connections known. PACING while connections are drained in groups. OVER when the
 * last connection has been told, or when the server drains the rest at once. A connection
 * that drains has its mark set before its owner is asked to look, so it either sees the
 * mark when it is released, or looks.
 * <p>
 * A pause begins after its group was told, by the clock of that moment. If the process
 * stands still, in the middle of a group or between two groups, no second group follows
 * before the pause has passed.
 */
final class Evacuation implements EngineEventHandler {

	private static final long RETRY_NANOS = TimeUnit.SECONDS.toNanos(1);

	private final ConnectionContext context;

	private final HandledWork work;

	private final SelectableHandle handle;

	private final AtomicReference<Phase> phase = new AtomicReference<>(Phase.CLOSING_PORT);

	private volatile CloseRate rate;

	/** When the next group is due. Written by the owner. */
	private volatile long nextNanos = NO_DEADLINE;

	// Used by the owner only

	/** The connections that have not been reached, or {@code null} before the first. */
	private @Nullable Iterator<TcpConnection> rest;

	private long toldNanos;

	private enum Phase {

		CLOSING_PORT, PACING, OVER

	}

	Evacuation(ConnectionContext context, HandleSets handleSets, CloseRate rate) {
		this.context = context;
		this.work = new HandledWork("evacuation of server '" + context.server().name() + "'", context.server().name(),
				null);
		this.rate = rate;
		this.handle = handleSets.newTimer(this);
		this.handle.pause();
	}

	/** Begins to drain connections, unless the evacuation is over already. */
	void begin() {
		this.phase.compareAndSet(Phase.CLOSING_PORT, Phase.PACING);
		look();
	}

	/** Leaves the connections that have not been reached to the caller. Any thread. */
	void end() {
		this.phase.set(Phase.OVER);
		this.context.server().drainAll();
		look();
	}

	/**
	 * Changes the rate. The pause that has begun is measured by the new rate. Any thread.
	 * @return {@code false} if the evacuation is over
	 */
	boolean rate(CloseRate rate) {
		if (this.phase.get() == Phase.OVER) {
			return false;
		}
		this.rate = rate;
		look();
		return true;
	}

	/** The current state, or {@code null} if the evacuation is over. Any thread. */
	ServerSnapshot.@Nullable Evacuation snapshot() {
		if (this.phase.get() == Phase.OVER) {
			return null;
		}
		long left = this.context.registry().all().stream().filter(Evacuation::isLeft).count();
		return new ServerSnapshot.Evacuation(this.rate, (int) left);
	}

	private static boolean isLeft(TcpConnection connection) {
		return connection.isOpen() && !connection.drains;
	}

	private void look() {
		this.handle.request(SelectableHandle.LOOK);
	}

	@Override
	public boolean prepare(Participant me) {
		this.nextNanos = (this.phase.get() == Phase.PACING) ? proceed(this.rate) : NO_DEADLINE;
		return false;
	}

	/** Drains the next group if it is due. Returns when the following one is due. */
	private long proceed(CloseRate current) {
		Iterator<TcpConnection> connections = this.rest;
		if (connections == null) {
			connections = this.context.registry().all().iterator();
			// First: if the group fails, the next attempt looks when it was told.
			this.toldNanos = nanoTime();
			this.rest = connections;
		}
		else if (nanoTime() - (this.toldNanos + current.pauseNanos()) < 0) {
			return this.toldNanos + current.pauseNanos();
		}
		int told = 0;
		while (told < current.groupSize() && connections.hasNext()) {
			TcpConnection connection = connections.next();
			// Connections that have closed by themselves take nobody's turn.
			if (isLeft(connection)) {
				connection.drain();
				told++;
			}
		}
		this.toldNanos = nanoTime();
		if (connections.hasNext()) {
			return this.toldNanos + current.pauseNanos();
		}
		if (this.phase.compareAndSet(Phase.PACING, Phase.OVER)) {
			// A connection that was still being accepted when the port was closed by
			// force may be missing in the iteration. It either sees that all connections
			// drain when it is released, or is found here.
			this.context.server().drainAll();
			this.context.registry().all().stream().filter(Evacuation::isLeft).forEach(TcpConnection::drain);
		}
		return NO_DEADLINE;
	}

	private long nanoTime() {
		return this.context.clock().nanoTime();
	}

	/** Keeps its pace even if all threads of the pool wait for replies or messages. */
	@Override
	public boolean prepareReplies(Participant me) {
		prepare(me);
		return true;
	}

	@Override
	public void dispatch(Participant me) {
		throw new IllegalStateException("nothing was prepared");
	}

	@Override
	public boolean release(Participant me) {
		if (this.phase.get() == Phase.OVER) {
			this.handle.closeByOwner();
			return true;
		}
		long scheduled = this.handle.timerDeadline;
		long next = this.nextNanos;
		if (next != NO_DEADLINE && (scheduled == NO_DEADLINE || next - scheduled < 0)) {
			this.handle.request(SelectableHandle.TIMER);
		}
		return this.handle.pause() == Release.RELEASED;
	}

	@Override
	public long deadline(long nowNanos) {
		return this.nextNanos;
	}

	@Override
	public HandlerProfile profile() {
		return this.handle.profile();
	}

	/** Memory may be short for a while. The evacuation then continues later. */
	@Override
	public boolean failed(Participant me, Throwable failure) {
		this.nextNanos = nanoTime() + RETRY_NANOS;
		this.handle.pauseUntilDeadline();
		EngineLog.INSTANCE.error("The {} failed; it continues later", this.work.handle(), failure);
		return false;
	}

	@Override
	public void abandon() {
		this.phase.set(Phase.OVER);
	}

	@Override
	public HandledWork work() {
		return this.work;
	}

	@Override
	public String toString() {
		return this.work.handle();
	}

}
