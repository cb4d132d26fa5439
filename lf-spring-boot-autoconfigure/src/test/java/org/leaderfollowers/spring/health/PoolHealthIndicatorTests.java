package org.leaderfollowers.spring.health;

import java.time.Duration;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Queue;
import java.util.function.Supplier;

import org.awaitility.Awaitility;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.leaderfollowers.LeaderFollowersPool;
import org.leaderfollowers.PoolAlarm;
import org.leaderfollowers.PoolSnapshot;
import org.leaderfollowers.PoolSnapshot.EventSourceSnapshot;
import org.leaderfollowers.PoolSnapshot.HandleSetSnapshot;
import org.leaderfollowers.PoolSnapshot.RunningHandler;
import org.leaderfollowers.PoolSnapshot.State;
import org.leaderfollowers.PoolSnapshot.ThreadSnapshot;
import org.leaderfollowers.ThreadRole;
import org.leaderfollowers.spring.health.PoolHealthIndicator.Threads;

import org.springframework.boot.health.contributor.Health;
import org.springframework.boot.health.contributor.Status;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Tests for {@link PoolHealthIndicator}. A real engine never stays without a leader, so
 * snapshots replace it here.
 */
@Timeout(120)
class PoolHealthIndicatorTests {

	private static final Duration MOMENT = Duration.ofMillis(999);

	private static final PoolAlarm STUCK = alarm(PoolAlarm.Kind.LEADER_STUCK);

	private static final PoolAlarm SLOW = alarm(PoolAlarm.Kind.HANDLER_SLOW);

	private static final Duration LONG = Duration.ofMillis(2300);

	private final LeaderFollowersPool pool = LeaderFollowersPool.builder().name("demo").threads(1, 3).build();

	@AfterEach
	void close() {
		this.pool.close(Duration.ZERO);
	}

	@Test
	void poolThatNobodyNeedsYetIsUp() {
		Health health = health(this.pool::snapshot);
		assertThat(health.getStatus()).isEqualTo(Status.UP);
		assertThat(health.getDetails()).containsEntry("state", State.NEW)
			.containsEntry("threads", new Threads(3, 0, 0, 0))
			.doesNotContainKey("reason");
	}

	@Test
	void poolThatRunsIsUp() {
		this.pool.start();
		Awaitility.await()
			.atMost(Duration.ofSeconds(60))
			.until(() -> this.pool.snapshot().count(ThreadRole.LEADER) == 1);
		Health health = health(this.pool::snapshot);
		assertThat(health.getStatus()).isEqualTo(Status.UP);
		assertThat(health.getDetails())
			.containsOnlyKeys("state", "threads", "saturatedFor", "handlers", "leaderless", "alarms")
			.containsEntry("state", State.RUNNING)
			.containsEntry("threads", new Threads(3, 1, 0, 1))
			.containsEntry("saturatedFor", Duration.ZERO)
			.containsEntry("handlers", List.of())
			.containsEntry("leaderless", List.of())
			.containsEntry("alarms", List.of());
	}

	@Test
	void poolThatIsClosedIsOutOfService() {
		this.pool.start();
		this.pool.close(Duration.ofSeconds(20));
		Health health = health(this.pool::snapshot);
		assertThat(health.getStatus()).isEqualTo(Status.OUT_OF_SERVICE);
		assertThat(health.getDetails()).containsEntry("state", State.STOPPED)
			.containsEntry("reason", "The pool is closed");
	}

	@Test
	void handleSetWithoutALeaderAlthoughThreadsIdleIsDown() {
		Health health = health(always(leaderless(LONG, 7, idle(), idle())));
		assertThat(health.getStatus()).isEqualTo(Status.DOWN);
		assertThat(health.getDetails()).containsEntry("leaderless", List.of("demo-1"))
			.containsEntry("reason",
					"Handle set 'demo-1' has had no leader for 2.3 s although 2 of 2 threads are idle");
	}

