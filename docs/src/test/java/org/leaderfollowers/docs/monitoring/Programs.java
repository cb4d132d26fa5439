package org.leaderfollowers.docs.monitoring;

import java.io.File;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

/**
 * Programs that may be installed or not.
 */
final class Programs {

	private Programs() {
	}

	/**
	 * Skips the test if a program is missing.
	 */
	static void assumeInstalled(String program) {
		assumeTrue(isInstalled(program), "no " + program);
	}

	static boolean isInstalled(String program) {
		return Stream.of(System.getenv().getOrDefault("PATH", "").split(File.pathSeparator))
			.anyMatch((directory) -> Path.of(directory, program).toFile().canExecute());
	}

	/**
	 * Runs a program that has to succeed.
	 * @return what it printed
	 */
	static String run(String... command) throws IOException, InterruptedException {
		Process process = new ProcessBuilder(command).redirectErrorStream(true).start();
		String output = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
		assertThat(process.waitFor(60, TimeUnit.SECONDS)).as("%s ends", command[0]).isTrue();
		assertThat(process.exitValue()).as(output).isZero();
		return output;
	}

}
