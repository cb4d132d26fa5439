package org.leaderfollowers;

import java.io.File;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;

import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Runs the stress tests, the classes whose names end with {@code Stress}, for as long as
 * a build can bear. They look for outcomes that the memory model allows and the protocols
 * forbid. To run them for longer, in all modes of the compilers:
 *
 * <pre>
 * ./mvnw test -Pstress -pl lf-core -Dtest=StressTests -Dlf.stress="-m default"
 * </pre>
 */
@Tag("stress")
class StressTests {

	/** One short run of each test in a virtual machine of its own. */
	private static final String SHORT = "-f 1 -fsm 1 -iters 2 -time 50 -sc false -af NONE -jvmArgs -Xmx256m";

	@Test
	void noForbiddenOutcome(@TempDir Path directory) throws Exception {
		Path log = directory.resolve("jcstress.log");
		String output = run(log, directory);
		assertThat(output).contains("RUN RESULTS")
			.containsPattern("Failed tests: +No matches")
			.containsPattern("Error tests: +No matches");
		assertThat(output.lines()
			.filter((line) -> line.contains("[OK] org.leaderfollowers"))
			.map(String::strip)
			.distinct()).hasSizeGreaterThanOrEqualTo(45);
	}

	private static String run(Path log, Path directory) throws IOException, InterruptedException {
		List<String> command = new ArrayList<>();
		command.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
		command.add("-cp");
		command.add(System.getProperty("java.class.path"));
		command.add("org.openjdk.jcstress.Main");
		command.add("-v");
		command.add("-t");
		command.add("org\\.leaderfollowers\\..*Stress");
		command.add("-r");
		command.add(directory.resolve("report") + File.separator);
		command.addAll(List.of(System.getProperty("lf.stress", SHORT).split(" ")));
		Process process = new ProcessBuilder(command).directory(directory.toFile())
			.redirectErrorStream(true)
			.redirectOutput(log.toFile())
			.start();
		try {
			assertThat(process.waitFor(30, TimeUnit.MINUTES)).isTrue();
		}
		finally {
			process.destroy();
		}
		String output = Files.readString(log);
		assertThat(process.exitValue()).as(output).isZero();
		return output;
	}

}
