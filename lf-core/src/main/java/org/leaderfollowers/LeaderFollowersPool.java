package org.leaderfollowers;

import java.nio.channels.SelectableChannel;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.stream.Stream;

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
import org.leaderfollowers.internal.promotion.SourcePlaces;
import org.leaderfollowers.internal.promotion.Unfolding;

/**
 * A pool of threads that take turns at detecting, demultiplexing and processing the
 * events of one or more handle sets, and of {@linkplain EventSource event sources} that
 * no selector can wait on: the Leader/Followers pattern.
 * <p>
 * At any moment each thread plays one of three {@linkplain ThreadRole roles}:
 * <ul>
 * <li>a <em>leader</em> waits for events on a handle set. Each set has at most one
 * leader;</li>
 * <li>a <em>processing</em> thread runs the handler of an event that it detected itself
 * as leader. If a leader detects more events at once than one thread can serve soon,
 * other threads that are awake take some of them;</li>
 * <li>a <em>follower</em> waits to be promoted.</li>
 * </ul>
 * {@code EventRoad} contains the path of an event; start reading there. Events that are
 * ready wait in {@code org.leaderfollowers.internal.demultiplexing.ReadyQueue}. The
 * promotion of a leader is
 * {@code org.leaderfollowers.internal.promotion.PromotionProtocol}; the claim of a handle
 * is {@code org.leaderfollowers.internal.demultiplexing.HandleState}.
 * <p>
 * These invariants hold at all times, whatever a handler throws:
 * <ol>
 * <li>a handle set has at most one leader;</li>
 * <li>while a thread of the pool is idle, every handle set has a leader, or a thread is
 * on its way to become it;</li>
 * <li>a handle is claimed by at most one thread.</li>
 * </ol>
 * The pool starts its threads when the first server or handle needs them, and ends
 * surplus threads that have waited for the keep-alive time. Threads are platform threads
 * and not daemons: if a virtual thread uses a selector, another thread waits in its
 * place.
 */
public final class LeaderFollowersPool implements AutoCloseable {

	private static final Duration CLOSE_TIMEOUT = Duration.ofSeconds(30);

	private final String name;

	final Clock clock;

	private final HandleSets handleSets;

	private final EventSources sources;

	private final MemoryBudget memory;

	private final FailureLog failureLog = new FailureLog();

	final PoolThreads threads;

	private final PromotionProtocol promotion;

	private final EventRoad road;

	private final BoundWait replyWait;

	private final PoolListeners listeners;

	private final PoolMonitor monitor;

	/** Not private for tests, which look in its place. */
	final PoolWatchdog watchdog;

	private final HandOffJournal handOffs;

	private final PoolShutdown shutdown;

	/** How many threads each UDP server may occupy. */
	final DatagramShare datagramShare;

	/** The minimum number of handle sets that are in use. */
	private final int leastSets;

	private LeaderFollowersPool(PoolOptions options) {
		EngineClasses.initialize();
		this.name = options.name();
		this.clock = options.clock();
		this.memory = (options.maxBufferedBytes() > 0) ? new MemoryBudget(options.maxBufferedBytes())
				: MemoryBudget.shareOfHeap();
		this.listeners = new PoolListeners(options.listeners());
		this.leastSets = options.unfolds() ? 1 : options.handleSets();
		this.handleSets = new HandleSets(this.name, options.handleSets(), this.leastSets, this.clock,
				options.selectorProvider(), this.failureLog);
		this.sources = new EventSources(this.name, options.eventSources(), options.handleSets(), this.clock);
		this.threads = new PoolThreads(options, this.memory, this.failureLog);
		StarvationMonitor starvationMonitor = new StarvationMonitor(options, this.threads, this.listeners);
		this.promotion = new PromotionProtocol(leaderships(), options.promotionOrder().followers(),
				this.threads.members(), this.threads, starvationMonitor.starvation(), this.listeners,
				Arguments.nanos(options.keepAlive()), this.clock);
		DispatchPolicy policy = new DispatchPolicy(this.promotion, this.threads, options.parallelism(), this.clock);
		Unfolding unfolding = new Unfolding(this.promotion, this.handleSets.leaderships(), this.handleSets.deal(),
				options.eventSources().size(), this.threads.members(), this.threads, policy, options.parallelism(),
				options.processorTime(), this.clock);
		this.handleSets.begin(unfolding);
		this.sources.begin(new SourcePlaces(this.promotion, this.sources.leaderships(), this.handleSets.count(),
				this.threads, this.clock));
		this.road = new EventRoad(options, this.handleSets, this.sources, this.promotion, policy, unfolding,
				this.failureLog);
		NestedUpcalls upcalls = new NestedUpcalls(options.nesting(), this.road, this.failureLog);
		this.replyWait = new BoundWait(this.handleSets, this.promotion, unfolding, upcalls, this.clock,
				this.failureLog);
		this.threads.of(new Membership());
		this.watchdog = new PoolWatchdog(options, this.handleSets, this.threads, this.listeners);
		this.monitor = new PoolMonitor(options, this.handleSets, this.sources, unfolding, this.threads, this.promotion,
				starvationMonitor, this.watchdog, this.memory, upcalls);
		this.handOffs = new HandOffJournal(this.handleSets, this.sources);
		this.shutdown = new PoolShutdown(options, this.threads, this.handleSets, this.sources, this.promotion);
		this.datagramShare = new DatagramShare(this.threads, !options.eventSources().isEmpty());
	}

