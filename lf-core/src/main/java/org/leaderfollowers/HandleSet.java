package org.leaderfollowers;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.channels.CancelledKeyException;
import java.nio.channels.ClosedChannelException;
import java.nio.channels.ClosedSelectorException;
import java.nio.channels.SelectionKey;
import java.nio.channels.Selector;
import java.nio.channels.SocketChannel;
import java.nio.channels.spi.SelectorProvider;
import java.time.Duration;
import java.util.ConcurrentModificationException;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;

import org.jspecify.annotations.Nullable;
import org.leaderfollowers.internal.demultiplexing.Deadlines;
import org.leaderfollowers.internal.demultiplexing.HandleState.Claim;
import org.leaderfollowers.internal.demultiplexing.HandleState;
import org.leaderfollowers.internal.demultiplexing.PrematureReturns;
import org.leaderfollowers.internal.demultiplexing.ReadyQueue;
import org.leaderfollowers.internal.demultiplexing.UpdateQueue;
import org.leaderfollowers.internal.logging.EngineLog;
import org.leaderfollowers.internal.logging.FailureLog;
import org.leaderfollowers.internal.promotion.Clock;
import org.leaderfollowers.internal.promotion.Leadership;
import org.leaderfollowers.internal.promotion.PromotionProtocol;
import org.leaderfollowers.internal.promotion.Unfolding;

/**
 * An iterative handle set (the paper, activity 1.2): one thread at a time, its leader,
 * waits until operations on some of its handles can be initiated without blocking.
 * <p>
 * Other threads {@link #request} changes (register a handle, activate it again, wake the
 * leader up); the leader applies all of them before its next wait. So the interest of a
 * handle is only ever changed by the leader, and many changes cost one wake-up.
 */
public final class HandleSet {

	private static final EngineLog logger = EngineLog.INSTANCE;

	private static final long REBUILD_INTERVAL_NANOS = TimeUnit.SECONDS.toNanos(10);

	private static final long BROKEN_SELECTOR_PAUSE_NANOS = TimeUnit.MILLISECONDS.toNanos(10);

	private final String name;

	private final HandleSets siblings;

	private final Clock clock;

	private final SelectorProvider selectorProvider;

	private final FailureLog failureLog;

	/** Who leads. */
	final Leadership leadership;

	final ReadyQueue<SelectableHandle> ready = new ReadyQueue<>();

	private final UpdateQueue updates = new UpdateQueue(this::wakeUp);

	private final Deadlines<SelectableHandle> deadlines = new Deadlines<>();

	private final EventCounters events = new EventCounters();

	private volatile Selector selector;

	/**
	 * What opens the leadership when this rests. Written before any thread takes part.
	 */
	@Nullable Unfolding unfolding;

	/** Whether the leader waits for as long as it takes. */
	private volatile boolean longWait;

	// The leader's: handed on with the leadership

	private final Consumer<SelectionKey> onReady = this::ready;

	private final UpdateQueue.Consumer<SelectableHandle> onUpdate = this::applyUpdate;

	private final Consumer<SelectableHandle> onExpiry = this::expired;

	private long nowNanos;

	/** For how long its leaders have waited. Read by a leader of another set. */
	private volatile long waitedNanos;

	/** Whether any handle has become ready since the wait began. */
	private boolean anyReady;

	private final PrematureReturns prematureReturns = new PrematureReturns();

	private long rebuiltNanos;

	HandleSet(String name, int index, HandleSets siblings, Clock clock, SelectorProvider selectorProvider,
			FailureLog failureLog) {
		this.name = name;
		this.siblings = siblings;
		this.clock = clock;
		this.selectorProvider = selectorProvider;
		this.failureLog = failureLog;
		this.nowNanos = clock.nanoTime();
		this.leadership = new WaitingLeadership(index, this.nowNanos, !siblings.deal().isInUse(index));
		this.rebuiltNanos = this.nowNanos - REBUILD_INTERVAL_NANOS;
		try {
			this.selector = selectorProvider.openSelector();
			// The JDK initialises its closing of sockets when the first one is closed,
			// for which it needs descriptors. If there are none then, no socket of this
			// process can ever be closed (JDK 17).
			SocketChannel.open().close();
		}
		catch (IOException ex) {
			throw new UncheckedIOException("Opening the selector of handle set '%s' failed".formatted(name), ex);
		}
	}

