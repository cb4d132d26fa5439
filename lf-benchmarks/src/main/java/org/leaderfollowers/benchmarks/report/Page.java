package org.leaderfollowers.benchmarks.report;

import java.util.ArrayList;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.function.Function;
import java.util.function.Predicate;
import java.util.stream.Collectors;

import org.leaderfollowers.benchmarks.results.Claim;
import org.leaderfollowers.benchmarks.results.Goal;
import org.leaderfollowers.benchmarks.results.Measurement;
import org.leaderfollowers.benchmarks.results.Metric;
import org.leaderfollowers.benchmarks.results.Results;
import org.leaderfollowers.benchmarks.results.Run;
import org.leaderfollowers.benchmarks.results.Scenario;
import org.leaderfollowers.benchmarks.results.Servers;
import org.leaderfollowers.benchmarks.results.Summary;
import org.leaderfollowers.benchmarks.simulation.Costs;
import org.leaderfollowers.benchmarks.simulation.Findings;

/**
 * The page of the documentation. Every figure in it, and every sentence about figures,
 * comes from the results, including bad results.
 */
final class Page {

	private static final String IMAGES = "images/benchmarks/";

	/**
	 * Up to this share of the machine in percent, use by other processes does not matter.
	 */
	private static final double QUIET_PERCENT = 5;

	private static final List<Metric> RANGES = List.of(Metric.REQUESTS_PER_SECOND, Metric.CPU_US);

	private static final List<Metric> LATENCIES = List.of(Metric.P50_US, Metric.P99_US, Metric.P999_US,
			Metric.P99_TO_ALONE, Metric.NEIGHBOUR_REQUESTS_PER_SECOND, Metric.UNSENT, Metric.IDLE_HEAP_BYTES,
			Metric.IDLE_DIRECT_BYTES, Metric.IDLE_CPU_PERCENT);

	private static final List<Metric> COSTS = List.of(Metric.VOLUNTARY_SWITCHES, Metric.INVOLUNTARY_SWITCHES,
			Metric.SYSTEM_CALLS, Metric.FUTEX_CALLS, Metric.ALLOCATED_BYTES, Metric.THREADS, Metric.GENERATOR_CPU_US,
			Metric.GENERATOR_LATENESS_P99_US);

	private static final List<String> IMPLEMENTATIONS = List.of(Servers.TEXTBOOK, Servers.EAGER, Servers.ADAPTIVE);

	private final Run run;

	private final Results results;

	private final Charts charts;

	private final AsciiDoc page = new AsciiDoc();

	private final Map<String, String> images = new LinkedHashMap<>();

	Page(Run run) {
		this.run = run;
		this.results = new Results(
				run.results().measurements().stream().filter(Predicate.not(Findings::isSimulation)).toList());
		this.charts = new Charts(this.results);
		write();
	}

	String text() {
		return this.page.toString();
	}

	/**
	 * The images of the page.
	 * @return SVG by the path from the page
	 */
	Map<String, String> images() {
		return this.images;
	}

	private void write() {
		this.page.heading(1, "benchmarks", "Benchmarks");
		this.page.paragraph("Whole servers, each in a process of its own, compared under the same load.",
				"The benchmark itself has written this page: all figures, and all sentences about them, come from its results.");
		warnOfDisturbances();
		writeGoals();
		writeClaims();
		writeByConnections();
		Findings.of(this.run.facts(), this.run.results())
			.ifPresent((findings) -> new MoreProcessors(findings, this.page).write());
		this.page.heading(2, "benchmarks-results", "All results");
		this.page.paragraph("Medians of the rounds, with the least and the greatest in parentheses.",
				"Columns headed by a division sign are ratios to `" + Servers.ADAPTIVE
						+ "`, taken within each round and then summed up in the same way: what disturbs the machine for longer disturbs both.");
		this.results.scenarios().stream().sorted(Comparator.comparing(Scenario::idle)).forEach(this::write);
		writeMethod();
		writeOmissions();
	}

