package org.leaderfollowers;

import java.nio.channels.SelectableChannel;
import java.time.Duration;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.TimeUnit;

import org.jspecify.annotations.Nullable;
import org.leaderfollowers.internal.buffer.MemoryBudget;
import org.leaderfollowers.internal.logging.EngineLog;
import org.leaderfollowers.internal.logging.FailureLog;
import org.leaderfollowers.internal.promotion.Clock;
import org.leaderfollowers.internal.promotion.DispatchPolicy;
import org.leaderfollowers.internal.promotion.HandlerProfile;
import org.leaderfollowers.internal.promotion.Leadership;
import org.leaderfollowers.internal.promotion.PoolSettings;
import org.leaderfollowers.internal.promotion.PromotionProtocol;
import org.leaderfollowers.internal.promotion.Unfolding;

/**
 * A pool of threads that take turns at detecting, demultiplexing and processing the
 * events of one or more handle sets: the Leader/Followers pattern.
 * <p>
 * At any moment each thread plays one of three {@linkplain ThreadRole roles}:
 * <ul>
 * <li>a <em>leader</em> waits for events on a handle set. There is at most one for each
 * set;</li>
 * <li>a <em>processing</em> thread runs the handler of an event that it detected itself
 * while it was leader. If a leader detects more events at once than one thread can serve
 * soon, other threads that are awake take some of them;</li>
 * <li>a <em>follower</em> waits to be promoted.</li>
 * </ul>
 * The road of an event is {@link #join}: read it from there downwards. Events that are
 * ready wait in {@code org.leaderfollowers.internal.demultiplexing.ReadyQueue}. The
 * promotion of a leader is
 * {@code org.leaderfollowers.internal.promotion.PromotionProtocol}; the claim of a handle
 * is {@code org.leaderfollowers.internal.demultiplexing.HandleState}.
 * <p>
 * What holds at all times, whatever a handler throws:
 * <ol>
 * <li>a handle set has at most one leader;</li>
 * <li>while a thread of the pool is idle, every handle set has a leader, or a thread is
 * on its way to become it;</li>
 * <li>a handle is claimed by at most one thread.</li>
 * </ol>
 * The pool starts its threads when the first server or handle needs them, and ends
 * surplus ones that have waited for the keep-alive time. Threads are platform threads and
 * not daemons: a selector that is used on a virtual thread waits through another one.
 */
public final class LeaderFollowersPool implements AutoCloseable {

	/** So that a thread that fails again and again leaves the processor to others. */
	private static final long FAILURE_PAUSE_NANOS = TimeUnit.MILLISECONDS.toNanos(10);

	private static final Duration CLOSE_TIMEOUT = Duration.ofSeconds(30);

	private final String name;

	final Clock clock;

	private final HandleSets handleSets;

	private final MemoryBudget memory;

	private final FailureLog failureLog = new FailureLog();

	private final PoolThreads threads;

	private final PromotionProtocol promotion;

	private final DispatchPolicy policy;

	private final Unfolding unfolding;

	private final PoolListeners listeners;

	private final PoolMonitor monitor;

	private final HandOffJournal handOffs;

	private final PoolShutdown shutdown;

	/** Handle sets that are always in use. */
	private final int leastSets;