	/**
	 * The leadership of this set, whose leader waits at its selector.
	 */
	private final class WaitingLeadership extends Leadership {

		WaitingLeadership(int index, long nowNanos, boolean rests) {
			super(index, nowNanos);
			if (rests) {
				rest();
				HandleSet.this.updates.beginWait();
			}
		}

		@Override
		protected boolean isWaitedOn() {
			return HandleSet.this.updates.isWaitedFor() && !isResting();
		}

		@Override
		protected long waitedNanos() {
			return HandleSet.this.waitedNanos;
		}

		@Override
		protected boolean isWanted() {
			// A late end of a long wait may have used up the announcement: the next
			// request would not open the leadership.
			return isInUse() || !HandleSet.this.updates.isEmpty() || !HandleSet.this.updates.isWaitedFor();
		}

		@Override
		protected int readyHandles() {
			return HandleSet.this.ready.size();
		}

		@Override
		protected void endLongWait() {
			if (HandleSet.this.longWait) {
				HandleSet.this.updates.wakeLeader();
			}
		}

	}

	/**
	 * The name of the handle set.
	 * @return the name of its pool and its number
	 */
	public String name() {
		return this.name;
	}

	/**
	 * Asks the leader for something. Any thread.
	 * @param handle what it is about
	 * @param requests constants of {@link SelectableHandle}
	 */
	void request(SelectableHandle handle, int requests) {
		this.updates.request(handle, requests);
	}

	void wakeLeader() {
		if (!this.leadership.isResting()) {
			this.updates.wakeLeader();
		}
	}

	/** Ends the wait of the leader, or the next one. */
	void wakeSelector() {
		this.selector.wakeup();
	}

	private void wakeUp() {
		Unfolding opener = this.unfolding;
		if (opener != null && this.leadership.isResting()) {
			opener.open(this.leadership);
		}
		else {
			this.selector.wakeup();
		}
	}

	/**
	 * Whether no handles are dealt to the set any more, and it has none left. Called by
	 * the leader, who applies the updates that are requested.
	 */
	boolean isDeserted() {
		if (isInUse()) {
			return false;
		}
		applyUpdates();
		return this.selector.keys().isEmpty() && this.ready.isEmpty();
	}

	/** The leader gives the set up; whoever requests something of it ends its rest. */
	void rest(Participant me, Unfolding rests) {
		this.longWait = false;
		// As if it waited: the next request wakes it up.
		this.updates.beginWait();
		rests.rest(me);
	}

	/** The time of the latest return from a wait, {@link System#nanoTime()}. */
	long nowNanos() {
		return this.nowNanos;
	}

