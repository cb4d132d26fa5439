package org.leaderfollowers.benchmarks.simulation;

import java.io.IOException;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.LocalDate;
import java.util.ArrayList;
import java.util.EnumMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.stream.Collectors;

import org.leaderfollowers.benchmarks.comparison.Comparison;
import org.leaderfollowers.benchmarks.load.Arguments;
import org.leaderfollowers.benchmarks.report.Report;
import org.leaderfollowers.benchmarks.results.Machine;
import org.leaderfollowers.benchmarks.results.Measurement;
import org.leaderfollowers.benchmarks.results.Metric;
import org.leaderfollowers.benchmarks.results.ResultFile;
import org.leaderfollowers.benchmarks.results.Results;
import org.leaderfollowers.benchmarks.results.Run;
import org.leaderfollowers.benchmarks.results.Scenario;
import org.leaderfollowers.benchmarks.results.Servers;
import org.leaderfollowers.benchmarks.results.Summary;
import org.leaderfollowers.benchmarks.servers.Work;

/**
 * Measures what the steps of the engine cost, checks the simulation against whole servers
 * on one and two processors, and predicts what the engine does on more.
 *
 * <pre>
 * java -cp lf-benchmarks.jar org.leaderfollowers.benchmarks.simulation.Simulate \
 *     --output=target/benchmarks/simulation.csv
 * </pre>
 *
 * {@code --rounds} of the check, each with a new server process on one processor (by
 * {@code taskset}) and one on all; {@code --seconds} for each measurement,
 * {@code --warmup} seconds for each server, {@code --work} of the check, {@code --quiet}
 * as in {@link Comparison}; {@code --check=false} to leave the check out, and with it
 * what only whole servers tell; {@code --cost-rounds}, how often the cost of a step is
 * measured (200; at least 10); {@code --measured} names the results of an earlier run:
 * nothing is measured, but all is simulated anew; {@code --millis} that are simulated,
 * {@code --output} for the results, {@code --docs} a directory for the page of the
 * documentation.
 */
public final class Simulate {

	private static final String ECHO = "none";

	private static final double MICRO = 1e3;

	/** Steps towards the speed at which the server used what it was seen to use. */
	private static final int STEPS = 6;

	private final PrintStream out;

	private final List<Measurement> measured = new ArrayList<>();

	private final Map<Cost, List<Double>> samples = new EnumMap<>(Cost.class);

	private Simulate(PrintStream out) {
		this.out = out;
	}

	/**
	 * Measures, simulates and prints.
	 * @param args the options
	 * @throws IOException if something cannot be measured or written
	 */
	public static void main(String[] args) throws IOException {
		run(args, new PrintStream(System.out, true, StandardCharsets.UTF_8));
	}

	static void run(String[] args, PrintStream out) throws IOException {
		Arguments arguments = new Arguments(List.of(args));
		Path output = Path.of(arguments.text("output", "target/benchmarks/simulation.csv"));
		double millis = arguments.decimal("millis", 200);
		Optional<Path> measured = arguments.optional("measured").map(Path::of);
		Optional<Path> docs = arguments.optional("docs").map(Path::of);
		Run run = measured.isPresent() ? ResultFile.read(List.of(measured.get()))
				: new Simulate(out).measure(arguments, output.resolveSibling(output.getFileName() + ".part"));
		arguments.rejectUnread();
		Costs costs = Costs.of(run.facts());
		out.print(costs);
		List<Measurement> rows = new ArrayList<>(
				run.results().measurements().stream().filter(Findings::isMeasured).toList());
		rows.addAll(rows.stream().map((row) -> predictMeasured(row, costs, millis)).toList());
		rows.addAll(predict(costs, millis));
		try (ResultFile file = ResultFile.create(output, run.facts())) {
			rows.forEach(file::add);
		}
		print(Findings.of(run.facts(), new Results(rows)).orElseThrow(), out);
		out.println("Raw data: " + output);
		if (docs.isPresent()) {
			Report.write(ResultFile.read(List.of(output)), docs.get());
		}
	}

