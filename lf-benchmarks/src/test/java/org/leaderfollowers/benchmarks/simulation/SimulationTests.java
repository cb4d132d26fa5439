package org.leaderfollowers.benchmarks.simulation;

import java.util.Map;

import org.junit.jupiter.api.Test;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;
import static org.assertj.core.api.Assertions.withinPercentage;

/**
 * What can be computed by hand comes out of the simulation.
 */
class SimulationTests {

	private static final Costs FREE = new Costs(Map.of());

	private static final double MILLIS = 20;

	private static final double MICRO = 1_000;

	@Test
	void oneProcessorWithoutOverheadDoesNothingButHandle() {
		Simulation.Outcome outcome = run(Situation.remote(1, 1, 10 * MICRO), FREE);
		assertThat(outcome.requestsPerSecond()).isCloseTo(100_000, withinPercentage(1));
		assertThat(outcome.cpuMicros()).isCloseTo(10, within(0.1));
	}

	@Test
	void processorsWithoutOverheadDoAsMuchEach() {
		for (int processors : new int[] { 2, 8, 64 }) {
			assertThat(run(Situation.remote(processors, 1, 10 * MICRO), FREE).requestsPerSecond()).as("%d", processors)
				.isCloseTo(processors * 100_000, withinPercentage(1));
		}
	}

	@Test
	void whatEachRequestCostsIsAddedToTheHandler() {
		Costs costs = FREE.with(Cost.READ, 2 * MICRO).with(Cost.WRITE, 3 * MICRO).with(Cost.REST, 5 * MICRO);
		assertThat(run(Situation.remote(1, 1, 10 * MICRO), costs).cpuMicros()).isCloseTo(20, withinPercentage(3));
	}

	@Test
	void theSerialPartBoundsTheThroughputOfAHandleSet() {
		Costs costs = FREE.with(Cost.SELECT_HANDLE, 2 * MICRO);
		double one = run(Situation.remote(32, 1, 5 * MICRO), costs).requestsPerSecond();
		assertThat(one).isBetween(250_000.0, 501_000.0);
		double four = run(Situation.remote(32, 4, 5 * MICRO), costs).requestsPerSecond();
		assertThat(four).isBetween(2 * one, 2_004_000.0);
	}

	@Test
	void aSharedWordBoundsTheThroughputOfAHandleSet() {
		Costs costs = FREE.with(Cost.TRANSFER, 1 * MICRO);
		// Twice for each request at least: it is added, and it is taken
		assertThat(run(Situation.remote(32, 1, 5 * MICRO), costs).requestsPerSecond()).isLessThan(501_000);
	}

	@Test
	void aGeneratorOnTheSameProcessorHasItsShare() {
		Costs costs = FREE.with(Cost.GENERATOR, 5 * MICRO);
		assertThat(run(Situation.local(1, 64, 15 * MICRO), costs).requestsPerSecond()).isBetween(44_000.0, 50_100.0);
		assertThat(run(Situation.local(2, 64, 15 * MICRO), costs).requestsPerSecond()).isBetween(66_000.0, 100_100.0);
	}

	@Test
	void aFollowerIsNotWokenForLessThanItCosts() {
		Costs costs = FREE.with(Cost.WAKE, 20 * MICRO).with(Cost.WAKE_LATENCY, 20 * MICRO);
		Situation few = new Situation(2, 1, 4, 10 * MICRO, false, 0);
		assertThat(run(few, costs).requestsPerSecond()).isLessThan(101_000);
		Situation many = new Situation(2, 1, 64, 10 * MICRO, false, 0);
		assertThat(run(many, costs).requestsPerSecond()).isGreaterThan(150_000);
	}

	@Test
	void theSameSeedGivesTheSameOutcome() {
		Costs costs = FREE.with(Cost.SELECT, 1 * MICRO).with(Cost.TRANSFER, 50).with(Cost.WAKE_LATENCY, 20 * MICRO);
		Situation situation = Situation.remote(8, 2, 5 * MICRO);
		assertThat(Simulation.run(situation, costs, MILLIS, 7)).isEqualTo(Simulation.run(situation, costs, MILLIS, 7));
		assertThat(Simulation.run(situation, costs, MILLIS, 7))
			.isNotEqualTo(Simulation.run(situation, costs, MILLIS, 8));
	}

	private static Simulation.Outcome run(Situation situation, Costs costs) {
		return Simulation.run(situation, costs, MILLIS, 1);
	}

}
