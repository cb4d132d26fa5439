package org.leaderfollowers.benchmarks.soak;

import java.io.IOException;
import java.io.PrintStream;
import java.net.InetAddress;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.EnumMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.Random;
import java.util.concurrent.TimeUnit;

import org.HdrHistogram.Histogram;
import org.jspecify.annotations.Nullable;
import org.leaderfollowers.benchmarks.attack.Certificate;
import org.leaderfollowers.benchmarks.attack.HonestClient;
import org.leaderfollowers.benchmarks.attack.Tally;
import org.leaderfollowers.benchmarks.load.Arguments;

/**
 * Runs servers of all kinds for {@code --minutes=60} and looks for anything that is not
 * as it was before. {@link SoakServer} has the servers, in a process of its own with the
 * options {@code --vm=-Xmx256m}.
 * <p>
 * Honest clients are there all the time. In each cycle of {@code --cycle=60} seconds
 * every {@link Disturbance} runs once, at a random time and for a random time, so that
 * they overlap in other ways in each cycle; {@code --seed} repeats the choice. Nothing
 * may take longer than {@code --timeout=60} seconds; a busy machine needs more. The last
 * third of a cycle is quiet: only the honest clients are left. Figures are sampled every
 * {@code --interval=5} seconds, and once after a garbage collection at the end of each
 * cycle.
 * <p>
 * The verdict is good if
 * <ul>
 * <li>each request of an honest client was answered once and in order,</li>
 * <li>no client received a reply that was not its next one,</li>
 * <li>no look at the leaders found two for a handle set, or none while threads were
 * idle,</li>
 * <li>all connections of the disturbances were closed in each quiet time,</li>
 * <li>no figure drifts, by the rule of {@link Drift},</li>
 * <li>and the process has afterwards no socket, selector, pipe or thread more than
 * before, and no more heap and direct memory than the rule allows.</li>
 * </ul>
 * Otherwise the exit code is 1. {@code --plant} plants a {@link Plant defect}, which the
 * verdict must notice. The directory {@code --output=target/benchmarks/soak} receives the
 * samples ({@code soak.csv}), the plot ({@code soak.svg}) while the soak runs, and the
 * verdict ({@code soak.txt}).
 */
public final class Soak {

	/** How much of a cycle is disturbed. */
	private static final double DISTURBED = 0.65;

	/** The client of the servers' process. */
	private static final int OWN_CONNECTIONS = 2;

	private static final int FAILED = 1;

	private final PrintStream out;

	private final double seconds;

	private final double cycleSeconds;

	private final double intervalSeconds;

	private final Duration timeout;

	private final Random random;

	private final SoakReport report;

	private final List<String> problems = new ArrayList<>();

	private final Tally plain = new Tally();

	private final Tally others = new Tally();

	private final Tally tolerant = new Tally();

	private final List<HonestClient> honest = new ArrayList<>();

	private final long start;

	private final SoakProcess servers;

	private final DatagramClient datagrams;

	private Soak(Arguments arguments, PrintStream out) throws IOException {
		this.out = out;
		this.seconds = 60 * arguments.decimal("minutes", 60);
		this.cycleSeconds = arguments.decimal("cycle", 60);
		this.intervalSeconds = arguments.decimal("interval", 5);
		int timeoutSeconds = arguments.number("timeout", 60);
		this.timeout = Duration.ofSeconds(timeoutSeconds);
		int seed = arguments.number("seed", new Random().nextInt(1_000_000));
		this.random = new Random(seed);
		Path directory = Path.of(arguments.text("output", "target/benchmarks/soak"));
		List<String> vm = arguments.list("vm", "-Xmx256m");
		Plant plant = Plant.valueOf(arguments.text("plant", "nothing").toUpperCase(Locale.ROOT));
		arguments.rejectUnread();
		Files.createDirectories(directory);
		out.printf(Locale.ROOT, "%.0f seconds, seed %d, %s planted, java %s, %d processors%n", this.seconds, seed,
				plant.name().toLowerCase(Locale.ROOT), Runtime.version(), Runtime.getRuntime().availableProcessors());
		this.report = new SoakReport(directory);
		this.servers = new SoakProcess(vm, List.of("--plant=" + plant, "--timeout=" + timeoutSeconds),
				Files.createTempDirectory(directory, "process"));
		this.datagrams = new DatagramClient(this.servers.address(SoakServer.UDP).getPort());
		for (int i = 0; i < 2; i++) {
			addHonest(SoakServer.LINES, 0, this.plain);
			addHonest(SoakServer.LENGTHS, 0, this.others);
			addHonest(SoakServer.TLS, 0, this.others);
			addHonest(SoakServer.BLOCKING, 0, this.others);
			addHonest(SoakServer.RELAY, 0, this.others);
		}
		addHonest(SoakServer.LINES, 5, this.others);
		addHonest(SoakServer.LENGTHS, 5, this.others);
		addHonest(SoakServer.TLS, 5, this.others);
		this.start = System.nanoTime();
	}