	@Test
	void handleSetWithoutALeaderSinceNoThreadCouldBeStartedIsDown() {
		PoolSnapshot leaderless = Snapshots.with(leaderless(LONG, 7, busy("orders")),
				Map.of("threadStartFailures", 5L, "starvedFor", LONG));
		Health health = health(always(leaderless));
		assertThat(health.getStatus()).isEqualTo(Status.DOWN);
		assertThat(health.getDetails()).containsEntry("reason", "Handle set 'demo-1' has had no leader for 2.3 s "
				+ "although 1 of at most 3 threads exist; 5 could not be started");
	}

	@Test
	void eventSourceWithoutALeaderAlthoughThreadsIdleIsDown() {
		EventSourceSnapshot source = new EventSourceSnapshot("alarms", true, null, 7, LONG, 0, 1, 0, 0);
		Health health = health(always(Snapshots.with(led(), Map.of("eventSources", List.of(source)))));
		assertThat(health.getStatus()).isEqualTo(Status.DOWN);
		assertThat(health.getDetails()).containsEntry("leaderless", List.of("alarms"))
			.containsEntry("reason",
					"Event source 'alarms' has had no leader for 2.3 s although 1 of 1 threads are idle");
	}

	@Test
	void handOverUnderWayIsUp() {
		Health health = health(always(leaderless(MOMENT, 7, idle(), busy("orders"))));
		assertThat(health.getStatus()).isEqualTo(Status.UP);
		assertThat(health.getDetails()).containsEntry("leaderless", List.of());
	}

	@Test
	void handOverDuringWhichTheMachineStoodStillIsUp() {
		assertThat(health(sequence(leaderless(LONG, 7, idle()), led())).getStatus()).isEqualTo(Status.UP);
	}

	@Test
	void vacancyThatIsAnotherOneAtTheSecondLookIsUp() {
		assertThat(health(sequence(leaderless(LONG, 7, idle()), leaderless(LONG, 8, idle()))).getStatus())
			.isEqualTo(Status.UP);
	}

	@Test
	void secondLookComesLater() {
		PoolSnapshot leaderless = leaderless(LONG, 7, idle());
		List<Long> looks = new ArrayList<>();
		health(() -> {
			looks.add(System.nanoTime());
			return leaderless;
		});
		assertThat(looks).hasSize(2);
		assertThat(looks.get(1) - looks.get(0)).isGreaterThan(Duration.ofMillis(90).toNanos());
	}

	@Test
	void onlyAPoolThatRunsNeedsALeader() {
		PoolSnapshot leaderless = leaderless(LONG, 7, idle());
		assertThat(health(always(Snapshots.with(leaderless, Map.of("state", State.NEW)))).getStatus())
			.isEqualTo(Status.UP);
		assertThat(health(always(Snapshots.with(leaderless, Map.of("state", State.STOPPING)))).getStatus())
			.isEqualTo(Status.OUT_OF_SERVICE);
	}

	@Test
	void longestVacancyIsNamedEvenIfOnlyOneOfAllPossibleThreadsIsIdle() {
		PoolSnapshot leaderless = leaderless(LONG, 7, busy("orders"), busy("orders"), idle());
		HandleSetSnapshot longest = leaderless.handleSets().get(0);
		HandleSetSnapshot other = Snapshots.with(longest,
				Map.of("name", "demo-0", "vacantFor", Duration.ofMillis(1200)));
		Health health = health(always(Snapshots.with(leaderless, Map.of("handleSets", List.of(other, longest)))));
		assertThat(health.getStatus()).isEqualTo(Status.DOWN);
		assertThat(health.getDetails()).containsEntry("reason",
				"Handle set 'demo-1' has had no leader for 2.3 s although 1 of 3 threads are idle");
	}

	@Test
	void checkThatIsInterruptedAnswersAndStaysInterrupted() {
		Thread.currentThread().interrupt();
		Health health = health(always(leaderless(LONG, 7, idle())));
		assertThat(Thread.interrupted()).isTrue();
		assertThat(health.getStatus()).isEqualTo(Status.DOWN);
	}

