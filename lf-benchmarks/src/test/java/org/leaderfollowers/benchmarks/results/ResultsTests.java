package org.leaderfollowers.benchmarks.results;

import java.util.Comparator;
import java.util.List;

import org.junit.jupiter.api.Test;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * What is computed from measurements.
 */
class ResultsTests {

	private static final Scenario ECHO = Scenario.closed("none", 64);

	private static final Scenario MANY = Scenario.closed("none", 10_000);

	@Test
	void ratiosAreTakenWithinARound() {
		// The machine became three times as slow in the second round
		Results results = new Fixture().with(ECHO, "a", Metric.CPU_US, 10, 30, 12)
			.with(ECHO, "b", Metric.CPU_US, 5, 15, 4)
			.results();
		assertThat(results.ratio(ECHO, "a", "b", Metric.CPU_US)).contains(new Summary(2, 2, 3, 3));
		assertThat(results.ratio(ECHO, "a", "a", Metric.CPU_US)).contains(new Summary(1, 1, 1, 3));
	}

	@Test
	void aRoundThatOneOfTheTwoMissesHasNoRatio() {
		Results results = new Fixture().with(ECHO, "a", Metric.CPU_US, 10, 20, 30)
			.with(ECHO, "b", Metric.CPU_US, 10, 10)
			.with(ECHO, "c", Metric.P50_US, 1, 1, 1)
			.with(ECHO, "d", Metric.CPU_US, 0, 0, 0)
			.results();
		assertThat(results.ratio(ECHO, "a", "b", Metric.CPU_US)).contains(new Summary(1.5, 1, 2, 2));
		assertThat(results.ratio(ECHO, "a", "c", Metric.CPU_US)).isEmpty();
		assertThat(results.ratio(ECHO, "a", "unknown", Metric.CPU_US)).isEmpty();
		assertThat(results.ratio(ECHO, "a", "d", Metric.CPU_US)).isEmpty();
	}

	@Test
	void aServerIsComparedWithItselfUnderAnotherLoad() {
		Results results = new Fixture().with(ECHO, "a", Metric.REQUESTS_PER_SECOND, 100, 200)
			.with(MANY, "a", Metric.REQUESTS_PER_SECOND, 90, 190)
			.results();
		assertThat(results.ratio(MANY, ECHO, "a", Metric.REQUESTS_PER_SECOND).orElseThrow().min()).isEqualTo(0.9);
	}

	@Test
	void whatHasErrorsIsLeftOutAndSaid() {
		Results results = new Fixture().with(ECHO, "a", Metric.CPU_US, 10, 20)
			.withErrors(ECHO, "a", 2, 1)
			.with(ECHO, "b", Metric.REQUESTS_PER_SECOND, 0)
			.results();
		assertThat(results.summary(ECHO, "a", Metric.CPU_US)).contains(new Summary(15, 10, 20, 2));
		assertThat(results.summary(ECHO, "b", Metric.REQUESTS_PER_SECOND)).isEmpty();
		assertThat(results.invalid()).extracting(Measurement::server).containsExactly("a", "b");
		assertThat(results.invalid()).extracting((measurement) -> measurement.fault().orElseThrow())
			.containsExactly("1 error", "no reply in time");
	}

	@Test
	void theBestIsTheOneWithTheBestMedian() {
		Results results = new Fixture().with(ECHO, "a", Metric.P99_US, 1, 10, 10)
			.with(ECHO, "b", Metric.P99_US, 9, 9, 90)
			.results();
		assertThat(results.best(ECHO, List.of("a", "b", "c"), Metric.P99_US, Comparator.reverseOrder())).contains("b");
		assertThat(results.best(ECHO, List.of("a", "b", "c"), Metric.P99_US, Comparator.naturalOrder())).contains("a");
		assertThat(results.best(ECHO, List.of("c"), Metric.P99_US, Comparator.naturalOrder())).isEmpty();
	}

	@Test
	void latenciesOfAllRoundsAreAddedUp() {
		Results results = new Fixture().withAll(ECHO, "a", 3, 5).results();
		assertThat(results.latencyNs(ECHO, "a").orElseThrow().getTotalCount()).isEqualTo(3 * 2000);
		assertThat(results.latencyNs(ECHO, "b")).isEmpty();
	}

}