	private Run measure(Arguments arguments, Path part) throws IOException {
		boolean check = Boolean.parseBoolean(arguments.text("check", "true"));
		int rounds = arguments.number("rounds", 4);
		int costRounds = arguments.number("cost-rounds", 200);
		if (costRounds < 10) {
			throw new IllegalArgumentException("--cost-rounds=" + costRounds + " is less than 10");
		}
		List<String> comparison = List.of("--servers=" + Servers.ADAPTIVE,
				"--work=" + arguments.text("work", "none,cpu1,cpu2,cpu5,cpu10,cpu20"),
				"--connections=" + Findings.CONNECTIONS, "--rounds=1", "--system-calls=false",
				"--seconds=" + arguments.decimal("seconds", 2), "--warmup=" + arguments.decimal("warmup", 3),
				"--quiet=" + arguments.decimal("quiet", 8), "--output=" + part);
		arguments.rejectUnread();
		Map<String, String> facts = Machine.facts();
		facts.put("date", LocalDate.now().toString());
		int processors = Runtime.getRuntime().availableProcessors();
		measureCosts(costRounds);
		for (int round = 0; check && round < rounds; round++) {
			measureServers(1, round, List.of("taskset", "-c", "0"), comparison, part);
			if (processors > 1) {
				measureServers(processors, round, List.of(), comparison, part);
			}
			measureCosts(costRounds);
		}
		Files.deleteIfExists(part);
		facts.putAll((check ? calibrate(costs(), processors) : costs()).facts());
		return new Run(facts, new Results(this.measured));
	}

	private void measureCosts(int rounds) throws IOException {
		SerialCosts.measure(rounds)
			.nanos()
			.forEach((cost, nanos) -> this.samples.computeIfAbsent(cost, (key) -> new ArrayList<>()).add(nanos));
	}

	/**
	 * The fastest counts: whatever else the machine does can only make a step slower. Of
	 * waking the middle counts, since it depends on how deeply a processor sleeps.
	 */
	private Costs costs() {
		Map<Cost, Double> nanos = new EnumMap<>(Cost.class);
		this.samples.forEach((cost, values) -> {
			Summary summary = Summary.of(values).orElseThrow();
			boolean waking = cost == Cost.WAKE || cost == Cost.WAKE_LATENCY;
			nanos.put(cost, waking ? summary.median() : summary.min());
		});
		return new Costs(nanos);
	}

	/** In processes of their own, which can be bound to one processor. */
	private void measureServers(int processors, int round, List<String> prefix, List<String> arguments, Path part)
			throws IOException {
		List<String> command = new ArrayList<>(prefix);
		command.addAll(List.of(System.getProperty("java.home") + "/bin/java", "-cp",
				System.getProperty("java.class.path"), Comparison.class.getName()));
		command.addAll(arguments);
		Process process = new ProcessBuilder(command).redirectErrorStream(true).start();
		String said = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
		try {
			if (process.waitFor() != 0) {
				throw new IOException("The servers could not be measured on " + processors + " processors: " + said);
			}
		}
		catch (InterruptedException ex) {
			process.destroy();
			throw new IOException(ex);
		}
		for (Measurement one : ResultFile.read(List.of(part)).results().measurements()) {
			this.out.printf(Locale.ROOT, "%d processors, round %d, %s: %,.0f requests/s%n", processors, round,
					one.scenario().work(), one.values().getOrDefault(Metric.REQUESTS_PER_SECOND, 0.0));
			this.measured.add(new Measurement(one.scenario(), Findings.measured(processors), round, one.values(),
					one.errors(), null));
		}
	}

	/** What an echo needs, in a server and in the generator, beside the steps. */
	private Costs calibrate(Costs costs, int processors) {
		return costs.with(Cost.REST, Math.max(0, least(processors, Metric.CPU_US) - costs.measuredPath()))
			.with(Cost.GENERATOR, least(processors, Metric.GENERATOR_CPU_US));
	}