	private LeaderFollowersPool(PoolOptions options) {
		this.name = options.name();
		this.clock = options.clock();
		this.memory = new MemoryBudget(options.maxBufferedBytes());
		this.listeners = new PoolListeners(options.listeners());
		this.leastSets = options.unfolds() ? 1 : options.handleSets();
		this.handleSets = new HandleSets(this.name, options.handleSets(), this.leastSets, this.clock,
				options.selectorProvider(), this.failureLog);
		this.threads = new PoolThreads(options, this.memory, this.failureLog);
		StarvationMonitor starvationMonitor = new StarvationMonitor(options, this.threads, this.listeners);
		Leadership[] leaderships = this.handleSets.leaderships();
		this.promotion = new PromotionProtocol(leaderships, options.promotionOrder().followers(),
				this.threads.members(), this.threads, starvationMonitor.starvation(), this.listeners,
				nanos(options.keepAlive()), this.clock);
		this.policy = new DispatchPolicy(this.promotion, this.threads, options.parallelism(), this.clock);
		this.unfolding = new Unfolding(this.promotion, leaderships, this.handleSets.deal(), this.threads.members(),
				this.threads, this.policy, options.parallelism(), options.processorTime(), this.clock);
		this.handleSets.begin(this.unfolding);
		this.threads.of(new Membership());
		this.monitor = new PoolMonitor(options, this.handleSets, this.unfolding, this.threads, this.promotion,
				starvationMonitor, this.memory);
		this.handOffs = new HandOffJournal(this.handleSets);
		this.shutdown = new PoolShutdown(options, this.threads, this.handleSets, this.promotion);
	}

	/**
	 * Begins to build a pool.
	 * @return a builder with defaults
	 */
	public static Builder builder() {
		return new Builder();
	}

	/**
	 * The name of the pool.
	 * @return {@code default} unless it was given another
	 */
	public String name() {
		return this.name;
	}

	// The road of an event

	/**
	 * Joins the pool: the calling thread takes part in detecting and processing events,
	 * as a leader, processing thread or follower, until the pool is closed or the time is
	 * up (the paper, activity 4). The pool's own threads do nothing else. An interrupt
	 * does not end it; the status is restored at the return.
	 * @param timeout how long to wait for an event; a handler that runs is not
	 * interrupted
	 * @return {@code true} if the pool was closed, {@code false} if the time is up
	 * @throws IllegalStateException if the calling thread takes part in a pool already,
	 * for example because a handler calls this method
	 */
	public boolean join(Duration timeout) {
		if (Participant.current() != null) {
			throw new IllegalStateException("The thread '%s' takes part in a Leader/Followers pool already"
				.formatted(Thread.currentThread().getName()));
		}
		Participant me = this.threads.join(Thread.currentThread());
		me.enter();
		try {
			if (this.shutdown.state() == PoolSnapshot.State.NEW) {
				start();
			}
			participate(me, deadlineAfter(timeout));
			return this.promotion.isStopping();
		}
		finally {
			this.threads.leave(me);
		}
	}

	private void participate(Participant me, long deadlineNanos) {
		boolean remains = true;
		while (remains && !this.promotion.isStopping()) {
			try {
				remains = takeTurn(me, deadlineNanos);
			}
			catch (Throwable ex) {
				// Out of memory, most likely. The thread goes on with what it leads.
				this.failureLog.error("A thread of pool '%s' failed", this.name, ex);
				this.clock.parkNanos(this, FAILURE_PAUSE_NANOS);
			}
		}
	}

	/**
	 * Processes an event, leads once or follows once. Returns whether the thread remains
	 * in the pool.
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
		// A joined thread that leads when its time is up gives the leadership up as it
		// leaves. Here, with nobody else idle, it would take it again, for ever.
		return !me.isRetired() && (me.isOwned() || hasReady(me) || deadlineNanos - this.clock.nanoTime() > 0);
	}

	private boolean hasReady(Participant me) {
		Leadership leadership = me.leading();
		return leadership != null && !this.handleSets.of(leadership).ready.isEmpty();
	}

	/** A leader takes what its own set has; another thread takes from any. */
	private @Nullable SelectableHandle takeReady(@Nullable Leadership leadership) {
		SelectableHandle handle = null;
		for (int i = 0; i < this.handleSets.count() && handle == null; i++) {
			boolean mayTake = leadership == null || leadership.index() == i;
			handle = mayTake ? this.handleSets.get(i).ready.take() : null;
		}
		return handle;
	}

