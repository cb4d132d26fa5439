package org.leaderfollowers.benchmarks.results;

import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.function.Function;

/**
 * A performance goal of this engine, with its default settings, and how to tell from
 * results whether it was reached.
 *
 * @param load the load that it is about
 * @param demand what is demanded
 * @param check finds what was measured
 */
public record Goal(String load, String demand, Function<Results, Check> check) {

	private static final String MORE = "≥";

	private static final String LESS = "≤";

	private static final Scenario ECHO = Scenario.closed("none", 64);

	private static final Scenario MANY = Scenario.closed("none", 10_000);

	private static final Scenario IDLE = Scenario.idle(10_000);

	private static final Check NOT_MEASURED = new Check("", Outcome.NOT_MEASURED);

	/** The goals that the engine was designed for. */
	public static final List<Goal> ALL = all();

	/**
	 * Whether a goal was reached.
	 */
	public enum Outcome {

		/** The goal was reached. */
		MET("met"),

		/** The goal was not reached. */
		MISSED("missed"),

		/** The load of the goal was not measured. */
		NOT_MEASURED("not measured");

		private final String label;

		Outcome(String label) {
			this.label = label;
		}

		@Override
		public String toString() {
			return this.label;
		}

	}

	/**
	 * What was measured.
	 *
	 * @param measured the value, for a reader
	 * @param outcome whether the goal was reached
	 */
	public record Check(String measured, Outcome outcome) {

	}

	/**
	 * Check this goal.
	 * @param results what was measured
	 * @return the result
	 */
	public Check check(Results results) {
		return this.check.apply(results);
	}

	private static List<Goal> all() {
		List<Goal> goals = new ArrayList<>();
		for (String work : List.of("none", "cpu2", "cpu5", "cpu10", "cpu20", "cpu50")) {
			Scenario load = Scenario.closed(work, 64);
			goals.add(ratioToBestPeer(load, Metric.REQUESTS_PER_SECOND, MORE, 1.0));
			goals.add(ratioToBestNetty(load, Metric.CPU_US, LESS, load.equals(ECHO) ? 0.95 : 1.05));
			goals.add(ratioToBestPeer(load, Metric.P99_US, LESS, 1.1));
		}
		goals.add(ratio(Servers.ADAPTIVE, ECHO, Metric.CPU_US, Servers.NIO, LESS, 1.0));
		for (int rate : List.of(20_000, 60_000)) {
			for (String work : List.of("none", "cpu10")) {
				goals.add(ratioToBestNetty(Scenario.open(work, 64, rate), Metric.CPU_US, LESS, 1.0));
				goals.add(ratioToBestNetty(Scenario.open(work, 64, rate), Metric.P99_US, LESS, 1.0));
			}
		}
		goals.add(ratio(Servers.ADAPTIVE, Scenario.closed("block5pct2ms", 64), Metric.REQUESTS_PER_SECOND,
				Servers.VIRTUAL, MORE, 1.25));
		goals.add(ratio(Servers.ADAPTIVE, Scenario.closed("block100pct1ms", 64), Metric.REQUESTS_PER_SECOND,
				Servers.VIRTUAL, MORE, 1.0));
		goals.add(atMost(Scenario.closed("mixed-cpu50", 64), Metric.P99_TO_ALONE, 3));
		goals.add(atMost(Scenario.closed("mixed-block100pct5ms", 64), Metric.P99_TO_ALONE, 3));
		goals.add(ratioToBestNetty(MANY, Metric.REQUESTS_PER_SECOND, MORE, 1.1));
		goals.add(ratioToBestNetty(MANY, Metric.CPU_US, LESS, 0.95));
		goals.add(ratio(Servers.ON_MESSAGE, ECHO, Metric.CPU_US, Servers.ADAPTIVE, LESS, 1.3));
		goals.add(ratio(Servers.METERED, ECHO, Metric.CPU_US, Servers.SPRING, LESS, 1.05));
		goals.add(atMost(ECHO, Metric.ALLOCATED_BYTES, 0));
		goals.add(atMost(IDLE, Metric.IDLE_HEAP_BYTES, 1000));
		goals.add(atMost(IDLE, Metric.IDLE_DIRECT_BYTES, 0));
		goals.add(atMost(IDLE, Metric.IDLE_CPU_PERCENT, 0.1));
		return List.copyOf(goals);
	}

