package org.leaderfollowers.benchmarks.report;

import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.OptionalInt;

import org.leaderfollowers.benchmarks.simulation.Cost;
import org.leaderfollowers.benchmarks.simulation.Findings;

/**
 * The section of the page about processors that the machine does not have.
 */
final class MoreProcessors {

	private static final double TOLERANCE = 0.15;

	private final Findings findings;

	private final AsciiDoc page;

	MoreProcessors(Findings findings, AsciiDoc page) {
		this.findings = findings;
		this.page = page;
	}

	void write() {
		this.page.heading(2, "benchmarks-processors", "More processors");
		this.page.warning("The figures of this section for more processors than the machine has are simulated.",
				"Nobody has measured them.");
		this.page.paragraph(
				"A program measures what the steps of the engine cost, in nanoseconds, with the engine's own classes.",
				"A discrete-event simulation of its threads, handle sets, queues and shared words of memory puts them together.");
		writeCosts();
		writeChecks();
		writePredictions();
		writeRecommendation();
		this.page.paragraph("The simulation assumes:");
		this.page.bullets(List.of(
				"Words of memory that threads share (the position in a queue of ready handles, the mean of a handler, leaderships) go from processor to processor one at a time, for the cost above. A thread that finds others waiting makes the transfer take longer, up to twice as long; so the wait grows linearly with the number of threads. Memory is equally far from all processors, as within one socket.",
				"Handles come out of a selection together, 1,024 at the most, and are added one by one. While the leader selects, others run dry, wait, and are woken one by one.",
				"Waking a thread costs what it costs on this machine, which is a virtual one: a machine of its own is faster.",
				"The load comes from outside: 64 connections for each processor, each of which sends its next request 100 µs after a reply on average. What the network costs the server's processors beyond a write and a read over the loopback interface is left out.",
				"All handlers take equally long, none blocks, and connections are dealt to the handle sets in equal parts."));
	}

	private void writeCosts() {
		List<List<String>> rows = new ArrayList<>();
		for (Cost cost : Cost.values()) {
			if (this.findings.costs().nanos().containsKey(cost)) {
				rows.add(
						List.of(cost.label(), number(this.findings.costs().of(cost), 0), cost.serial() ? "yes" : "no"));
			}
		}
		this.page.table("5,>2,2", List.of("Step", "ns", "Serial"), rows);
		this.page.paragraph(
				"A serial step can be taken by one thread at a time: of all threads of a handle set, or of all that write the same word.",
				"The rest of a request is what an echo costs the server beyond the steps before it.");
	}

	private void writeChecks() {
		List<Findings.Check> checks = this.findings.checks();
		if (checks.isEmpty()) {
			this.page.paragraph("The simulation was not checked against whole servers in this run.");
			return;
		}
		this.page.paragraph(
				"For the check, server and load generator run on the same processors, one or all there are.",
				"Given the processor time that server and generator used for a request in a measurement, the simulation predicts how many requests per second came of it.",
				"Of several rounds the fastest counts: whatever else the machine does can only make a server slower, and not all of that is seen.",
				"What other processes used of several processors is taken off the prediction.",
				"One number of the simulation is fitted to such measurements: how often a processor that becomes idle looks for a thread that waits for another processor.");
		List<List<String>> rows = checks.stream()
			.map((check) -> List.of(number(check.processors(), 0), check.scenario().workTitle(),
					number(check.measured(), 0), number(check.predicted(), 0),
					String.format(Locale.ROOT, "%+.0f%%", 100 * check.error()), check.ratio().text(2)))
			.toList();
		this.page.table(">1,3,>3,>3,>1,>2",
				List.of("Processors", "Load", "Measured requests/s", "Simulated requests/s", "Error", "Ratio by round"),
				rows);
		long near = checks.stream().filter((check) -> Math.abs(check.error()) <= TOLERANCE).count();
		this.page.paragraph("The error is within " + number(100 * TOLERANCE, 0) + "% in " + near + " of "
				+ checks.size() + " loads.");
	}

	private void writePredictions() {
		this.page.paragraph("Simulated requests per second, in thousands.",
				"In parentheses: what each processor does, as a share of what one of two does with one handle set.",
				"The knee is the least number of processors in the table with which that share is below "
						+ number(Findings.KNEE, 2) + ".");
		List<List<String>> rows = new ArrayList<>();
		for (int micros : Findings.HANDLERS) {
			for (int perSet : Findings.PROCESSORS_PER_SET) {
				rows.add(row(micros, perSet));
			}
		}
		List<String> head = new ArrayList<>(List.of("Handler", "Handle sets"));
		Findings.PROCESSORS.forEach((processors) -> head.add(processors.toString()));
		head.add("Knee");
		this.page.table("1,2" + ",>2".repeat(Findings.PROCESSORS.size()) + ",>1", head, rows);
	}

	private List<String> row(int micros, int perSet) {
		List<String> row = new ArrayList<>(List.of(micros + " µs", rule(perSet)));
		for (int processors : Findings.PROCESSORS) {
			int sets = Findings.sets(processors, perSet);
			row.add(this.findings.requestsPerSecond(micros, processors, sets)
				.map((rate) -> number(rate / 1000, 0) + this.findings.efficiency(micros, processors, sets)
					.map((efficiency) -> " (" + number(efficiency, 2) + ")")
					.orElse(""))
				.orElse("–"));
		}
		OptionalInt knee = this.findings.knee(micros, perSet);
		row.add(knee.isPresent() ? number(knee.getAsInt(), 0) : "none");
		return row;
	}

	private void writeRecommendation() {
		String goal = "no knee up to " + Findings.GOAL_PROCESSORS + " processors for handlers of "
				+ Findings.GOAL_MICROS + " µs and more";
		OptionalInt perSet = this.findings.recommendedProcessorsPerSet();
		this.page.paragraph(perSet.isPresent()
				? "The goal, " + goal + ", is met in the simulation with " + rule(perSet.getAsInt())
						+ ", and of the rules in the table that is the one with the fewest handle sets."
				: "The goal, " + goal + ", is missed in the simulation with every rule in the table.");
	}

	private static String rule(int perSet) {
		return (perSet > Findings.PROCESSORS.get(Findings.PROCESSORS.size() - 1)) ? "one"
				: "one for each " + perSet + " processors";
	}

	private static String number(double value, int digits) {
		return String.format(Locale.ROOT, "%,." + digits + "f", value);
	}

}