	@Test
	void saturatedPoolIsUpAndTellsWhatItsThreadsRun() {
		Health health = health(always(saturated(LONG)));
		assertThat(health.getStatus()).isEqualTo(Status.UP);
		assertThat(health.getDetails()).containsEntry("saturatedFor", LONG)
			.containsEntry("threads", new Threads(3, 3, 3, 0))
			.containsEntry("handlers",
					List.of(new RunningHandler("orders", "ordersHandler", 2, null),
							new RunningHandler("admin", "adminHandler", 1, null)))
			.containsEntry("leaderless", List.of())
			.containsEntry("reason",
					"No thread has been left to wait for events for 2.3 s. There are 3 (threads.max is 3), and they run "
							+ "2 x 'ordersHandler' of server 'orders', 1 x 'adminHandler' of server 'admin'");
	}

	@Test
	void handlerWithoutAServerIsNamedAlone() {
		ThreadSnapshot raw = thread(ThreadRole.PROCESSING, Map.of("handle", "demo.Raw", "handler", "demo.Raw"));
		PoolSnapshot saturated = Snapshots.with(leaderless(LONG, 7, raw, busy("orders"), raw),
				Map.of("starvedFor", LONG));
		assertThat((String) health(always(saturated)).getDetails().get("reason"))
			.endsWith("they run 2 x 'demo.Raw', 1 x 'ordersHandler' of server 'orders'");
	}

	/** For example, they close connections. */
	@Test
	void threadsThatWorkWithoutAHandlerAreBusy() {
		ThreadSnapshot closing = thread(ThreadRole.PROCESSING, Map.of());
		Health health = health(always(Snapshots.with(leaderless(Duration.ZERO, 7, closing, closing, closing),
				Map.of("starvedFor", Duration.ofSeconds(1)))));
		assertThat(health.getDetails()).containsEntry("threads", new Threads(3, 3, 3, 0));
		assertThat((String) health.getDetails().get("reason"))
			.startsWith("No thread has been left to wait for events for 1.0 s")
			.endsWith("they run no handler any more");
		ThreadSnapshot leader = thread(ThreadRole.LEADER, Map.of("handle", "Connection 17"));
		assertThat(health(always(leaderless(Duration.ZERO, 7, leader, idle()))).getDetails()).containsEntry("threads",
				new Threads(3, 2, 1, 1));
	}

	@Test
	void saturationOfAMomentIsNoNews() {
		assertThat(health(always(saturated(MOMENT))).getDetails()).containsEntry("saturatedFor", MOMENT)
			.doesNotContainKey("reason");
	}

	@Test
	void saturationThatLastsForAsLongAsAllowedIsOutOfService() {
		assertThat(health(always(saturated(Duration.ofMillis(299))), Duration.ofMillis(300)).getStatus())
			.isEqualTo(Status.UP);
		Health health = health(always(saturated(Duration.ofMillis(300))), Duration.ofMillis(300));
		assertThat(health.getStatus()).isEqualTo(Status.OUT_OF_SERVICE);
		assertThat((String) health.getDetails().get("reason")).startsWith("No thread has been left").contains("0.3 s");
	}

	@Test
	void leaderThatIsStuckIsDown() {
		Health health = health(always(Snapshots.with(led(), Map.of("alarms", List.of(STUCK, SLOW)))));
		assertThat(health.getStatus()).isEqualTo(Status.DOWN);
		assertThat(health.getDetails()).containsEntry("reason", STUCK.description())
			.containsEntry("alarms", List.of(STUCK.description(), SLOW.description()));
		assertThat(STUCK.description()).isEqualTo("Thread 'lf-demo-1' leads handle set 'demo-0', but has neither "
				+ "returned from waiting nor run a handler for 10.5 s");
	}

	@Test
	void handlersThatAreDeadlockedAreDown() {
		PoolAlarm deadlocked = alarm(PoolAlarm.Kind.HANDLER_DEADLOCKED);
		Health health = health(always(Snapshots.with(led(), Map.of("alarms", List.of(deadlocked, deadlocked)))));
		assertThat(health.getStatus()).isEqualTo(Status.DOWN);
		assertThat(health.getDetails()).containsEntry("reason",
				"Thread 'lf-demo-1' is deadlocked. It has run handler 'shop' on Connection 1 for 10.5 s. "
						+ "Further alarms: 1");
	}

