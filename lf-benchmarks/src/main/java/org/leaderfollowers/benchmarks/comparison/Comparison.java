package org.leaderfollowers.benchmarks.comparison;

import java.io.IOException;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.LocalDate;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.stream.Collectors;
import java.util.stream.Stream;

import org.leaderfollowers.benchmarks.load.Arguments;
import org.leaderfollowers.benchmarks.report.Report;
import org.leaderfollowers.benchmarks.results.Machine;
import org.leaderfollowers.benchmarks.results.Measurement;
import org.leaderfollowers.benchmarks.results.ResultFile;
import org.leaderfollowers.benchmarks.results.Results;
import org.leaderfollowers.benchmarks.results.Run;
import org.leaderfollowers.benchmarks.results.Scenario;
import org.leaderfollowers.benchmarks.results.Servers;
import org.leaderfollowers.benchmarks.servers.Work;

/**
 * Measures whole servers against each other and prints a table.
 *
 * <pre>
 * java -jar lf-benchmarks.jar --preset=goals
 * java -jar lf-benchmarks.jar --servers=lf-eager,nio --connections=64 --rate=20000
 * </pre>
 *
 * What is measured: {@code --preset=} {@code quick} (without any option), {@code goals},
 * {@code paper}, {@code connections} or {@code full}, or several of them; or one's own
 * scenarios, all combinations of {@code --work}, {@code --connections},
 * {@code --payload}, {@code --pipeline} and {@code --rate}, each of which takes a list.
 * {@code --servers} names the servers.
 * <p>
 * How: {@code --rounds}, {@code --seconds} for each measurement, {@code --warmup} seconds
 * for each server, {@code --server-vm} for the arguments of the servers' JVMs,
 * {@code --system-calls=false} to do without counting them, {@code --quiet=<percent>} to
 * repeat a measurement, up to five times, if other processes used more of the machine
 * meanwhile; the quietest counts; {@code --neighbour-connections} that keep the neighbour
 * of mixed work busy. What is done with it: {@code --reference} names the server that the
 * others are compared with, {@code --output} the file for the raw data, {@code --docs} a
 * directory for the page of the documentation.
 */
public final class Comparison implements Experiment.Protocol {

	/**
	 * A server that is out of memory may keep its port and hang, so it must exit instead.
	 */
	private static final String SERVER_VM = "-Xms512m -Xmx512m -XX:+UseParallelGC -XX:+ExitOnOutOfMemoryError";

	/**
	 * The C2 compiler needs long to compile a server if server and generator keep all
	 * processors busy: after 6 seconds, an echo by this engine was still a quarter slower
	 * than in its third round (JDK 25, two processors).
	 */
	private static final int WARM_UP_SECONDS = 20;

	private final ConsoleTable console;

	private final ResultFile file;

	private final PrintStream out;

	private final List<Measurement> measurements = new ArrayList<>();

	private Comparison(PrintStream out, ResultFile file) {
		this.out = out;
		this.console = new ConsoleTable(out);
		this.file = file;
	}

	/**
	 * Compare servers.
	 * @param args the options
	 * @throws IOException if there is no load generator, or nowhere to write to
	 */
	public static void main(String[] args) throws IOException {
		run(args, new PrintStream(System.out, true, StandardCharsets.UTF_8));
	}

