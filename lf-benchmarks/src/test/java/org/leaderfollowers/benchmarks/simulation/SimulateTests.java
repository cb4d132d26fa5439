package org.leaderfollowers.benchmarks.simulation;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.leaderfollowers.benchmarks.results.Measurement;
import org.leaderfollowers.benchmarks.results.Metric;
import org.leaderfollowers.benchmarks.results.ResultFile;
import org.leaderfollowers.benchmarks.results.Run;
import org.leaderfollowers.benchmarks.results.Scenario;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.withinPercentage;

/**
 * A whole run without servers, and the prediction of a measurement.
 */
@Timeout(120)
class SimulateTests {

	@TempDir
	Path directory;

	@Test
	void costsAndPredictionsAreOnThePage() throws IOException {
		Path output = this.directory.resolve("simulation.csv");
		ByteArrayOutputStream out = new ByteArrayOutputStream();
		// Two threads that take turns make progress only while each of them has a
		// processor.
		Simulate.run(new String[] { "--check=false", "--cost-rounds=20", "--millis=2", "--output=" + output,
				"--docs=" + this.directory }, new PrintStream(out, true, StandardCharsets.UTF_8));
		Run run = ResultFile.read(List.of(output));
		Findings findings = Findings.of(run.facts(), run.results()).orElseThrow();
		assertThat(findings.costs().nanos()).containsKeys(Cost.SELECT, Cost.TAKE_OVER, Cost.WAKE, Cost.WRITE)
			.allSatisfy((cost, nanos) -> assertThat(nanos).isNotNegative());
		assertThat(findings.checks()).isEmpty();
		assertThat(findings.requestsPerSecond(5, 64, 8)).isPresent();
		assertThat(this.directory.resolve("benchmarks.adoc")).content()
			.contains("== More processors\n", "are simulated.", "|select: each time\n")
			.doesNotContain("simulation-", "Cost SELECT");
	}

	@Test
	void throughputIsPredictedFromProcessorTime() {
		Costs costs = new Costs(Map.of(Cost.WRITE, 5_000.0, Cost.READ, 5_000.0));
		// Twice as slow as the costs say
		Measurement measured = new Measurement(Scenario.closed("cpu10", 64), Findings.measured(1), 3,
				Map.of(Metric.CPU_US, 40.0, Metric.GENERATOR_CPU_US, 10.0, Metric.REQUESTS_PER_SECOND, 1.0), 0, null);
		Measurement predicted = Simulate.predictMeasured(measured, costs, 50);
		assertThat(predicted.server()).isEqualTo(Findings.checked(1));
		assertThat(predicted.round()).isEqualTo(3);
		assertThat(predicted.value(Metric.REQUESTS_PER_SECOND)).isCloseTo(20_000, withinPercentage(10));
	}

}