	private void addHonest(String server, int perConnection, Tally tally) {
		this.honest.add(new HonestClient(new HonestClient.Options("honest-" + server + "-" + this.honest.size(),
				this.servers.address(server), InetAddress.getLoopbackAddress(), SoakProcess.wire(server),
				server.equals(SoakServer.TLS) ? Certificate.trustAll() : null, perConnection, Duration.ofMillis(50),
				this.timeout), tally));
	}

	/**
	 * Runs a soak.
	 * @param args see the class
	 * @throws Exception if it cannot be run
	 */
	public static void main(String[] args) throws Exception {
		System.exit(run(List.of(args), new PrintStream(System.out, true, StandardCharsets.UTF_8)) ? 0 : FAILED);
	}

	/** Returns whether the verdict is good. */
	static boolean run(List<String> args, PrintStream out) throws IOException, InterruptedException {
		Soak soak = new Soak(new Arguments(args), out);
		try (SoakProcess servers = soak.servers) {
			// On a busy machine, cycles take longer than they should
			for (int cycle = 0; soak.elapsed() < soak.seconds
					|| cycle < Math.round(soak.seconds / soak.cycleSeconds); cycle++) {
				soak.cycle();
			}
			soak.end();
		}
		return soak.verdict();
	}

	private double elapsed() {
		return (System.nanoTime() - this.start) / 1e9;
	}

	private void cycle() throws IOException, InterruptedException {
		double begin = elapsed();
		double end = begin + DISTURBED * this.cycleSeconds;
		List<Thread> threads = new ArrayList<>();
		for (Disturbance disturbance : Disturbance.values()) {
			threads.add(start(disturbance, begin));
		}
		for (double next = begin + this.intervalSeconds; next < end; next += this.intervalSeconds) {
			sleepUntil(next);
			sample(false);
		}
		sleepUntil(end);
		for (Thread thread : threads) {
			thread.join();
		}
		settle();
		// The latencies of the quiet time only
		this.plain.drainLatencyNs();
		sleepUntil(Math.max(begin + this.cycleSeconds, elapsed() + 1));
		sample(true);
		describeFailures();
		this.report.write();
	}

	private Thread start(Disturbance disturbance, double begin) {
		double length = DISTURBED * this.cycleSeconds;
		double from = begin + this.random.nextDouble() * length / 2;
		double duration = (begin + length - from) * (0.4 + 0.6 * this.random.nextDouble());
		long fromNanos = this.start + (long) (from * 1e9);
		Disturbance.Scene scene = new Disturbance.Scene(this.servers, new Random(this.random.nextLong()),
				fromNanos + (long) (duration * 1e9), this.timeout, this.tolerant);
		Thread thread = new Thread(() -> {
			try {
				TimeUnit.NANOSECONDS.sleep(fromNanos - System.nanoTime());
				disturbance.run(scene);
			}
			catch (IOException | InterruptedException ex) {
				problem("%s ended with %s".formatted(disturbance, ex));
			}
		}, disturbance.name());
		thread.setDaemon(true);
		thread.start();
		return thread;
	}

	private void sleepUntil(double second) throws InterruptedException {
		TimeUnit.NANOSECONDS.sleep(this.start + (long) (second * 1e9) - System.nanoTime());
	}

	/** Waits until only the connections of honest clients are open. */
	private void settle() throws IOException, InterruptedException {
		double deadline = elapsed() + this.timeout.toSeconds();
		double open = Double.MAX_VALUE;
		while (open > this.honest.size() + OWN_CONNECTIONS && elapsed() < deadline) {
			TimeUnit.MILLISECONDS.sleep(100);
			open = Sample.parse(this.servers.ask("sample")).get(Sample.Figure.CONNECTIONS);
		}
		if (open > this.honest.size() + OWN_CONNECTIONS) {
			problem("At %.0f s, %.0f connections were open instead of %d".formatted(elapsed(), open,
					this.honest.size() + OWN_CONNECTIONS));
		}
	}

	private void sample(boolean quiet) throws IOException {
		Map<Sample.Figure, Double> values = new EnumMap<>(Sample.Figure.class);
		Histogram latencyNs = this.plain.drainLatencyNs();
		if (latencyNs.getTotalCount() > 0) {
			values.put(Sample.Figure.P50_MS, latencyNs.getValueAtPercentile(50) / 1e6);
			values.put(Sample.Figure.P99_MS, latencyNs.getValueAtPercentile(99) / 1e6);
		}
		values.putAll(Sample.parse(this.servers.ask(quiet ? "collect" : "sample")));
		values.put(Sample.Figure.SERVED, (double) this.plain.served() + this.others.served());
		values.put(Sample.Figure.FAILED, (double) this.plain.failed() + this.others.failed());
		values.put(Sample.Figure.WRONG,
				(double) this.plain.wrong() + this.others.wrong() + this.tolerant.wrong() + this.datagrams.wrong());
		Sample sample = new Sample(elapsed(), quiet, values);
		this.report.add(sample);
		if (quiet) {
			this.out.println(describe(sample));
		}
	}

