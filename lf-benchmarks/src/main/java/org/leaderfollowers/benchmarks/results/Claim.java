package org.leaderfollowers.benchmarks.results;

import java.util.List;
import java.util.Optional;

/**
 * A consequence that the paper claims for the pattern (its section 13), as a measurable
 * ratio that must be below or above 1.
 *
 * @param statement the claim of the paper in other words
 * @param scenario the load
 * @param metric what is measured
 * @param reference the server that is compared with
 * @param relation what the claim expects of the ratio
 */
public record Claim(String statement, Scenario scenario, Metric metric, String reference, Relation relation) {

	/** Ratios closer to 1 than this do not count as a difference. */
	private static final double TOLERANCE = 0.05;

	private static final Scenario FULL = Scenario.closed("none", 64);

	private static final Scenario HALF = Scenario.open("none", 64, 20_000);

	private static final Scenario BLOCKING = Scenario.closed("block5pct2ms", 64);

	private static final String ALLOCATION = "No unbounded allocation: a request is read into memory of its thread";

	private static final String AFFINITY = "The processor's cache is used better: a request takes less CPU time";

	private static final String LOCKING = "Less locking, since threads exchange no data (counted as futex calls)";

	private static final String SYNCHRONIZATION = "Less synchronization, so fewer calls of the system in all";

	private static final String SWITCHES = "No context switch for each event";

	private static final String LATENCY = "Events are dispatched sooner";

	private static final String QUEUEING = "More deterministic, since nothing is queued: a shorter tail";

	private static final String SECOND = "Of two events at once, the second waits for a promotion;"
			+ " that is no worse than a queue";

	private static final String PROMOTION = "Promotion takes a context switch, which a loop in one thread does not need";

	/** Claims about a server with one leader at a time, in the paper's order. */
	public static final List<Claim> ALL = List.of(less(ALLOCATION, FULL, Metric.ALLOCATED_BYTES),
			less(AFFINITY, FULL, Metric.CPU_US), less(AFFINITY, HALF, Metric.CPU_US),
			less(LOCKING, FULL, Metric.FUTEX_CALLS), less(LOCKING, HALF, Metric.FUTEX_CALLS),
			less(SYNCHRONIZATION, FULL, Metric.SYSTEM_CALLS), less(SYNCHRONIZATION, HALF, Metric.SYSTEM_CALLS),
			less(SWITCHES, FULL, Metric.VOLUNTARY_SWITCHES), less(SWITCHES, HALF, Metric.VOLUNTARY_SWITCHES),
			less(LATENCY, HALF, Metric.P50_US), less(LATENCY, FULL, Metric.P50_US), less(QUEUEING, HALF, Metric.P99_US),
			less(QUEUEING, BLOCKING, Metric.P99_US),
			new Claim(SECOND, FULL, Metric.P99_US, Servers.HALF_SYNC, Relation.NOT_MORE),
			new Claim(PROMOTION, HALF, Metric.VOLUNTARY_SWITCHES, Servers.NIO, Relation.MORE));

	/** What is asked of a server with two leaders. */
	public static final Claim ONE_LEADER_SUFFICES = new Claim(
			"Only one thread at a time waits for events, which is hardly a bottleneck", FULL,
			Metric.REQUESTS_PER_SECOND, Servers.EAGER, Relation.NOT_MORE);

	private static Claim less(String statement, Scenario scenario, Metric metric) {
		return new Claim(statement, scenario, metric, Servers.HALF_SYNC, Relation.LESS);
	}

	/**
	 * What a claim expects of a ratio.
	 */
	public enum Relation {

		/** Below 1. */
		LESS("< 1"),

		/** At most 1. */
		NOT_MORE("≤ 1"),

		/** Above 1. */
		MORE("> 1");

		private final String label;

		Relation(String label) {
			this.label = label;
		}

		boolean holds(double ratio) {
			return switch (this) {
				case LESS -> ratio < 1 - TOLERANCE;
				case NOT_MORE -> ratio <= 1 + TOLERANCE;
				case MORE -> ratio > 1 + TOLERANCE;
			};
		}

		@Override
		public String toString() {
			return this.label;
		}

	}

	/**
	 * The result of a check.
	 *
	 * @param value the server's value
	 * @param reference the value of the one that it is compared with
	 * @param ratio the ratio within each round
	 * @param agrees whether it is as claimed
	 */
	public record Finding(Summary value, Summary reference, Summary ratio, boolean agrees) {

		/**
		 * The verdict.
		 * @return a phrase
		 */
		public String verdict() {
			return (this.agrees ? "agrees" : "does not agree") + (this.ratio.spans(1) ? " (not in every round)" : "");
		}

	}

	/**
	 * Check the claim with a server.
	 * @param results what was measured
	 * @param server a server that implements the pattern
	 * @return what was found, or nothing if it was not measured
	 */
	public Optional<Finding> check(Results results, String server) {
		Optional<Summary> value = results.summary(this.scenario, server, this.metric);
		Optional<Summary> other = results.summary(this.scenario, this.reference, this.metric);
		Optional<Summary> ratio = results.ratio(this.scenario, server, this.reference, this.metric);
		if (value.isEmpty() || other.isEmpty() || ratio.isEmpty()) {
			return Optional.empty();
		}
		return Optional
			.of(new Finding(value.get(), other.get(), ratio.get(), this.relation.holds(ratio.get().median())));
	}

}
