package org.leaderfollowers.benchmarks.results;

import org.junit.jupiter.api.Test;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Goals are met or missed as the figures say.
 */
class GoalTests {

	private static final Scenario ECHO = Scenario.closed("none", 64);

	private static final Scenario BLOCKING = Scenario.closed("block5pct2ms", 64);

	private static final Scenario BURNING = Scenario.closed("cpu20", 64);

	@Test
	void costsMayBeALittleMore() {
		Fixture fixture = new Fixture().with(ECHO, Servers.NIO, Metric.CPU_US, 10, 10, 10);
		assertThat(
				check("CPU µs/request ≤ 1.10 × nio", fixture.with(ECHO, Servers.ADAPTIVE, Metric.CPU_US, 10, 11, 12)))
			.isEqualTo(new Goal.Check("1.10 (1.00–1.20) (not the same in all rounds)", Goal.Outcome.MET));
		fixture = new Fixture().with(ECHO, Servers.NIO, Metric.CPU_US, 10, 10, 10);
		assertThat(check("CPU µs/request ≤ 1.10 × nio",
				fixture.with(ECHO, Servers.ADAPTIVE, Metric.CPU_US, 11.2, 11.3, 12)))
			.isEqualTo(new Goal.Check("1.13 (1.12–1.20)", Goal.Outcome.MISSED));
	}

	@Test
	void theBestOfSeveralIsTheMeasure() {
		Fixture fixture = new Fixture().with(BURNING, Servers.NIO, Metric.REQUESTS_PER_SECOND, 40, 40)
			.with(BURNING, Servers.VIRTUAL, Metric.REQUESTS_PER_SECOND, 80, 80)
			.with(BURNING, Servers.EAGER, Metric.REQUESTS_PER_SECOND, 200, 200)
			.with(BURNING, Servers.ADAPTIVE, Metric.REQUESTS_PER_SECOND, 78, 78);
		assertThat(check("requests/s ≥ 1.00 × the best peer", fixture))
			.isEqualTo(new Goal.Check("0.98 (0.98–0.98) × virtual", Goal.Outcome.MISSED));
		fixture = new Fixture().with(BLOCKING, Servers.VIRTUAL, Metric.P99_US, 3000, 3000)
			.with(BLOCKING, Servers.NETTY_EXECUTOR, Metric.P99_US, 2500, 2600)
			.with(BLOCKING, Servers.ADAPTIVE, Metric.P99_US, 2500, 2500);
		assertThat(check("p99 µs ≤ 1.00 × the better of these two", fixture).outcome()).isEqualTo(Goal.Outcome.MET);
	}

	@Test
	void wholeBytesCount() {
		assertThat(check("allocated B/request ≤ 0",
				new Fixture().with(ECHO, Servers.ADAPTIVE, Metric.ALLOCATED_BYTES, 0.3, 0.4, 0.2)))
			.isEqualTo(new Goal.Check("0 (0–0)", Goal.Outcome.MET));
		assertThat(check("allocated B/request ≤ 0",
				new Fixture().with(ECHO, Servers.ADAPTIVE, Metric.ALLOCATED_BYTES, 24.3)))
			.isEqualTo(new Goal.Check("24", Goal.Outcome.MISSED));
		assertThat(check("heap B/idle connection ≤ 1,000",
				new Fixture().with(Scenario.idle(10_000), Servers.ADAPTIVE, Metric.IDLE_HEAP_BYTES, 1001)))
			.isEqualTo(new Goal.Check("1,001", Goal.Outcome.MISSED));
	}

	@Test
	void manyConnectionsAreComparedWithFew() {
		assertThat(check("requests/s ≥ 0.90 × that with 64 connections",
				new Fixture().with(ECHO, Servers.ADAPTIVE, Metric.REQUESTS_PER_SECOND, 100)
					.with(Scenario.closed("none", 10_000), Servers.ADAPTIVE, Metric.REQUESTS_PER_SECOND, 95)))
			.isEqualTo(new Goal.Check("0.95", Goal.Outcome.MET));
	}

	@Test
	void withoutResultsNothingIsKnown() {
		Results results = new Fixture().results();
		assertThat(Goal.ALL)
			.allSatisfy((goal) -> assertThat(goal.check(results).outcome()).isEqualTo(Goal.Outcome.NOT_MEASURED));
	}

	private static Goal.Check check(String demand, Fixture fixture) {
		Goal goal = Goal.ALL.stream()
			.filter((candidate) -> candidate.demand().equals(demand))
			.findFirst()
			.orElseThrow();
		return goal.check(fixture.results());
	}

}
