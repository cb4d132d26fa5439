package org.leaderfollowers.benchmarks.results;

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

	private static final Scenario BLOCKING = Scenario.closed("block5pct2ms", 64);

	private static final Scenario BURNING = Scenario.closed("cpu20", 64);

	private static final Scenario MANY = Scenario.closed("none", 10_000);

	private static final Scenario IDLE = Scenario.idle(10_000);

	private static final Check NOT_MEASURED = new Check("", Outcome.NOT_MEASURED);

	/** The goals that the engine was designed for. */
	public static final List<Goal> ALL = List.of(ratio(ECHO, Metric.CPU_US, Servers.NIO, LESS, 1.10),
			ratio(ECHO, Metric.CPU_US, Servers.NETTY, LESS, 1.0),
			ratio(ECHO, Metric.REQUESTS_PER_SECOND, Servers.NETTY, MORE, 1.0),
			ratioOf(Servers.ON_MESSAGE, ECHO, Metric.CPU_US, Servers.ADAPTIVE, LESS, 1.3),
			ratioOf(Servers.METERED, ECHO, Metric.CPU_US, Servers.SPRING, LESS, 1.05),
			ratio(Scenario.open("none", 64, 20_000), Metric.CPU_US, Servers.NETTY, LESS, 1.05),
			ratio(Scenario.open("none", 64, 60_000), Metric.CPU_US, Servers.NETTY, LESS, 1.05),
			ratio(BLOCKING, Metric.REQUESTS_PER_SECOND, Servers.VIRTUAL, MORE, 1.15),
			ratio(BLOCKING, Metric.REQUESTS_PER_SECOND, Servers.NETTY_EXECUTOR, MORE, 1.8),
			ratioToBest(BLOCKING, Metric.P99_US, (results) -> List.of(Servers.VIRTUAL, Servers.NETTY_EXECUTOR),
					"the better of these two", LESS),
			ratioToBest(BURNING, Metric.REQUESTS_PER_SECOND,
					(results) -> results.servers(BURNING).stream().filter((name) -> !Servers.isEngine(name)).toList(),
					"the best peer", MORE),
			atMost(ECHO, Metric.ALLOCATED_BYTES, 0), atMost(IDLE, Metric.IDLE_HEAP_BYTES, 1000),
			atMost(IDLE, Metric.IDLE_DIRECT_BYTES, 0),
			new Goal(MANY.title(), demand(Metric.REQUESTS_PER_SECOND, MORE, 0.9, "that with 64 connections"),
					(results) -> judge(results.ratio(MANY, ECHO, Servers.ADAPTIVE, Metric.REQUESTS_PER_SECOND), MORE,
							0.9)));

	/**
	 * Whether a goal was reached.
	 */
	public enum Outcome {

		/** It was. */
		MET("met"),

		/** It was not. */
		MISSED("missed"),

		/** Nobody knows. */
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
	 * @return what came of it
	 */
	public Check check(Results results) {
		return this.check.apply(results);
	}

	private static Goal ratio(Scenario scenario, Metric metric, String reference, String relation, double limit) {
		return new Goal(scenario.title(), demand(metric, relation, limit, reference),
				(results) -> judge(results.ratio(scenario, Servers.ADAPTIVE, reference, metric), relation, limit));
	}

	private static Goal ratioOf(String server, Scenario scenario, Metric metric, String reference, String relation,
			double limit) {
		return new Goal(scenario.title(), "of " + server + ": " + demand(metric, relation, limit, reference),
				(results) -> judge(results.ratio(scenario, server, reference, metric), relation, limit));
	}

	private static Goal ratioToBest(Scenario scenario, Metric metric, Function<Results, List<String>> candidates,
			String name, String relation) {
		Comparator<Double> better = relation.equals(MORE) ? Comparator.naturalOrder() : Comparator.reverseOrder();
		return new Goal(scenario.title(), demand(metric, relation, 1.0, name), (results) -> {
			Optional<String> best = results.best(scenario, candidates.apply(results), metric, better);
			if (best.isEmpty()) {
				return NOT_MEASURED;
			}
			Check check = judge(results.ratio(scenario, Servers.ADAPTIVE, best.get(), metric), relation, 1.0);
			return new Check(check.measured() + " × " + best.get(), check.outcome());
		});
	}

	private static Goal atMost(Scenario scenario, Metric metric, double limit) {
		return new Goal(scenario.title(),
				metric.label() + " " + LESS + " " + String.format(Locale.ROOT, "%,.0f", limit),
				(results) -> results.summary(scenario, Servers.ADAPTIVE, metric)
					.map((summary) -> new Check(summary.text(metric.digits()),
							// As printed: a count of whole bytes has others' in it
							(Math.round(summary.median()) <= limit) ? Outcome.MET : Outcome.MISSED))
					.orElse(NOT_MEASURED));
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
