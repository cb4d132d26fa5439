package org.leaderfollowers;

import java.util.List;
import java.util.Locale;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReference;
import java.util.concurrent.atomic.LongAdder;
import java.util.function.Consumer;
import java.util.stream.Collectors;

import org.jspecify.annotations.Nullable;
import org.leaderfollowers.internal.logging.EngineLog;
import org.leaderfollowers.internal.logging.RateLimit;
import org.leaderfollowers.internal.promotion.Clock;
import org.leaderfollowers.internal.promotion.Starvation;

/**
 * Reports to operators and listeners that a pool is starved.
 * <p>
 * The thread that finally takes the leadership reports how long the starvation lasted. If
 * all handlers wait for the same broken resource, no thread takes it. Another thread must
 * report then: the herald. The herald is started when the pool has run out of threads. It
 * checks a few times a second while the starvation lasts, and ends some seconds
 * afterwards. If it cannot be started, the next attempt follows a pause: each attempt
 * costs more than many events, and the JDK prints two lines for it.
 */
final class StarvationMonitor implements Starvation.Listener {

	private static final long LOOK_NANOS = TimeUnit.MILLISECONDS.toNanos(100);

	private static final int LOOKS_IN_VAIN = 50;

	private static final long LOG_INTERVAL_NANOS = TimeUnit.SECONDS.toNanos(10);

	/** The maximum number of handlers that a log line names. */
	private static final int NAMED = 5;

	private final String poolName;

	private final Clock clock;

	private final PoolThreads threads;

	private final PoolListeners listeners;

	private final Consumer<Thread> starter;

	private final Starvation starvation;

	/** The number of periods that were longer than the lease. */
	private final LongAdder starvations = new LongAdder();

	private final RateLimit log = new RateLimit(LOG_INTERVAL_NANOS);

	private final AtomicReference<@Nullable Thread> herald = new AtomicReference<>();

	/** Whether a herald could not be started. */
	private volatile boolean refused;

	/** Since when. Written before {@link #refused} is set. */
	private volatile long refusedNanos;

	StarvationMonitor(PoolOptions options, PoolThreads threads, PoolListeners listeners) {
		this(options, threads, listeners, Thread::start);
	}

	StarvationMonitor(PoolOptions options, PoolThreads threads, PoolListeners listeners, Consumer<Thread> starter) {
		this.poolName = options.name();
		this.clock = options.clock();
		this.threads = threads;
		this.listeners = listeners;
		this.starter = starter;
		this.starvation = new Starvation(options.handleSets() + options.eventSources().size(), this);
	}

	Starvation starvation() {
		return this.starvation;
	}

	@Override
	public void began() {
		if (this.herald.get() == null && !pausesAfterFailure()) {
			startHerald();
		}
	}

	private boolean pausesAfterFailure() {
		return this.refused && this.clock.nanoTime() - this.refusedNanos < LOOK_NANOS;
	}

	@Override
	public void ended(long nanos) {
		this.listeners.tell((listener) -> listener.leaderless(nanos));
		if (nanos > leaseNanos()) {
			this.starvations.increment();
		}
		if (nanos > worthALine()) {
			tell(nanos);
		}
	}

	private void startHerald() {
		try {
			Thread thread = new Thread(null, this::watch, "lf-starvation-" + RateLimit.printable(this.poolName), 0,
					false);
			thread.setDaemon(true);
			if (this.herald.compareAndSet(null, thread)) {
				this.starter.accept(thread);
			}
		}
		catch (Throwable ex) {
			// No thread can be created. The thread that finally takes the leadership will
			// report.
			this.refusedNanos = this.clock.nanoTime();
			this.refused = true;
			this.herald.set(null);
		}
	}

	private void watch() {
		int inVain = 0;
		boolean told = false;
		while (inVain < LOOKS_IN_VAIN && pause()) {
			long starvedNanos = longestNanos();
			inVain = (starvedNanos > 0) ? 0 : inVain + 1;
			if (starvedNanos > worthALine()) {
				tell(starvedNanos);
				told = told || tellListeners(starvedNanos);
			}
			else if (starvedNanos == 0) {
				told = false;
			}
		}
		this.herald.set(null);
		if (longestNanos() > 0 && !this.threads.isStopping()) {
			// The starvation began after the last check, and the thread that noticed it
			// still saw this herald.
			startHerald();
		}
	}

	/**
	 * Returns whether the listeners were told. Otherwise memory is usually short, and the
	 * next look tells them: the herald must not end, because none would follow it.
	 */
	private boolean tellListeners(long starvedNanos) {
		try {
			this.listeners.tell((listener) -> {
				listener.starved(starvedNanos);
				// With the interrupt status of a listener, this thread would not park.
				Thread.interrupted();
			});
			return true;
		}
		catch (Throwable ex) {
			return false;
		}
	}

	/**
	 * Returns whether to look. A pool that has stopped meanwhile is not starved, although
	 * nobody leads it.
	 */
	private boolean pause() {
		this.clock.parkNanos(this, LOOK_NANOS);
		return !this.threads.isStopping();
	}

	private long leaseNanos() {
		return this.threads.settings().leaseNanos();
	}

	/**
	 * How long a starvation must last to be reported. A fully used pool is starved for
	 * moments, which is normal.
	 */
	private long worthALine() {
		return Math.max(LOOK_NANOS, leaseNanos());
	}

	private void tell(long nanos) {
		try {
			long suppressed = this.log.tryAcquire();
			if (suppressed >= 0) {
				EngineLog.INSTANCE.warn(
						"Pool '{}' had no thread left to wait for events for {} s. Its threads (max {}) run: "
								+ "{}. Other connections wait meanwhile: find out what these handlers wait for, or "
								+ "raise the maximum number of threads (threads.max){}",
						this.poolName, String.format(Locale.ROOT, "%.1f", nanos / 1e9),
						this.threads.settings().maxThreads(), culprits(), RateLimit.heldBack(suppressed));
			}
		}
		catch (Throwable ex) {
			// Usually because memory is short. A log line must not end a leader.
		}
	}

	private String culprits() {
		long now = this.clock.nanoTime();
		List<PoolSnapshot.ThreadSnapshot> snapshots = this.threads.living()
			.stream()
			.map((participant) -> participant.snapshot(false, now))
			.toList();
		String culprits = PoolSnapshot.runningHandlers(snapshots)
			.stream()
			.limit(NAMED)
			.map(PoolSnapshot.RunningHandler::toString)
			.collect(Collectors.joining(", "));
		return culprits.isEmpty() ? "no handlers any more" : culprits;
	}

	/** How long the longest current starvation has lasted, or 0 if there is none. */
	long longestNanos() {
		return this.starvation.longestNanos(this.clock.nanoTime());
	}

	long starvations() {
		return this.starvations.sum();
	}

}
