package org.leaderfollowers.benchmarks.servers;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.HashMap;
import java.util.Map;
import java.util.Set;
import java.util.stream.Collectors;

/**
 * One server in a process of its own, so that its processor time and its memory can be
 * told from those of its clients, and no server inherits what the JIT compiler learned
 * from another.
 * <p>
 * The arguments are {@code --server=<kind> --work=<work> [--threads=64]
 * [--loops=0] [--max-message=131072] [--cpu-iterations=0]}; see {@link ServerKind},
 * {@link Work} and {@link ServerOptions}. The process prints {@code READY <port> <pid>}
 * when clients can connect, and the port of the neighbour behind it if there is one, and
 * then answers the commands on its standard input, one a line:
 * <table border="1">
 * <caption>Commands</caption>
 * <tr>
 * <th>command</th>
 * <th>answer</th>
 * </tr>
 * <tr>
 * <td>{@code stats}</td>
 * <td>{@code STATS allocated=<bytes> heap=<bytes> direct=<bytes> threads=<number>}: what
 * its threads have allocated since it began (before JDK 21 without those that have
 * ended), the used heap, buffers off the heap, and live platform threads</td>
 * </tr>
 * <tr>
 * <td>{@code gc}</td>
 * <td>the same, after collecting garbage until there is no more</td>
 * </tr>
 * <tr>
 * <td>{@code quit}, or the end of the input</td>
 * <td>closes the server and exits with 0</td>
 * </tr>
 * </table>
 * A kind that does not run here prints {@code UNSUPPORTED <reason>} and exits with 0;
 * arguments that mean nothing exit with 2.
 */
public final class ServerProcess {

	private static final int BAD_ARGUMENTS = 2;

	private static final Set<String> OPTIONS = Set.of("server", "work", "threads", "loops", "max-message",
			"cpu-iterations");

	private ServerProcess() {
	}

	/**
	 * Runs a server until it is told to quit.
	 * @param args see the description of this class
	 * @throws IOException if the server cannot be started
	 */
	public static void main(String[] args) throws IOException {
		int status = run(args, System.in, System.out, System.err);
		// Threads that a handler keeps must not keep the process alive.
		System.exit(status);
	}

	static int run(String[] args, InputStream in, PrintStream out, PrintStream err) throws IOException {
		ServerKind kind;
		ServerOptions options;
		try {
			Map<String, String> values = parse(args);
			kind = ServerKind.of(values.getOrDefault("server", ""))
				.orElseThrow(
						() -> new IllegalArgumentException("--server must be one of " + list(ServerKind.values())));
			Work work = Work.of(values.getOrDefault("work", ""))
				.orElseThrow(() -> new IllegalArgumentException("--work must be " + Work.NAMES));
			options = new ServerOptions(work, number(values, "threads", ServerOptions.DEFAULT_THREADS),
					number(values, "loops", 0), number(values, "max-message", ServerOptions.DEFAULT_MAX_MESSAGE),
					number(values, "cpu-iterations", 0));
		}
		catch (IllegalArgumentException ex) {
			err.println(ex.getMessage());
			return BAD_ARGUMENTS;
		}
		try (EchoServer server = kind.start(options)) {
			Work neighbour = options.work().neighbour();
			say(out, "READY " + server.port() + " " + ProcessHandle.current().pid()
					+ ((neighbour != null) ? " " + server.open(neighbour.prepare(options.cpuIterations())) : ""));
			obey(server, new BufferedReader(new InputStreamReader(in, StandardCharsets.UTF_8)), out, err);
		}
		catch (UnsupportedOperationException ex) {
			say(out, "UNSUPPORTED " + ex.getMessage());
		}
		return 0;
	}

	private static void obey(EchoServer server, BufferedReader commands, PrintStream out, PrintStream err)
			throws IOException {
		for (String command = commands.readLine(); command != null; command = commands.readLine()) {
			switch (command.strip()) {
				case "stats" -> say(out, ProcessStatistics.of(server).toString());
				case "gc" -> say(out, ProcessStatistics.settled(server).toString());
				case "quit" -> {
					return;
				}
				default -> err.println("The commands are stats, gc and quit");
			}
		}
	}

	/** A reader waits for the line at the other end of a pipe. */
	private static void say(PrintStream out, String line) {
		out.println(line);
		out.flush();
	}

	private static Map<String, String> parse(String[] args) {
		Map<String, String> values = new HashMap<>();
		for (String arg : args) {
			int equals = arg.indexOf('=');
			if (!arg.startsWith("--") || equals < 0 || !OPTIONS.contains(arg.substring(2, equals))) {
				throw new IllegalArgumentException("'" + arg + "' is none of the options "
						+ OPTIONS.stream().sorted().map((name) -> "--" + name + "=").collect(Collectors.joining(", ")));
			}
			values.put(arg.substring(2, equals), arg.substring(equals + 1));
		}
		return values;
	}

	private static int number(Map<String, String> values, String name, int defaultValue) {
		String value = values.get(name);
		try {
			return (value != null) ? Integer.parseInt(value) : defaultValue;
		}
		catch (NumberFormatException ex) {
			throw new IllegalArgumentException("--" + name + " must be a number, but is '" + value + "'", ex);
		}
	}

	private static String list(Object[] values) {
		return Arrays.stream(values).map(Object::toString).collect(Collectors.joining(", "));
	}

}