	private static String describe(Sample sample) {
		return String.format(Locale.ROOT,
				"%6.0f s  heap %6.2f MB  direct %5.2f MB  descriptors %3.0f  threads %3.0f  connections %3.0f  p50 %6.2f ms  p99 %7.2f ms  served %,.0f  failed %.0f  wrong %.0f",
				sample.seconds(), sample.value(Sample.Figure.HEAP) / 1e6, sample.value(Sample.Figure.DIRECT) / 1e6,
				sample.value(Sample.Figure.DESCRIPTORS), sample.value(Sample.Figure.THREADS),
				sample.value(Sample.Figure.CONNECTIONS), sample.value(Sample.Figure.P50_MS),
				sample.value(Sample.Figure.P99_MS), sample.value(Sample.Figure.SERVED),
				sample.value(Sample.Figure.FAILED), sample.value(Sample.Figure.WRONG));
	}

	private void describeFailures() {
		for (Tally tally : List.of(this.plain, this.others)) {
			for (String failure = tally.nextFailure(); failure != null; failure = tally.nextFailure()) {
				problem("At %.0f s, honest client %s".formatted(elapsed(), failure));
			}
		}
	}

	private synchronized void problem(String problem) {
		this.problems.add(problem);
		this.out.println("Problem: " + problem);
	}

	private void end() throws IOException {
		this.honest.forEach(HonestClient::stop);
		this.honest.forEach(HonestClient::close);
		this.datagrams.close();
		Map<Sample.Figure, Double> last = Sample.parse(this.servers.ask("sample"));
		if (last.get(Sample.Figure.LEADER_VIOLATIONS) > 0) {
			problem("%.0f of %.0f looks found a wrong number of leaders"
				.formatted(last.get(Sample.Figure.LEADER_VIOLATIONS), last.get(Sample.Figure.LEADER_LOOKS)));
		}
		SoakProcess.End end = this.servers.end();
		if (!end.drained()) {
			problem("The servers were not drained in their grace period");
		}
		for (Drift rule : Drift.RULES) {
			compare(rule, end.before().get(rule.figure()), end.after().get(rule.figure()));
		}
		count("Requests of honest clients that failed", this.plain.failed() + this.others.failed());
		count("Replies to honest clients that were not the next one", this.plain.wrong() + this.others.wrong());
		count("Replies to other clients that were not the next one", this.tolerant.wrong());
		count("Replies to datagrams that were not expected", this.datagrams.wrong());
		describeFailures();
		if (this.plain.served() == 0 || this.others.served() == 0 || this.datagrams.served() == 0) {
			problem("Nothing was served");
		}
		this.report.note("%,d requests of honest clients and %,d of others were answered, %,d of others were not; "
			.formatted(this.plain.served() + this.others.served(), this.tolerant.served(), this.tolerant.failed())
				+ "%,d datagrams were answered, %,d were lost; %,.0f connections were accepted; %,.0f looks at the leaders"
					.formatted(this.datagrams.served(), this.datagrams.lost(), last.get(Sample.Figure.ACCEPTED),
							last.get(Sample.Figure.LEADER_LOOKS)));
	}

	/** What is left must be what was there before: only memory has a margin. */
	private void compare(Drift rule, @Nullable Double before, @Nullable Double after) {
		if (before == null || after == null) {
			return;
		}
		double margin = (rule.share() > 0) ? Math.max(rule.share() * before, rule.amount()) : 0;
		this.report.note("%s: %,.0f before the servers were started, %,.0f after they were closed"
			.formatted(rule.figure().column(), before, after));
		if (after > before + margin) {
			problem("The process was left with more %s".formatted(rule.figure().column()));
		}
	}

	/** A short run says nothing about latency, but it must say something about leaks. */
	private void notJudged(Drift rule) {
		String few = "Too few samples to judge " + rule.figure().column();
		if (rule.figure() == Sample.Figure.P99_MS) {
			this.report.note(few);
		}
		else {
			problem(few);
		}
	}

	private void count(String what, long number) {
		if (number > 0) {
			problem("%s: %,d".formatted(what, number));
		}
	}

	private boolean verdict() throws IOException {
		for (Drift rule : Drift.RULES) {
			Optional<Drift.Finding> finding = rule.judge(this.report.samples());
			if (finding.isEmpty()) {
				notJudged(rule);
				continue;
			}
			this.report.note("%s: grew by %,.1f, may grow by %,.1f".formatted(rule.figure().column(),
					finding.get().growth(), finding.get().allowed()));
			if (finding.get().drifts()) {
				problem("%s drifts".formatted(rule.figure().column()));
			}
		}
		this.problems.forEach((problem) -> this.report.note("Problem: " + problem));
		this.report.note(this.problems.isEmpty() ? "Verdict: nothing drifted, nothing was lost, nothing is left open"
				: "Verdict: failed");
		this.report.write();
		this.report.notes().forEach(this.out::println);
		return this.problems.isEmpty();
	}

}