	private double least(int processors, Metric metric) {
		return this.measured.stream()
			.filter((one) -> one.server().equals(Findings.measured(processors)) && one.scenario().work().equals(ECHO))
			.filter(Measurement::valid)
			.mapToDouble((one) -> one.values().getOrDefault(metric, Double.MAX_VALUE) * MICRO)
			.min()
			.orElseThrow();
	}

	/**
	 * Predicts throughput from processor time: all steps of the server, and the handler,
	 * are taken to have been slower or faster by one factor than they are at best, the
	 * one with which the simulated server uses as much of the processor for a request as
	 * was measured. What other processes had of several processors is taken off; beside
	 * one, they have another.
	 */
	static Measurement predictMeasured(Measurement measured, Costs costs, double millis) {
		String name = measured.server();
		int processors = Integer.parseInt(name.replaceAll("\\D", ""));
		double handlerNanos = Work.of(measured.scenario().work()).orElseThrow().cpuMicros() * MICRO;
		double cpuMicros = measured.values().getOrDefault(Metric.CPU_US, 0.0);
		double generatorNanos = measured.values().getOrDefault(Metric.GENERATOR_CPU_US, 0.0) * MICRO;
		double others = (processors > 1) ? measured.values().getOrDefault(Metric.OTHERS_PERCENT, 0.0) : 0;
		double factor = 1;
		Simulation.Outcome outcome = new Simulation.Outcome(0, 0);
		for (int i = 0; i < STEPS; i++) {
			Costs scaled = costs.times(factor).with(Cost.GENERATOR, generatorNanos);
			Situation situation = Situation.local(processors, measured.scenario().connections(), handlerNanos * factor);
			outcome = Simulation.run(situation, scaled, millis, measured.round());
			factor *= cpuMicros / outcome.cpuMicros();
		}
		return new Measurement(measured.scenario(), Findings.checked(processors), measured.round(),
				Map.of(Metric.REQUESTS_PER_SECOND, outcome.requestsPerSecond() * (1 - others / 100), Metric.CPU_US,
						outcome.cpuMicros(), Metric.GENERATOR_CPU_US, generatorNanos / MICRO),
				measured.errors(), null);
	}

	private static List<Measurement> predict(Costs costs, double millis) {
		return Findings.HANDLERS.parallelStream().flatMap((micros) -> {
			List<Measurement> predictions = new ArrayList<>();
			for (int processors : Findings.PROCESSORS) {
				List<Integer> sets = Findings.PROCESSORS_PER_SET.stream()
					.map((perSet) -> Findings.sets(processors, perSet))
					.distinct()
					.toList();
				for (int count : sets) {
					Situation situation = Situation.remote(processors, count, micros * MICRO);
					predictions.add(Findings.prediction(micros, processors, count,
							Simulation.run(situation, costs, millis, 1).requestsPerSecond()));
				}
			}
			return predictions.stream();
		}).toList();
	}

	private static void print(Findings findings, PrintStream out) {
		findings.checks()
			.forEach((check) -> out.printf(Locale.ROOT,
					"%d processors, %s: measured %,.0f/s, simulated %,.0f/s, error %+.0f%% (all rounds: %s)%n",
					check.processors(), check.scenario().workTitle(), check.measured(), check.predicted(),
					100 * check.error(), check.ratio().text(2)));
		for (int perSet : Findings.PROCESSORS_PER_SET) {
			for (int micros : Findings.HANDLERS) {
				String row = Findings.PROCESSORS.stream().map((processors) -> {
					int sets = Findings.sets(processors, perSet);
					return String.format(Locale.ROOT, "%d: %,.0f (%.2f)", processors,
							findings.requestsPerSecond(micros, processors, sets).orElse(0.0),
							findings.efficiency(micros, processors, sets).orElse(0.0));
				}).collect(Collectors.joining("  "));
				out.printf("handler %d µs, a handle set for %d processors: %s%n", micros, perSet, row);
			}
		}
		out.println("Fewest handle sets without a knee: one for each "
				+ findings.recommendedProcessorsPerSet().orElse(0) + " processors");
	}

}