	private static Goal ratio(String server, Scenario scenario, Metric metric, String reference, String relation,
			double limit) {
		return new Goal(scenario.title(),
				(server.equals(Servers.ADAPTIVE) ? "" : "of " + server + ": ")
						+ demand(metric, relation, limit, reference),
				(results) -> judge(results.ratio(scenario, server, reference, metric), relation, limit));
	}

	/** The best peer of a goal is the one that is best in the metric of the goal. */
	private static Goal ratioToBestPeer(Scenario scenario, Metric metric, String relation, double limit) {
		return ratioToBest(scenario, metric, relation, limit,
				(relation.equals(MORE) ? "the peer with the most" : "the peer with the least"),
				(results) -> results.best(scenario,
						results.servers(scenario).stream().filter((server) -> !Servers.isEngine(server)).toList(),
						metric, relation.equals(MORE) ? Comparator.naturalOrder() : Comparator.reverseOrder()));
	}

	/**
	 * The best setting of Netty is the one with the highest throughput in the closed loop
	 * of the same work, and with as many connections: on a schedule all have the same.
	 */
	private static Goal ratioToBestNetty(Scenario scenario, Metric metric, String relation, double limit) {
		Scenario loop = Scenario.closed(scenario.work(), scenario.connections());
		return ratioToBest(scenario, metric, relation, limit,
				Servers.NETTY + " with the most requests/s" + (scenario.equals(loop) ? "" : " in a closed loop"),
				(results) -> results.best(loop, results.servers(loop).stream().filter(Servers::isNettyEpoll).toList(),
						Metric.REQUESTS_PER_SECOND, Comparator.naturalOrder()));
	}

	private static Goal ratioToBest(Scenario scenario, Metric metric, String relation, double limit, String name,
			Function<Results, Optional<String>> best) {
		return new Goal(scenario.title(), demand(metric, relation, limit, name),
				(results) -> best.apply(results).map((reference) -> {
					Check check = judge(results.ratio(scenario, Servers.ADAPTIVE, reference, metric), relation, limit);
					return (check.outcome() == Outcome.NOT_MEASURED) ? check
							: new Check(check.measured() + " × " + reference, check.outcome());
				}).orElse(NOT_MEASURED));
	}

	private static Goal atMost(Scenario scenario, Metric metric, double limit) {
		return new Goal(scenario.title(),
				metric.label() + " " + LESS + " "
						+ String.format(Locale.ROOT, (limit % 1 == 0) ? "%,.0f" : "%.1f", limit),
				(results) -> results.summary(scenario, Servers.ADAPTIVE, metric)
					.map((summary) -> new Check(summary.text(metric.digits()),
							// As printed: a count of whole bytes has others' in it
							(rounded(summary.median(), metric.digits()) <= limit) ? Outcome.MET : Outcome.MISSED))
					.orElse(NOT_MEASURED));
	}

	private static double rounded(double value, int digits) {
		double scale = Math.pow(10, digits);
		return Math.round(value * scale) / scale;
	}

	private static String demand(Metric metric, String relation, double limit, String reference) {
		return metric.label() + " " + relation + " " + String.format(Locale.ROOT, "%.2f", limit) + " × " + reference;
	}

	private static Check judge(Optional<Summary> ratio, String relation, double limit) {
		return ratio.map((summary) -> {
			boolean met = relation.equals(MORE) ? summary.median() >= limit : summary.median() <= limit;
			String text = summary.text(2) + (summary.spans(limit) ? " (not the same in all rounds)" : "");
			return new Check(text, met ? Outcome.MET : Outcome.MISSED);
		}).orElse(NOT_MEASURED);
	}

}