	private Leadership[] leaderships() {
		return Stream.of(this.handleSets.leaderships(), this.sources.leaderships())
			.flatMap(Arrays::stream)
			.toArray(Leadership[]::new);
	}

	/**
	 * Creates a builder of a pool.
	 * @return a builder with defaults
	 */
	public static Builder builder() {
		return new Builder();
	}

	/**
	 * The name of the pool.
	 * @return {@code default} unless another name was set
	 */
	public String name() {
		return this.name;
	}

	// The path of an event

	/**
	 * Joins the pool: the calling thread takes part in detecting and processing events,
	 * as a leader, processing thread or follower, until the pool is closed or the time is
	 * up (the paper, activity 4). The pool's own threads do nothing else. An interrupt
	 * does not end this method; the interrupt status is restored when it returns. If the
	 * thread runs a handler when the interrupt comes, the handler receives it instead.
	 * @param timeout how long to wait for an event; a handler that runs is not
	 * interrupted
	 * @return {@code true} if the pool was closed, {@code false} if the time is up
	 * @throws IllegalStateException if the calling thread already takes part in a pool,
	 * for example because a handler calls this method
	 */
	public boolean join(Duration timeout) {
		if (Participant.current() != null) {
			throw new IllegalStateException("The thread '%s' participates in a Leader/Followers pool already"
				.formatted(Thread.currentThread().getName()));
		}
		Participant me = this.threads.join(Thread.currentThread());
		try {
			me.enter();
			if (this.shutdown.state() == PoolSnapshot.State.NEW) {
				start();
			}
			this.road.participate(me, deadlineAfter(timeout));
			return this.promotion.isStopping();
		}
		finally {
			this.threads.leave(me);
		}
	}

	// Promotion

	/**
	 * Gives up the leadership of the calling thread, so that another thread leads while
	 * the calling thread continues to process its event (the paper, activity 5). The
	 * engine does this before it calls a handler that is known to block. Any other
	 * handler can call this method before it blocks, so that other connections do not
	 * wait until the lease ends. Calling it at any other time does no harm.
	 * @return whether the calling thread was the leader
	 */
	public boolean promoteNewLeader() {
		StackReserve.require();
		Participant me = Participant.current();
		return me != null && me.isOf(this.promotion) && this.promotion.promoteNewLeader(me);
	}

	/**
	 * Waits for a future as {@link CompletableFuture#get(long, TimeUnit)} does. While a
	 * thread of a pool waits in a handler, it leads if no other thread can, and passes
	 * replies on. Use this method if the future may depend on a reply that the pool has
	 * to read.
	 * @param <T> the type of the result
	 * @param future what to wait for
	 * @param timeout how long to wait, more than 0
	 * @param description describes for operators what the thread waits for
	 * @return the result
	 * @throws InterruptedException if the calling thread was interrupted
	 * @throws ExecutionException if the future has failed
	 * @throws TimeoutException if the future was not completed in time
	 */
	public static <T> T await(CompletableFuture<T> future, Duration timeout, String description)
			throws InterruptedException, ExecutionException, TimeoutException {
		long nanos = Arguments.positiveNanos("timeout", timeout);
		if (!future.isDone()) {
			StackReserve.requireToLead();
		}
		boolean hasWaited = Participant.await(future, nanos, new Description(description));
		return future.get(hasWaited ? 0 : nanos, TimeUnit.NANOSECONDS);
	}

	private record Description(String peer) implements Participant.Awaited {

		@Override
		public String toString() {
			return this.peer;
		}

	}

	// Handles

