package org.leaderfollowers.benchmarks.servers;

import java.io.BufferedReader;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.io.PrintStream;
import java.net.InetAddress;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.concurrent.TimeUnit;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assumptions.assumeThat;

/**
 * Tests for {@link ServerProcess}.
 */
@Timeout(120)
class ServerProcessTests {

	private static final String STATS = "STATS allocated=\\d+ heap=\\d+ direct=\\d+ threads=\\d+";

	private final ByteArrayOutputStream out = new ByteArrayOutputStream();

	private final ByteArrayOutputStream err = new ByteArrayOutputStream();

	@Test
	void servesAndAnswersCommandsUntilItIsToldToQuit() throws Exception {
		Process process = new ProcessBuilder(Path.of(System.getProperty("java.home"), "bin", "java").toString(), "-cp",
				System.getProperty("java.class.path"), ServerProcess.class.getName(), "--server=nio", "--work=none")
			.redirectError(ProcessBuilder.Redirect.INHERIT)
			.start();
		try (BufferedReader answers = process.inputReader(); OutputStream commands = process.getOutputStream()) {
			String[] ready = answers.readLine().split(" ");
			assertThat(ready).hasSize(3);
			assertThat(ready[0]).isEqualTo("READY");
			assertThat(ready[2]).isEqualTo(Long.toString(process.pid()));
			try (Socket client = new Socket(InetAddress.getLoopbackAddress(), Integer.parseInt(ready[1]))) {
				client.getOutputStream().write("ping\n".getBytes(StandardCharsets.UTF_8));
				assertThat(client.getInputStream().readNBytes(5)).isEqualTo("ping\n".getBytes(StandardCharsets.UTF_8));
			}
			say(commands, "stats");
			assertThat(answers.readLine()).matches(STATS);
			say(commands, "gc");
			assertThat(answers.readLine()).matches(STATS);
			say(commands, "quit");
			assertThat(answers.readLine()).isNull();
			assertThat(process.waitFor(30, TimeUnit.SECONDS)).isTrue();
			assertThat(process.exitValue()).isZero();
		}
		finally {
			process.destroyForcibly();
		}
	}

	private static void say(OutputStream commands, String command) throws IOException {
		commands.write((command + "\n").getBytes(StandardCharsets.UTF_8));
		commands.flush();
	}

	@Test
	void endsWithItsInput() throws IOException {
		assertThat(run("", "--server=hshr", "--work=block100pct1ms", "--threads=2")).isZero();
		assertThat(output()).matches("READY \\d+ \\d+\\R");
	}

	@Test
	void tellsThePortOfTheNeighbour() throws IOException {
		assertThat(run("", "--server=lf-adaptive", "--work=mixed-cpu50", "--cpu-iterations=1000")).isZero();
		assertThat(output()).matches("READY \\d+ \\d+ \\d+\\R");
	}

	@Test
	void countsWhatThreadsAllocate() throws IOException {
		assertThat(run("stats\ngc\nquit\n", "--server=textbook-lf", "--work=cpu20", "--threads=2",
				"--cpu-iterations=1000"))
			.isZero();
		String[] lines = output().split("\\R");
		assertThat(lines).hasSize(3);
		assertThat(value(lines[1], "allocated")).isPositive();
		assertThat(value(lines[2], "allocated")).isGreaterThanOrEqualTo(value(lines[1], "allocated"));
		assertThat(value(lines[2], "heap")).isPositive();
		assertThat(value(lines[2], "threads")).isPositive();
	}

	private static long value(String line, String name) {
		return Arrays.stream(line.split(" "))
			.filter((part) -> part.startsWith(name + "="))
			.mapToLong((part) -> Long.parseLong(part.substring(name.length() + 1)))
			.findFirst()
			.orElseThrow();
	}

	@Test
	void namesTheKindsItKnows() throws IOException {
		assertThat(run("", "--server=apache", "--work=none")).isEqualTo(2);
		assertThat(output()).isEmpty();
		assertThat(errors()).contains("lf-eager", "lf-adaptive", "nio", "textbook-lf", "hshr", "threads", "virtual",
				"netty-epoll", "netty-nio", "netty-epoll-executor", "netty-nio-executor", "grizzly",
				"spring-integration");
	}

	@Test
	void namesTheWorkItKnows() throws IOException {
		assertThat(run("", "--server=nio", "--work=hard")).isEqualTo(2);
		assertThat(output()).isEmpty();
		assertThat(errors()).contains("none", "cpu<microseconds>", "block<percent>pct<milliseconds>ms");
	}

	@Test
	void refusesOptionsItDoesNotKnow() throws IOException {
		assertThat(run("", "--server=nio", "--work=none", "--speed=100")).isEqualTo(2);
		assertThat(errors()).contains("--speed=100", "--threads=");
		assertThat(run("", "--server=nio", "--work=none", "--threads=many")).isEqualTo(2);
		assertThat(errors()).contains("--threads must be a number, but is 'many'");
		assertThat(run("", "--server=nio", "--work=none", "--threads=0")).isEqualTo(2);
	}

	@Test
	void saysWhyAKindHasNoNeighbour() throws IOException {
		assertThat(run("", "--server=nio", "--work=mixed-cpu50", "--cpu-iterations=1000")).isZero();
		assertThat(output()).isEqualTo("UNSUPPORTED it has one port only" + System.lineSeparator());
	}

	@Test
	void saysWhyASettingDoesNotSuitAKind() throws IOException {
		assertThat(run("", "--server=nio", "--work=none", "--loops=2")).isZero();
		assertThat(output()).startsWith("UNSUPPORTED the number of threads");
	}

	@Test
	void saysWhyAKindDoesNotRunHere() throws IOException {
		assumeThat(Runtime.version().feature()).isLessThan(21);
		assertThat(run("", "--server=virtual", "--work=none")).isZero();
		assertThat(output()).isEqualTo("UNSUPPORTED virtual threads need JDK 21 or later" + System.lineSeparator());
	}

	private int run(String commands, String... args) throws IOException {
		InputStream in = new ByteArrayInputStream(commands.getBytes(StandardCharsets.UTF_8));
		return ServerProcess.run(args, in, new PrintStream(this.out, true, StandardCharsets.UTF_8),
				new PrintStream(this.err, true, StandardCharsets.UTF_8));
	}

	private String output() {
		return this.out.toString(StandardCharsets.UTF_8);
	}

	private String errors() {
		return this.err.toString(StandardCharsets.UTF_8);
	}

}