	@Test
	void handlerThatIsSlowIsUpAndNamed() {
		Health health = health(always(Snapshots.with(led(), Map.of("alarms", List.of(SLOW)))));
		assertThat(health.getStatus()).isEqualTo(Status.UP);
		assertThat(health.getDetails()).containsEntry("reason",
				"Thread 'lf-demo-1' has run handler 'shop' on Connection 1 for 10.5 s");
	}

	private static PoolAlarm alarm(PoolAlarm.Kind kind) {
		boolean leads = kind == PoolAlarm.Kind.LEADER_STUCK;
		return new PoolAlarm(kind, "lf-demo-1", leads ? "demo-0" : null, null, leads ? null : "Connection 1",
				leads ? null : "shop", Duration.ofMillis(10_500), List.of());
	}

	@Test
	void leaderlessIsWorseThanSaturated() {
		PoolSnapshot both = Snapshots.with(leaderless(LONG, 7, idle()), Map.of("starvedFor", LONG));
		assertThat(health(always(both), Duration.ofSeconds(1)).getStatus()).isEqualTo(Status.DOWN);
	}

	@Test
	void failureToLookIsDown() {
		Health health = health(() -> {
			throw new IllegalStateException("broken");
		});
		assertThat(health.getStatus()).isEqualTo(Status.DOWN);
	}

	private static Health health(Supplier<PoolSnapshot> snapshots) {
		return health(snapshots, null);
	}

	private static Health health(Supplier<PoolSnapshot> snapshots, @Nullable Duration saturatedAfter) {
		return new PoolHealthIndicator(snapshots, saturatedAfter).health();
	}

	private static Supplier<PoolSnapshot> always(PoolSnapshot snapshot) {
		return () -> snapshot;
	}

	private static Supplier<PoolSnapshot> sequence(PoolSnapshot... snapshots) {
		Queue<PoolSnapshot> queue = new ArrayDeque<>(Arrays.asList(snapshots));
		return queue::remove;
	}

	private PoolSnapshot led() {
		return leaderless(Duration.ZERO, 8, idle());
	}

	private PoolSnapshot saturated(Duration duration) {
		return Snapshots.with(leaderless(duration, 7, busy("admin"), busy("orders"), busy("orders")),
				Map.of("starvedFor", duration));
	}

	private PoolSnapshot leaderless(Duration vacantFor, long term, ThreadSnapshot... threads) {
		PoolSnapshot snapshot = this.pool.snapshot();
		Map<String, @Nullable Object> values = new HashMap<>();
		values.put("name", "demo-1");
		values.put("leader", vacantFor.isZero() ? "lf-demo-1" : null);
		values.put("vacantFor", vacantFor);
		values.put("term", term);
		List<HandleSetSnapshot> sets = new ArrayList<>();
		snapshot.handleSets().forEach((set) -> sets.add(Snapshots.with(set, values)));
		return Snapshots.with(snapshot,
				Map.of("state", State.RUNNING, "threads", List.of(threads), "handleSets", List.copyOf(sets)));
	}

	private ThreadSnapshot idle() {
		return thread(ThreadRole.FOLLOWER, Map.of());
	}

	private ThreadSnapshot busy(String server) {
		return thread(ThreadRole.PROCESSING, Map.of("server", server, "handle",
				"Connection 17 of server '" + server + "'", "handler", server + "Handler"));
	}

	private ThreadSnapshot thread(ThreadRole role, Map<String, ?> values) {
		this.pool.start();
		Awaitility.await().atMost(Duration.ofSeconds(60)).until(() -> !this.pool.snapshot().threads().isEmpty());
		ThreadSnapshot real = this.pool.snapshot().threads().get(0);
		return Snapshots.with(Snapshots.with(real, Map.of("role", role)), values);
	}

}