	HandleSets handleSets() {
		return this.handleSets;
	}

	/**
	 * Registers a channel. Whenever one of the events occurs, a processing thread calls
	 * the handler.
	 * @param channel a channel in non-blocking mode, not registered anywhere else
	 * @param handler handles the events
	 * @param types the events to wait for
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
	 * Stops watching for an event of a handle until it is {@linkplain #reactivateHandle
	 * reactivated} (the paper, activity 2). A handler need not call this method for the
	 * event that it processes: until it returns, no other thread processes events of the
	 * handle.
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
		StackReserve.require();
		if (this.handleSets.contains(handle.handleSet())) {
			return (SelectableHandle) handle;
		}
		throw new IllegalArgumentException("%s is not a handle of pool '%s'".formatted(handle, this.name));
	}

	// Event sources

	/**
	 * Lets threads of the pool wait on an event source and handle its events (the paper,
	 * 10.5). This is the same as
	 * {@link #register(String, EventSource, int, EventSource.Handler)} without a limit on
	 * events that are handled at the same time, except for the number of threads.
	 * @param <E> the type of the events
	 * @param name one of the names that the pool was {@linkplain Builder#eventSources
	 * built} for
	 * @param source the event source
	 * @param handler handles the events
	 */
	public <E> void register(String name, EventSource<E> source, EventSource.Handler<? super E> handler) {
		register(name, source, Integer.MAX_VALUE, handler);
	}

	/**
	 * Lets threads of the pool wait on an event source and handle its events (the paper,
	 * 10.5). The source has a leader of its own. A handler may block: another thread then
	 * waits for the next event. For any number of events, their handlers leave one thread
	 * for each handle set and for each other source.
	 * @param <E> the type of the events
	 * @param name one of the names that the pool was {@linkplain Builder#eventSources
	 * built} for
	 * @param source the event source
	 * @param concurrency the maximum number of events that are handled at the same time,
	 * at least 1. With 1, events are handled one after the other, in the order in which
	 * the source returns them
	 * @param handler handles the events
	 * @throws IllegalArgumentException if the pool was not built for the name
	 * @throws IllegalStateException if a source is registered under the name, if an
	 * earlier source of this name has not ended yet, or if the pool was closed
	 */
	public <E> void register(String name, EventSource<E> source, int concurrency,
			EventSource.Handler<? super E> handler) {
		start();
		this.sources.register(name, source, concurrency, handler);
	}

	/**
	 * Stops waiting on an event source. The source itself is not closed; another source
	 * can use the name when the handlers and the leader of this source have ended.
	 * Closing the pool does this first.
	 * @param name the name under which the source is registered, if it is
	 * @param grace how long to wait for the handlers and the leader of the source
	 * @return whether they have ended. If a handler calls this method, it does not wait
	 * for itself
	 * @throws IllegalArgumentException if the pool was not built for the name
	 */
	public boolean deregister(String name, Duration grace) {
		Participant.promoteBeforeBlocking();
		return this.sources.deregister(name, grace);
	}

	/** See {@link PoolThreads}. */
	void applyUpdatesIfVacant(HandleSet set) {
		this.threads.applyUpdatesIfVacant(set);
	}

	// Threads

	/**
	 * Starts the minimum number of threads, unless this has been done. Servers and
	 * registered handles start the pool by themselves.
	 * @throws IllegalStateException if the pool was closed, or if no thread could be
	 * started; a later call tries again
	 */
	public void start() {
		boolean isNew = this.shutdown.begin();
		if (!isNew && this.threads.count() > 0) {
			return;
		}
		// Again if no thread could be started before: nothing else would start one.
		this.threads.startMinimum();
		if (this.threads.count() == 0) {
			throw new IllegalStateException("No thread of pool '%s' could be started".formatted(this.name));
		}
		this.watchdog.start();
	}

