package org.leaderfollowers;

import java.nio.channels.spi.SelectorProvider;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;

import org.leaderfollowers.internal.promotion.Clock;
import org.leaderfollowers.internal.promotion.PoolSettings;
import org.leaderfollowers.internal.promotion.ProcessorTime;

/**
 * Collects and checks the options of a pool. In a file of its own; users see it as
 * {@link LeaderFollowersPool.Builder}.
 */
abstract sealed class PoolBuilder permits LeaderFollowersPool.Builder {

	private static final int PROCESSORS = Runtime.getRuntime().availableProcessors();

	/**
	 * A thread that looks for a leadership looks at all of them. Beyond this, threads
	 * that share the ready handles are the better way to use processors.
	 */
	private static final int MOST_UNFOLDED = 8;

	private String name = "default";

	private int minThreads = 4;

	private int maxThreads = 64;

	private Duration keepAlive = Duration.ofSeconds(60);

	private int threadPriority = Thread.NORM_PRIORITY;

	/** 0 for the default, which depends on the number of threads. */
	private int handleSets;

	private PromotionPolicy promotionPolicy = PromotionPolicy.ADAPTIVE;

	private int parallelism = PROCESSORS;

	private PromotionOrder promotionOrder = PromotionOrder.LIFO;

	private Duration promotionLease = Duration.ofMillis(2);

	private long maxBufferedBytes = Runtime.getRuntime().maxMemory() / 4;

	private final List<PoolListener> listeners = new ArrayList<>();

	private Clock clock = Clock.SYSTEM;

	private SelectorProvider selectorProvider = SelectorProvider.provider();

	private ProcessorTime processorTime = ProcessorTime.SYSTEM;

	PoolBuilder() {
	}

	/** For tests: what time it is for the pool. */
	LeaderFollowersPool.Builder clock(Clock clock) {
		this.clock = clock;
		return self();
	}

	/** For tests: where handle sets get their selectors from. */
	LeaderFollowersPool.Builder selectorProvider(SelectorProvider selectorProvider) {
		this.selectorProvider = selectorProvider;
		return self();
	}

	/** For tests: what threads have used of the processors. */
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
	 * How many threads the pool has. A thread is added when an event could not be waited
	 * for since all are busy, so {@code max} bounds how many handlers block at a time.
	 * @param min threads that are kept even when idle, at least 1; the default is 4
	 * @param max threads at the most, from {@code min} to 10000; the default is 64
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
	 * systems ignore it unless told otherwise.
	 * @param priority from {@link Thread#MIN_PRIORITY} to {@link Thread#MAX_PRIORITY};
	 * the default is {@link Thread#NORM_PRIORITY}
	 * @return this builder
	 */
	public LeaderFollowersPool.Builder threadPriority(int priority) {
		this.threadPriority = Arguments.inRange("priority", priority, Thread.MIN_PRIORITY, Thread.MAX_PRIORITY);
		return self();
	}

	/**
	 * How many handle sets the connections are spread over. Each has a leader of its own,
	 * and any idle thread leads any set without one (the paper's <em>multiple leaders,
	 * multiple followers</em>).
	 * @param handleSets from 1 to 64, and not more than the minimum of threads; all of
	 * them are in use then. By default one is in use, and further ones unfold as the pool
	 * keeps more processors busy: up to {@link #parallelism}, up to the minimum of
	 * threads, and up to 8
	 * @return this builder
	 */
	public LeaderFollowersPool.Builder handleSets(int handleSets) {
		this.handleSets = Arguments.inRange("handleSets", handleSets, 1, 64);
		return self();
	}

	/**
	 * How many threads share the events that are ready, at the most. One of them works on
	 * as long as it keeps up; when more work waits than is worth waking a thread for, the
	 * next one is woken. Threads whose handlers are known to block do not count, nor does
	 * a follower that takes a leadership over. Without effect with
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
	 * How long a leader may run a handler before a follower takes the leadership over. It
	 * bounds how long a handler that unexpectedly blocks keeps other connections waiting.
	 * Without effect with {@link PromotionPolicy#EAGER}.
	 * @param lease from 100 microseconds to 1 minute; the default is 2 milliseconds.
	 * While handlers run, one thread wakes up that often to look
	 * @return this builder
	 */
	public LeaderFollowersPool.Builder promotionLease(Duration lease) {
		PoolSettings.checkLease(lease);
		this.promotionLease = lease;
		return self();
	}

	/**
	 * Which follower is promoted.
	 * @param order the default is {@link PromotionOrder#LIFO}
	 * @return this builder
	 */
	public LeaderFollowersPool.Builder promotionOrder(PromotionOrder order) {
		this.promotionOrder = order;
		return self();
	}

	/**
	 * How much memory the connections of the pool may hold together for messages that
	 * have begun to arrive and replies that wait for their peers. A connection that needs
	 * more when it is used up is closed as {@link CloseReason#OVERLOADED}, so that a
	 * flood does not exhaust the heap for everybody.
	 * @param maxBufferedBytes bytes, at least 64 KiB; the default is a quarter of the
	 * maximum heap
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
	 * Adds one who is told of hand-offs.
	 * @param listener is called by new leaders
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
	 * The options so far.
	 * @throws IllegalArgumentException if there are more handle sets than threads
	 */
	PoolOptions options() {
		boolean unfolds = this.handleSets == 0;
		int sets = unfolds ? Math.min(this.minThreads, Math.min(this.parallelism, MOST_UNFOLDED)) : this.handleSets;
		PoolOptions.checkHandleSets(sets, this.minThreads);
		PoolSettings settings = new PoolSettings(this.minThreads, this.maxThreads,
				this.promotionPolicy == PromotionPolicy.EAGER, this.promotionLease.toNanos(), this.clock.nanoTime());
		return new PoolOptions(this.name, settings, this.keepAlive, this.threadPriority, sets, unfolds,
				this.parallelism, this.promotionOrder, this.maxBufferedBytes, this.listeners, this.clock,
				this.selectorProvider, this.processorTime);
	}

}
