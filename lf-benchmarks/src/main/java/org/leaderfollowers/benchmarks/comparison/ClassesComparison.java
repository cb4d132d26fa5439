package org.leaderfollowers.benchmarks.comparison;

import java.io.IOException;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicReference;

import org.jspecify.annotations.Nullable;
import org.leaderfollowers.benchmarks.load.Arguments;
import org.leaderfollowers.benchmarks.load.Load;
import org.leaderfollowers.benchmarks.load.LoadResult;
import org.leaderfollowers.benchmarks.results.Summary;
import org.leaderfollowers.benchmarks.servers.ClassesProcess;
import org.leaderfollowers.benchmarks.servers.Work;

/**
 * How much a flood of a low class of clients delays a high class. The high class sends
 * {@code --rate=2000} requests per second on {@code --connections=16}, whatever the
 * server does. The flood sends its next request when a reply has come, on
 * {@code --flood-connections=64}; each of its requests does
 * {@code --work=block100pct5ms}. In each of {@code --rounds=5}, of {@code --warmup=3} and
 * {@code --seconds=5}, the high class is measured alone, with the flood in the same pool,
 * and with the flood in a pool of its own. All have the same number of threads:
 * {@code --threads=12}, of which the low class has {@code --low-threads=8} if it has a
 * pool of its own. {@code --low-priority=5} is the priority of its threads; {@code --vm}
 * is passed to the servers, for example {@code -XX:ThreadPriorityPolicy=1}, without which
 * Linux ignores priorities. A measurement is repeated while other processes use more than
 * {@code --quiet=100} percent of the machine, at most {@code --attempts=10} times.
 */
public final class ClassesComparison {

	private static final Path PROC = Path.of("/proc");

	private static final Duration START = Duration.ofSeconds(60);

	private static final double PATIENCE_SECONDS = 30;

	private static final double GOAL = 1.5;

	/** The high class and the flood differ by the lengths of their requests. */
	private static final int FLOOD_PAYLOAD = 2 * (ClassesProcess.HIGH + 1);

	private final Arguments arguments;

	private final PrintStream out;

	private final Map<String, List<Double>> p99 = new LinkedHashMap<>();

	private final Map<String, List<Double>> p50 = new LinkedHashMap<>();

	private final Map<String, List<Double>> flooded = new LinkedHashMap<>();

	private final Set<Long> ours = new HashSet<>(Set.of(ProcessHandle.current().pid()));

	private double quiet;

	private int attempts;

	/** How many measurements count although other processes disturbed them. */
	private int disturbed;

	private ClassesComparison(Arguments arguments, PrintStream out) {
		this.arguments = arguments;
		this.out = out;
	}

	/**
	 * Measures and prints.
	 * @param args see the class
	 * @throws Exception if a process fails
	 */
	public static void main(String[] args) throws Exception {
		PrintStream out = new PrintStream(System.out, true, StandardCharsets.UTF_8);
		new ClassesComparison(new Arguments(List.of(args)), out).run();
		System.exit(0);
	}

	private void run() throws Exception {
		int rounds = this.arguments.number("rounds", 5);
		double warmup = this.arguments.decimal("warmup", 3);
		double seconds = this.arguments.decimal("seconds", 5);
		int rate = this.arguments.number("rate", 2000);
		int connections = this.arguments.number("connections", 16);
		int floodConnections = this.arguments.number("flood-connections", 64);
		List<String> vm = this.arguments.list("vm", "");
		List<String> options = List.of("--work=" + this.arguments.text("work", "block100pct5ms"),
				"--threads=" + this.arguments.number("threads", 12),
				"--low-threads=" + this.arguments.number("low-threads", 8),
				"--low-priority=" + this.arguments.number("low-priority", Thread.NORM_PRIORITY),
				"--cpu-iterations=" + Work.calibrate());
		this.quiet = this.arguments.decimal("quiet", 100);
		this.attempts = this.arguments.number("attempts", 10);
		this.arguments.rejectUnread();
		Path log = Files.createTempFile("classes", ".log");
		try (ChildProcess shared = server(false, vm, options, log);
				ChildProcess separate = server(true, vm, options, log);
				Generator high = new Generator(log, warmup);
				Generator flood = new Generator(log, warmup)) {
			this.ours.addAll(List.of(shared.pid(), separate.pid(), high.pid(), flood.pid()));
			int sharedPort = Integer.parseInt(shared.read(START));
			int separatePort = Integer.parseInt(separate.read(START));
			for (int round = 0; round < rounds; round++) {
				for (String how : List.of("alone", "one pool", "classes")) {
					int port = how.equals("one pool") ? sharedPort : separatePort;
					Load load = new Load("127.0.0.1", port, connections, 1, ClassesProcess.HIGH + 1, rate, warmup,
							seconds, PATIENCE_SECONDS);
					Load beside = how.equals("alone") ? null : new Load("127.0.0.1", port, floodConnections, 1,
							FLOOD_PAYLOAD, 0, 1, warmup + seconds, PATIENCE_SECONDS);
					int left = this.attempts;
					while (!measure(how, high, load, flood, beside, --left <= 0)) {
						// Disturbed
					}
				}
			}
		}
		print();
	}

