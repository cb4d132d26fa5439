package org.leaderfollowers.benchmarks.comparison;

import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

import org.leaderfollowers.benchmarks.servers.ServerProcess;

/**
 * A server in a process of its own.
 */
final class Server implements AutoCloseable {

	private static final Duration TIMEOUT = Duration.ofSeconds(60);

	private static final String READY = "READY ";

	private static final String UNSUPPORTED = "UNSUPPORTED ";

	private static final String STATISTICS = "STATS ";

	private final String name;

	private final ChildProcess process;

	private final int port;

	private final int neighbourPort;

	private Server(String name, ChildProcess process, int port, int neighbourPort) {
		this.name = name;
		this.process = process;
		this.port = port;
		this.neighbourPort = neighbourPort;
	}

	/**
	 * Start a server.
	 * @param name its kind, and maybe a number of handle sets or event loops as in
	 * {@code lf-eager@2}
	 * @param work the handler's work
	 * @param settings how servers are started
	 * @return the server
	 * @throws IOException if it does not start, or does not run here
	 */
	static Server start(String name, String work, Settings settings) throws IOException {
		List<String> arguments = new ArrayList<>();
		int at = name.indexOf('@');
		arguments.add("--server=" + ((at < 0) ? name : name.substring(0, at)));
		arguments.add("--work=" + work);
		arguments.add("--cpu-iterations=" + settings.cpuIterations());
		if (at >= 0) {
			arguments.add("--loops=" + name.substring(at + 1));
		}
		ChildProcess process = new ChildProcess(name, settings.vmArguments(), ServerProcess.class.getName(), arguments,
				settings.log());
		try {
			String line = process.read(TIMEOUT);
			while (!line.startsWith(READY)) {
				if (line.startsWith(UNSUPPORTED)) {
					throw new IOException(line.substring(UNSUPPORTED.length()));
				}
				line = process.read(TIMEOUT);
			}
			String[] fields = line.split(" ");
			return new Server(name, process, Integer.parseInt(fields[1]),
					(fields.length > 3) ? Integer.parseInt(fields[3]) : 0);
		}
		catch (IOException | RuntimeException ex) {
			process.close();
			throw ex;
		}
	}

	String name() {
		return this.name;
	}

	int port() {
		return this.port;
	}

	/**
	 * The second port of a server.
	 * @return the port; 0 if there is none
	 */
	int neighbourPort() {
		return this.neighbourPort;
	}

	long pid() {
		return this.process.pid();
	}

	/**
	 * What the server's JVM counts.
	 * @param collect whether garbage is collected before
	 * @return the counts by name
	 * @throws IOException if the server does not answer
	 */
	Map<String, Long> statistics(boolean collect) throws IOException {
		this.process.say(collect ? "gc" : "stats");
		String line = this.process.read(TIMEOUT);
		while (!line.startsWith(STATISTICS)) {
			line = this.process.read(TIMEOUT);
		}
		Map<String, Long> statistics = new HashMap<>();
		for (String field : line.substring(STATISTICS.length()).split(" ")) {
			int equals = field.indexOf('=');
			statistics.put(field.substring(0, equals), Long.valueOf(field.substring(equals + 1)));
		}
		return statistics;
	}

	@Override
	public void close() {
		this.process.close();
	}

}