	/** Leads, and waits for events, or follows (the paper, activity 4). */
	private void lead(Participant me, long deadlineNanos, boolean superfluous) {
		Leadership leadership = this.promotion.lead(me, deadlineNanos, superfluous);
		HandleSet set = (leadership != null) ? this.handleSets.of(leadership) : null;
		try {
			if (set != null && set.ready.isEmpty()) {
				this.unfolding.measure(set.nowNanos());
				if (set.isDeserted()) {
					set.rest(me, this.unfolding);
				}
				else {
					set.await(deadlineNanos, this.promotion);
				}
			}
		}
		catch (Throwable ex) {
			// Out of memory, for example. The thread keeps what it leads, and goes on.
			this.failureLog.error("Leading handle set '%s' failed", set, ex);
			this.clock.parkNanos(this, FAILURE_PAUSE_NANOS);
		}
	}

	/**
	 * Processes an event of a handle that the calling thread has claimed. It leads until
	 * the policy promotes another leader, or a follower takes over while a handler runs.
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
			me.worksOn(null);
			// An interrupt meant for the handler must not reach the next one.
			Thread.interrupted();
		}
	}

	/**
	 * The road of a message in five steps: what the application has to do is prepared
	 * while the thread leads, and dispatched after a promotion or on a lease.
	 * @return whether the event is done
	 */
	private boolean runRound(Participant me, SelectableHandle handle) {
		EngineEventHandler handler = handle.handler;
		try {
			if (handler.prepare(me)) {
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
			// The application's failures are caught by the handlers; this is their own.
			if (handle.closeAfterFailure(me, ex)) {
				this.failureLog.error("%s failed; its handle is closed", handle, ex);
				return true;
			}
			return false;
		}
	}

	// Promotion

	/**
	 * Gives up the leadership of the calling thread, so that another thread leads while
	 * it goes on processing (the paper, activity 5). The engine does it before it calls a
	 * handler of which it knows that it blocks; a handler that knows better calls this
	 * before it blocks, so that nobody waits for the lease to run out. Harmless whenever
	 * it is called.
	 * @return whether the calling thread was leader
	 */
	public boolean promoteNewLeader() {
		Participant me = Participant.current();
		return me != null && me.isOf(this.promotion) && this.promotion.promoteNewLeader(me);
	}

	// Handles

	HandleSets handleSets() {
		return this.handleSets;
	}

	/**
	 * Registers an event source. Its handler is called by a processing thread whenever
	 * one of the events occurs.
	 * @param channel a channel in non-blocking mode, not registered anywhere else
	 * @param handler what to call
	 * @param types which events
	 * @return the handle
	 * @throws IllegalArgumentException if the channel is in blocking mode, or does not
	 * support one of the events
	 */
	public Handle register(SelectableChannel channel, EventHandler handler, EventType... types) {
		int operations = RawEventHandler.operations(types);
		if (channel.isBlocking()) {
			throw new IllegalArgumentException("'channel' must be in non-blocking mode");
		}
		if (channel.isRegistered()) {
			throw new IllegalArgumentException("'channel' must not be registered already");
		}
		if ((operations & ~channel.validOps()) != 0) {
			throw new IllegalArgumentException("%s does not support all of %s".formatted(channel, List.of(types)));
		}
		RawEventHandler raw = new RawEventHandler(channel, handler, (own, engineHandler) -> this.handleSets
			.newHandle(own, engineHandler, operations, new HandlerProfile()));
		start();
		return raw.open();
	}

	/**
	 * Ceases to watch for an event of a handle until it is {@linkplain #reactivateHandle
	 * reactivated} (the paper, activity 2). A handler need not call it for the event that
	 * it processes: while it does, its handle belongs to it.
	 * @param handle a handle of this pool
	 * @param type the event
	 */
	public void deactivateHandle(Handle handle, EventType type) {
		SelectableHandle selectable = own(handle);
		selectable.operations(type.operation, 0);
		selectable.request(SelectableHandle.INTEREST);
	}

	/**
	 * Watches for an event of a handle again.
	 * @param handle a handle of this pool
	 * @param type the event
	 */
	public void reactivateHandle(Handle handle, EventType type) {
		SelectableHandle selectable = own(handle);
		if ((type.operation & ~handle.channel().validOps()) != 0) {
			throw new IllegalArgumentException("%s does not support %s".formatted(handle.channel(), type));
		}
		selectable.operations(0, type.operation);
		selectable.request(SelectableHandle.INTEREST);
	}

	private SelectableHandle own(Handle handle) {
		if (this.handleSets.contains(handle.handleSet())) {
			return (SelectableHandle) handle;
		}
		throw new IllegalArgumentException("%s is not a handle of pool '%s'".formatted(handle, this.name));
	}

	/** See {@link PoolThreads}. */
	void applyUpdatesIfVacant(HandleSet set) {
		this.threads.applyUpdatesIfVacant(set);
	}

	// Threads

	/**
	 * Starts the least number of threads, if that has not been done. Servers and
	 * registered handles start the pool by themselves.
	 * @throws IllegalStateException if the pool was closed
	 */
	public void start() {
		if (!this.shutdown.begin()) {
			return;
		}
		this.threads.startMinimum();
		if (this.threads.count() == 0) {
			throw new IllegalStateException("Not one thread of pool '%s' could be started".formatted(this.name));
		}
	}

	/**
	 * Changes how many threads the pool has, at once and while it runs. Threads that are
	 * missing to the new minimum are started; if handle sets have no leader since every
	 * thread is busy, a higher maximum ends that. Threads above a lower maximum end as
	 * soon as they have nothing to do: those that wait, now, the others when their
	 * handler returns, which is not interrupted; so there may be more than the maximum
	 * for as long as handlers run. Those between minimum and maximum end after the
	 * {@linkplain Builder#keepAlive keep-alive} time. Threads that have {@linkplain #join
	 * joined} do not count. Any thread; a handler that calls this is no leader
	 * afterwards.
	 * @param minThreads threads that are kept even when idle, at least 1 and at least as
	 * many as there are handle sets, if their number was chosen
	 * @param maxThreads threads at the most, from {@code minThreads} to 10000
	 * @throws IllegalArgumentException if one of them is out of its range; nothing is
	 * changed then
	 * @throws IllegalStateException if the pool was closed
	 * @see Builder#threads
	 */
	public void resize(int minThreads, int maxThreads) {
		PoolSettings.checkThreads("minThreads", minThreads, "maxThreads", maxThreads);
		if (minThreads < this.leastSets) {
			throw new IllegalArgumentException(
					"'minThreads' must be at least the number of handle sets (%d), but is %d: a set without a leader is not served"
						.formatted(this.leastSets, minThreads));
		}
		Participant.promoteBeforeBlocking();
		change((current, now) -> current.withThreads(minThreads, maxThreads));
	}

	/**
	 * Changes when a leader promotes a follower, at once and while the pool runs: from
	 * the next dispatch on. A leader that runs a handler on a lease now is taken over
	 * from at once if the policy is {@link PromotionPolicy#EAGER} from now on. Any
	 * thread.
	 * @param policy the policy
	 * @throws IllegalStateException if the pool was closed
	 * @see Builder#promotionPolicy
	 */
	public void promotionPolicy(PromotionPolicy policy) {
		Objects.requireNonNull(policy, "'policy' must not be null");
		change((current, now) -> current.withPolicy(policy == PromotionPolicy.EAGER, now));
	}

	/**
	 * Changes how long a leader may run a handler before a follower takes the leadership
	 * over, at once and while the pool runs: for handlers that run now, too. Any thread.
	 * @param lease from 100 microseconds to 1 minute
	 * @throws IllegalArgumentException if the lease is shorter or longer; nothing is
	 * changed then
	 * @throws IllegalStateException if the pool was closed
	 * @see Builder#promotionLease
	 */
	public void promotionLease(Duration lease) {
		PoolSettings.checkLease(lease);
		change((current, now) -> current.withLease(lease, now));
	}

	private void change(PoolSettings.Change change) {
		PoolSettings before;
		PoolSettings after;
		synchronized (this.threads) {
			this.shutdown.requireOpen();
			before = this.threads.change(change, this.clock.nanoTime());
			after = this.threads.settings();
		}
		String difference = before.differenceTo(after);
		if (!difference.isEmpty()) {
			EngineLog.INSTANCE.info("Pool '{}' was changed: {}", this.name, difference);
		}
		if (this.shutdown.state() == PoolSnapshot.State.RUNNING) {
			this.promotion.settingsChanged();
		}
	}

	private final class Membership implements PoolThreads.Pool {

		@Override
		public PromotionProtocol promotion() {
			return LeaderFollowersPool.this.promotion;
		}

		@Override
		public void participate(Participant me) {
			LeaderFollowersPool.this.participate(me, deadlineAfter(null));
		}

		@Override
		public void threadEnded() {
			if (promotion().isStopping()) {
				LeaderFollowersPool.this.shutdown.threadEnded();
			}
		}

	}

	// The end

	void serves(Drainable server) {
		this.shutdown.add(server);
	}

	void servesNoMore(Drainable server) {
		this.shutdown.remove(server);
	}

	/**
	 * Closes the pool and waits up to 30 seconds for what runs.
	 * @see #close(Duration)
	 */
	@Override
	public void close() {
		close(CLOSE_TIMEOUT);
	}

	/**
	 * Closes the pool: first its servers, which answer what they have received; then the
	 * threads end, each when its handler returns. Handlers that still run when the time
	 * is up are interrupted.
	 * @param grace how long to wait for servers and handlers
	 * @return whether all threads have ended
	 */
	public boolean close(Duration grace) {
		Participant.promoteBeforeBlocking();
		return this.shutdown.close(grace);
	}

	private long deadlineAfter(@Nullable Duration timeout) {
		return this.clock.nanoTime() + ((timeout != null) ? nanos(timeout) : PromotionProtocol.FOREVER_NANOS);
	}

	/**
	 * In nanoseconds, cut where sums with {@link System#nanoTime()} still cannot
	 * overflow.
	 */
	static long nanos(Duration duration) {
		return (duration.compareTo(Duration.ofNanos(PromotionProtocol.FOREVER_NANOS)) < 0) ? duration.toNanos()
				: PromotionProtocol.FOREVER_NANOS;
	}

	// A look from outside

	/** The memory that the connections hold together. */
	MemoryBudget memory() {
		return this.memory;
	}

	List<Participant> living() {
		return this.threads.living();
	}

	/**
	 * Adds one who is told of hand-offs from now on. Any thread.
	 * @param listener is called by new leaders
	 */
	public void addListener(PoolListener listener) {
		this.listeners.add(listener);
	}

	/**
	 * Looks at the latest hand-offs without stopping the pool: a few hundred of each
	 * handle set, as far as they have not been {@linkplain #drainHandOffs() drained}.
	 * Whoever looks often sees them all. Any thread.
	 * @return oldest first
	 */
	public List<HandOff> handOffs() {
		return this.handOffs.peek();
	}

	/**
	 * Looks at the latest hand-offs as {@link #handOffs()} does, and forgets them. Any
	 * thread.
	 * @return oldest first
	 */
	public List<HandOff> drainHandOffs() {
		return this.handOffs.drain();
	}

	/**
	 * Looks at the pool without stopping it. Any thread.
	 * @return what it is doing
	 */
	public PoolSnapshot snapshot() {
		return this.monitor.snapshot(this.shutdown.state());
	}

	@Override
	public String toString() {
		return "LeaderFollowersPool '" + this.name + "'";
	}

	/**
	 * Builds a pool.
	 */
	public static final class Builder extends PoolBuilder {

		private Builder() {
		}

		/**
		 * Builds the pool. It has no threads until a server or handle needs them.
		 * @return a new pool
		 * @throws IllegalArgumentException if there are more handle sets than threads
		 */
		public LeaderFollowersPool build() {
			return new LeaderFollowersPool(options());
		}

	}

}
