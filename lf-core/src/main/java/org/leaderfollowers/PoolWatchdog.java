package org.leaderfollowers;

import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.EnumMap;
import java.util.HashSet;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import java.util.stream.StreamSupport;

import org.jspecify.annotations.Nullable;
import org.leaderfollowers.PoolAlarm.Kind;
import org.leaderfollowers.internal.logging.EngineLog;
import org.leaderfollowers.internal.logging.RateLimit;
import org.leaderfollowers.internal.promotion.Clock;
import org.leaderfollowers.internal.promotion.HandledWork;
import org.leaderfollowers.internal.promotion.Leadership;
import org.leaderfollowers.internal.promotion.Member;
import org.slf4j.event.Level;

/**
 * Notices threads of a pool that do not come back: a leader without a lease that neither
 * waits nor dispatches, a handler that is deadlocked, and a handler that takes very long.
 * A lease ends, so the protocol notices a handler that blocks; it cannot notice a leader
 * that blocks in the engine, the JDK or a log.
 * <p>
 * A thread of its own looks about once a second. It costs the other threads nothing: it
 * reads values that they write anyway, and compares them with those of its last look. A
 * leader that waits for events changes no value. After half of the time, the watchdog
 * therefore wakes it once. If the whole process was stopped meanwhile, the threads get a
 * few more looks to come back.
 * <p>
 * It also tries again to start a thread that the system has refused.
 */
final class PoolWatchdog {

	private static final long LONGEST_PERIOD_NANOS = TimeUnit.SECONDS.toNanos(1);

	/** How many looks a leader has to answer the wake-up. */
	private static final int LOOKS = 3;

	private static final long LOG_INTERVAL_NANOS = TimeUnit.SECONDS.toNanos(10);

	private static final Map<Kind, String> ADVICE = new EnumMap<>(Map.of(Kind.LEADER_STUCK,
			"The connections of this handle set are not served. If the thread does not come back, restart the process",
			Kind.HANDLER_DEADLOCKED, "It will never return: restart the process", Kind.HANDLER_SLOW,
			"Find out what it waits for, and give it a timeout"));

	private final String poolName;

	private final Clock clock;

	private final PoolThreads threads;

	private final PoolListeners listeners;

	private final Options options;

	private final long periodNanos;

	private final Map<Kind, RateLimit> log = new EnumMap<>(Kind.class);

	private volatile List<PoolAlarm> alarms = List.of();

	private volatile @Nullable Thread thread;

	// Used by the watching thread only

	private final List<LeaderCheck> leaders;

	private final Map<Member, Run> runs = new IdentityHashMap<>();

	private final List<PoolAlarm> news = new ArrayList<>();

	private Set<Long> deadlocked = Set.of();

	/** How many threads could not be started until the last look. */
	private long startFailures;

	private long deadlocksNanos;

	/**
	 * The times after which an alarm is raised.
	 *
	 * @param stuckNanos how long a leader may be stuck, or a handler deadlocked, or 0 not
	 * to look
	 * @param slowNanos how long a handler may run, or 0 not to look
	 */
	record Options(long stuckNanos, long slowNanos) {
	}

	PoolWatchdog(PoolOptions options, HandleSets handleSets, PoolThreads threads, PoolListeners listeners) {
		this.poolName = options.name();
		this.clock = options.clock();
		this.threads = threads;
		this.listeners = listeners;
		this.options = options.watchdog();
		this.periodNanos = (this.options.stuckNanos() > 0)
				? Math.min(this.options.stuckNanos() / 8, LONGEST_PERIOD_NANOS) : LONGEST_PERIOD_NANOS;
		this.leaders = StreamSupport.stream(handleSets.spliterator(), false).map(LeaderCheck::new).toList();
		for (Kind kind : Kind.values()) {
			this.log.put(kind, new RateLimit(LOG_INTERVAL_NANOS));
		}
	}

	/** The alarms at the moment. Any thread. */
	List<PoolAlarm> alarms() {
		return this.alarms;
	}

