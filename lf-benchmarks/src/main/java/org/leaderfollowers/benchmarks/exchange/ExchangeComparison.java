package org.leaderfollowers.benchmarks.exchange;

import java.io.IOException;
import java.io.PrintStream;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;

import org.leaderfollowers.benchmarks.load.Arguments;
import org.leaderfollowers.benchmarks.results.Summary;

/**
 * Compares clients of a Redis server that it starts: {@code --clients=lf,lettuce,netty},
 * {@code --threads=64}, {@code --bytes=64}, {@code --rounds=5}, {@code --seconds=2},
 * {@code --warmup=5}, {@code --redis=/usr/bin/redis-server}. Each round runs each client
 * in a process of its own; the figures are medians of the rounds, with the ends, and
 * ratios to the first client.
 */
public final class ExchangeComparison {

	private static final int FIGURES = 4;

	private static final long START_NANOS = TimeUnit.SECONDS.toNanos(10);

	private static final long LOOK_NANOS = TimeUnit.MILLISECONDS.toNanos(20);

	private ExchangeComparison() {
	}

	/**
	 * Measures and prints.
	 * @param args the options
	 * @throws Exception if a client or the server cannot be run
	 */
	public static void main(String[] args) throws Exception {
		Arguments arguments = new Arguments(List.of(args));
		List<String> clients = arguments.list("clients", "lf,lettuce,netty");
		int rounds = arguments.number("rounds", 5);
		Path redis = Path.of(arguments.text("redis", "/usr/bin/redis-server"));
		List<String> options = List.of("--threads=" + arguments.number("threads", 64),
				"--bytes=" + arguments.number("bytes", 64), "--seconds=" + arguments.decimal("seconds", 2),
				"--warmup=" + arguments.decimal("warmup", 5));
		arguments.rejectUnread();
		PrintStream out = new PrintStream(System.out, true, StandardCharsets.UTF_8);
		Map<String, List<double[]>> figures = new LinkedHashMap<>();
		int port = freePort();
		Process server = new ProcessBuilder(redis.toString(), "--port", String.valueOf(port), "--bind", "127.0.0.1",
				"--save", "", "--appendonly", "no")
			.redirectOutput(ProcessBuilder.Redirect.DISCARD)
			.start();
		try {
			awaitListening(port);
			for (int round = 0; round < rounds; round++) {
				for (String client : clients) {
					double[] measured = run(client, port, options);
					figures.computeIfAbsent(client, (key) -> new ArrayList<>()).add(measured);
					out.printf(Locale.ROOT, "round %d %-8s %,9.0f/s %7.2f CPU µs %8.0f p50 µs %8.0f p99 µs%n",
							round + 1, client, measured[0], measured[1], measured[2], measured[3]);
				}
			}
		}
		finally {
			server.destroy();
		}
		print(figures, clients.get(0), out);
	}

	private static int freePort() throws IOException {
		try (ServerSocket free = new ServerSocket(0)) {
			return free.getLocalPort();
		}
	}

	private static void awaitListening(int port) throws IOException {
		long deadline = System.nanoTime() + START_NANOS;
		while (true) {
			try (Socket socket = new Socket()) {
				socket.connect(new InetSocketAddress("127.0.0.1", port));
				return;
			}
			catch (IOException ex) {
				if (System.nanoTime() - deadline >= 0) {
					throw ex;
				}
				LockSupport.parkNanos(LOOK_NANOS);
			}
		}
	}

	private static double[] run(String client, int port, List<String> options)
			throws IOException, InterruptedException {
		List<String> command = new ArrayList<>(
				List.of(System.getProperty("java.home") + "/bin/java", "-cp", System.getProperty("java.class.path"),
						ExchangeProcess.class.getName(), "--client=" + client, "--port=" + port));
		command.addAll(options);
		Process process = new ProcessBuilder(command).redirectError(ProcessBuilder.Redirect.DISCARD).start();
		String said = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
		if (process.waitFor() != 0) {
			throw new IOException("The client '" + client + "' failed: " + said);
		}
		List<String> lines = said.strip().lines().toList();
		String[] words = lines.get(lines.size() - 1).split(" ");
		double[] measured = new double[FIGURES];
		for (int i = 0; i < FIGURES; i++) {
			measured[i] = Double.parseDouble(words[i]);
		}
		return measured;
	}

	private static void print(Map<String, List<double[]>> figures, String first, PrintStream out) {
		String[] names = { "exchanges/s", "CPU µs/exchange", "p50 µs", "p99 µs" };
		for (int i = 0; i < FIGURES; i++) {
			int figure = i;
			double reference = summary(figures.get(first), figure).median();
			out.println(names[i] + ":");
			figures.forEach((client, rounds) -> {
				Summary summary = summary(rounds, figure);
				out.printf(Locale.ROOT, "  %-8s %s, %s is %.2f x%n", client, summary.text((figure == 1) ? 2 : 0), first,
						reference / summary.median());
			});
		}
	}

	private static Summary summary(List<double[]> rounds, int figure) {
		return Summary.of(rounds.stream().map((measured) -> measured[figure]).toList()).orElseThrow();
	}

}
