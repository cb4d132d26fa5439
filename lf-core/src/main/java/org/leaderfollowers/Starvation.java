package org.leaderfollowers;

import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReference;
import java.util.concurrent.atomic.LongAdder;
import java.util.concurrent.locks.LockSupport;
import java.util.stream.Collectors;

import org.jspecify.annotations.Nullable;
import org.leaderfollowers.internal.logging.RateLimit;

/**
 * Notices when a pool is starved: a handle set has no leader, since every thread there
 * may be runs a handler.
 * <p>
 * How long it lasted is known to the thread that leads in the end. If none does, because
 * all handlers wait for the same broken thing, somebody else has to tell the operator:
 * the herald, a thread that is started when the pool has run out of threads, looks a few
 * times a second while it is so, and ends some seconds after it has passed.
 */
final class Starvation {

	private static final long LOOK_NANOS = TimeUnit.MILLISECONDS.toNanos(100);

	private static final int LOOKS_IN_VAIN = 50;

	private static final long LOG_INTERVAL_NANOS = TimeUnit.SECONDS.toNanos(10);

	/** How many handlers a line of the log names. */
	private static final int NAMED = 5;

	private final LeaderFollowersPool pool;

	private final LongAdder leaderlessPeriods = new LongAdder();

	private final LongAdder leaderlessNanos = new LongAdder();

	private final LongAdder starvations = new LongAdder();

	private final RateLimit log = new RateLimit(LOG_INTERVAL_NANOS);

	private final AtomicReference<@Nullable Thread> herald = new AtomicReference<>();

	Starvation(LeaderFollowersPool pool) {
		this.pool = pool;
	}

	/**
	 * No thread is left for a handle set. Any thread.
	 * @param set whose leadership is vacant, or leased to a handler and not watched
	 * @param sinceNanos since when, {@link System#nanoTime()}
	 */
	void begin(HandleSet set, long sinceNanos) {
		set.starvedSince(sinceNanos);
		if (this.herald.get() == null) {
			startHerald();
		}
	}

	/**
	 * A handle set that was starved has a leader. Called by that leader.
	 * @param nanos how long there was none
	 */
	void end(long nanos) {
		this.leaderlessPeriods.increment();
		this.leaderlessNanos.add(nanos);
		for (PoolListener listener : this.pool.listeners()) {
			try {
				listener.leaderless(nanos);
			}
			catch (Throwable ex) {
				// An error, too: the caller is between leading and waiting.
				HandleSet.logger.debug("{} failed", listener, ex);
			}
		}
		if (nanos > this.pool.leaseNanos()) {
			this.starvations.increment();
		}
		if (nanos > worthALine()) {
			tell(nanos);
		}
	}

	private void startHerald() {
		try {
			Thread thread = new Thread(null, this::watch, "lf-starvation-" + RateLimit.printable(this.pool.name()), 0,
					false);
			thread.setDaemon(true);
			if (this.herald.compareAndSet(null, thread)) {
				thread.start();
			}
		}
		catch (Throwable ex) {
			// Unable to create native thread. Whoever leads in the end tells.
			this.herald.set(null);
		}
	}

	private void watch() {
		int inVain = 0;
		boolean told = false;
		while (inVain < LOOKS_IN_VAIN && !this.pool.isStopping()) {
			LockSupport.parkNanos(this, LOOK_NANOS);
			long starvedNanos = this.pool.longestStarvation();
			inVain = (starvedNanos > 0) ? 0 : inVain + 1;
			if (starvedNanos > worthALine()) {
				tell(starvedNanos);
				if (!told) {
					tellListeners(starvedNanos);
				}
			}
			told = starvedNanos > 0 && (told || starvedNanos > worthALine());
		}
		this.herald.set(null);
		if (this.pool.longestStarvation() > 0 && !this.pool.isStopping()) {
			// It began after the last look, by somebody who still saw this thread.
			startHerald();
		}
	}

	/** A pool that is used to the full is starved for moments; that is no news. */
	private long worthALine() {
		return Math.max(LOOK_NANOS, this.pool.leaseNanos());
	}

	private void tell(long nanos) {
		try {
			long suppressed = this.log.tryAcquire();
			if (suppressed >= 0) {
				HandleSet.logger
					.warn("Pool '{}' had no thread left to wait for events for {} s. Its threads (max {}) run: {}. "
							+ "Other connections wait meanwhile: find what these handlers wait for, or raise the maximum "
							+ "of threads (threads.max){}", this.pool.name(),
							String.format(Locale.ROOT, "%.1f", nanos / 1e9), this.pool.maxThreads(), culprits(),
							RateLimit.heldBack(suppressed));
			}
		}
		catch (Throwable ex) {
			// Out of memory, most likely; a leader must not end because of a line.
		}
	}

	private void tellListeners(long nanos) {
		for (PoolListener listener : this.pool.listeners()) {
			try {
				listener.starved(nanos);
			}
			catch (Throwable ex) {
				HandleSet.logger.debug("{} failed", listener, ex);
			}
			// Or this thread would not park any more.
			Thread.interrupted();
		}
	}

	private String culprits() {
		long now = this.pool.clock.nanoTime();
		List<PoolSnapshot.ThreadSnapshot> threads = new ArrayList<>();
		this.pool.living().forEach((participant) -> threads.add(participant.snapshot(false, now)));
		List<PoolSnapshot.RunningHandler> culprits = PoolSnapshot.runningHandlers(threads);
		return culprits.isEmpty() ? "nothing any more"
				: culprits.stream()
					.limit(NAMED)
					.map((culprit) -> RateLimit.printable(culprit.toString()))
					.collect(Collectors.joining(", "));
	}

	long leaderlessPeriods() {
		return this.leaderlessPeriods.sum();
	}

	long leaderlessNanos() {
		return this.leaderlessNanos.sum();
	}

	long starvations() {
		return this.starvations.sum();
	}

}