	/**
	 * Begins to watch, unless this has been done. If the clock belongs to a test, the
	 * test calls {@link #look}. Any thread.
	 */
	synchronized void start() {
		if (this.thread != null || this.clock != Clock.SYSTEM
				|| (this.options.stuckNanos() == 0 && this.options.slowNanos() == 0)) {
			return;
		}
		try {
			Thread watching = new Thread(null, this::watch, "lf-watchdog-" + RateLimit.printable(this.poolName), 0,
					false);
			watching.setDaemon(true);
			watching.setContextClassLoader(null);
			watching.start();
			this.thread = watching;
		}
		catch (Throwable ex) {
			EngineLog.INSTANCE.warn("Pool '{}' has no watchdog, because no thread could be started for it",
					this.poolName, ex);
		}
	}

	/** Ends the watch when the pool has stopped. */
	void stop() {
		this.alarms = List.of();
		LockSupport.unpark(this.thread);
	}

	private void watch() {
		while (!this.threads.isStopping()) {
			LockSupport.parkNanos(this, this.periodNanos);
			// With the interrupt status of a listener, this thread would not park.
			Thread.interrupted();
			try {
				look();
			}
			catch (Throwable ex) {
				// Usually because memory is short. The next look follows.
			}
		}
		this.alarms = List.of();
	}

	/** Looks once. Called by one thread at a time. */
	void look() {
		retryStart();
		long now = this.clock.nanoTime();
		List<PoolAlarm> found = new ArrayList<>();
		this.news.clear();
		Set<Member> stuck = new HashSet<>();
		if (this.options.stuckNanos() > 0) {
			this.leaders.forEach((leader) -> leader.look(now, found, stuck));
		}
		lookAtHandlers(now, found, stuck);
		// Before anything that may block, because health checks read it.
		this.alarms = List.copyOf(found);
		for (PoolAlarm alarm : this.news) {
			tell(alarm);
		}
	}

	/**
	 * Starts a thread that the system refused before the last look, or replaces one that
	 * has ended because memory was short. If all threads of the pool are blocked in
	 * handlers, or none is left, no other thread would try again.
	 */
	private void retryStart() {
		this.threads.startMissing();
		EngineLog.INSTANCE.resume();
		long failures = this.threads.startFailures();
		if (failures != this.startFailures) {
			if (this.threads.mayStart()) {
				// Otherwise the pause after a failure is not over, and only the next look
				// can start a thread.
				this.startFailures = failures;
			}
			this.threads.startIfWanted();
		}
	}

	private void tell(PoolAlarm alarm) {
		long suppressed = this.log.get(alarm.kind()).tryAcquire();
		if (suppressed >= 0) {
			Exception stack = new Exception("The stack of thread '%s'".formatted(alarm.thread()));
			stack.setStackTrace(alarm.stack().toArray(StackTraceElement[]::new));
			// The log may be the reason of the alarm.
			EngineLog.INSTANCE.withoutBlocking(Level.WARN, "{} (pool '{}'). {}{}", alarm.description(), this.poolName,
					ADVICE.get(alarm.kind()), RateLimit.heldBack(suppressed), stack);
		}
		this.listeners.tell((listener) -> listener.alarmed(alarm));
	}

	private void add(List<PoolAlarm> found, boolean isNew, Kind kind, Member member, @Nullable String handleSet,
			long nanos) {
		HandledWork.Source source = member.work();
		HandledWork work = (source != null) ? source.work() : null;
		PoolAlarm alarm = new PoolAlarm(kind, member.thread().getName(), handleSet,
				(work != null) ? work.server() : null,
				(source != null && work != null) ? work.handle(source.workNumber()) : null,
				(work != null) ? work.handler() : null, Duration.ofNanos(nanos),
				List.of(member.thread().getStackTrace()));
		found.add(alarm);
		if (isNew) {
			this.news.add(alarm);
		}
	}

	/** The leader of a handle set, as seen by the last look. */
	private final class LeaderCheck {

		private final HandleSet set;

		private long word;

		private long returnedNanos;

		private long sinceNanos;

		/** How many looks there were since the leader was woken; -1 if it was not. */
		private int looks;

		private boolean told;

		LeaderCheck(HandleSet set) {
			this.set = set;
		}

