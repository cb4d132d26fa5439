package org.leaderfollowers;

import java.nio.channels.spi.SelectorProvider;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;

import org.leaderfollowers.internal.promotion.Clock;
import org.leaderfollowers.internal.promotion.PoolSettings;
import org.leaderfollowers.internal.promotion.ProcessorTime;

/**
 * Collects and checks the options of a pool. It is a separate file only because of its
 * length; users see it as {@link LeaderFollowersPool.Builder}.
 */
abstract sealed class PoolBuilder permits LeaderFollowersPool.Builder {

	private static final int PROCESSORS = Runtime.getRuntime().availableProcessors();

	/**
	 * The default maximum of handle sets. A thread that looks for a leadership examines
	 * all of them. With more processors, it is better to have more threads share the
	 * ready handles.
	 */
	private static final int MOST_UNFOLDED = 8;

	private String name = "default";

	private int minThreads = 4;

	private int maxThreads = 64;

	private Duration keepAlive = Duration.ofSeconds(60);

	private int threadPriority = Thread.NORM_PRIORITY;

	/** 0 stands for the default, which depends on the number of threads. */
	private int handleSets;

	private List<String> eventSources = List.of();

	private PromotionPolicy promotionPolicy = PromotionPolicy.ADAPTIVE;

	private int parallelism = PROCESSORS;

	private PromotionOrder promotionOrder = PromotionOrder.LIFO;

	private Duration promotionLease = Duration.ofMillis(2);

	/** 0 stands for a share of the default limit. */
	private long maxBufferedBytes;

	private NestedDispatch nestedDispatch = NestedDispatch.NEVER;

	private int maxNestedDepth = 8;

	private NestingGuard nestingGuard = new NestingGuard() {
	};

	private Duration stuckAfter = Duration.ofSeconds(10);

	private Duration slowHandlerAfter = Duration.ofMinutes(1);

	private final List<PoolListener> listeners = new ArrayList<>();

	private Clock clock = Clock.SYSTEM;

	private SelectorProvider selectorProvider = SelectorProvider.provider();

	private ProcessorTime processorTime = ProcessorTime.SYSTEM;

	PoolBuilder() {
	}

	/** For tests: the clock of the pool. */
	LeaderFollowersPool.Builder clock(Clock clock) {
		this.clock = clock;
		return self();
	}

	/** For tests: provides the selectors of the handle sets. */
	LeaderFollowersPool.Builder selectorProvider(SelectorProvider selectorProvider) {
		this.selectorProvider = selectorProvider;
		return self();
	}

	/** For tests: the processor time that threads have used. */
	LeaderFollowersPool.Builder processorTime(ProcessorTime processorTime) {
		this.processorTime = processorTime;
		return self();
	}

	/**
	 * The name of the pool, which is part of the names of its threads.
	 * @param name not empty; the default is {@code default}
	 * @return this builder
	 */
	public LeaderFollowersPool.Builder name(String name) {
		this.name = Arguments.notBlank("name", name);
		return self();
	}

	/**
	 * The number of threads. The pool adds a thread if all threads are busy and none is
	 * left to wait for events, so {@code max} limits how many handlers can block at the
	 * same time.
	 * @param min the number of threads that are kept even when idle, at least 1; the
	 * default is 4
	 * @param max the maximum number of threads, from {@code min} to 10000; the default is
	 * 64
	 * @return this builder
	 */
	public LeaderFollowersPool.Builder threads(int min, int max) {
		PoolSettings.checkThreads("min", min, "max", max);
		this.minThreads = min;
		this.maxThreads = max;
		return self();
	}

	/**
	 * How long a surplus thread waits for work before it ends.
	 * @param keepAlive positive; the default is 60 seconds
	 * @return this builder
	 */
	public LeaderFollowersPool.Builder keepAlive(Duration keepAlive) {
		if (keepAlive.isZero() || keepAlive.isNegative()) {
			throw new IllegalArgumentException("'keepAlive' must be positive, but is " + keepAlive);
		}
		this.keepAlive = keepAlive;
		return self();
	}

	/**
	 * The priority of the threads, for pools that serve different levels of service. Many
	 * systems ignore it by default.
	 * @param priority from {@link Thread#MIN_PRIORITY} to {@link Thread#MAX_PRIORITY};
	 * the default is {@link Thread#NORM_PRIORITY}
	 * @return this builder
	 */
	public LeaderFollowersPool.Builder threadPriority(int priority) {
		this.threadPriority = Arguments.inRange("priority", priority, Thread.MIN_PRIORITY, Thread.MAX_PRIORITY);
		return self();
	}