	private void warnOfDisturbances() {
		List<Double> shares = this.results.measurements()
			.stream()
			.map((measurement) -> measurement.value(Metric.OTHERS_PERCENT))
			.filter(Objects::nonNull)
			.toList();
		Summary.of(shares).filter((summary) -> summary.max() > QUIET_PERCENT).ifPresent((summary) -> {
			long disturbed = shares.stream().filter((share) -> share > QUIET_PERCENT).count();
			this.page.warning(
					"The machine was not quiet: other processes used more than " + number(QUIET_PERCENT, 0)
							+ "% of it in " + disturbed + " of " + shares.size() + " measurements, and up to "
							+ number(summary.max(), 0) + "%.",
					"Trust ratios more than absolute figures, and figures with a wide range not at all.");
		});
	}

	private void writeGoals() {
		Map<Goal, Goal.Check> checks = new LinkedHashMap<>();
		Goal.ALL.forEach((goal) -> checks.put(goal, goal.check(this.results)));
		this.page.heading(2, "benchmarks-goals", "Goals");
		long met = count(checks, Goal.Outcome.MET);
		long missed = count(checks, Goal.Outcome.MISSED);
		this.page.paragraph(
				"What this engine was designed to reach with its default settings (`" + Servers.ADAPTIVE + "`).",
				"Peers are all other servers, each with several settings if it has any; the best of all is the measure.",
				"Of " + checks.size() + " goals, " + met + " " + were(met) + " met, " + missed + " " + were(missed)
						+ " missed, and " + (checks.size() - met - missed)
						+ " could not be checked with these results.");
		List<List<String>> rows = new ArrayList<>();
		checks.forEach((goal, check) -> rows
			.add(List.of(goal.load(), goal.demand(), check.measured(), emphasize(check.outcome()))));
		this.page.table("3,3,3,1", List.of("Load", "Goal", "Measured", "Outcome"), rows);
	}

	private static long count(Map<Goal, Goal.Check> checks, Goal.Outcome outcome) {
		return checks.values().stream().filter((check) -> check.outcome() == outcome).count();
	}

	private static String emphasize(Goal.Outcome outcome) {
		return (outcome == Goal.Outcome.MISSED) ? "*" + outcome + "*" : outcome.toString();
	}

	private static String were(long count) {
		return (count == 1) ? "was" : "were";
	}

	private void writeClaims() {
		List<List<String>> rows = new ArrayList<>();
		for (int i = 0; i < Claim.ALL.size(); i++) {
			Claim claim = Claim.ALL.get(i);
			List<String> row = new ArrayList<>();
			if (i == 0 || !Claim.ALL.get(i - 1).statement().equals(claim.statement())) {
				long span = Claim.ALL.stream().filter((other) -> other.statement().equals(claim.statement())).count();
				row.add("." + span + "+|" + claim.statement());
			}
			row.add(claim.scenario().title());
			row.add(claim.metric().label() + " " + claim.relation() + " × `" + claim.reference() + "` ("
					+ this.results.summary(claim.scenario(), claim.reference(), claim.metric())
						.map((summary) -> summary.medianText(claim.metric().digits()))
						.orElse("not measured")
					+ ")");
			IMPLEMENTATIONS.forEach((server) -> row.add(finding(claim, server)));
			rows.add(row);
		}
		this.page.heading(2, "benchmarks-paper", "What the paper claims");
		this.page.paragraph(
				"Section 13 of the Leader/Followers paper says what the pattern does better than half-sync/half-reactive, a thread that reads with a queue and workers behind it.",
				"Here each of these claims is a ratio that can be measured, for the pattern as in the textbook (`"
						+ Servers.TEXTBOOK
						+ "`), and for this engine when it promotes before every dispatch as in the paper (`"
						+ Servers.EAGER + "`) and by default (`" + Servers.ADAPTIVE + "`).",
				"A difference of less than 5% counts as none.");
		this.page.table("3,2,3,2,2,2", List.of("Claim", "Load", "As a ratio", "`" + Servers.TEXTBOOK + "`",
				"`" + Servers.EAGER + "`", "`" + Servers.ADAPTIVE + "`"), rows);
		IMPLEMENTATIONS.forEach(this::summarizeClaims);
		writeBottleneck();
		this.page.paragraph(
				"That the pattern is simpler to program against, that it is harder to implement, and that without a queue requests cannot be reordered, are no figures and not examined here.");
	}