	static void run(String[] args, PrintStream out) throws IOException {
		Arguments arguments = new Arguments(List.of(args));
		boolean own = arguments.hasAny("work", "connections", "payload", "pipeline", "rate");
		List<String> presets = arguments.list("preset", own ? "" : "quick");
		Plan plan = plan(arguments, presets);
		boolean quick = presets.equals(List.of("quick"));
		String name = presets.isEmpty() ? "own" : String.join("-", presets);
		Path output = Path.of(arguments.text("output", "target/benchmarks/" + name + ".csv"));
		Path log = output.resolveSibling(output.getFileName() + ".log");
		Settings settings = new Settings(List.of(arguments.text("server-vm", SERVER_VM).split(" ")), Work.calibrate(),
				arguments.decimal("warmup", quick ? 5 : WARM_UP_SECONDS), arguments.decimal("seconds", quick ? 1 : 3),
				arguments.number("rounds", quick ? 3 : 5), arguments.decimal("quiet", 100),
				arguments.number("neighbour-connections", 4), log);
		boolean countSystemCalls = Boolean.parseBoolean(arguments.text("system-calls", "true"));
		String reference = arguments.text("reference", Servers.ADAPTIVE);
		Optional<Path> docs = arguments.optional("docs").map(Path::of);
		arguments.rejectUnread();
		Files.deleteIfExists(log);
		try (ResultFile file = ResultFile.create(output, facts(settings, args))) {
			Comparison comparison = new Comparison(out, file);
			comparison.run(plan, settings, countSystemCalls);
			comparison.console.print(new Results(comparison.measurements), reference);
		}
		out.println();
		out.println("Raw data: " + output);
		if (Files.size(log) > 0) {
			out.println("What the processes complained about: " + log);
		}
		if (docs.isPresent()) {
			Report.write(ResultFile.read(List.of(output)), docs.get());
		}
	}

	private static Plan plan(Arguments arguments, List<String> presets) {
		List<String> servers = arguments.list("servers", "");
		if (!presets.isEmpty()) {
			return Plan.of(presets).only(servers);
		}
		Plan plan = Plan.of(List.of());
		for (String work : arguments.list("work", "none")) {
			for (int connections : arguments.numbers("connections", 64)) {
				for (int payload : arguments.numbers("payload", 64)) {
					for (int pipeline : arguments.numbers("pipeline", 1)) {
						for (int rate : arguments.numbers("rate", 0)) {
							plan.add(new Scenario(work, connections, payload, pipeline, rate),
									servers.isEmpty() ? Servers.ALL : servers);
						}
					}
				}
			}
		}
		return plan;
	}

	private static Map<String, String> facts(Settings settings, String[] args) {
		Map<String, String> facts = new LinkedHashMap<>(Machine.facts());
		facts.put("date", LocalDate.now().toString());
		// The output paths are of no interest, and reveal something about the user's
		// machine
		facts.put("command",
				Stream.of(args)
					.filter((arg) -> !arg.startsWith("--output=") && !arg.startsWith("--docs="))
					.collect(Collectors.joining(" ", "java -jar lf-benchmarks.jar ", "")));
		facts.put("server JVM", String.join(" ", settings.vmArguments()));
		facts.put("seconds", Double.toString(settings.seconds()));
		facts.put("rounds", Integer.toString(settings.rounds()));
		facts.put("connections of a neighbour", Integer.toString(settings.neighbourConnections()));
		if (settings.quietPercent() < 100) {
			facts.put("repeated if others used more than", settings.quietPercent() + "%");
		}
		return facts;
	}

	private void run(Plan plan, Settings settings, boolean countSystemCalls) throws IOException {
		try (Generator generator = new Generator(settings.log(), settings.warmup())) {
			Optional<SystemCalls> systemCalls = countSystemCalls ? SystemCalls.available() : Optional.empty();
			this.file.fact(Run.SYSTEM_CALLS, systemCalls.map(SystemCalls::toString).orElse("nothing"));
			for (String work : plan.works()) {
				new Experiment(plan, work, settings, generator, systemCalls, this).run();
			}
		}
	}

	@Override
	public void add(Measurement measurement) {
		this.measurements.add(measurement);
		this.file.add(measurement);
		this.console.progress(measurement);
	}

	@Override
	public void leaveOut(String what, IOException reason) {
		this.file.fact(Run.LEFT_OUT, what + " (" + reason.getMessage() + ")");
		this.out.println("Left out: " + what + ": " + reason.getMessage());
	}

}