	/**
	 * Changes the number of threads at once, while the pool runs. If the pool has fewer
	 * threads than the new minimum, the missing ones are started. If handle sets have no
	 * leader because every thread is busy, a higher maximum ends this state. Threads
	 * above a lower maximum end as soon as they have nothing to do: waiting threads at
	 * once, the others when their handlers return. No handler is interrupted, so the pool
	 * may have more threads than the maximum while handlers run. Threads between minimum
	 * and maximum end after the {@linkplain Builder#keepAlive keep-alive} time. Threads
	 * that have {@linkplain #join joined} do not count. Any thread; a handler that calls
	 * this method does not lead afterwards.
	 * @param minThreads the number of threads that are kept even when idle, at least 1
	 * and at least the number of event sources and handle sets; unless the number of
	 * handle sets was configured, one handle set counts
	 * @param maxThreads the maximum number of threads, from {@code minThreads} to 10000
	 * @throws IllegalArgumentException if one of them is out of its range; nothing is
	 * changed then
	 * @throws IllegalStateException if the pool was closed
	 * @see Builder#threads
	 */
	public void resize(int minThreads, int maxThreads) {
		PoolSettings.checkThreads("minThreads", minThreads, "maxThreads", maxThreads);
		PoolOptions.checkLeaders("minThreads", minThreads, this.leastSets, this.sources.all().size());
		Participant.promoteBeforeBlocking();
		change((current, now) -> current.withThreads(minThreads, maxThreads));
	}

	/**
	 * Changes when a leader promotes a follower, while the pool runs. The new policy
	 * applies from the next dispatch on. If it is {@link PromotionPolicy#EAGER} and a
	 * leader runs a handler on a lease, a follower takes over the leadership at once. Any
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
	 * Changes how long a leader may run a handler before a follower takes over the
	 * leadership, while the pool runs. The new lease also applies to handlers that run
	 * now. Any thread.
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
			this.sources.settingsChanged();
			this.datagramShare.threadsAdded();
		}
	}

	private final class Membership implements PoolThreads.Pool {

		@Override
		public PromotionProtocol promotion() {
			return LeaderFollowersPool.this.promotion;
		}

		@Override
		public Participant.ReplyWait replyWait() {
			return LeaderFollowersPool.this.replyWait;
		}

		@Override
		public void participate(Participant me) {
			LeaderFollowersPool.this.road.participate(me, deadlineAfter(null));
		}

		@Override
		public void threadEnded() {
			if (promotion().isStopping()) {
				LeaderFollowersPool.this.shutdown.threadEnded();
			}
		}

	}

	// Shutdown

	void serves(Drainable server) {
		this.shutdown.add(server);
		this.datagramShare.add(server);
	}

	void servesNoMore(Drainable server) {
		this.shutdown.remove(server);
		this.datagramShare.remove(server);
	}

	/**
	 * Closes the pool, and waits up to 30 seconds for its servers and handlers.
	 * @see #close(Duration)
	 */
	@Override
	public void close() {
		close(CLOSE_TIMEOUT);
	}

	/**
	 * Closes the pool. First, its servers answer the messages that they have received,
	 * and the pool stops waiting on its event sources. Then each thread ends when its
	 * handler returns. Handlers that still run when the time is up are interrupted.
	 * @param grace how long to wait for servers and handlers
	 * @return whether all threads have ended
	 */
	public boolean close(Duration grace) {
		Participant.promoteBeforeBlocking();
		try {
			return this.shutdown.close(grace);
		}
		finally {
			this.watchdog.stop();
		}
	}

	private long deadlineAfter(@Nullable Duration timeout) {
		return this.clock.nanoTime() + ((timeout != null) ? Arguments.nanos(timeout) : PromotionProtocol.FOREVER_NANOS);
	}

	// Observation

	/** The memory budget that the connections of the pool share. */
	MemoryBudget memory() {
		return this.memory;
	}

	List<Participant> living() {
		return this.threads.living();
	}

	/**
	 * Adds a listener for hand-offs from now on. Any thread.
	 * @param listener called by new leaders
	 */
	public void addListener(PoolListener listener) {
		this.listeners.add(listener);
	}

	/**
	 * Returns the latest hand-offs without stopping the pool: a few hundred of each
	 * handle set, except those that have been {@linkplain #drainHandOffs() drained}. If
	 * the calls follow each other fast enough, they return all hand-offs. Any thread.
	 * @return the hand-offs, oldest first
	 */
	public List<HandOff> handOffs() {
		return this.handOffs.peek();
	}

	/**
	 * Returns the latest hand-offs as {@link #handOffs()} does, and removes them. Any
	 * thread.
	 * @return the hand-offs, oldest first
	 */
	public List<HandOff> drainHandOffs() {
		return this.handOffs.drain();
	}

	/**
	 * Takes a snapshot of the pool without stopping it. Any thread.
	 * @return the current state and figures
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
		 * Builds the pool. It starts its threads when a server or handle needs them.
		 * @return a new pool
		 * @throws IllegalArgumentException if there are more handle sets and event
		 * sources than threads
		 */
		public LeaderFollowersPool build() {
			return new LeaderFollowersPool(options());
		}

	}

}
