package org.leaderfollowers.spring.health;

import java.time.Duration;
import java.util.Comparator;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.function.Supplier;
import java.util.stream.Collectors;
import java.util.stream.Stream;

import org.jspecify.annotations.Nullable;
import org.leaderfollowers.PoolAlarm;
import org.leaderfollowers.PoolSnapshot;
import org.leaderfollowers.PoolSnapshot.State;
import org.leaderfollowers.ThreadRole;

import org.springframework.boot.health.contributor.AbstractHealthIndicator;
import org.springframework.boot.health.contributor.Health;
import org.springframework.boot.health.contributor.HealthIndicator;
import org.springframework.boot.health.contributor.Status;
import org.springframework.util.Assert;

/**
 * {@link HealthIndicator} for a pool. It reads a snapshot, which neither stops the
 * threads of the pool nor waits for them, so it answers quickly even if all of them
 * block.
 * <ul>
 * <li>{@link Status#DOWN}: a handle set has no leader although there are threads for it,
 * or its leader is stuck. Its clients get no answers, and no handler is the cause. Also
 * if handlers are deadlocked, which only a restart ends.</li>
 * <li>{@link Status#OUT_OF_SERVICE}: the pool is closed, or has been saturated for longer
 * than the limit.</li>
 * <li>{@link Status#UP}: in all other cases. This includes a saturated pool without a
 * limit: it works as it should, and will continue when its handlers return. The detail
 * {@code reason} describes the saturation.</li>
 * </ul>
 */
public final class PoolHealthIndicator extends AbstractHealthIndicator {

	/**
	 * How long a handle set may have no leader. A hand-off takes microseconds, or tens of
	 * milliseconds on a machine with far too few processors. After a second, no thread
	 * will come any more.
	 */
	private static final Duration LONG = Duration.ofSeconds(1);

	/**
	 * A vacancy of that length is checked twice, and counts only if it is still the same
	 * one. If the whole process or machine was stopped during a hand-off, the next leader
	 * only needs more time.
	 */
	private static final long SECOND_LOOK_MILLIS = 100;

	private final Supplier<PoolSnapshot> snapshots;

	private final @Nullable Duration saturatedAfter;

	/**
	 * Creates a new indicator.
	 * @param snapshots takes snapshots of the pool
	 * @param saturatedAfter how long every thread of the pool may be busy before the pool
	 * is out of service, or {@code null} for no limit
	 */
	public PoolHealthIndicator(Supplier<PoolSnapshot> snapshots, @Nullable Duration saturatedAfter) {
		super("Health check of a Leader/Followers pool failed");
		Assert.notNull(snapshots, "'snapshots' must not be null");
		this.snapshots = snapshots;
		this.saturatedAfter = saturatedAfter;
	}

	@Override
	protected void doHealthCheck(Health.Builder builder) {
		PoolSnapshot pool = this.snapshots.get();
		List<Led> leaderless = leaderless(pool);
		if (!leaderless.isEmpty()) {
			waitForSecondLook();
			pool = this.snapshots.get();
			leaderless = stillLeaderless(leaderless, leaderless(pool));
		}
		String reason = null;
		Status status = Status.UP;
		if (pool.state() == State.STOPPING || pool.state() == State.STOPPED) {
			status = Status.OUT_OF_SERVICE;
			reason = "The pool is closed";
		}
		else if (!leaderless.isEmpty()) {
			status = Status.DOWN;
			reason = describeLeaderless(pool, leaderless);
		}
		else if (pool.alarms().stream().anyMatch((alarm) -> alarm.kind().isFatal())) {
			status = Status.DOWN;
			reason = describeAlarms(pool.alarms().stream().filter((alarm) -> alarm.kind().isFatal()).toList());
		}
		else if (this.saturatedAfter != null && pool.starvedFor().compareTo(this.saturatedAfter) >= 0) {
			status = Status.OUT_OF_SERVICE;
			reason = describeSaturation(pool);
		}
		else if (pool.starvedFor().compareTo(LONG) >= 0) {
			reason = describeSaturation(pool);
		}
		else if (!pool.alarms().isEmpty()) {
			reason = describeAlarms(pool.alarms());
		}
		builder.status(status);
		if (reason != null) {
			builder.withDetail("reason", reason);
		}
		builder.withDetail("state", pool.state())
			.withDetail("threads", Threads.of(pool))
			.withDetail("saturatedFor", pool.starvedFor())
			.withDetail("handlers", pool.runningHandlers())
			.withDetail("leaderless", leaderless.stream().map(Led::name).toList())
			.withDetail("alarms", pool.alarms().stream().map(PoolAlarm::description).toList());
	}

