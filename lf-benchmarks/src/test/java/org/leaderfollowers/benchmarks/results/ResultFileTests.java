package org.leaderfollowers.benchmarks.results;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Raw data survive being written and read.
 */
class ResultFileTests {

	private static final Scenario ECHO = Scenario.closed("none", 64);

	@TempDir
	Path directory;

	@Test
	void whatIsReadIsWhatWasWritten() throws IOException {
		Scenario other = new Scenario("block5pct2ms", 1000, 4096, 16, 20_000);
		List<Measurement> measurements = new Fixture().withAll(ECHO, "lf-eager@2", 2, 0.125)
			.withAll(Scenario.idle(10_000), "nio", 1, 683)
			.with(other, "virtual", Metric.P99_US, 1234.5)
			.withErrors(other, "grizzly", 0, 17)
			.measurements();
		Path path = write("a", Map.of("machine", "a: one, with 2 cores"), measurements);
		Run run = ResultFile.read(List.of(path));
		assertThat(run.facts()).isEqualTo(Map.of("machine", "a: one, with 2 cores"));
		assertThat(run.results().measurements()).usingRecursiveFieldByFieldElementComparatorIgnoringFields("latencyNs")
			.isEqualTo(measurements);
		assertThat(run.results().latencyNs(ECHO, "lf-eager@2"))
			.isEqualTo(new Results(measurements).latencyNs(ECHO, "lf-eager@2"));
	}

	@Test
	void roundsOfTwoFilesAreDifferentRounds() throws IOException {
		Path first = write("first", Map.of("JDK", "25", "command", "x"),
				new Fixture().with(ECHO, "a", Metric.CPU_US, 10, 20).measurements());
		Path second = write("second", Map.of("JDK", "25", "command", "y"),
				new Fixture().with(ECHO, "b", Metric.CPU_US, 1).with(ECHO, "a", Metric.CPU_US, 2).measurements());
		Run run = ResultFile.read(List.of(first, second));
		assertThat(run.results().ratio(ECHO, "a", "b", Metric.CPU_US)).contains(new Summary(2, 2, 2, 1));
		assertThat(run.facts()).containsEntry("JDK", "25").containsEntry("command", "x; y");
	}

	@Test
	void factsMayComeLater() throws IOException {
		Path path = this.directory.resolve("sub/directory/x.csv");
		try (ResultFile file = ResultFile.create(path, Map.of())) {
			new Fixture().with(ECHO, "a", Metric.CPU_US, 10).measurements().forEach(file::add);
			file.fact(Run.LEFT_OUT, "virtual (needs JDK 21)");
			assertThat(Files.readString(path)).as("before it is closed").endsWith("(needs JDK 21)\n");
		}
		assertThat(ResultFile.read(List.of(path)).facts()).containsEntry(Run.LEFT_OUT, "virtual (needs JDK 21)");
	}

	private Path write(String name, Map<String, String> facts, List<Measurement> measurements) throws IOException {
		Path path = this.directory.resolve(name + ".csv");
		try (ResultFile file = ResultFile.create(path, facts)) {
			measurements.forEach(file::add);
		}
		return path;
	}

}