	/**
	 * Applies the updates that were requested, then waits for events and puts them on the
	 * {@link #ready} queue. Called by the leader.
	 * @param deadlineNanos return then at the latest, with or without events
	 * @param promotion tells for how long the leader may wait
	 * @param holds whether the handles on the queue are held for other threads, and are
	 * no reason not to wait
	 */
	void await(long deadlineNanos, PromotionProtocol promotion, boolean holds) {
		if (this.ready.isEmpty()) {
			this.ready.clear();
		}
		this.anyReady = !holds && !this.ready.isEmpty();
		this.updates.applyUpdates(SelectableHandle.class, this.onUpdate);
		long now = this.clock.nanoTime();
		this.nowNanos = now;
		this.deadlines.poll(now, this.onExpiry);
		long wait = Math.min(this.deadlines.maxWaitNanos(now), deadlineNanos - now);
		try {
			if (!this.longWait) {
				this.longWait = true;
			}
			if (this.anyReady || wait <= 0 || !this.updates.beginWait() || promotion.isStopping()) {
				// Something is to be done already; the kernel may know of more.
				this.updates.endWait();
				this.selector.selectNow(this.onReady);
				this.nowNanos = this.clock.nanoTime();
			}
			else {
				// After the announcement: whoever leaves another handle set without a
				// leader, or deals no more handles to this one, does that first, and then
				// looks whether this one waits for long.
				wait = Math.min(wait, maxWaitNanos(promotion));
				this.longWait = wait > PromotionProtocol.ROTATION_NANOS;
				long millis = TimeUnit.NANOSECONDS.toMillis(wait) + 1;
				int count = this.selector.select(this.onReady, millis);
				boolean woken = this.updates.endWait();
				this.nowNanos = this.clock.nanoTime();
				this.waitedNanos += this.nowNanos - now;
				if (count != 0 || woken || this.nowNanos - now >= wait) {
					this.prematureReturns.clear();
				}
				else if (this.prematureReturns.add(now, this.nowNanos)) {
					rebuild("it returned %d times in a row without an event".formatted(this.prematureReturns.count()),
							null, promotion);
				}
			}
		}
		catch (IOException | RuntimeException ex) {
			this.updates.endWait();
			rebuild("waiting failed", ex, promotion);
		}
	}

	private long maxWaitNanos(PromotionProtocol promotion) {
		boolean isDeserted = !isInUse() && this.selector.keys().isEmpty();
		return isDeserted ? PromotionProtocol.ROTATION_NANOS : promotion.maxWaitNanos();
	}

	/**
	 * Applies the updates that were requested, without waiting and without taking events,
	 * which are reported again to the next leader. Frees the descriptors of closed
	 * channels.
	 */
	void applyUpdates() {
		this.updates.applyUpdates(SelectableHandle.class, this.onUpdate);
		// What is closed by these is gone by the next.
		this.updates.applyUpdates(SelectableHandle.class, this.onUpdate);
		freeClosedChannels();
	}

	/** Has the selector free closed channels. By the leader: others would wait for it. */
	void freeClosedChannels() {
		try {
			this.selector.selectNow((key) -> {
			});
		}
		catch (IOException | ClosedSelectorException ex) {
			logger.debug("Handle set '{}' could not be looked at", this.name, ex);
		}
	}

	private void ready(SelectionKey key) {
		SelectableHandle handle = (SelectableHandle) key.attachment();
		try {
			int operations = key.readyOps();
			if (operations != 0 && !movesOn(handle, operations)) {
				this.events.add(operations);
				demultiplex(handle, operations);
			}
		}
		catch (CancelledKeyException ex) {
			// Closed by its owner between the wait and now; its GONE is on the way.
		}
		catch (Throwable ex) {
			// Out of memory, for example. The handle is reported again.
			this.failureLog.error("Leading handle set '%s' failed", this, ex);
		}
	}

	/**
	 * Has a handle that is dealt to another set by now go there, where it fires again. If
	 * it is owned, it goes with a later event.
	 */
	private boolean movesOn(SelectableHandle handle, int fired) {
		HandleSet other = this.siblings.of(handle);
		if (other == this || fired != SelectionKey.OP_READ || !handle.handler.isMovable() || !handle.disarm()) {
			return false;
		}
		this.deadlines.cancel(handle);
		handle.moveTo(other);
		return true;
	}

	/** Claims a handle that has something to do, for the thread that takes it. */
	private void demultiplex(SelectableHandle handle, int fired) {
		int events = fired;
		if ((events & SelectionKey.OP_WRITE) != 0) {
			events = handle.handler.notifyWritable(events);
			applyInterest(handle);
		}
		if (events == 0) {
			return;
		}
		this.ready.reserve();
		Claim claim = ((events & SelectableHandle.LOOK) != 0) ? handle.claimForLook() : handle.claimFired();
		switch (claim) {
			case CLAIMED -> {
				handle.claimedEvents = (byte) events;
				if ((events & SelectionKey.OP_CONNECT) != 0) {
					// Once the connection is finished, the JDK hides the event, but the
					// kernel reports it: the next leader would spin. So the handle is
					// deactivated now, as if it had fired again.
					handle.claimFired();
					deactivate(handle);
				}
				this.ready.add(handle);
				this.anyReady = true;
			}
			case OWNER_LOOKS_AGAIN, UNWANTED -> {
				deactivate(handle);
				handle.handler.ownerLooksAgain();
				// The owner may be this leader, bound: it looks before it waits.
				this.anyReady = true;
			}
			case STALE -> {
			}
		}
	}

