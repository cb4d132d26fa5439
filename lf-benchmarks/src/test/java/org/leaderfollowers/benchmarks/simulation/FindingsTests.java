package org.leaderfollowers.benchmarks.simulation;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;

import org.junit.jupiter.api.Test;
import org.leaderfollowers.benchmarks.results.Measurement;
import org.leaderfollowers.benchmarks.results.Metric;
import org.leaderfollowers.benchmarks.results.Results;
import org.leaderfollowers.benchmarks.results.Scenario;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

/**
 * What is said about a simulation.
 */
class FindingsTests {

	@Test
	void aPredictionIsComparedWithTheFastestMeasurement() {
		List<Measurement> rows = new ArrayList<>();
		Scenario load = Scenario.closed("cpu5", 64);
		for (int round = 0; round < 3; round++) {
			rows.add(row(load, Findings.measured(2), round, 100 * (round + 1)));
			rows.add(row(load, Findings.checked(2), round, (120 - 5 * round) * (round + 1)));
		}
		assertThat(findings(rows).checks()).singleElement().satisfies((check) -> {
			assertThat(check.processors()).isEqualTo(2);
			assertThat(check.error()).isCloseTo(0.1, within(1e-9));
			assertThat(check.ratio().max()).isCloseTo(1.2, within(1e-9));
		});
	}

	@Test
	void theKneeIsTheFirstNumberOfProcessorsThatDoTooLittle() {
		List<Measurement> rows = new ArrayList<>();
		for (int micros : Findings.HANDLERS) {
			for (int perSet : Findings.PROCESSORS_PER_SET) {
				for (int processors : Findings.PROCESSORS) {
					// One handle set suffices for 8 processors
					int sets = Findings.sets(processors, perSet);
					rows.add(Findings.prediction(micros, processors, sets, Math.min(processors, 8 * sets)));
				}
			}
		}
		Findings findings = findings(rows);
		assertThat(findings.knee(5, Findings.PROCESSORS_PER_SET.get(0))).hasValue(16);
		assertThat(findings.knee(5, 16)).hasValue(16);
		assertThat(findings.knee(5, 8)).isEmpty();
		assertThat(findings.recommendedProcessorsPerSet()).hasValue(8);
		assertThat(findings.efficiency(20, 64, 1))
			.hasValueSatisfying((efficiency) -> assertThat(efficiency).isCloseTo(0.125, within(1e-9)));
	}

	@Test
	void costsAreReadFromFacts() {
		Costs costs = new Costs(Map.of(Cost.SELECT, 1500.0, Cost.TRANSFER, 42.5));
		assertThat(Costs.of(costs.facts())).isEqualTo(costs);
		assertThat(costs.facts().keySet()).allMatch(Costs::isFact);
	}

	@Test
	void otherResultsAreNoSimulation() {
		Results results = new Results(List.of(row(Scenario.closed("none", 64), "lf-adaptive", 0, 1)));
		assertThat(Findings.of(Map.of(), results)).isEmpty();
	}

	private static Findings findings(List<Measurement> rows) {
		return Findings.of(Map.of(), new Results(rows)).orElseThrow();
	}

	private static Measurement row(Scenario scenario, String server, int round, double requestsPerSecond) {
		return new Measurement(scenario, server, round, Map.of(Metric.REQUESTS_PER_SECOND, requestsPerSecond), 0, null);
	}

}