	/**
	 * The number of handle sets that the connections are distributed over. Each handle
	 * set has a leader of its own, and any idle thread leads any set without a leader
	 * (the paper's <em>multiple leaders, multiple followers</em>).
	 * @param handleSets from 1 to 64, and at most the minimum number of threads; then all
	 * of them are in use. By default, one handle set is in use, and further ones unfold
	 * as the pool keeps more processors busy: up to {@code parallelism}, up to the
	 * minimum number of threads, and up to 8
	 * @return this builder
	 */
	public LeaderFollowersPool.Builder handleSets(int handleSets) {
		this.handleSets = Arguments.inRange("handleSets", handleSets, 1, 64);
		return self();
	}

	/**
	 * The {@linkplain EventSource event sources} that the pool can wait on beside its
	 * handle sets. Each source needs a thread that leads it, so the minimum number of
	 * threads must be at least the number of handle sets and event sources together. The
	 * pool waits on a source as soon as it is
	 * {@linkplain LeaderFollowersPool#register(String, EventSource, EventSource.Handler)
	 * registered}; until then, the source needs no thread.
	 * @param names the names of the sources, none by default. They must differ from each
	 * other and from the names of the handle sets, which consist of the name of the pool
	 * and a number
	 * @return this builder
	 */
	public LeaderFollowersPool.Builder eventSources(String... names) {
		List<String> distinct = new ArrayList<>();
		for (String name : names) {
			if (distinct.contains(Arguments.notBlank("names", name))) {
				throw new IllegalArgumentException(
						"'names' must be different from each other, but contains '%s' twice".formatted(name));
			}
			distinct.add(name);
		}
		this.eventSources = List.copyOf(distinct);
		return self();
	}

	/**
	 * The maximum number of threads that share the events that are ready. One thread
	 * works alone as long as it keeps up; if so much work waits that waking a thread
	 * pays, the next thread is woken. Threads whose handlers are known to block do not
	 * count, and neither does a follower that takes over a leadership. Has no effect with
	 * {@link PromotionPolicy#EAGER}.
	 * @param parallelism from 1, with which no thread is woken to share, to 1024; the
	 * default is the number of processors
	 * @return this builder
	 */
	public LeaderFollowersPool.Builder parallelism(int parallelism) {
		this.parallelism = Arguments.inRange("parallelism", parallelism, 1, 1024);
		return self();
	}

	/**
	 * When a leader promotes a follower.
	 * @param policy the default is {@link PromotionPolicy#ADAPTIVE}
	 * @return this builder
	 */
	public LeaderFollowersPool.Builder promotionPolicy(PromotionPolicy policy) {
		this.promotionPolicy = policy;
		return self();
	}

	/**
	 * How long a leader may run a handler before a follower takes over the leadership.
	 * The lease limits how long a handler that unexpectedly blocks keeps other
	 * connections waiting. With {@link PromotionPolicy#EAGER}, no leader runs a handler.
	 * @param lease from 100 microseconds to 1 minute; the default is 2 milliseconds.
	 * While handlers run, one thread wakes at this interval to check the leases
	 * @return this builder
	 */
	public LeaderFollowersPool.Builder promotionLease(Duration lease) {
		PoolSettings.checkLease(lease);
		this.promotionLease = lease;
		return self();
	}

	/**
	 * The order in which followers are promoted.
	 * @param order the default is {@link PromotionOrder#LIFO}
	 * @return this builder
	 */
	public LeaderFollowersPool.Builder promotionOrder(PromotionOrder order) {
		this.promotionOrder = order;
		return self();
	}

	/**
	 * How much memory all connections of the pool together may hold for messages that
	 * have begun to arrive, for replies that wait for their peers, and for TLS
	 * handshakes. If more than 3/4 of it are used, no connections are accepted, and those
	 * that hold most and make no progress are closed with the reason
	 * {@link CloseReason#OVERLOADED}, so that a flood neither exhausts the heap nor keeps
	 * others out.
	 * @param maxBufferedBytes bytes, at least 64 KiB. By default, all pools of the
	 * virtual machine that have no limit of their own share a quarter of the maximum heap
	 * @return this builder
	 */
	public LeaderFollowersPool.Builder maxBufferedBytes(long maxBufferedBytes) {
		if (maxBufferedBytes < Participant.BUFFER_SIZE) {
			throw new IllegalArgumentException("'maxBufferedBytes' must be at least %d, but is %d"
				.formatted(Participant.BUFFER_SIZE, maxBufferedBytes));
		}
		this.maxBufferedBytes = maxBufferedBytes;
		return self();
	}