	private String finding(Claim claim, String server) {
		return claim.check(this.results, server)
			.map((finding) -> finding.ratio().text(2) + ": " + finding.verdict())
			.orElse("not measured");
	}

	private void summarizeClaims(String server) {
		List<Claim> contradicted = new ArrayList<>();
		int agreed = 0;
		for (Claim claim : Claim.ALL) {
			Optional<Claim.Finding> finding = claim.check(this.results, server);
			if (finding.isPresent() && finding.get().agrees()) {
				agreed++;
			}
			else if (finding.isPresent()) {
				contradicted.add(claim);
			}
		}
		int measured = agreed + contradicted.size();
		if (measured == 0) {
			return;
		}
		String summary = "`" + server + "` agrees with the paper in " + agreed + " of " + measured + " measured ratios";
		if (contradicted.isEmpty()) {
			this.page.paragraph(summary + ".");
			return;
		}
		this.page.paragraph(summary + ", and not in:");
		this.page.bullets(contradicted.stream()
			.map((claim) -> claim.statement() + " (" + claim.metric().label() + "; " + claim.scenario().title() + ")")
			.toList());
	}

	private void writeBottleneck() {
		Claim claim = Claim.ONE_LEADER_SUFFICES;
		claim.check(this.results, Servers.EAGER_TWO_SETS)
			.ifPresent((finding) -> this.page.paragraph(
					"The paper concedes that only one thread at a time waits for events, and expects that this is hardly a bottleneck.",
					"With two handle sets, and so two leaders, `" + Servers.EAGER_TWO_SETS + "` reached "
							+ finding.ratio().text(2) + " times the requests per second of `" + claim.reference()
							+ "` (" + claim.scenario().title() + "): "
							+ (finding.agrees() ? "a second leader brings nothing, which agrees."
									: "a second leader helps, which does not agree.")));
	}

	private void writeByConnections() {
		List<String> works = this.results.scenarios().stream().map(Scenario::work).distinct().toList();
		boolean begun = false;
		for (String work : works) {
			for (Metric metric : List.of(Metric.REQUESTS_PER_SECOND, Metric.CPU_US)) {
				Optional<LineChart> chart = this.charts.byConnections(metric, work);
				if (chart.isPresent()) {
					if (!begun) {
						this.page.heading(2, "benchmarks-connections", "By the number of connections");
						this.page.paragraph("Closed loop, 64 bytes, one request at a time on each connection.");
						begun = true;
					}
					image("connections-" + work + "-" + metric.name().toLowerCase(Locale.ROOT).replace('_', '-'),
							chart.get());
				}
			}
		}
	}

	private void image(String name, LineChart chart) {
		String path = IMAGES + name + ".svg";
		this.images.put(path, chart.svg());
		this.page.image(path, chart.title());
	}

	private void write(Scenario scenario) {
		List<String> servers = Servers.sorted(this.results.servers(scenario));
		String title = scenario.title();
		this.page.heading(3, "benchmarks-" + scenario.name(),
				Character.toUpperCase(title.charAt(0)) + title.substring(1));
		writeBest(scenario, servers);
		writeFigures(scenario, servers);
		this.charts.latency(scenario).ifPresent((chart) -> image("latency-" + scenario.name(), chart));
	}

