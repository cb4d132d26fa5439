package org.leaderfollowers.benchmarks.results;

import java.util.ArrayList;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;

import org.HdrHistogram.Histogram;
import org.jspecify.annotations.Nullable;

/**
 * Results that nobody has measured.
 */
public final class Fixture {

	private final List<Measurement> measurements = new ArrayList<>();

	/**
	 * Add a value for each round.
	 * @param scenario the scenario
	 * @param server the server
	 * @param metric what
	 * @param values the values
	 * @return this
	 */
	public Fixture with(Scenario scenario, String server, Metric metric, double... values) {
		for (int round = 0; round < values.length; round++) {
			add(scenario, server, round, Map.of(metric, values[round]), 0, null);
		}
		return this;
	}

	/**
	 * Add whole measurements.
	 * @param scenario the scenario
	 * @param server the server
	 * @param rounds how many
	 * @param value the value of all metrics
	 * @return this
	 */
	public Fixture withAll(Scenario scenario, String server, int rounds, double value) {
		Map<Metric, Double> values = new EnumMap<>(Metric.class);
		for (Metric metric : Metric.values()) {
			values.put(metric, value);
		}
		values.put(Metric.OTHERS_PERCENT, 0.0);
		for (int round = 0; round < rounds; round++) {
			add(scenario, server, round, values, 0, scenario.idle() ? null : latency(value));
		}
		return this;
	}

	public Fixture withErrors(Scenario scenario, String server, int round, long errors) {
		return add(scenario, server, round, Map.of(Metric.REQUESTS_PER_SECOND, 1e9, Metric.CPU_US, 0.0), errors, null);
	}

	private Fixture add(Scenario scenario, String server, int round, Map<Metric, Double> values, long errors,
			@Nullable Histogram latencyNs) {
		this.measurements.add(new Measurement(scenario, server, round, values, errors, latencyNs));
		return this;
	}

	private static Histogram latency(double value) {
		Histogram histogram = new Histogram(1, 60_000_000_000L, 3);
		for (int i = 1; i <= 2000; i++) {
			histogram.recordValue((long) (value * 1000 * i));
		}
		return histogram;
	}

	public Results results() {
		return new Results(this.measurements);
	}

	public List<Measurement> measurements() {
		return this.measurements;
	}

}