	private static void waitForSecondLook() {
		try {
			TimeUnit.MILLISECONDS.sleep(SECOND_LOOK_MILLIS);
		}
		catch (InterruptedException ex) {
			Thread.currentThread().interrupt();
		}
	}

	/**
	 * The handle sets and event sources that have had no leader for long, although not
	 * every possible thread is busy.
	 */
	private static List<Led> leaderless(PoolSnapshot pool) {
		if (pool.state() != State.RUNNING || isExhausted(pool)) {
			return List.of();
		}
		return Stream.concat(
				pool.handleSets().stream().map((set) -> new Led("Handle set", set.name(), set.term(), set.vacantFor())),
				pool.eventSources()
					.stream()
					.map((source) -> new Led("Event source", source.name(), source.term(), source.vacantFor())))
			.filter((led) -> led.vacantFor().compareTo(LONG) > 0)
			.toList();
	}

	private static boolean isExhausted(PoolSnapshot pool) {
		return pool.count(ThreadRole.FOLLOWER) == 0 && pool.threads().size() >= pool.maxThreads();
	}

	private static List<Led> stillLeaderless(List<Led> before, List<Led> after) {
		Map<String, Long> terms = before.stream().collect(Collectors.toMap(Led::name, Led::term));
		return after.stream().filter((led) -> Long.valueOf(led.term()).equals(terms.get(led.name()))).toList();
	}

	private static String describeLeaderless(PoolSnapshot pool, List<Led> leaderless) {
		Led longest = leaderless.stream().max(Comparator.comparing(Led::vacantFor)).orElseThrow();
		int idle = pool.count(ThreadRole.FOLLOWER);
		String threads = (idle > 0) ? "%d of %d threads are idle".formatted(idle, pool.threads().size())
				: "%d of at most %d threads exist; %d could not be started".formatted(pool.threads().size(),
						pool.maxThreads(), pool.threadStartFailures());
		return "%s '%s' has had no leader for %s s although %s".formatted(longest.kind(), longest.name(),
				seconds(longest.vacantFor()), threads);
	}

	private static String describeSaturation(PoolSnapshot pool) {
		String handlers = pool.runningHandlers()
			.stream()
			.map(PoolSnapshot.RunningHandler::toString)
			.collect(Collectors.joining(", "));
		return "No thread has been left to wait for events for %s s. There are %d (threads.max is %d), and they run %s"
			.formatted(seconds(pool.starvedFor()), pool.threads().size(), pool.maxThreads(),
					handlers.isEmpty() ? "no handler any more" : handlers);
	}

	private static String describeAlarms(List<PoolAlarm> alarms) {
		String first = alarms.get(0).description();
		return (alarms.size() == 1) ? first : "%s. Further alarms: %d".formatted(first, alarms.size() - 1);
	}

	private static String seconds(Duration duration) {
		return String.format(Locale.ROOT, "%.1f", duration.toMillis() / 1e3);
	}

	/** A handle set or an event source. */
	private record Led(String kind, String name, long term, Duration vacantFor) {
	}

	/**
	 * The threads of a pool.
	 *
	 * @param max the maximum number of threads
	 * @param current the current number of threads
	 * @param busy how many of them run a handler, or do other work for a connection
	 * @param idle how many of them wait, as the leader or as a follower
	 */
	public record Threads(int max, int current, int busy, int idle) {

		static Threads of(PoolSnapshot pool) {
			int idle = (int) pool.threads()
				.stream()
				.filter((thread) -> thread.role() != ThreadRole.PROCESSING && thread.handle() == null)
				.count();
			return new Threads(pool.maxThreads(), pool.threads().size(), pool.threads().size() - idle, idle);
		}

	}

}