	private void writeFigures(Scenario scenario, List<String> servers) {
		Table figures = new Table(servers);
		for (Metric metric : measured(scenario, servers, RANGES)) {
			figures.add(metric.label(), ">3", (server) -> this.results.summary(scenario, server, metric)
				.map((summary) -> summary.text(metric.digits())));
			if (servers.contains(Servers.ADAPTIVE)) {
				figures.add("÷", ">3", (server) -> this.results.ratio(scenario, server, Servers.ADAPTIVE, metric)
					.map((ratio) -> ratio.text(2)));
			}
		}
		addMedians(figures, scenario, measured(scenario, servers, LATENCIES));
		figures.write(this.page);
		List<Metric> costs = measured(scenario, servers, COSTS);
		if (!costs.isEmpty()) {
			Table table = new Table(servers);
			addMedians(table, scenario, costs);
			table.write(this.page);
		}
	}

	private void addMedians(Table table, Scenario scenario, List<Metric> metrics) {
		for (Metric metric : metrics) {
			table.add(metric.label(), ">2", (server) -> this.results.summary(scenario, server, metric)
				.map((summary) -> summary.medianText(metric.digits())));
		}
	}

	private List<Metric> measured(Scenario scenario, List<String> servers, List<Metric> metrics) {
		return metrics.stream()
			.filter((metric) -> servers.stream()
				.anyMatch((server) -> this.results.summary(scenario, server, metric).isPresent()))
			.toList();
	}

	private void writeBest(Scenario scenario, List<String> servers) {
		List<String> sentences = new ArrayList<>();
		if (scenario.rate() == 0) {
			best(scenario, servers, Metric.REQUESTS_PER_SECOND, Comparator.naturalOrder(), "Most requests per second")
				.ifPresent(sentences::add);
		}
		best(scenario, servers, Metric.CPU_US, Comparator.reverseOrder(), "Least CPU time per request")
			.ifPresent(sentences::add);
		best(scenario, servers, Metric.P99_US, Comparator.reverseOrder(), "Shortest p99").ifPresent(sentences::add);
		best(scenario, servers, Metric.IDLE_HEAP_BYTES, Comparator.reverseOrder(), "Least heap")
			.ifPresent(sentences::add);
		List<String> overloaded = servers.stream()
			.filter((server) -> this.results.summary(scenario, server, Metric.UNSENT)
				.filter((unsent) -> unsent.median() > 0)
				.isPresent())
			.toList();
		if (!overloaded.isEmpty()) {
			sentences.add("Could not keep up with the rate: " + names(overloaded) + ".");
		}
		if (!sentences.isEmpty()) {
			this.page.paragraph(sentences.toArray(String[]::new));
		}
	}

	private Optional<String> best(Scenario scenario, List<String> servers, Metric metric, Comparator<Double> better,
			String what) {
		return this.results.best(scenario, servers, metric, better)
			.map((server) -> what + ": `" + server + "` ("
					+ this.results.summary(scenario, server, metric).orElseThrow().medianText(metric.digits()) + " "
					+ metric.label() + ").");
	}

	private static String names(List<String> servers) {
		return servers.stream().map((server) -> "`" + server + "`").collect(Collectors.joining(", "));
	}

