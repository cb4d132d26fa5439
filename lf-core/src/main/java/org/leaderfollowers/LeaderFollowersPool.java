package org.leaderfollowers;

import java.nio.channels.SelectableChannel;
import java.nio.channels.SelectionKey;
import java.nio.channels.spi.SelectorProvider;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.EnumMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.LongAdder;
import java.util.concurrent.locks.LockSupport;

import org.jspecify.annotations.Nullable;
import org.leaderfollowers.internal.buffer.MemoryBudget;
import org.leaderfollowers.internal.demultiplexing.HandleState.Claim;
import org.leaderfollowers.internal.latency.LatencyHistogram;
import org.leaderfollowers.internal.logging.EngineLog;
import org.leaderfollowers.internal.logging.RateLimit;
import org.leaderfollowers.internal.promotion.Clock;
import org.leaderfollowers.internal.promotion.Followers;
import org.leaderfollowers.internal.promotion.HandlerProfile;
import org.leaderfollowers.internal.promotion.Leadership;
import org.leaderfollowers.internal.promotion.LeaseWatch;

/**
 * A pool of threads that take turns at detecting, demultiplexing and processing the
 * events of one or more handle sets: the Leader/Followers pattern.
 * <p>
 * At any moment each thread plays one of three {@linkplain ThreadRole roles}:
 * <ul>
 * <li>a <em>leader</em> waits for events on a handle set. There is at most one for each
 * set;</li>
 * <li>a <em>processing</em> thread runs the handler of an event that it detected itself
 * while it was leader. No queue and no other thread is between the two;</li>
 * <li>a <em>follower</em> waits to be promoted.</li>
 * </ul>
 * The road of an event is {@link #join}: read it from there downwards. The two protocols
 * behind it have their transition tables in
 * {@code org.leaderfollowers.internal.promotion.Leadership}, {@code Followers} and
 * {@code org.leaderfollowers.internal.demultiplexing.HandleState}.
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

	private static final EngineLog logger = HandleSet.logger;

	/** How many threads of the application may join beside the pool's own. */
	private static final int JOINERS = 64;

	/**
	 * How long a leader waits on one handle set while another has no leader and nobody is
	 * left to become it.
	 */
	static final long ROTATION_NANOS = TimeUnit.MILLISECONDS.toNanos(1);

	/**
	 * How often a surplus thread that watches looks whether it is still needed.
	 */
	private static final long SURPLUS_WATCH_NANOS = TimeUnit.MILLISECONDS.toNanos(1);

	/**
	 * How often a thread looks before it waits: some microseconds, about as long as a
	 * leader needs from one handler to the next, and less than parking costs.
	 */
	private static final int SPINS = 100;

	private static final int PROCESSORS = Runtime.getRuntime().availableProcessors();

	private static final long FOREVER_NANOS = Long.MAX_VALUE / 4;

	/** How often a thread that is not surplus looks whether it has become so. */
	private static final long MIN_PATIENCE_NANOS = TimeUnit.SECONDS.toNanos(1);

	/** So that a thread that fails again and again leaves the processor to others. */
	private static final long FAILURE_PAUSE_NANOS = TimeUnit.MILLISECONDS.toNanos(10);

	private static final Duration CLOSE_TIMEOUT = Duration.ofSeconds(30);

	/**
	 * What a thread without a handler gets to end, even if the grace has been used up.
	 */
	private static final Duration IDLE_END_TIMEOUT = Duration.ofMillis(200);

	private static final Duration INTERRUPT_TIMEOUT = Duration.ofSeconds(2);

	private final String name;

	/** Written under the monitor. */
	private volatile Settings settings;

	private final Duration keepAlive;

	private final int threadPriority;

	private final PromotionOrder promotionOrder;

	private final @Nullable ClassLoader contextClassLoader = Thread.currentThread().getContextClassLoader();

	/** Replaced, never changed: hand-offs go through it without an iterator. */
	private volatile PoolListener[] listeners;

	private final HandleSet[] handleSets;

	private final Followers followers;

	final Clock clock;

	final SelectorProvider selectorProvider;

	private final LeaseWatch watch = new LeaseWatch();

	private final MemoryBudget memory;

	private final Participants participants = new Participants();

	/**
	 * The pool's own threads, those included that are being started. Those that end count
	 * themselves out under the monitor, against the settings that hold then.
	 */
	private final AtomicInteger threads = new AtomicInteger();

	/**
	 * All threads that participate, joined ones included; the last one closes the sets.
	 */
	private final AtomicInteger participating = new AtomicInteger();

	/** Those of them that wait among the followers, or are about to. */
	private final AtomicInteger parked = new AtomicInteger();

	private final AtomicInteger threadNumbers = new AtomicInteger();

	private final AtomicInteger nextHandleSet = new AtomicInteger();

	private final List<Drainable> servers = new CopyOnWriteArrayList<>();

	/** Handlers that wait for the end of their own pool. Guarded by the monitor. */
	private int waitingHandlers;

	private volatile PoolSnapshot.State state = PoolSnapshot.State.NEW;

	private final Map<PromotionKind, LongAdder> promotions = new EnumMap<>(PromotionKind.class);

	private final HandOffJournal handOffs;

	private final LongAdder wakeUps = new LongAdder();

	private final LongAdder wastedWakeUps = new LongAdder();

	private final Starvation starvation;

	private final LongAdder threadsStarted = new LongAdder();

	private final LongAdder threadStartFailures = new LongAdder();

	private final RateLimit failureLog = new RateLimit(TimeUnit.SECONDS.toNanos(1));

	private LeaderFollowersPool(Builder builder) {
		this.name = builder.name;
		this.clock = builder.clock;
		this.settings = new Settings(builder.minThreads, builder.maxThreads, builder.promotionPolicy,
				builder.promotionLease.toNanos(), this.clock.nanoTime());
		this.selectorProvider = builder.selectorProvider;
		this.keepAlive = builder.keepAlive;
		this.threadPriority = builder.threadPriority;
		this.promotionOrder = builder.promotionOrder;
		this.starvation = new Starvation(this);
		this.listeners = builder.listeners.toArray(PoolListener[]::new);
		this.memory = new MemoryBudget(builder.maxBufferedBytes);
		this.followers = builder.promotionOrder.followers();
		for (PromotionKind kind : PromotionKind.values()) {
			this.promotions.put(kind, new LongAdder());
		}
		this.handleSets = new HandleSet[builder.handleSets];
		for (int i = 0; i < this.handleSets.length; i++) {
			this.handleSets[i] = new HandleSet(this.name + "-" + i, i, this);
		}
		this.handOffs = new HandOffJournal(this.handleSets);
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
		Participant me = enroll(Thread.currentThread(), false);
		me.enter();
		try {
			if (this.state == PoolSnapshot.State.NEW) {
				start();
			}
			participate(me, deadlineAfter(timeout));
			return isStopping();
		}
		finally {
			withdraw(me);
		}
	}

	private void participate(Participant me, long deadlineNanos) {
		boolean remains = true;
		while (remains && !isStopping()) {
			try {
				remains = takeTurn(me, deadlineNanos);
			}
			catch (Throwable ex) {
				// Out of memory, most likely. The thread keeps what it leads, and goes
				// on.
				logFailure("A thread of pool '%s' failed", this.name, ex);
				this.clock.parkNanos(this, FAILURE_PAUSE_NANOS);
			}
		}
	}

	/** Leads once or follows once. Returns whether the thread remains in the pool. */
	private boolean takeTurn(Participant me, long deadlineNanos) {
		if (Thread.interrupted()) {
			// It would turn every wait into a spin.
			me.interrupted = true;
		}
		HandleSet set = me.leading;
		if (set != null && this.handleSets.length > 1 && set.ready.isEmpty()) {
			endUnwatchedLeases(me);
			if (isAnyVacant() && !signalFollower()) {
				// Nobody else can lead the other handle set: this thread takes it in turn
				// with its own.
				giveUp(me, this.clock.nanoTime());
				set = null;
			}
		}
		if (set == null) {
			set = takeVacancy(me, PromotionKind.RECLAIMED);
		}
		if (set == null && isSurplus() && retire(me, false)) {
			return false;
		}
		if (set == null && PROCESSORS > 1) {
			set = spin(me);
		}
		if (set == null) {
			set = follow(me, deadlineNanos);
		}
		if (set != null) {
			lead(me, set, deadlineNanos);
		}
		// A joined thread that leads when its time is up gives the leadership up as it
		// withdraws. It must not do so here: with nobody else idle it would take it
		// again,
		// and go round for ever.
		return !me.retired && (me.owned || hasReady(me) || deadlineNanos - this.clock.nanoTime() > 0);
	}

	private static boolean hasReady(Participant me) {
		HandleSet set = me.leading;
		return set != null && !set.ready.isEmpty();
	}

	/** Takes one event from the handle set and processes it, or waits for events. */
	private void lead(Participant me, HandleSet set, long deadlineNanos) {
		try {
			if (set.ready.isEmpty()) {
				set.await(deadlineNanos);
				return;
			}
			int events = set.ready.peekEvents();
			SelectableHandle handle = set.ready.take();
			if ((events & SelectionKey.OP_WRITE) != 0) {
				events = handle.handler.notifyWritable(events);
				set.applyInterest(handle);
			}
			if (events != 0) {
				Claim claim = ((events & SelectableHandle.LOOK) != 0) ? handle.claimForLook() : handle.claimFired();
				switch (claim) {
					case CLAIMED -> process(me, handle, events);
					case OWNER_LOOKS_AGAIN, UNWANTED -> set.deactivate(handle);
					case STALE -> {
					}
				}
			}
		}
		catch (Throwable ex) {
			// Out of memory, for example. The thread keeps what it leads, and goes on.
			logFailure("Leading handle set '%s' failed", set, ex);
			this.clock.parkNanos(this, FAILURE_PAUSE_NANOS);
		}
	}

	private void process(Participant me, SelectableHandle handle, int events) {
		EngineEventHandler handler = handle.handler;
		me.worksOn(handle);
		me.turn.begin();
		me.handledNanos = 0;
		handle.claimedEvents = events;
		try {
			boolean done = false;
			while (!done) {
				try {
					done = round(me, handler);
				}
				catch (Throwable ex) {
					// The handlers of the engine catch what applications throw; this is
					// their own.
					done = !handler.failed(me, ex);
					if (done) {
						logFailure("%s failed; its handle is closed", handle, ex);
					}
				}
			}
		}
		finally {
			me.worksOn(null);
			// An interrupt meant for the handler must not reach the next one.
			Thread.interrupted();
		}
	}

	private boolean round(Participant me, EngineEventHandler handler) throws Exception {
		if (handler.prepare(me)) {
			try {
				beforeDispatch(me, handler);
				handler.dispatch(me);
			}
			finally {
				afterDispatch(me, handler);
			}
		}
		return handler.release(me);
	}

	/**
	 * Code of the application is about to run: decides whether the calling thread
	 * promotes another leader first, or runs it while it leads.
	 */
	private void beforeDispatch(Participant me, EngineEventHandler handler) {
		HandleSet set = me.leading;
		long now = this.clock.nanoTime();
		me.dispatchNanos = now;
		me.handledNanos = 0;
		if (set == null) {
			return;
		}
		Settings current = this.settings;
		HandlerProfile profile = handler.profile();
		boolean eager = current.promotionPolicy() == PromotionPolicy.EAGER || profile.blocks();
		boolean worthAProcessor = !eager && profile.isWorthAProcessor();
		if (worthAProcessor != set.worthAProcessor) {
			// Nearly always as before: a volatile store less.
			set.worthAProcessor = worthAProcessor;
		}
		if (eager || (worthAProcessor && (handler.hasMore(me) || !set.ready.isEmpty()) && isProcessorIdle())) {
			promote(me, now);
		}
		else {
			lease(me, set, now, current.quietNanos());
		}
		if (me.leading == null) {
			// Waking another thread takes longer than many a handler, and is not its
			// fault.
			me.dispatchNanos = this.clock.nanoTime();
		}
	}

	/**
	 * Code of the application has run: learns how long it took, and finds out whether the
	 * calling thread still leads.
	 */
	private void afterDispatch(Participant me, EngineEventHandler handler) {
		if (!me.leased && this.settings.promotionPolicy() == PromotionPolicy.EAGER) {
			// Nothing is to be learned, and nothing was leased.
			return;
		}
		long now = (me.handledNanos != 0) ? me.handledNanos : this.clock.nanoTime();
		HandlerProfile profile = handler.profile();
		if (profile != HandlerProfile.BLOCKING) {
			profile.record(now - me.dispatchNanos);
		}
		HandleSet set = me.leading;
		if (set != null && me.leased) {
			me.leased = false;
			if (set.leadership.regain(me.number)) {
				endStarvation(set, now);
			}
			else {
				me.leading = null;
				me.become(ThreadRole.PROCESSING, now);
			}
		}
	}

	/** Keeps the leadership while the handler runs, as long as it runs. */
	private void lease(Participant me, HandleSet set, long nowNanos, long quietNanos) {
		boolean busy = nowNanos - set.dispatchedNanos < quietNanos;
		set.dispatchedNanos = nowNanos;
		me.leased = true;
		set.leadership.lease(me.number, nowNanos);
		for (;;) {
			switch (this.watch.cover()) {
				case COVERED -> {
					return;
				}
				case ASLEEP -> {
					if (!busy) {
						// Waking any thread costs the same. This one may as well lead,
						// and the watcher sleeps on until there is more to watch.
						promote(me, nowNanos);
						return;
					}
					int watcher = this.watch.rouse();
					Participant roused = (watcher != 0) ? this.participants.get(watcher) : null;
					if (roused != null) {
						LockSupport.unpark(roused.thread);
						return;
					}
				}
				case NOBODY -> {
					// After the lease has been published: whoever raises the limit does
					// that first, and then looks for leases.
					Settings current = this.settings;
					if (!this.followers.isEmpty() || this.threads.get() < current.maxThreads()) {
						promote(me, nowNanos);
					}
					else {
						// Nobody is there to lead instead. Whoever becomes idle watches,
						// and sees the lease.
						this.starvation.begin(set, current.leaseEndNanos(nowNanos));
						if (!set.leadership.isLeasedBy(me.number)) {
							// It was taken over before there was anything to end.
							set.endStarvation(nowNanos);
						}
						rotateLeaders();
					}
					return;
				}
			}
		}
	}

	private boolean isProcessorIdle() {
		int running = this.participating.get() - this.parked.get();
		for (HandleSet set : this.handleSets) {
			running -= set.isWaitedOn() ? 1 : 0;
		}
		return running < PROCESSORS;
	}

	/** Never throws: whoever calls this has something to put in order. */
	void logFailure(String format, Object subject, Throwable failure) {
		try {
			long suppressed = this.failureLog.tryAcquire();
			if (suppressed >= 0) {
				logger.error("{}{}", format.formatted(subject), RateLimit.heldBack(suppressed), failure);
			}
		}
		catch (Throwable ex) {
			// Out of memory, most likely, and so was what is to be logged.
		}
	}

	/**
	 * Waits among the followers.
	 * @return the handle set that the thread leads now, or {@code null} if it was woken
	 * for nothing, if time is up, or if the pool stops
	 */
	private @Nullable HandleSet follow(Participant me, long deadlineNanos) {
		me.become(ThreadRole.FOLLOWER, this.clock.nanoTime());
		try {
			return await(me, deadlineNanos);
		}
		catch (Throwable ex) {
			// Whoever pops a place that nobody waits in any more would wake nobody.
			this.followers.abandon(me.follower);
			throw ex;
		}
	}

	private @Nullable HandleSet await(Participant me, long deadlineNanos) {
		this.parked.incrementAndGet();
		try {
			return awaitAmongFollowers(me, deadlineNanos);
		}
		finally {
			this.parked.decrementAndGet();
		}
	}

	private @Nullable HandleSet awaitAmongFollowers(Participant me, long deadlineNanos) {
		this.followers.enqueue(me.follower);
		// Once more, now that everybody who leaves a vacancy can see this thread waiting.
		HandleSet set = takeVacancy(me, PromotionKind.RECLAIMED);
		if (set != null) {
			if (!this.followers.leave(me.follower)) {
				signalNextVacancy();
			}
			return set;
		}
		// One that would not end anyhow need not look often.
		long patience = (this.threads.get() > this.settings.minThreads()) ? nanos(this.keepAlive)
				: Math.max(nanos(this.keepAlive), MIN_PATIENCE_NANOS);
		long keepAliveNanos = this.clock.nanoTime() + patience;
		boolean surplusEnds = me.owned && keepAliveNanos - deadlineNanos < 0;
		long untilNanos = surplusEnds ? keepAliveNanos : deadlineNanos;
		boolean signalled;
		if (needsWatcher() && this.watch.appoint(me.number)) {
			try {
				signalled = watchLeases(me, untilNanos);
			}
			finally {
				this.watch.resign();
			}
			if (me.leading != null) {
				// Leases of other handle sets have lost their watcher; and if it was
				// signalled meanwhile, there is a vacancy.
				this.followers.leave(me.follower);
				signalNextVacancy();
				return me.leading;
			}
		}
		else {
			signalled = this.followers.await(me.follower, untilNanos, () -> isStopping() || (me.owned && isSurplus()));
		}
		if (signalled || !this.followers.leave(me.follower)) {
			return arrive(me);
		}
		retire(me, surplusEnds && keepAliveNanos - this.clock.nanoTime() <= 0);
		return null;
	}

	/**
	 * Whether one who waits is to watch leases. There are some even if there should be
	 * none: of handlers that began before the policy was changed.
	 */
	private boolean needsWatcher() {
		return this.settings.promotionPolicy() == PromotionPolicy.ADAPTIVE || isAnyLeased();
	}

	/**
	 * Waits like a follower, and takes over from a leader whose handler has not returned
	 * when its lease runs out.
	 * @return whether the thread was signalled; if it leads now, that is not known yet
	 */
	private boolean watchLeases(Participant me, long untilNanos) {
		boolean signalled = false;
		long now = this.clock.nanoTime();
		while (!signalled && !isStopping() && untilNanos - now > 0) {
			// Whoever changes them unparks the watcher afterwards.
			Settings current = this.settings;
			boolean quiet = true;
			boolean leased = false;
			// A lease that begins from now on does not run out before this.
			long next = now + current.leaseNanos();
			for (HandleSet set : this.handleSets) {
				long lease = set.leadership.leaseWord();
				long began = set.leadership.leasedNanos();
				leased |= lease != Leadership.NOT_LEASED;
				quiet &= lease == Leadership.NOT_LEASED && now - began > current.quietNanos();
				long end = current.leaseEndNanos(began);
				if (lease != Leadership.NOT_LEASED && end - now <= 0) {
					if (takeOver(me, set, lease)) {
						beginToLead(me, set, now);
						uncork(Leadership.holderOf(lease));
						handedOff(me, set, PromotionKind.TAKEOVER, now - end, now);
						return false;
					}
				}
				else if (lease != Leadership.NOT_LEASED && end - next < 0) {
					next = end;
				}
			}
			if (me.owned && isSurplus()) {
				// With a lease it is the last thread that could lead, perhaps.
				if (!leased) {
					return false;
				}
				next = Math.min(next - now, SURPLUS_WATCH_NANOS) + now;
				quiet = false;
			}
			if (!quiet) {
				signalled = this.followers.await(me.follower, (next - untilNanos < 0) ? next : untilNanos,
						() -> isStopping() || this.settings != current);
			}
			else {
				this.watch.fallAsleep(me.number);
				if (!isAnyLeased()) {
					signalled = this.followers.await(me.follower, untilNanos,
							() -> isStopping() || this.watch.isAwake() || this.settings != current);
				}
				this.watch.rouse();
			}
			now = this.clock.nanoTime();
		}
		return signalled;
	}

	/**
	 * Takes a leadership over, and notes from whom.
	 * @param leaseWord the lease
	 */
	private boolean takeOver(Participant me, HandleSet set, long leaseWord) {
		Participant leader = this.participants.get(Leadership.holderOf(leaseWord));
		// Before: as long as the lease lasts, the leader works on this and nothing else,
		// or on nothing any more.
		SelectableHandle handle = (leader != null) ? leader.handle() : null;
		if (!set.leadership.takeOver(leaseWord, me.number)) {
			return false;
		}
		if (leader != null) {
			set.leftBy(leader, handle);
		}
		return true;
	}

	/** What a handler has sent does not wait until it returns. */
	private void uncork(int number) {
		Participant participant = this.participants.get(number);
		SelectableHandle handle = (participant != null) ? participant.handle() : null;
		if (handle != null) {
			handle.handler.uncork();
		}
	}

	/**
	 * Makes vacancies of leases that have run out and that nobody watches. While no
	 * thread is left to watch, a leader that waits for moments only looks after them
	 * instead.
	 */
	private void endUnwatchedLeases(Participant me) {
		if (!this.watch.isVacant() || !isAnyLeased()) {
			return;
		}
		long now = this.clock.nanoTime();
		for (HandleSet set : this.handleSets) {
			if (takeOverIfRunOut(me, set, now)) {
				set.leadership.giveUp(me.number, now);
			}
		}
	}

	private boolean takeOverIfRunOut(Participant me, HandleSet set, long nowNanos) {
		long lease = set.leadership.leaseWord();
		if (!hasLeaseRunOut(set, nowNanos) || !takeOver(me, set, lease)) {
			return false;
		}
		uncork(Leadership.holderOf(lease));
		return true;
	}

	private boolean isAnyLeased() {
		for (HandleSet set : this.handleSets) {
			if (set.leadership.isLeased()) {
				return true;
			}
		}
		return false;
	}

	/** Whether there are more threads than the maximum, which was lowered. */
	private boolean isSurplus() {
		return this.threads.get() > this.settings.maxThreads();
	}

	/**
	 * Counts the calling thread out, which leads nothing and does not wait, if it is one
	 * too many: it is surplus, or above the minimum and has waited for the keep-alive
	 * time. Those that waited longest come first.
	 * <p>
	 * A surplus thread stays as long as anything is vacant: the others are busy, and the
	 * first of them that is not ends instead.
	 * @return whether the thread ends
	 */
	private boolean retire(Participant me, boolean expired) {
		boolean surplus = isSurplus();
		if (!me.owned || isStopping() || !(surplus || expired) || (surplus && isAnythingVacant())) {
			return false;
		}
		me.retired = countOut(expired);
		return me.retired;
	}

	/**
	 * Under the monitor, as the settings are changed: whoever changes them counts the
	 * threads afterwards.
	 */
	private synchronized boolean countOut(boolean toMinimum) {
		int limit = toMinimum ? this.settings.minThreads() : this.settings.maxThreads();
		int count;
		do {
			count = this.threads.get();
			if (count <= limit) {
				return false;
			}
		}
		while (!this.threads.compareAndSet(count, count - 1));
		return true;
	}

	/** A thread that was woken or started to lead looks for what to lead. */
	private @Nullable HandleSet arrive(Participant me) {
		HandleSet set = takeVacancy(me, PromotionKind.EAGER);
		if (set == null) {
			this.wastedWakeUps.increment();
		}
		else {
			signalNextVacancy();
		}
		return set;
	}

	/**
	 * Takes the leadership of any handle set that has no leader.
	 * @return what the thread leads now
	 */
	private @Nullable HandleSet takeVacancy(Participant me, PromotionKind kind) {
		int count = this.handleSets.length;
		for (int i = 1; i <= count; i++) {
			// Not always from the first: if every thread is busy, a thread that is done
			// takes the next set in turn, or the last ones would starve.
			int index = (me.latestSet + i) % count;
			HandleSet set = this.handleSets[index];
			// A lease that has not run out, too, if its handler is a long one: this
			// thread
			// has a processor, and the leader has its own to be busy with.
			long lease = set.worthAProcessor ? set.leadership.leaseWord() : Leadership.NOT_LEASED;
			boolean shared = lease != Leadership.NOT_LEASED && takeOver(me, set, lease);
			if (shared || set.leadership.take(me.number)) {
				long now = this.clock.nanoTime();
				beginToLead(me, set, now);
				me.latestSet = index;
				if (shared) {
					uncork(Leadership.holderOf(lease));
				}
				handedOff(me, set, kind, shared ? 0 : set.leadership.vacancyNanos(now), now);
				return me.leading;
			}
		}
		return null;
	}

	/**
	 * Looks for moments whether a leader begins to run a handler that is worth another
	 * processor: it is just between two of them, and being woken again would cost more.
	 */
	private @Nullable HandleSet spin(Participant me) {
		for (int i = 0; i < SPINS; i++) {
			boolean worthIt = false;
			for (HandleSet set : this.handleSets) {
				worthIt |= set.worthAProcessor;
				if (set.leadership.isVacant() || (set.worthAProcessor && set.leadership.isLeased())) {
					HandleSet taken = takeVacancy(me, PromotionKind.RECLAIMED);
					if (taken != null) {
						return taken;
					}
				}
			}
			if (!worthIt) {
				return null;
			}
			Thread.onSpinWait();
		}
		return null;
	}

	private static void beginToLead(Participant me, HandleSet set, long nowNanos) {
		me.leading = set;
		me.become(ThreadRole.LEADER, nowNanos);
	}

	private void endStarvation(HandleSet set, long nowNanos) {
		long nanos = set.endStarvation(nowNanos);
		if (nanos > 0) {
			this.starvation.end(nanos);
		}
	}

	/**
	 * Notes that the leadership has changed hands, and tells it. The listeners come last:
	 * one that gives the leadership up, for instance since it resizes the pool, leaves
	 * the caller without it.
	 * @param vacancyNanos how long there was no leader; negative if there has never been
	 */
	private void handedOff(Participant me, HandleSet set, PromotionKind kind, long vacancyNanos, long nowNanos) {
		long starvedNanos = set.endStarvation(nowNanos);
		if (vacancyNanos >= 0) {
			set.handedOff(me, kind, vacancyNanos, nowNanos);
			LongAdder counter = this.promotions.get(kind);
			if (counter != null) {
				counter.increment();
			}
			tellHandedOff(kind, vacancyNanos);
		}
		if (starvedNanos > 0) {
			this.starvation.end(starvedNanos);
		}
	}

	private void tellHandedOff(PromotionKind kind, long vacancyNanos) {
		for (PoolListener listener : this.listeners) {
			try {
				listener.handedOff(kind, vacancyNanos);
			}
			catch (Throwable ex) {
				// An error, too: the caller is between leading and waiting.
				logger.debug("{} failed", listener, ex);
			}
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
		if (me == null || me.pool != this || me.leading == null) {
			return false;
		}
		boolean led = promote(me, this.clock.nanoTime());
		uncork(me.number);
		return led;
	}

	/**
	 * To be called by public methods that may block: whatever pool the calling thread
	 * belongs to, it does not block as a leader.
	 */
	static void promoteBeforeBlocking() {
		Participant me = Participant.current();
		if (me != null) {
			me.pool.promoteNewLeader();
		}
	}

	/**
	 * Gives up the leadership, if the participant has one: vacant first, then wakes
	 * whoever may take it.
	 */
	private boolean promote(Participant me, long nowNanos) {
		if (!giveUp(me, nowNanos)) {
			return false;
		}
		signalFollower();
		return true;
	}

	private static boolean giveUp(Participant me, long nowNanos) {
		HandleSet set = me.leading;
		if (set == null) {
			return false;
		}
		boolean leads = !me.leased || set.leadership.regain(me.number);
		me.leading = null;
		me.leased = false;
		me.become(ThreadRole.PROCESSING, nowNanos);
		if (!leads) {
			// It was taken over meanwhile.
			return false;
		}
		set.leftBy(me, me.handle());
		return set.leadership.giveUp(me.number, nowNanos);
	}

	/**
	 * Wakes or starts a thread for what is vacant.
	 * @return whether somebody is on the way; otherwise every thread there can be is busy
	 */
	private boolean signalFollower() {
		for (;;) {
			switch (this.followers.signal()) {
				case WOKEN -> {
					this.wakeUps.increment();
					return true;
				}
				case ALREADY_UNDER_WAY -> {
					return true;
				}
				case NOBODY_WAITS -> {
					// The mark goes to the new thread, which clears it when it arrives.
					Start start = Start.FAILED;
					try {
						start = startThread(true);
					}
					finally {
						if (start != Start.STARTED) {
							this.followers.arrive();
						}
					}
					if (start == Start.STARTED) {
						return true;
					}
					// Somebody may have begun to wait since, and another one may have
					// left a vacancy and woken nobody because of our mark. Or a thread
					// that counted against the limit may have ended, found the vacancy,
					// and started nobody because of our mark. Or the limit was raised.
					boolean anyone = !this.followers.isEmpty()
							|| (start == Start.AT_LIMIT && this.threads.get() < this.settings.maxThreads());
					if (!anyone || !isAnythingVacant()) {
						beginStarvation();
						rotateLeaders();
						return false;
					}
				}
			}
		}
	}

	private void beginStarvation() {
		long now = this.clock.nanoTime();
		for (HandleSet set : this.handleSets) {
			if (set.leadership.isVacant()) {
				this.starvation.begin(set, now);
				if (!set.leadership.isVacant()) {
					// It may have been taken before there was anything to end.
					set.endStarvation(now);
				}
			}
		}
	}

	/** For how long a handle set has been without a leader at the most, or 0. */
	long longestStarvation() {
		long now = this.clock.nanoTime();
		long longest = 0;
		for (HandleSet set : this.handleSets) {
			longest = Math.max(longest, set.starvedNanos(now));
		}
		return longest;
	}

	/**
	 * The leaders that wait for long look after the vacancy, too, since nobody else can.
	 */
	private void rotateLeaders() {
		if (this.handleSets.length > 1) {
			for (HandleSet set : this.handleSets) {
				set.endLongWait();
			}
		}
	}

	/** How long a leader may wait for events of its handle set. */
	long maxWaitNanos() {
		return (this.handleSets.length > 1 && isAnythingVacant()) ? ROTATION_NANOS : FOREVER_NANOS;
	}

	/** The one under way found one vacancy; the next one needs another thread. */
	private void signalNextVacancy() {
		if (isAnythingVacant()) {
			signalFollower();
		}
	}

	/**
	 * Whether a thread is wanted: to lead, or to watch the lease of one who leads.
	 */
	private boolean isAnythingVacant() {
		return isAnyVacant() || (this.watch.isVacant() && isAnyLeased());
	}

	/**
	 * Attends to the requests of a handle set that has no leader because every thread is
	 * busy. Runs no code of the application. Any thread.
	 */
	void attendIfVacant(HandleSet set) {
		if (isStopping() || (!set.leadership.isVacant() && !hasLeaseRunOut(set, this.clock.nanoTime()))) {
			return;
		}
		Participant current = Participant.current();
		boolean enrolled = current == null || current.pool != this;
		Participant me;
		try {
			me = (current == null || enrolled) ? enroll(Thread.currentThread(), false) : current;
		}
		catch (IllegalStateException ex) {
			logger.debug("Handle set '{}' was not attended to", set, ex);
			return;
		}
		try {
			long now = this.clock.nanoTime();
			if (me.leading != null) {
				return;
			}
			if (set.leadership.take(me.number)) {
				// For the next leader the leadership has been vacant all the time.
				attend(me, set, now - Math.max(0, set.leadership.vacancyNanos(now)));
			}
			else if (takeOverIfRunOut(me, set, now)) {
				attend(me, set, now);
			}
		}
		finally {
			if (enrolled) {
				withdraw(me);
			}
		}
	}

	private void attend(Participant me, HandleSet set, long vacantSinceNanos) {
		try {
			set.attend();
		}
		finally {
			set.leadership.giveUp(me.number, vacantSinceNanos);
			signalFollower();
		}
	}

	private boolean hasLeaseRunOut(HandleSet set, long nowNanos) {
		return set.leadership.isLeased() && this.settings.leaseEndNanos(set.leadership.leasedNanos()) - nowNanos <= 0;
	}

	private boolean isAnyVacant() {
		for (HandleSet set : this.handleSets) {
			if (set.leadership.isVacant()) {
				return true;
			}
		}
		return false;
	}

	// Handles

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
		RawEventHandler raw = new RawEventHandler(channel, handler,
				(own, engineHandler) -> newHandle(own, engineHandler, operations, new HandlerProfile()));
		start();
		return raw.open();
	}

	/**
	 * A handle owned by the caller, in the next handle set, not yet registered there.
	 * @param profiles what is known of the handler: one for all handle sets, or one each
	 */
	SelectableHandle newHandle(SelectableChannel channel, EngineEventHandler handler, int operations,
			HandlerProfile... profiles) {
		int index = Math.floorMod(this.nextHandleSet.getAndIncrement(), this.handleSets.length);
		return new SelectableHandle(channel, this.handleSets[index], handler, profiles[index % profiles.length],
				operations);
	}

	/** For a handler whose handles are in all handle sets. */
	HandlerProfile[] newProfiles() {
		HandlerProfile[] profiles = new HandlerProfile[this.handleSets.length];
		Arrays.setAll(profiles, (index) -> new HandlerProfile());
		return profiles;
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
		for (HandleSet set : this.handleSets) {
			if (handle.handleSet() == set) {
				return (SelectableHandle) handle;
			}
		}
		throw new IllegalArgumentException("%s is not a handle of pool '%s'".formatted(handle, this.name));
	}

	// Threads

	/**
	 * Starts the least number of threads, if that has not been done. Servers and
	 * registered handles start the pool by themselves.
	 * @throws IllegalStateException if the pool was closed
	 */
	public void start() {
		synchronized (this) {
			if (isStopping()) {
				throw new IllegalStateException("Pool '%s' is closed".formatted(this.name));
			}
			if (this.state == PoolSnapshot.State.RUNNING) {
				return;
			}
			this.state = PoolSnapshot.State.RUNNING;
		}
		startMinimum();
		if (this.threads.get() == 0) {
			throw new IllegalStateException("Not one thread of pool '%s' could be started".formatted(this.name));
		}
	}

	private void startMinimum() {
		while (this.threads.get() < this.settings.minThreads() && startThread(false) == Start.STARTED) {
			// until there are enough
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
	 * many as there are handle sets
	 * @param maxThreads threads at the most, from {@code minThreads} to 10000
	 * @throws IllegalArgumentException if one of them is out of its range; nothing is
	 * changed then
	 * @throws IllegalStateException if the pool was closed
	 * @see Builder#threads
	 */
	public void resize(int minThreads, int maxThreads) {
		Settings.checkThreads("minThreads", minThreads, "maxThreads", maxThreads);
		if (minThreads < this.handleSets.length) {
			throw new IllegalArgumentException(
					"'minThreads' must be at least the number of handle sets (%d), but is %d: a set without a leader is not served"
						.formatted(this.handleSets.length, minThreads));
		}
		promoteBeforeBlocking();
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
		change((current, now) -> current.withPolicy(policy, now));
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
		Settings.checkLease(lease);
		change((current, now) -> current.withLease(lease, now));
	}

	private void change(Settings.Change change) {
		Settings before;
		Settings after;
		boolean running;
		synchronized (this) {
			if (isStopping()) {
				throw new IllegalStateException("Pool '%s' is closed".formatted(this.name));
			}
			before = this.settings;
			after = change.apply(before, this.clock.nanoTime());
			this.settings = after;
			running = this.state == PoolSnapshot.State.RUNNING;
		}
		String difference = before.differenceTo(after);
		if (!difference.isEmpty()) {
			logger.info("Pool '{}' was changed: {}", this.name, difference);
		}
		if (running) {
			changed();
		}
	}

	/**
	 * Has the threads go by the settings: those that decided something by the old ones
	 * have published it before they did, or see the new ones.
	 */
	private void changed() {
		for (HandleSet set : this.handleSets) {
			moveStarvation(set);
		}
		startMinimum();
		if (isSurplus()) {
			for (Participant participant : living()) {
				if (participant.owned) {
					LockSupport.unpark(participant.thread);
				}
			}
		}
		Participant watcher = this.participants.get(this.watch.watcher());
		if (watcher != null) {
			LockSupport.unpark(watcher.thread);
		}
		if (!isStopping() && isAnythingVacant()) {
			signalFollower();
		}
	}

	/** A set whose lease nobody watches is starved from the end of the lease on. */
	private void moveStarvation(HandleSet set) {
		long now = this.clock.nanoTime();
		long lease = set.leadership.leaseWord();
		while (lease != Leadership.NOT_LEASED && this.watch.isVacant()
				&& set.moveStarvation(this.settings.leaseEndNanos(set.leadership.leasedNanos()), now)) {
			long former = lease;
			lease = set.leadership.leaseWord();
			if (lease == former) {
				return;
			}
			if (lease == Leadership.NOT_LEASED && !set.leadership.isVacant()) {
				// It ended before there was anything to end.
				set.endStarvation(now);
			}
		}
	}

	private enum Start {

		STARTED, AT_LIMIT, FAILED

	}

	/**
	 * Starts a thread if there are fewer than the limit: the maximum for one under way,
	 * the minimum otherwise.
	 * @param underWay whether it is the one under way among the followers, and arrives
	 * like one that was woken
	 */
	private Start startThread(boolean underWay) {
		int count;
		do {
			Settings current = this.settings;
			count = this.threads.get();
			if (isStopping()) {
				return Start.FAILED;
			}
			if (count >= (underWay ? current.maxThreads() : current.minThreads())) {
				return Start.AT_LIMIT;
			}
		}
		while (!this.threads.compareAndSet(count, count + 1));
		if (isSurplus() && countOut(false)) {
			// The maximum was lowered meanwhile, and whoever did it may have counted the
			// threads before.
			return Start.AT_LIMIT;
		}
		try {
			String threadName = "lf-" + RateLimit.printable(this.name) + "-" + this.threadNumbers.incrementAndGet();
			// Started by whoever finds nobody to promote: what that thread carries for
			// its own request is not for this one.
			Thread thread = new Thread(null, () -> runOwnThread(underWay), threadName, 0, false);
			thread.setContextClassLoader(this.contextClassLoader);
			thread.setDaemon(false);
			thread.setPriority(this.threadPriority);
			thread.start();
			return Start.STARTED;
		}
		catch (Throwable ex) {
			// "Unable to create native thread". Those that are there carry on.
			this.threads.decrementAndGet();
			this.threadStartFailures.increment();
			logFailure("A thread could not be started; the pool '%s' carries on with those that it has", this.name, ex);
			return Start.FAILED;
		}
	}

	private void runOwnThread(boolean underWay) {
		Participant me;
		try {
			me = enroll(Thread.currentThread(), true);
		}
		catch (Throwable ex) {
			enrollingFailed(underWay);
			logFailure("A thread of pool '%s' could not take part in it", this.name, ex);
			return;
		}
		if (underWay) {
			this.followers.arrive();
		}
		this.threadsStarted.increment();
		try {
			me.enter();
			if (underWay) {
				arrive(me);
			}
		}
		catch (Throwable ex) {
			logFailure("A thread of pool '%s' failed", this.name, ex);
		}
		try {
			participate(me, deadlineAfter(null));
		}
		finally {
			withdraw(me);
		}
	}

	/** The thread counts no more, and is not the one under way any more. */
	private void enrollingFailed(boolean underWay) {
		this.threads.decrementAndGet();
		if (underWay) {
			this.followers.arrive();
			// As for a thread that could not be started: somebody may wait by now.
			if (!this.followers.isEmpty() && isAnythingVacant()) {
				signalFollower();
			}
		}
		synchronized (this) {
			notifyAll();
		}
	}

	private synchronized Participant enroll(Thread thread, boolean owned) {
		if (isStopping() && !owned) {
			throw new IllegalStateException("Pool '%s' is closed".formatted(this.name));
		}
		if (!owned && living().stream().filter((participant) -> !participant.owned).count() >= JOINERS) {
			throw new IllegalStateException(
					"No more than %d threads can join pool '%s' beside its own".formatted(JOINERS, this.name));
		}
		Participant participant = this.participants.enroll(this, thread, owned);
		this.participating.incrementAndGet();
		return participant;
	}

	private void withdraw(Participant me) {
		boolean last = false;
		try {
			giveUp(me, this.clock.nanoTime());
		}
		finally {
			// First what must not be left undone, whatever fails: what wakes others is
			// last.
			me.exit();
			if (me.owned && !me.retired) {
				this.threads.decrementAndGet();
			}
			last = this.participating.decrementAndGet() == 0;
		}
		if (me.interrupted && !me.owned) {
			me.thread.interrupt();
		}
		if (isStopping()) {
			if (last) {
				closeHandleSets();
			}
			synchronized (this) {
				notifyAll();
			}
		}
		else if (isAnythingVacant()) {
			// Whoever left the vacancy may have counted on this thread, or on its place
			// below the limit being taken; or it is its own.
			signalFollower();
		}
	}

	// The end

	void serves(Drainable server) {
		this.servers.add(server);
	}

	void servesNoMore(Drainable server) {
		this.servers.remove(server);
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
		promoteBeforeBlocking();
		long deadlineNanos = deadlineAfter(grace);
		// All of them first: while one is drained, the others must not accept any more.
		this.servers.forEach((server) -> server.beginDrain(deadlineNanos));
		for (Drainable server : this.servers) {
			server.close(Duration.ofNanos(Math.max(0, deadlineNanos - this.clock.nanoTime())));
		}
		synchronized (this) {
			if (this.state != PoolSnapshot.State.STOPPED) {
				this.state = PoolSnapshot.State.STOPPING;
			}
		}
		List<Participant> ending = living();
		for (HandleSet set : this.handleSets) {
			set.wakeLeader();
		}
		for (Participant participant : ending) {
			LockSupport.unpark(participant.thread);
		}
		if (this.participating.get() == 0) {
			closeHandleSets();
		}
		long idleDeadline = deadlineAfter(IDLE_END_TIMEOUT);
		if (awaitEnd((idleDeadline - deadlineNanos > 0) ? idleDeadline : deadlineNanos)) {
			joinOwnThreads(ending);
			return true;
		}
		for (Participant participant : living()) {
			if (participant != Participant.current() && participant.handle() != null) {
				logger.warn("Thread '{}' of pool '{}' has not ended within {} and is interrupted; it works on {}",
						participant.thread.getName(), this.name, grace, participant.handle());
				participant.thread.interrupt();
			}
		}
		boolean ended = awaitEnd(deadlineAfter(INTERRUPT_TIMEOUT));
		if (!ended) {
			logger.warn("Pool '{}' is closed, but {} of its threads ignore their interrupt", this.name,
					living().size());
		}
		closeHandleSets();
		return ended;
	}

	private synchronized boolean awaitEnd(long deadlineNanos) {
		Participant me = Participant.current();
		// Handlers that close their own pool wait neither for themselves nor for each
		// other.
		boolean handler = me != null && me.pool == this;
		if (handler) {
			this.waitingHandlers++;
			notifyAll();
		}
		try {
			int self = handler ? this.waitingHandlers : 0;
			while (this.participating.get() > self || this.threads.get() > self) {
				long left = deadlineNanos - this.clock.nanoTime();
				if (left <= 0) {
					return false;
				}
				TimeUnit.NANOSECONDS.timedWait(this, left);
				self = handler ? this.waitingHandlers : 0;
			}
			return true;
		}
		catch (InterruptedException ex) {
			// The pool is closed all the same, only without waiting.
			Thread.currentThread().interrupt();
			return false;
		}
		finally {
			this.waitingHandlers -= handler ? 1 : 0;
		}
	}

	/** Those that take part no more have but to return; then no thread is left behind. */
	private void joinOwnThreads(List<Participant> ending) {
		try {
			for (Participant participant : ending) {
				if (participant.owned && participant.hasWithdrawn()) {
					participant.thread.join(INTERRUPT_TIMEOUT.toMillis());
				}
			}
		}
		catch (InterruptedException ex) {
			Thread.currentThread().interrupt();
		}
	}

	private void closeHandleSets() {
		synchronized (this) {
			if (this.state == PoolSnapshot.State.STOPPED) {
				return;
			}
			this.state = PoolSnapshot.State.STOPPED;
		}
		for (HandleSet set : this.handleSets) {
			set.close();
		}
	}

	boolean isStopping() {
		PoolSnapshot.State current = this.state;
		return current == PoolSnapshot.State.STOPPING || current == PoolSnapshot.State.STOPPED;
	}

	private long deadlineAfter(@Nullable Duration timeout) {
		return this.clock.nanoTime() + ((timeout != null) ? nanos(timeout) : FOREVER_NANOS);
	}

	/**
	 * In nanoseconds, cut where sums with {@link System#nanoTime()} still cannot
	 * overflow.
	 */
	static long nanos(Duration duration) {
		return (duration.compareTo(Duration.ofNanos(FOREVER_NANOS)) < 0) ? duration.toNanos() : FOREVER_NANOS;
	}

	// What it looks like from outside

	/** What the connections hold together. */
	MemoryBudget memory() {
		return this.memory;
	}

	int maxThreads() {
		return this.settings.maxThreads();
	}

	long leaseNanos() {
		return this.settings.leaseNanos();
	}

	List<Participant> living() {
		return this.participants.living();
	}

	/**
	 * Adds one who is told of hand-offs from now on. Any thread.
	 * @param listener is called by new leaders
	 */
	public synchronized void addListener(PoolListener listener) {
		PoolListener[] current = this.listeners;
		PoolListener[] longer = Arrays.copyOf(current, current.length + 1);
		longer[current.length] = listener;
		this.listeners = longer;
	}

	PoolListener[] listeners() {
		return this.listeners;
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
		Instant time = Instant.now();
		long now = this.clock.nanoTime();
		// The words of the handle sets decide who leads; all else is put in accordance
		// with what they said when they were read.
		Participant[] leaders = new Participant[this.handleSets.length];
		Set<Participant> leading = new HashSet<>();
		for (HandleSet set : this.handleSets) {
			Participant leader = leaderOf(set, now);
			if (leader != null && leading.add(leader)) {
				leaders[set.index] = leader;
			}
		}
		List<PoolSnapshot.ThreadSnapshot> members = new ArrayList<>();
		for (Participant participant : this.participants.all()) {
			if (leading.remove(participant) || !participant.hasWithdrawn()) {
				members.add(participant.snapshot(isAmong(participant, leaders), now));
			}
		}
		List<PoolSnapshot.HandleSetSnapshot> sets = new ArrayList<>();
		for (HandleSet set : this.handleSets) {
			Participant leader = leaders[set.index];
			// Its place may have been given to another thread since.
			boolean listed = leader != null && !leading.contains(leader);
			sets.add(set.snapshot((leader != null && listed) ? leader.thread.getName() : null, now));
		}
		Map<PromotionKind, Long> counts = new EnumMap<>(PromotionKind.class);
		this.promotions.forEach((kind, counter) -> counts.put(kind, counter.sum()));
		LatencySnapshot vacancies = vacancies();
		Settings current = this.settings;
		return new PoolSnapshot(this.name, this.state, current.minThreads(), current.maxThreads(), this.keepAlive,
				current.promotionPolicy(), this.promotionOrder, current.promotionLease(), List.copyOf(members),
				List.copyOf(sets), Map.copyOf(counts), vacancies.total().toNanos(), this.wakeUps.sum(),
				this.wastedWakeUps.sum(), this.threadsStarted.sum(), this.threadStartFailures.sum(),
				this.starvation.leaderlessPeriods(), this.starvation.leaderlessNanos(), this.starvation.starvations(),
				Duration.ofNanos(longestStarvation()), this.memory.used(), this.memory.limit(), time, vacancies);
	}

	/** Who leads a handle set, if anybody does so in fact. */
	private @Nullable Participant leaderOf(HandleSet set, long nowNanos) {
		int holder = set.leadership.holder();
		// A lease that has run out is starved if there was nobody to take it over.
		boolean stuck = set.starvedNanos(nowNanos) > 0 && set.leadership.isLeased();
		return (holder != Leadership.VACANT && !stuck) ? this.participants.get(holder) : null;
	}

	private static boolean isAmong(Participant participant, @Nullable Participant[] leaders) {
		for (Participant leader : leaders) {
			if (leader == participant) {
				return true;
			}
		}
		return false;
	}

	private LatencySnapshot vacancies() {
		LatencyHistogram.Sum sum = new LatencyHistogram.Sum();
		for (HandleSet set : this.handleSets) {
			set.vacancies.addTo(sum);
		}
		return LatencySnapshot.of(sum);
	}

	@Override
	public String toString() {
		return "LeaderFollowersPool '" + this.name + "'";
	}

	/**
	 * Builds a pool.
	 */
	public static final class Builder {

		private String name = "default";

		private int minThreads = 4;

		private int maxThreads = 64;

		private Duration keepAlive = Duration.ofSeconds(60);

		private int threadPriority = Thread.NORM_PRIORITY;

		private int handleSets = 1;

		private PromotionPolicy promotionPolicy = PromotionPolicy.ADAPTIVE;

		private PromotionOrder promotionOrder = PromotionOrder.LIFO;

		private Duration promotionLease = Duration.ofMillis(2);

		private long maxBufferedBytes = Runtime.getRuntime().maxMemory() / 4;

		private final List<PoolListener> listeners = new ArrayList<>();

		private Clock clock = Clock.SYSTEM;

		private SelectorProvider selectorProvider = SelectorProvider.provider();

		private Builder() {
		}

		/** For tests: what time it is for the pool. */
		Builder clock(Clock clock) {
			this.clock = clock;
			return this;
		}

		/** For tests: where handle sets get their selectors from. */
		Builder selectorProvider(SelectorProvider selectorProvider) {
			this.selectorProvider = selectorProvider;
			return this;
		}

		/**
		 * The name of the pool, which is part of the names of its threads.
		 * @param name not empty; the default is {@code default}
		 * @return this builder
		 */
		public Builder name(String name) {
			if (name.isBlank()) {
				throw new IllegalArgumentException("'name' must not be empty");
			}
			this.name = name;
			return this;
		}

		/**
		 * How many threads the pool has. A thread is added when an event could not be
		 * waited for since all are busy, so {@code max} bounds how many handlers block at
		 * a time.
		 * @param min threads that are kept even when idle, at least 1; the default is 4
		 * @param max threads at the most, from {@code min} to 10000; the default is 64
		 * @return this builder
		 */
		public Builder threads(int min, int max) {
			Settings.checkThreads("min", min, "max", max);
			this.minThreads = min;
			this.maxThreads = max;
			return this;
		}

		/**
		 * How long a surplus thread waits for work before it ends.
		 * @param keepAlive positive; the default is 60 seconds
		 * @return this builder
		 */
		public Builder keepAlive(Duration keepAlive) {
			if (keepAlive.isZero() || keepAlive.isNegative()) {
				throw new IllegalArgumentException("'keepAlive' must be positive, but is " + keepAlive);
			}
			this.keepAlive = keepAlive;
			return this;
		}

		/**
		 * The priority of the threads, for pools that serve different levels of service.
		 * Many systems ignore it unless told otherwise.
		 * @param priority from {@link Thread#MIN_PRIORITY} to
		 * {@link Thread#MAX_PRIORITY}; the default is {@link Thread#NORM_PRIORITY}
		 * @return this builder
		 */
		public Builder threadPriority(int priority) {
			if (priority < Thread.MIN_PRIORITY || priority > Thread.MAX_PRIORITY) {
				throw new IllegalArgumentException("'priority' must be from %d to %d, but is %d"
					.formatted(Thread.MIN_PRIORITY, Thread.MAX_PRIORITY, priority));
			}
			this.threadPriority = priority;
			return this;
		}

		/**
		 * How many handle sets the connections are spread over. Each has a leader of its
		 * own, and any idle thread leads any set without one (the paper's <em>multiple
		 * leaders, multiple followers</em>).
		 * @param handleSets from 1 to 64; the default is 1
		 * @return this builder
		 */
		public Builder handleSets(int handleSets) {
			if (handleSets < 1 || handleSets > 64) {
				throw new IllegalArgumentException("'handleSets' must be from 1 to 64, but is " + handleSets);
			}
			this.handleSets = handleSets;
			return this;
		}

		/**
		 * When a leader promotes a follower.
		 * @param policy the default is {@link PromotionPolicy#ADAPTIVE}
		 * @return this builder
		 */
		public Builder promotionPolicy(PromotionPolicy policy) {
			this.promotionPolicy = policy;
			return this;
		}

		/**
		 * How long a leader may run a handler before a follower takes the leadership
		 * over. It bounds how long a handler that unexpectedly blocks keeps other
		 * connections waiting. Without effect with {@link PromotionPolicy#EAGER}.
		 * @param lease from 100 microseconds to 1 minute; the default is 2 milliseconds.
		 * While handlers run, one thread wakes up that often to look
		 * @return this builder
		 */
		public Builder promotionLease(Duration lease) {
			Settings.checkLease(lease);
			this.promotionLease = lease;
			return this;
		}

		/**
		 * Which follower is promoted.
		 * @param order the default is {@link PromotionOrder#LIFO}
		 * @return this builder
		 */
		public Builder promotionOrder(PromotionOrder order) {
			this.promotionOrder = order;
			return this;
		}

		/**
		 * How much memory the connections of the pool may hold together for messages that
		 * have begun to arrive and replies that wait for their peers. A connection that
		 * needs more when it is used up is closed as {@link CloseReason#OVERLOADED}, so
		 * that a flood does not exhaust the heap for everybody.
		 * @param maxBufferedBytes bytes, at least 64 KiB; the default is a quarter of the
		 * maximum heap
		 * @return this builder
		 */
		public Builder maxBufferedBytes(long maxBufferedBytes) {
			if (maxBufferedBytes < Participant.BUFFER_SIZE) {
				throw new IllegalArgumentException("'maxBufferedBytes' must be at least %d, but is %d"
					.formatted(Participant.BUFFER_SIZE, maxBufferedBytes));
			}
			this.maxBufferedBytes = maxBufferedBytes;
			return this;
		}

		/**
		 * Adds one who is told of hand-offs.
		 * @param listener is called by new leaders
		 * @return this builder
		 */
		public Builder listener(PoolListener listener) {
			this.listeners.add(listener);
			return this;
		}

		/**
		 * Builds the pool. It has no threads until a server or handle needs them.
		 * @return a new pool
		 * @throws IllegalArgumentException if there are more handle sets than threads
		 */
		public LeaderFollowersPool build() {
			Settings.checkHandleSets(this.handleSets, this.minThreads);
			return new LeaderFollowersPool(this);
		}

	}

}
