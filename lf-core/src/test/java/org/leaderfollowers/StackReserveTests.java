package org.leaderfollowers;

import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.condition.EnabledOnOs;
import org.junit.jupiter.api.condition.OS;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

import static org.assertj.core.api.Assertions.assertThat;

@Timeout(300)
@EnabledOnOs(OS.LINUX)
class StackReserveTests {

	/**
	 * In a process of its own, where nothing is compiled yet, and which waits for each
	 * compilation. One that is only interpreted stands for a program whose compiler has
	 * no time yet, or which has thrown away what it had compiled.
	 */
	@ParameterizedTest
	@ValueSource(strings = { "-Xbatch", "-Xint" })
	void theReserveIsThereHoweverTheCheckIsCompiled(String mode) throws Exception {
		Process process = new ProcessBuilder(Path.of(System.getProperty("java.home"), "bin", "java").toString(), mode,
				"-XX:CompileCommand=quiet", "-XX:CompileCommand=exclude,%s::descend".formatted(Probe.class.getName()),
				"-cp", System.getProperty("java.class.path"), Probe.class.getName())
			.redirectErrorStream(true)
			.start();
		String output = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
		List<Integer> reserves = new ArrayList<>();
		output.lines()
			.filter((line) -> line.startsWith("reserve "))
			.forEach((line) -> reserves.add(Integer.valueOf(line.split(" ")[1])));
		assertThat(reserves).as(output).hasSize(Probe.CALLS.length).allMatch((frames) -> frames >= 60);
	}

	/** Prints how many of its frames have room in the reserve, after some calls. */
	static final class Probe {

		static final int[] CALLS = { 1, 10, 100, 500, 600, 700, 800, 1_000, 2_000, 4_000, 8_000, 50_000 };

		private int deepest;

		private int reserved = -1;

		private Probe() {
		}

		public static void main(String[] arguments) throws InterruptedException {
			int done = 0;
			for (int calls : CALLS) {
				for (; done < calls; done++) {
					StackReserve.require();
				}
				Probe probe = new Probe();
				Thread thread = new Thread(null, probe::measure, "probe", 256 * 1024);
				thread.start();
				thread.join();
				System.out.printf("reserve %d after %d calls%n", probe.deepest - probe.reserved, calls);
			}
		}

		private void measure() {
			try {
				descend(0);
			}
			catch (StackOverflowError ex) {
				// As intended
			}
		}

		/** Never compiled, so that all its frames have the same size. */
		private void descend(int depth) {
			this.deepest = depth;
			try {
				descend(depth + 1);
			}
			catch (StackOverflowError ex) {
				if (this.reserved < 0) {
					reserve(depth);
				}
				throw ex;
			}
		}

		private void reserve(int depth) {
			try {
				StackReserve.require();
				this.reserved = depth;
			}
			catch (StackOverflowError ex) {
				// There is more room in the frames above.
			}
		}

	}

}