	private void writeMethod() {
		this.page.heading(2, "benchmarks-method", "How it was measured");
		List<List<String>> facts = new ArrayList<>();
		this.run.facts().forEach((name, value) -> {
			if (!name.equals(Run.LEFT_OUT) && !Costs.isFact(name)) {
				facts.add(List.of(Character.toUpperCase(name.charAt(0)) + name.substring(1), "`+" + value + "+`"));
			}
		});
		this.page.table("1,4", List.of("Fact", "Value"), facts);
		this.page.paragraph("To measure on your own machine, with JDK 21 or later if virtual threads are to be in it:");
		this.page.shell(List.of("./mvnw -q package -pl lf-benchmarks -am -DskipTests -Dmaven.javadoc.skip",
				"java -jar lf-benchmarks/target/lf-benchmarks-*.jar --preset=goals,paper,connections \\",
				"    --docs=docs/src/docs/asciidoc"));
		this.page.paragraph("The servers:");
		List<List<String>> servers = new ArrayList<>();
		Servers.sorted(this.results.measurements().stream().map(Measurement::server).distinct().toList())
			.forEach((server) -> servers.add(List.of("`" + server + "`", Servers.description(server))));
		this.page.table("1,3", List.of("Server", "Is"), servers);
		this.page.bullets(List.of(
				"All servers echo lines, with the same work in the handler, and were given the same JVM options. The load generator compares every byte of every reply; a measurement with a single error is thrown away.",
				"The load generator runs on the same machine, over the loopback interface, and takes its share of the processors. A closed loop sends the next request when a reply has come. An open loop has a schedule that is fixed in advance, and latency counts from the time when a request was due, so a server that stalls pays for all requests that were due meanwhile. `"
						+ Metric.GENERATOR_LATENESS_P99_US.label()
						+ "` is how late the generator was itself, because of the server or of the machine.",
				"CPU time and context switches are those that the operating system counted for the server's process. Switches of threads that ended during a measurement are missing, as is the work that the kernel does elsewhere on the server's behalf.",
				"System calls are counted in a pass of their own, by "
						+ this.run.facts().getOrDefault(Run.SYSTEM_CALLS, "nothing")
						+ ". `perf` hardly disturbs a server; `strace` slows every call so much that there is more to do after each, and less is counted than there would be, or more where threads get in each other's way.",
				"Heap of an idle connection: the used heap after garbage collection with the connections, each of which has had one reply, less that without them.",
				"CPU time while idle: of the server's process with these connections, as a share of one processor.",
				"Beside a neighbour: the server has a second port on the same threads, where the neighbour's handler works for every request. A second load generator sends these from a few connections, each as soon as the last reply has come. Just before, the echo is measured without them; `"
						+ Metric.P99_TO_ALONE.label() + "` compares the two.",
				"In each round every server is measured once in each scenario. The order changes from round to round. The other servers stay alive meanwhile, without connections."));
	}

	private void writeOmissions() {
		String leftOut = this.run.facts().get(Run.LEFT_OUT);
		List<Measurement> invalid = this.results.invalid();
		if (leftOut == null && invalid.isEmpty()) {
			return;
		}
		this.page.heading(2, "benchmarks-omissions", "What is missing");
		if (leftOut != null) {
			this.page.paragraph("Left out, in part or altogether: `+" + leftOut + "+`.");
		}
		if (!invalid.isEmpty()) {
			this.page.paragraph("Thrown away:");
			Map<String, List<Measurement>> groups = invalid.stream()
				.collect(Collectors.groupingBy(
						(measurement) -> "`" + measurement.server() + "`: " + measurement.scenario().title(),
						LinkedHashMap::new, Collectors.toList()));
			List<String> items = new ArrayList<>();
			groups.forEach((name,
					group) -> items.add(name + " (" + group.size() + " of its measurements: "
							+ group.stream()
								.map((measurement) -> measurement.fault().orElseThrow())
								.collect(Collectors.joining("; "))
							+ ")"));
			this.page.bullets(items);
		}
	}

	private static String number(double value, int digits) {
		return String.format(Locale.ROOT, "%,." + digits + "f", value);
	}

	/**
	 * A table with a row for each server, made column by column.
	 */
	private static final class Table {

		private final List<String> servers;

		private final List<String> columns = new ArrayList<>(List.of("3"));

		private final List<String> head = new ArrayList<>(List.of("Server"));

		private final List<List<String>> rows = new ArrayList<>();

		private Table(List<String> servers) {
			this.servers = servers;
			servers.forEach((server) -> this.rows.add(new ArrayList<>(List.of("`" + server + "`"))));
		}

		private void add(String label, String column, Function<String, Optional<String>> cell) {
			this.columns.add(column);
			this.head.add(label);
			for (int i = 0; i < this.servers.size(); i++) {
				this.rows.get(i).add(cell.apply(this.servers.get(i)).orElse("–"));
			}
		}

		private void write(AsciiDoc page) {
			page.table(String.join(",", this.columns), this.head, this.rows);
		}

	}

}
