package org.leaderfollowers.sample;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

import org.awaitility.Awaitility;

/**
 * The sample, or one of its tiers, in a separate process.
 *
 * @param process the process
 * @param output the file that receives its output
 */
record SampleProcess(Process process, Path output) implements AutoCloseable {

	/**
	 * Long enough for several processes that start at the same time on a busy machine.
	 */
	private static final Duration START = Duration.ofMinutes(8);

	/**
	 * Starts a process and does not wait for it.
	 * @param output the file to write its output to
	 * @param arguments the arguments of the sample
	 * @return the process
	 */
	static SampleProcess start(Path output, String... arguments) throws IOException {
		Path java = Path.of(System.getProperty("java.home"), "bin", "java");
		List<String> command = new ArrayList<>(List.of(java.toString(), "-XX:TieredStopAtLevel=1", "-cp",
				System.getProperty("java.class.path"), SampleApplication.class.getName(), "--server.port=0"));
		command.addAll(List.of(arguments));
		Process process = new ProcessBuilder(command).redirectErrorStream(true).redirectOutput(output.toFile()).start();
		return new SampleProcess(process, output);
	}

	/** Waits until the sample has started. */
	SampleProcess awaitStarted() {
		Awaitility.await()
			.atMost(START)
			.until(() -> Files.readString(this.output).contains("Started SampleApplication"));
		return this;
	}

	/** Waits until the front end listens, and returns its port. */
	int awaitPort() {
		return awaitPort("default");
	}

	/** Waits until a server listens, and returns its port. */
	int awaitPort(String server) {
		Pattern started = Pattern.compile("Server '" + server + "' .*port (\\d+)");
		return Awaitility.await().atMost(START).until(() -> {
			Matcher matcher = started.matcher(Files.readString(this.output));
			return matcher.find() ? Integer.parseInt(matcher.group(1)) : 0;
		}, (port) -> port > 0);
	}

	/** Ends the process without a shutdown. */
	void kill() throws InterruptedException {
		this.process.destroyForcibly().waitFor();
	}

	@Override
	public void close() throws InterruptedException {
		kill();
	}

}
