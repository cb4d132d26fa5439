package org.leaderfollowers.benchmarks.comparison;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.List;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.leaderfollowers.benchmarks.results.Measurement;
import org.leaderfollowers.benchmarks.results.Metric;
import org.leaderfollowers.benchmarks.results.ResultFile;
import org.leaderfollowers.benchmarks.results.Results;
import org.leaderfollowers.benchmarks.results.Scenario;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * A whole comparison, in small.
 */
@Timeout(120)
class ComparisonTests {

	@TempDir
	Path directory;

	@Test
	void serversAreMeasuredAgainstEachOther() throws IOException {
		Path output = this.directory.resolve("raw.csv");
		ByteArrayOutputStream out = new ByteArrayOutputStream();
		Comparison.run(new String[] { "--servers=nio,lf-eager@2,unheard-of", "--connections=3", "--rate=0,200",
				"--rounds=2", "--seconds=0.1", "--warmup=0.1", "--system-calls=false", "--output=" + output,
				"--docs=" + this.directory }, new PrintStream(out, true, StandardCharsets.UTF_8));
		assertThat(out.toString(StandardCharsets.UTF_8)).contains("echo, 3 connections, 64 B, 200 requests/s\nmedian ");
		Results results = ResultFile.read(List.of(output)).results();
		// Not that they have replied in time: this machine may have other things to do
		assertThat(results.measurements()).extracting(Measurement::errors).hasSize(2 * 2 * 2).containsOnly(0L);
		for (Scenario scenario : List.of(Scenario.closed("none", 3), Scenario.open("none", 3, 200))) {
			assertThat(results.servers(scenario)).containsExactlyInAnyOrder("nio", "lf-eager@2");
		}
		assertThat(results.measurements()).allSatisfy((measurement) -> assertThat(measurement.values())
			.containsKeys(Metric.REQUESTS_PER_SECOND, Metric.P99_US, Metric.THREADS));
		assertThat(output).content()
			.contains("# left out: unheard-of (")
			.contains("# command: java -jar lf-benchmarks.jar --servers=nio")
			.doesNotContain(this.directory.toString());
		assertThat(this.directory.resolve("benchmarks.adoc")).content().contains("`lf-eager@2`");
	}

	@Test
	void idleConnectionsAreMeasured() throws IOException {
		Path output = this.directory.resolve("raw.csv");
		Comparison.run(
				new String[] { "--servers=lf-adaptive", "--connections=3", "--pipeline=0", "--rounds=1",
						"--seconds=0.2", "--warmup=0.1", "--system-calls=false", "--output=" + output },
				new PrintStream(new ByteArrayOutputStream(), true, StandardCharsets.UTF_8));
		assertThat(ResultFile.read(List.of(output)).results().measurements()).singleElement()
			.satisfies((measurement) -> assertThat(measurement.values()).containsKeys(Metric.IDLE_HEAP_BYTES,
					Metric.IDLE_DIRECT_BYTES));
	}

	@Test
	void anEchoIsMeasuredBesideABusyNeighbour() throws IOException {
		Path output = this.directory.resolve("raw.csv");
		ByteArrayOutputStream out = new ByteArrayOutputStream();
		Comparison.run(
				new String[] { "--servers=lf-adaptive,nio", "--work=mixed-block100pct1ms", "--connections=3",
						"--neighbour-connections=2", "--rounds=1", "--seconds=2", "--warmup=0.1",
						"--system-calls=false", "--output=" + output },
				new PrintStream(out, true, StandardCharsets.UTF_8));
		Results results = ResultFile.read(List.of(output)).results();
		assertThat(results.measurements()).singleElement().satisfies((measurement) -> {
			assertThat(measurement.errors()).isZero();
			assertThat(measurement.values()).containsKeys(Metric.P99_US, Metric.P99_TO_ALONE)
				.doesNotContainKey(Metric.CPU_US);
			assertThat(measurement.value(Metric.NEIGHBOUR_REQUESTS_PER_SECOND)).isBetween(1.0, 2000.0);
		});
		assertThat(output).content()
			.contains("# left out: nio (it has one port only)")
			.contains("# connections of a neighbour: 2");
	}

}
