package org.leaderfollowers.benchmarks.results;

import org.junit.jupiter.api.Test;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Goals are met or missed as the figures say.
 */
class GoalTests {

	private static final Scenario ECHO = Scenario.closed("none", 64);

	private static final Scenario BURNING = Scenario.closed("cpu20", 64);

	@Test
	void costsMayBeALittleMore() {
		Fixture fixture = new Fixture().with(ECHO, Servers.SPRING, Metric.CPU_US, 100, 100, 100);
		assertThat(check(ECHO, "of lf-metered: CPU µs/request ≤ 1.05 × lf-spring",
				fixture.with(ECHO, Servers.METERED, Metric.CPU_US, 100, 105, 112)))
			.isEqualTo(new Goal.Check("1.05 (1.00–1.12) (not the same in all rounds)", Goal.Outcome.MET));
		fixture = new Fixture().with(ECHO, Servers.NIO, Metric.CPU_US, 10, 10, 10);
		assertThat(check(ECHO, "CPU µs/request ≤ 1.00 × nio",
				fixture.with(ECHO, Servers.ADAPTIVE, Metric.CPU_US, 11.2, 11.3, 12)))
			.isEqualTo(new Goal.Check("1.13 (1.12–1.20)", Goal.Outcome.MISSED));
	}

	@Test
	void theBestOfSeveralIsTheMeasure() {
		Fixture fixture = new Fixture().with(BURNING, Servers.NIO, Metric.REQUESTS_PER_SECOND, 40, 40)
			.with(BURNING, Servers.VIRTUAL, Metric.REQUESTS_PER_SECOND, 80, 80)
			.with(BURNING, Servers.EAGER, Metric.REQUESTS_PER_SECOND, 200, 200)
			.with(BURNING, Servers.ADAPTIVE, Metric.REQUESTS_PER_SECOND, 78, 78);
		assertThat(check(BURNING, "requests/s ≥ 1.00 × the peer with the most", fixture))
			.isEqualTo(new Goal.Check("0.98 (0.98–0.98) × virtual", Goal.Outcome.MISSED));
		fixture = new Fixture().with(BURNING, Servers.VIRTUAL, Metric.P99_US, 3000, 3000)
			.with(BURNING, Servers.NETTY_EXECUTOR, Metric.P99_US, 2500, 2500)
			.with(BURNING, Servers.ADAPTIVE, Metric.P99_US, 2700, 2700);
		assertThat(check(BURNING, "p99 µs ≤ 1.10 × the peer with the least", fixture))
			.isEqualTo(new Goal.Check("1.08 (1.08–1.08) × netty-epoll-executor", Goal.Outcome.MET));
	}

	@Test
	void nettyIsTakenWithItsBestSetting() {
		Fixture fixture = new Fixture().with(ECHO, Servers.ADAPTIVE, Metric.CPU_US, 9)
			.with(ECHO, Servers.NETTY, Metric.REQUESTS_PER_SECOND, 200)
			.with(ECHO, Servers.NETTY, Metric.CPU_US, 5)
			.with(ECHO, Servers.NETTY_TWO_LOOPS, Metric.REQUESTS_PER_SECOND, 300)
			.with(ECHO, Servers.NETTY_TWO_LOOPS, Metric.CPU_US, 10)
			.with(ECHO, Servers.NETTY_EXECUTOR, Metric.REQUESTS_PER_SECOND, 400)
			.with(ECHO, Servers.NETTY_EXECUTOR, Metric.CPU_US, 1);
		assertThat(check(ECHO, "CPU µs/request ≤ 0.95 × netty-epoll with the most requests/s", fixture))
			.isEqualTo(new Goal.Check("0.90 × netty-epoll@2", Goal.Outcome.MET));
	}

	@Test
	void theBestSettingOnAScheduleIsThatOfTheClosedLoop() {
		Scenario schedule = Scenario.open("none", 64, 20_000);
		String demand = "p99 µs ≤ 1.00 × netty-epoll with the most requests/s in a closed loop";
		Fixture fixture = new Fixture().with(ECHO, Servers.NETTY, Metric.REQUESTS_PER_SECOND, 200)
			.with(ECHO, Servers.NETTY_ONE_LOOP, Metric.REQUESTS_PER_SECOND, 300)
			.with(schedule, Servers.NETTY, Metric.P99_US, 100)
			.with(schedule, Servers.ADAPTIVE, Metric.P99_US, 150);
		assertThat(check(schedule, demand, fixture).outcome()).isEqualTo(Goal.Outcome.NOT_MEASURED);
		assertThat(check(schedule, demand, fixture.with(schedule, Servers.NETTY_ONE_LOOP, Metric.P99_US, 120)))
			.isEqualTo(new Goal.Check("1.25 × netty-epoll@1", Goal.Outcome.MISSED));
	}

	@Test
	void aNeighbourMayCostThreeTimes() {
		Scenario mixed = Scenario.closed("mixed-cpu50", 64);
		assertThat(check(mixed, "p99 ÷ p99 alone ≤ 3",
				new Fixture().with(mixed, Servers.ADAPTIVE, Metric.P99_TO_ALONE, 2, 3.004, 5)))
			.isEqualTo(new Goal.Check("3.00 (2.00–5.00)", Goal.Outcome.MET));
		assertThat(check(mixed, "p99 ÷ p99 alone ≤ 3",
				new Fixture().with(mixed, Servers.ADAPTIVE, Metric.P99_TO_ALONE, 3.4)))
			.isEqualTo(new Goal.Check("3.40", Goal.Outcome.MISSED));
	}

	@Test
	void wholeBytesCount() {
		assertThat(check(ECHO, "allocated B/request ≤ 0",
				new Fixture().with(ECHO, Servers.ADAPTIVE, Metric.ALLOCATED_BYTES, 0.3, 0.4, 0.2)))
			.isEqualTo(new Goal.Check("0 (0–0)", Goal.Outcome.MET));
		assertThat(check(ECHO, "allocated B/request ≤ 0",
				new Fixture().with(ECHO, Servers.ADAPTIVE, Metric.ALLOCATED_BYTES, 24.3)))
			.isEqualTo(new Goal.Check("24", Goal.Outcome.MISSED));
		assertThat(check(Scenario.idle(10_000), "heap B/idle connection ≤ 1,000",
				new Fixture().with(Scenario.idle(10_000), Servers.ADAPTIVE, Metric.IDLE_HEAP_BYTES, 1001)))
			.isEqualTo(new Goal.Check("1,001", Goal.Outcome.MISSED));
		assertThat(check(Scenario.idle(10_000), "idle CPU % ≤ 0.1",
				new Fixture().with(Scenario.idle(10_000), Servers.ADAPTIVE, Metric.IDLE_CPU_PERCENT, 0.12)))
			.isEqualTo(new Goal.Check("0.1", Goal.Outcome.MET));
	}

	@Test
	void withoutResultsNothingIsKnown() {
		Results results = new Fixture().results();
		assertThat(Goal.ALL)
			.allSatisfy((goal) -> assertThat(goal.check(results).outcome()).isEqualTo(Goal.Outcome.NOT_MEASURED));
	}

	private static Goal.Check check(Scenario load, String demand, Fixture fixture) {
		Goal goal = Goal.ALL.stream()
			.filter((candidate) -> candidate.load().equals(load.title()) && candidate.demand().equals(demand))
			.findFirst()
			.orElseThrow();
		return goal.check(fixture.results());
	}

}