	private void applyUpdate(SelectableHandle handle, int requests) {
		if (handle.handleSet() != this) {
			// It has moved since.
			handle.request(requests);
			return;
		}
		if (handle.isMarkedClosed()) {
			this.deadlines.cancel(handle);
			if ((requests & SelectableHandle.GONE) != 0) {
				handle.handler.gone();
			}
			return;
		}
		try {
			grant(handle, requests);
		}
		catch (Error ex) {
			// Out of memory, most likely. Nobody asks again for what was not done.
			request(handle, requests);
			throw ex;
		}
	}

	/** What has been done already is not done again. */
	private void grant(SelectableHandle handle, int requests) {
		if ((requests & SelectableHandle.REGISTER) != 0) {
			register(handle);
		}
		if (((requests & SelectableHandle.REARM) != 0 && handle.arm())
				|| ((requests & SelectableHandle.ARM_OWNED) != 0 && handle.armOwned())) {
			handle.active = true;
		}
		applyInterest(handle);
		if ((requests & SelectableHandle.TIMER) != 0) {
			schedule(handle);
		}
		if ((requests & SelectableHandle.LOOK) != 0) {
			look(handle);
		}
	}

	private void look(SelectableHandle handle) {
		if (!handle.handler.lookAtOnce()) {
			demultiplex(handle, SelectableHandle.LOOK);
		}
	}

	private void register(SelectableHandle handle) {
		try {
			if (handle.channel().keyFor(this.selector) != null) {
				// It was here before, and its old key is not gone yet.
				freeClosedChannels();
			}
			handle.key = handle.channel().register(this.selector, 0, handle);
			return;
		}
		catch (ClosedChannelException ex) {
			logger.debug("{} was closed before it was registered", handle);
		}
		catch (RuntimeException ex) {
			handle.closeChannel();
			this.failureLog.error("%s could not be registered and is closed", handle, ex);
			handle.handler.registrationFailed(ex);
		}
		// Its owner finds the channel closed.
		demultiplex(handle, SelectableHandle.LOOK);
	}

	/** Deactivates a handle that fired though owned or unwanted. Called by the leader. */
	void deactivate(SelectableHandle handle) {
		handle.active = false;
		applyInterest(handle);
	}

	/**
	 * Tells the selector what the handle is interested in, if that has changed. Called by
	 * the leader.
	 */
	void applyInterest(SelectableHandle handle) {
		int operations = handle.active ? handle.operations() : 0;
		// Derived, not stored: a sender that adds bytes now requests another look at
		// this.
		if (handle.handler.hasPendingBytes()) {
			operations |= SelectionKey.OP_WRITE;
		}
		SelectionKey key = handle.key;
		if (key == null || operations == handle.registeredOperations) {
			return;
		}
		try {
			key.interestOps(operations);
			handle.registeredOperations = (byte) operations;
		}
		catch (CancelledKeyException ex) {
			// Closed meanwhile; its GONE is on the way.
		}
	}

	private void schedule(SelectableHandle handle) {
		this.deadlines.cancel(handle);
		// Before the handler is asked: an owner that sets a deadline which this misses
		// sees that there is no timer, and requests one.
		handle.timerDeadline = EngineEventHandler.NO_DEADLINE;
		long deadline = handle.handler.deadline(this.nowNanos);
		if (deadline != EngineEventHandler.NO_DEADLINE) {
			handle.timerDeadline = deadline;
			this.deadlines.schedule(handle, deadline);
		}
	}

