package org.leaderfollowers.benchmarks.comparison;

import java.io.PrintStream;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;

import org.leaderfollowers.benchmarks.results.Claim;
import org.leaderfollowers.benchmarks.results.Goal;
import org.leaderfollowers.benchmarks.results.Measurement;
import org.leaderfollowers.benchmarks.results.Metric;
import org.leaderfollowers.benchmarks.results.Results;
import org.leaderfollowers.benchmarks.results.Scenario;
import org.leaderfollowers.benchmarks.results.Servers;

/** Prints results on the terminal. */
final class ConsoleTable {

	private static final List<Metric> COMPARED = List.of(Metric.REQUESTS_PER_SECOND, Metric.CPU_US, Metric.P99_US);

	private static final List<Metric> DISTURBANCES = List.of(Metric.UNSENT, Metric.GENERATOR_CPU_US,
			Metric.GENERATOR_LATENESS_P99_US, Metric.OTHERS_PERCENT);

	private final PrintStream out;

	ConsoleTable(PrintStream out) {
		this.out = out;
	}

	/**
	 * Tell that something was measured.
	 * @param measurement what
	 */
	void progress(Measurement measurement) {
		StringBuilder line = new StringBuilder(
				String.format(Locale.ROOT, "%-60s %3s %-22s", measurement.scenario().title(),
						(measurement.round() < 0) ? "" : "" + (measurement.round() + 1), measurement.server()));
		if (!measurement.valid()) {
			line.append(" thrown away: ").append(measurement.fault().orElseThrow());
		}
		else {
			for (Metric metric : Metric.values()) {
				Double value = measurement.value(metric);
				if (value != null && shownAtOnce(measurement, metric)) {
					line.append(String.format(Locale.ROOT, "  %,." + metric.digits() + "f %s", value, metric.label()));
				}
			}
		}
		this.out.println(line);
	}

	private static boolean shownAtOnce(Measurement measurement, Metric metric) {
		return measurement.round() < 0 || COMPARED.contains(metric) || metric == Metric.OTHERS_PERCENT;
	}

	/**
	 * Print all results.
	 * @param results the results
	 * @param reference the server that the others are compared with, in each scenario in
	 * which it was measured
	 */
	void print(Results results, String reference) {
		for (Scenario scenario : results.scenarios()) {
			this.out.println();
			this.out.println(scenario.title());
			print(table(results, scenario, reference));
		}
		printGoals(results);
		printClaims(results);
		for (Measurement measurement : results.invalid()) {
			this.out.println("Thrown away: " + measurement.server() + ", " + measurement.scenario().title() + ", round "
					+ (measurement.round() + 1) + ": " + measurement.fault().orElseThrow());
		}
	}

	private static List<List<String>> table(Results results, Scenario scenario, String reference) {
		List<String> servers = Servers.sorted(results.servers(scenario));
		List<List<String>> rows = new ArrayList<>();
		List<String> head = new ArrayList<>(List.of("median"));
		rows.add(head);
		servers.forEach((server) -> rows.add(new ArrayList<>(List.of(server))));
		for (Metric metric : Metric.values()) {
			boolean measured = servers.stream()
				.anyMatch((server) -> results.summary(scenario, server, metric).isPresent());
			if (!measured) {
				continue;
			}
			head.add(metric.label());
			for (int i = 0; i < servers.size(); i++) {
				rows.get(i + 1)
					.add(results.summary(scenario, servers.get(i), metric)
						.map((summary) -> DISTURBANCES.contains(metric) ? summary.text(metric.digits())
								: summary.medianText(metric.digits()))
						.orElse("n/a"));
			}
			if (COMPARED.contains(metric) && servers.contains(reference)) {
				head.add("÷ " + reference);
				for (int i = 0; i < servers.size(); i++) {
					rows.get(i + 1)
						.add(results.ratio(scenario, servers.get(i), reference, metric)
							.map((ratio) -> ratio.text(2))
							.orElse("n/a"));
				}
			}
		}
		return rows;
	}

	private void printGoals(Results results) {
		List<List<String>> rows = new ArrayList<>();
		rows.add(List.of("load", "goal", "measured", ""));
		for (Goal goal : Goal.ALL) {
			Goal.Check check = goal.check(results);
			if (check.outcome() != Goal.Outcome.NOT_MEASURED) {
				rows.add(List.of(goal.load(), goal.demand(), check.measured(), check.outcome().toString()));
			}
		}
		if (rows.size() > 1) {
			this.out.println();
			print(rows);
		}
	}

	private void printClaims(Results results) {
		List<String> servers = List.of(Servers.TEXTBOOK, Servers.EAGER, Servers.ADAPTIVE);
		List<List<String>> rows = new ArrayList<>();
		List<String> head = new ArrayList<>(List.of("the paper's claim", "load", "as a ratio"));
		head.addAll(servers);
		rows.add(head);
		for (Claim claim : Claim.ALL) {
			List<String> row = new ArrayList<>(List.of(claim.statement(), claim.scenario().title(),
					claim.metric().label() + " " + claim.relation() + " × " + claim.reference()));
			servers.forEach((server) -> row.add(claim.check(results, server)
				.map((finding) -> finding.ratio().text(2) + " " + finding.verdict())
				.orElse("n/a")));
			// Without the textbook server, this is a comparison of servers, not a check
			// of the paper
			if (!row.get(head.indexOf(Servers.TEXTBOOK)).equals("n/a")) {
				rows.add(row);
			}
		}
		if (rows.size() > 1) {
			this.out.println();
			print(rows);
		}
	}

	private void print(List<List<String>> rows) {
		int[] widths = new int[rows.get(0).size()];
		for (List<String> row : rows) {
			for (int i = 0; i < widths.length; i++) {
				widths[i] = Math.max(widths[i], row.get(i).length());
			}
		}
		for (List<String> row : rows) {
			StringBuilder line = new StringBuilder();
			for (int i = 0; i < widths.length; i++) {
				line.append(String.format("%" + ((i == 0) ? "-" : "") + widths[i] + "s  ", row.get(i)));
			}
			this.out.println(line.toString().stripTrailing());
		}
	}

}