	private static ChildProcess server(boolean classes, List<String> vm, List<String> options, Path log)
			throws IOException {
		List<String> arguments = new ArrayList<>(options);
		arguments.add("--classes=" + classes);
		return new ChildProcess("the server", vm, ClassesProcess.class.getName(), arguments, log);
	}

	/**
	 * Measures once. Returns whether other processes left the machine alone, or it was
	 * the last attempt; otherwise the result does not count.
	 */
	private boolean measure(String how, Generator high, Load load, Generator flood, @Nullable Load beside, boolean last)
			throws Exception {
		CountDownLatch flooding = new CountDownLatch((beside != null) ? 1 : 0);
		CompletableFuture<LoadResult> flooder = (beside == null) ? null : CompletableFuture.supplyAsync(() -> {
			try {
				return flood.run(beside, flooding::countDown, () -> {
				});
			}
			catch (IOException ex) {
				flooding.countDown();
				throw new IllegalStateException("The flood failed", ex);
			}
		});
		flooding.await();
		AtomicReference<OtherProcesses> before = new AtomicReference<>();
		AtomicReference<Double> others = new AtomicReference<>(0.0);
		LoadResult result = high.run(load, () -> before.set(OtherProcesses.read(PROC, this.ours)),
				() -> others.set(OtherProcesses.read(PROC, this.ours)
					.percentSince(before.get(), Runtime.getRuntime().availableProcessors())));
		double perSecond = (flooder != null) ? flooder.get().requestsPerSecond() : 0;
		boolean isQuiet = others.get() <= this.quiet;
		boolean counts = last || isQuiet;
		this.disturbed += (counts && !isQuiet) ? 1 : 0;
		if (counts) {
			add(this.p50, how, result.latencyUs(50));
			add(this.p99, how, result.latencyUs(99));
			add(this.flooded, how, perSecond);
		}
		this.out.printf(Locale.ROOT,
				"%-8s p50 %,9.0f µs  p99 %,9.0f µs  p99.9 %,9.0f µs  errors %d  late p99 %,6.0f µs  flood %,8.0f/s  others %3.0f%%%s%n",
				how, result.latencyUs(50), result.latencyUs(99), result.latencyUs(99.9), result.errors(),
				result.latenessNs().getValueAtPercentile(99) / 1e3, perSecond, others.get(),
				isQuiet ? "" : counts ? "  disturbed" : "  thrown away");
		return counts;
	}

	private static void add(Map<String, List<Double>> figures, String how, double value) {
		figures.computeIfAbsent(how, (key) -> new ArrayList<>()).add(value);
	}

	private void print() {
		double alone = Summary.of(this.p99.get("alone")).orElseThrow().median();
		this.p99.forEach((how, values) -> {
			Summary summary = Summary.of(values).orElseThrow();
			this.out.printf(Locale.ROOT, "%-8s p50 %s µs, p99 %s µs: %.2f x alone%s, flood %s/s%n", how,
					Summary.of(this.p50.get(how)).orElseThrow().text(0), summary.text(0), summary.median() / alone,
					how.equals("classes") ? verdict(summary.median() / alone) : "",
					Summary.of(this.flooded.get(how)).orElseThrow().medianText(0));
		});
	}

	private String verdict(double ratio) {
		if (this.disturbed > 0) {
			return ", no verdict: %d measurements were disturbed".formatted(this.disturbed);
		}
		return (ratio <= GOAL) ? ", goal met" : ", goal missed";
	}

}