	private void expired(SelectableHandle handle) {
		if (handle.isMarkedClosed()) {
			return;
		}
		handle.timerDeadline = EngineEventHandler.NO_DEADLINE;
		long deadline = handle.handler.deadline(this.nowNanos);
		if (deadline != EngineEventHandler.NO_DEADLINE && deadline - this.nowNanos <= 0) {
			handle.handler.expire(this.nowNanos);
			demultiplex(handle, SelectableHandle.LOOK);
			deadline = handle.handler.deadline(this.nowNanos);
			if (deadline != EngineEventHandler.NO_DEADLINE && deadline - this.nowNanos <= 0) {
				// The one who looks decides, and requests a timer if there is a later
				// one.
				return;
			}
		}
		schedule(handle);
	}

	/**
	 * Replaces a selector that does not wait any more, the old remedy for defects of
	 * kernels and runtimes (Netty has carried it since 2012). Not more than once in ten
	 * seconds: in between the leader pauses, so that a broken selector does not burn a
	 * processor.
	 */
	private void rebuild(String reason, @Nullable Exception cause, PromotionProtocol promotion) {
		this.prematureReturns.clear();
		if (promotion.isStopping()) {
			return;
		}
		if (this.nowNanos - this.rebuiltNanos < REBUILD_INTERVAL_NANOS) {
			this.clock.parkNanos(this, BROKEN_SELECTOR_PAUSE_NANOS);
			this.nowNanos = this.clock.nanoTime();
			return;
		}
		this.rebuiltNanos = this.nowNanos;
		logger.warn("The selector of handle set '{}' is replaced: {}", this.name, reason, cause);
		Selector broken = this.selector;
		try {
			Selector replacement = this.selectorProvider.openSelector();
			for (SelectionKey key : broken.keys()) {
				SelectableHandle handle = (SelectableHandle) key.attachment();
				if (key.isValid()) {
					try {
						handle.key = handle.channel().register(replacement, handle.registeredOperations, handle);
					}
					catch (ClosedChannelException ex) {
						demultiplex(handle, SelectableHandle.LOOK);
					}
				}
			}
			this.selector = replacement;
			broken.close();
		}
		catch (IOException ex) {
			logger.error("The selector of handle set '{}' could not be replaced; it is tried again", this.name, ex);
		}
	}

	/**
	 * Closes what is left. Called by the last thread of the pool.
	 */
	void close() {
		try {
			for (SelectableHandle left = this.ready.take(); left != null; left = this.ready.take()) {
				left.giveBack();
			}
			this.updates.applyUpdates(SelectableHandle.class, (handle, requests) -> handle.handler.abandon());
			for (SelectionKey key : this.selector.keys()) {
				((SelectableHandle) key.attachment()).handler.abandon();
			}
			// Frees the descriptors of the channels that were closed.
			this.selector.selectNow();
			this.selector.close();
		}
		catch (IOException ex) {
			logger.warn("Closing handle set '{}' failed", this.name, ex);
		}
	}

	/**
	 * A look at the set.
	 * @param leader the name of the thread that leads it
	 * @param vacantFor for how long it has had no leader
	 * @param sharing how the leader is helped
	 */
	PoolSnapshot.HandleSetSnapshot snapshot(@Nullable String leader, Duration vacantFor,
			PoolSnapshot.SharingSnapshot sharing) {
		int registered = 0;
		int active = 0;
		try {
			for (SelectionKey key : this.selector.keys()) {
				registered++;
				active += ((SelectableHandle) key.attachment()).isArmed() ? 1 : 0;
			}
		}
		catch (ConcurrentModificationException | ClosedSelectorException ex) {
			// The JDK's set does not throw the former; another one's may: the count is of
			// a moment. The latter: the pool is closed.
		}
		return new PoolSnapshot.HandleSetSnapshot(this.name, leader, this.leadership.term(), registered, active,
				registered - active, this.events.counts(), vacantFor, this.ready.size(), sharing, isInUse());
	}

	private boolean isInUse() {
		return this.siblings.deal().isInUse(this.leadership.index());
	}

	@Override
	public String toString() {
		return this.name;
	}

}