		void look(long nowNanos, List<PoolAlarm> found, Set<Member> stuck) {
			Leadership leadership = this.set.leadership;
			long word = leadership.word();
			Member leader = Leadership.isLedWithoutLease(word)
					? PoolWatchdog.this.threads.members().get(Leadership.holderOf(word)) : null;
			long returned = this.set.nowNanos();
			if (leader == null || word != this.word || returned != this.returnedNanos) {
				if (this.told) {
					EngineLog.INSTANCE.withoutBlocking(Level.WARN, "Handle set '{}' of pool '{}' is served again",
							this.set, PoolWatchdog.this.poolName);
				}
				this.word = word;
				this.returnedNanos = returned;
				this.sinceNanos = nowNanos;
				this.looks = -1;
				this.told = false;
				return;
			}
			long nanos = nowNanos - this.sinceNanos;
			if (this.looks >= 0 || nanos >= PoolWatchdog.this.options.stuckNanos() / 2) {
				this.looks++;
				// Again and again: a leader that was slow to begin its wait misses the
				// first wake-up, and then waits for long.
				this.set.wakeLeader();
			}
			if (this.looks >= LOOKS && nanos >= PoolWatchdog.this.options.stuckNanos()) {
				stuck.add(leader);
				add(found, !this.told, Kind.LEADER_STUCK, leader, this.set.name(), nanos);
				this.told = true;
			}
		}

	}

	/** A handler that a thread runs, as seen by the last look. */
	private static final class Run {

		private final HandledWork.Source source;

		private final long dispatchNanos;

		private final long sinceNanos;

		private @Nullable Kind told;

		Run(HandledWork.Source source, long dispatchNanos, long sinceNanos) {
			this.source = source;
			this.dispatchNanos = dispatchNanos;
			this.sinceNanos = sinceNanos;
		}

		boolean is(HandledWork.Source other, long dispatchNanos) {
			return this.source == other && this.dispatchNanos == dispatchNanos;
		}

	}

	private void lookAtHandlers(long nowNanos, List<PoolAlarm> found, Set<Member> stuck) {
		List<Participant> living = this.threads.living();
		this.runs.keySet().retainAll(living);
		boolean mayBeDeadlocked = false;
		for (Participant member : living) {
			HandledWork.Source source = member.work();
			if (source == null || member.awaits() || stuck.contains(member)) {
				// A handler that waits for a reply or message has a timeout.
				this.runs.remove(member);
				continue;
			}
			long dispatchNanos = member.dispatchNanos();
			Run run = this.runs.get(member);
			if (run == null || !run.is(source, dispatchNanos)) {
				this.runs.put(member, new Run(source, dispatchNanos, nowNanos));
			}
			else {
				Thread.State state = member.thread().getState();
				mayBeDeadlocked |= nowNanos - run.sinceNanos >= this.options.stuckNanos()
						&& (state == Thread.State.BLOCKED || state == Thread.State.WAITING);
			}
		}
		findDeadlocks(mayBeDeadlocked && this.options.stuckNanos() > 0, nowNanos);
		this.runs.forEach((member, run) -> {
			long nanos = nowNanos - run.sinceNanos;
			Kind kind = null;
			if (this.deadlocked.contains(member.thread().getId())) {
				kind = Kind.HANDLER_DEADLOCKED;
			}
			else if (this.options.slowNanos() > 0 && nanos >= this.options.slowNanos()) {
				kind = Kind.HANDLER_SLOW;
			}
			if (kind != null) {
				add(found, kind != run.told, kind, member, null, nanos);
				run.told = kind;
			}
		});
	}

	/** The virtual machine stops for the search, so it is rare. */
	private void findDeadlocks(boolean mayExist, long nowNanos) {
		if (!mayExist) {
			this.deadlocked = Set.of();
			this.deadlocksNanos = nowNanos - this.options.stuckNanos();
		}
		else if (nowNanos - this.deadlocksNanos >= this.options.stuckNanos() / 2) {
			this.deadlocksNanos = nowNanos;
			ThreadMXBean beans = ManagementFactory.getThreadMXBean();
			long[] ids = beans.isSynchronizerUsageSupported() ? beans.findDeadlockedThreads()
					: beans.findMonitorDeadlockedThreads();
			this.deadlocked = (ids != null) ? new HashSet<>(Arrays.stream(ids).boxed().toList()) : Set.of();
		}
	}

}
