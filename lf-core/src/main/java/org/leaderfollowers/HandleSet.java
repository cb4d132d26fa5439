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
import java.util.function.BooleanSupplier;
import java.util.function.Consumer;

import org.jspecify.annotations.Nullable;
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
 * waits for events of its handles.
 * <p>
 * Other threads {@link #request} changes: to register a handle, to activate it again, or
 * to wake the leader. The leader applies all of them before its next wait. Only the
 * leader therefore changes the interest of a handle, and many changes cost one wake-up.
 */
public final class HandleSet {

	private static final EngineLog logger = EngineLog.INSTANCE;

	private static final Consumer<SelectionKey> IGNORE = (key) -> {
	};

	private static final int MOST_ATTEMPTS_TO_CLOSE = 100;

	private static final long BROKEN_SELECTOR_PAUSE_NANOS = TimeUnit.MILLISECONDS.toNanos(10);

	private final String name;

	private final HandleSets siblings;

	private final Clock clock;

	private final FailureLog failureLog;

	/** The leadership of this handle set. */
	final Leadership leadership;

	final ReadyQueue<Ready> ready = new ReadyQueue<>();

	final UpdateQueue updates = new UpdateQueue(this::wakeUp);

	final HandleTimers timers = new HandleTimers(this);

	private final EventCounters events = new EventCounters();

	private volatile Selector selector;

	/** Whether no request will be applied any more. */
	volatile boolean closed;

	/** Reopens this handle set when it rests. Written before any thread joins. */
	@Nullable Unfolding unfolding;

	/** Whether the leader may wait for a long time. */
	private volatile boolean longWait;

	// Used by the leader only; passed on with the leadership

	private final Consumer<SelectionKey> onReady = this::ready;

	private final UpdateQueue.Consumer<SelectableHandle> onUpdate = this::applyUpdate;

	private long nowNanos;

	/** How long its leaders have waited in total. Read by a leader of another set. */
	volatile long waitedNanos;

	/** Whether any handle has become ready since the wait began. */
	private boolean anyReady;

	private final PrematureReturns prematureReturns = new PrematureReturns();

	final SelectorRepair repair;

	HandleSet(String name, int index, HandleSets siblings, Clock clock, SelectorProvider selectorProvider,
			FailureLog failureLog) {
		this.name = name;
		this.siblings = siblings;
		this.clock = clock;
		this.failureLog = failureLog;
		this.nowNanos = clock.nanoTime();
		this.leadership = new WaitingLeadership(index, this.nowNanos, !siblings.deal().isInUse(index));
		this.repair = new SelectorRepair(this, selectorProvider, this.nowNanos);
		try {
			this.selector = selectorProvider.openSelector();
			// The JDK initialises the closing of sockets when the first socket is closed,
			// and needs descriptors for this. If none is left at that time, this process
			// can never close a socket (JDK 17).
			SocketChannel.open().close();
		}
		catch (IOException ex) {
			throw new UncheckedIOException("Opening the selector of handle set '%s' failed".formatted(name), ex);
		}
	}

	/** The leadership of this handle set. Its leader waits at the selector. */
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
			// The late end of a long wait may have consumed the announcement. The next
			// request would then not reopen this handle set.
			return isInUse() || !HandleSet.this.updates.isEmpty() || !HandleSet.this.updates.isWaitedFor();
		}

		@Override
		protected int readyHandles() {
			return HandleSet.this.ready.size();
		}

		@Override
		protected void endWait() {
			HandleSet.this.updates.wakeLeader();
		}

		@Override
		protected void endLongWait() {
			if (HandleSet.this.longWait) {
				endWait();
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
	 * Requests something of the leader. Any thread.
	 * @param handle the handle that the request concerns
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

	/** Ends the current call of the selector or, if there is none, the next one. */
	void wakeSelector() {
		this.selector.wakeup();
	}

	private void wakeUp() {
		Unfolding opener = this.unfolding;
		if (opener != null && this.leadership.isResting()) {
			opener.open(this.leadership);
		}
		else {
			wakeSelector();
		}
	}

	/**
	 * Whether the set gets no new handles and has none left. Called by the leader.
	 * Applies the requested updates first.
	 */
	boolean isDeserted() {
		if (isInUse()) {
			return false;
		}
		applyUpdates();
		return this.selector.keys().isEmpty() && this.ready.isEmpty();
	}

	/** Puts the set to rest until the next request. Called by the leader. */
	void rest(Participant me, Unfolding rests) {
		this.longWait = false;
		// Announced like a wait, so that the next request wakes the set up.
		this.updates.beginWait();
		rests.rest(me);
	}

	/** The time of the latest return from a wait. A watchdog may read it late. */
	long nowNanos() {
		return this.nowNanos;
	}

	/**
	 * Applies the requested updates, then waits for events and puts the ready handles on
	 * the {@link #ready} queue. Called by the leader.
	 * @param deadlineNanos when to return at the latest, with or without events
	 * @param promotion limits how long the leader may wait
	 * @param over if the handles on the queue are held for other threads, and do not
	 * prevent a wait: what prevents it too. A thread that makes this true calls
	 * {@link #wakeLeader} afterwards. {@code null} if no handles are held
	 */
	void await(long deadlineNanos, PromotionProtocol promotion, @Nullable BooleanSupplier over) {
		if (this.ready.isEmpty()) {
			this.ready.clear();
		}
		this.anyReady = over == null && !this.ready.isEmpty();
		Error failure = applyChanges(promotion);
		long now = this.nowNanos;
		long wait = Math.min(this.timers.maxWaitNanos(now), deadlineNanos - now);
		try {
			if (!this.longWait) {
				this.longWait = true;
			}
			if (failure != null || this.anyReady || wait <= 0 || !this.updates.beginWait() || promotion.isStopping()
					|| (over != null && over.getAsBoolean())) {
				// There is work already; the kernel may report more.
				this.updates.endWait();
				this.selector.selectNow(this.onReady);
				this.nowNanos = this.clock.nanoTime();
			}
			else {
				// After the announcement: a thread that leaves another handle set without
				// a leader, or takes this one out of use, does so before it checks
				// whether this leader waits for long.
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
		catch (Error ex) {
			this.updates.endWait();
			this.repair.doubtKeys();
			throw ex;
		}
		if (failure != null) {
			throw failure;
		}
	}

	/**
	 * Applies the requested updates and calls the handles whose deadlines have passed.
	 * @return an error, usually because memory is short: the leader takes the events of
	 * the other handles nevertheless, before it fails
	 */
	private @Nullable Error applyChanges(PromotionProtocol promotion) {
		try {
			this.repair.checkKeys(this.selector);
			if (this.repair.hasLostKey() && this.repair.isAllowed(this.nowNanos)) {
				rebuild("it has lost a closed channel, because memory was short", null, promotion);
			}
			this.updates.applyUpdates(SelectableHandle.class, this.onUpdate);
			this.nowNanos = this.clock.nanoTime();
			this.timers.poll();
			return null;
		}
		catch (Error ex) {
			this.repair.doubtKeys();
			this.nowNanos = this.clock.nanoTime();
			return ex;
		}
	}

	/**
	 * Makes the leader check all keys, because memory was short when one was changed. Any
	 * thread. Allocates nothing.
	 */
	void doubtKeys() {
		this.repair.doubtKeys();
		wakeLeader();
	}

	private long maxWaitNanos(PromotionProtocol promotion) {
		boolean isDeserted = !isInUse() && this.selector.keys().isEmpty();
		return isDeserted ? PromotionProtocol.ROTATION_NANOS : promotion.maxWaitNanos(this.leadership);
	}

	/**
	 * Applies the requested updates without waiting. Takes no events: they are reported
	 * again to the next leader. Frees the descriptors of closed channels.
	 */
	void applyUpdates() {
		this.updates.applyUpdates(SelectableHandle.class, this.onUpdate);
		// The second call applies the requests that the first one has caused.
		this.updates.applyUpdates(SelectableHandle.class, this.onUpdate);
		freeClosedChannels();
	}

	/** Makes the selector free closed channels. Only the leader does not block here. */
	void freeClosedChannels() {
		try {
			this.selector.selectNow(IGNORE);
		}
		catch (IOException | ClosedSelectorException ex) {
			logger.debug("Handle set '{}' could not free closed channels", this.name, ex);
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
			// The owner has closed the handle after the wait; its GONE request follows.
		}
		catch (Throwable ex) {
			// For example because memory is short. Unless it was claimed, the handle is
			// reported again.
			this.repair.doubtKeys();
			this.failureLog.error("Leading handle set '%s' failed", this, ex);
		}
	}

	/**
	 * Moves a handle that now belongs to another handle set. It fires again there. A
	 * handle that is owned moves with a later event.
	 */
	private boolean movesOn(SelectableHandle handle, int fired) {
		HandleSet other = this.siblings.of(handle);
		if (other == this || fired != SelectionKey.OP_READ || !handle.handler.isMovable() || !handle.disarm()) {
			return false;
		}
		this.timers.cancel(handle);
		handle.moveTo(other);
		return true;
	}

	/** Claims a handle that has work, for the thread that will take it. The leader. */
	void demultiplex(SelectableHandle handle, int fired) {
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
				try {
					if ((events & SelectionKey.OP_CONNECT) != 0) {
						// After the connection is finished, the JDK hides the event but
						// the kernel still reports it, so the next leader would spin. The
						// handle is therefore deactivated now, as if it had fired again.
						handle.claimFired();
						deactivate(handle);
					}
				}
				finally {
					// Even if memory is short: a handle that is claimed must not be lost.
					this.ready.add(handle);
					this.anyReady = true;
				}
			}
			case OWNER_LOOKS_AGAIN, UNWANTED -> {
				deactivate(handle);
				handle.handler.ownerLooksAgain();
				// The owner may be this leader, which must look before it waits.
				this.anyReady = true;
			}
			case STALE -> {
			}
		}
	}

	private void applyUpdate(SelectableHandle handle, int requests) {
		if (handle.handleSet() != this) {
			// The handle has moved to another set since the request.
			handle.requestThere(requests, this);
			return;
		}
		if (handle.isMarkedClosed()) {
			this.timers.cancel(handle);
			if ((requests & SelectableHandle.GONE) != 0) {
				handle.handler.gone();
			}
			return;
		}
		if ((requests & SelectableHandle.MOVE) != 0) {
			this.timers.cancel(handle);
			handle.handler.moveOut();
			return;
		}
		try {
			grant(handle, requests);
		}
		catch (Error ex) {
			// Usually because memory is short. No other thread repeats the requests.
			this.repair.doubtKeys();
			request(handle, requests);
			throw ex;
		}
	}

	/** Executes the requests that have not been executed yet. */
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
			this.timers.schedule(handle);
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
				// The handle was in this set before, and its old key still exists.
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
		// The owner will find the channel closed.
		demultiplex(handle, SelectableHandle.LOOK);
	}

	/** Deactivates a handle that is owned or whose events are unwanted. By the leader. */
	void deactivate(SelectableHandle handle) {
		handle.active = false;
		applyInterest(handle);
	}

	/**
	 * Updates the selector if the interest of the handle has changed. Called by the
	 * leader.
	 */
	void applyInterest(SelectableHandle handle) {
		int operations = handle.active ? handle.operations() : 0;
		// Computed each time: a sender that adds bytes now requests another look.
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
			// The handle was closed meanwhile, and its GONE request will follow.
		}
	}

	/**
	 * Replaces a selector that no longer waits, but not too often: in between, the leader
	 * pauses, so that a broken selector does not occupy a processor.
	 */
	private void rebuild(String reason, @Nullable Exception cause, PromotionProtocol promotion) {
		this.prematureReturns.clear();
		if (promotion.isStopping()) {
			return;
		}
		if (!this.repair.isAllowed(this.nowNanos)) {
			this.clock.parkNanos(this, BROKEN_SELECTOR_PAUSE_NANOS);
			this.nowNanos = this.clock.nanoTime();
			return;
		}
		this.selector = this.repair.replace(this.selector, this.nowNanos, reason, cause);
	}

	/** Closes the remaining handles. Called by the last thread of the pool. */
	void close() {
		this.closed = true;
		try (Selector last = this.selector) {
			for (SelectableHandle left = Ready.take(this.ready); left != null; left = Ready.take(this.ready)) {
				left.giveBack();
			}
			for (int left = MOST_ATTEMPTS_TO_CLOSE; !abandonAll(left) && left > 0; left--) {
				this.clock.parkNanos(this, BROKEN_SELECTOR_PAUSE_NANOS);
			}
			// Frees the descriptors of the channels that were closed.
			last.selectNow();
		}
		catch (IOException ex) {
			logger.warn("Closing handle set '{}' failed", this.name, ex);
		}
	}

	/**
	 * Abandons the remaining handles, even if one of them fails, usually because memory
	 * is short. Returns whether none has failed.
	 * @param left how often it is tried again
	 */
	private boolean abandonAll(int left) {
		try {
			try {
				this.updates.applyUpdates(SelectableHandle.class, SelectableHandle::abandon);
			}
			finally {
				HandleSets.forAll(this.selector.keys(),
						(key) -> ((SelectableHandle) key.attachment()).handler.abandon());
			}
			return true;
		}
		catch (Throwable ex) {
			if (left == 0) {
				logger.warn("Closing handle set '{}' failed", this.name, ex);
			}
			return false;
		}
	}

	/**
	 * Takes a snapshot of the set.
	 * @param leader the name of the thread that leads it
	 * @param vacantFor how long it has had no leader
	 * @param sharing how other threads help the leader
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
			// The JDK does not throw the former, and the count is only a momentary value.
			// The latter means that the pool is closed.
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