	/**
	 * Whether a thread that waits for a reply runs handlers of other events on top of the
	 * waiting handler, if there is no other thread for them.
	 * @param nestedDispatch the default is {@link NestedDispatch#NEVER}
	 * @return this builder
	 */
	public LeaderFollowersPool.Builder nestedDispatch(NestedDispatch nestedDispatch) {
		this.nestedDispatch = Objects.requireNonNull(nestedDispatch, "'nestedDispatch' must not be null");
		return self();
	}

	/**
	 * The maximum number of handlers that a thread runs on top of its first one. Each
	 * handler takes space on the stack of the thread.
	 * @param maxNestedDepth from 1 to 100; the default is 8
	 * @return this builder
	 */
	public LeaderFollowersPool.Builder maxNestedDepth(int maxNestedDepth) {
		this.maxNestedDepth = Arguments.inRange("maxNestedDepth", maxNestedDepth, 1, 100);
		return self();
	}

	/**
	 * Separates handlers that run on top of each other.
	 * @param nestingGuard the default lets all of them nest
	 * @return this builder
	 */
	public LeaderFollowersPool.Builder nestingGuard(NestingGuard nestingGuard) {
		this.nestingGuard = Objects.requireNonNull(nestingGuard, "'nestingGuard' must not be null");
		return self();
	}

	/**
	 * How long a leader may neither wait for events nor run a handler until the pool
	 * raises the {@linkplain PoolAlarm alarm} {@link PoolAlarm.Kind#LEADER_STUCK}.
	 * Handlers that have run for this long are examined for deadlocks.
	 * @param stuckAfter from 1 second to 24 hours, or 0 not to watch; the default is 10
	 * seconds
	 * @return this builder
	 */
	public LeaderFollowersPool.Builder stuckAfter(Duration stuckAfter) {
		this.stuckAfter = watched("stuckAfter", stuckAfter);
		return self();
	}

	/**
	 * How long a handler may run until the pool raises the {@linkplain PoolAlarm alarm}
	 * {@link PoolAlarm.Kind#HANDLER_SLOW}. Time that the handler waits for a reply or a
	 * message on a connection does not count.
	 * @param slowHandlerAfter from 1 second to 24 hours, or 0 not to watch; the default
	 * is 1 minute
	 * @return this builder
	 */
	public LeaderFollowersPool.Builder slowHandlerAfter(Duration slowHandlerAfter) {
		this.slowHandlerAfter = watched("slowHandlerAfter", slowHandlerAfter);
		return self();
	}

	private static Duration watched(String name, Duration value) {
		if (!value.isZero()
				&& (value.compareTo(Duration.ofSeconds(1)) < 0 || value.compareTo(Duration.ofHours(24)) > 0)) {
			throw new IllegalArgumentException(
					"'%s' must be 0, or from 1 second to 24 hours, but is %s".formatted(name, value));
		}
		return value;
	}

	/**
	 * Adds a listener for hand-offs.
	 * @param listener called by new leaders
	 * @return this builder
	 */
	public LeaderFollowersPool.Builder listener(PoolListener listener) {
		this.listeners.add(listener);
		return self();
	}

	private LeaderFollowersPool.Builder self() {
		return (LeaderFollowersPool.Builder) this;
	}

	/**
	 * Creates the options.
	 * @throws IllegalArgumentException if there are more handle sets and event sources
	 * than threads
	 */
	PoolOptions options() {
		boolean unfolds = this.handleSets == 0;
		int left = this.minThreads - this.eventSources.size();
		int sets = unfolds ? Math.max(1, Math.min(left, Math.min(this.parallelism, MOST_UNFOLDED))) : this.handleSets;
		PoolOptions.checkHandleSets(sets, this.minThreads);
		PoolOptions.checkLeaders("min", this.minThreads, sets, this.eventSources.size());
		for (int i = 0; i < sets; i++) {
			if (this.eventSources.contains(HandleSets.nameOf(this.name, i))) {
				throw new IllegalArgumentException("'%s' is the name of a handle set: give the event source another one"
					.formatted(HandleSets.nameOf(this.name, i)));
			}
		}
		PoolSettings settings = new PoolSettings(this.minThreads, this.maxThreads,
				this.promotionPolicy == PromotionPolicy.EAGER, this.promotionLease.toNanos(), this.clock.nanoTime());
		return new PoolOptions(this.name, settings, this.keepAlive, this.threadPriority, sets, unfolds,
				this.eventSources, this.parallelism, this.promotionOrder, this.maxBufferedBytes,
				new NestedUpcalls.Options(this.nestedDispatch, this.maxNestedDepth, this.nestingGuard), this.listeners,
				this.clock, this.selectorProvider, this.processorTime,
				new PoolWatchdog.Options(this.stuckAfter.toNanos(), this.slowHandlerAfter.toNanos()));
	}

}
