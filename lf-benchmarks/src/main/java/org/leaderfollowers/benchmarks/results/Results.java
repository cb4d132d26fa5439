package org.leaderfollowers.benchmarks.results;

import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.function.Function;
import java.util.function.Predicate;
import java.util.stream.Collectors;

import org.HdrHistogram.Histogram;

/**
 * The measurements of a comparison. Whatever is asked of them leaves out those with
 * errors.
 */
public final class Results {

	private final List<Measurement> measurements;

	private final Map<Subject, List<Measurement>> valid;

	public Results(List<Measurement> measurements) {
		this.measurements = List.copyOf(measurements);
		this.valid = measurements.stream()
			.filter(Measurement::valid)
			.collect(Collectors.groupingBy((measurement) -> new Subject(measurement.scenario(), measurement.server())));
	}

	/**
	 * All measurements, those with errors too, in the order in which they were made.
	 * @return the measurements
	 */
	public List<Measurement> measurements() {
		return this.measurements;
	}

	/**
	 * The measurements that were thrown away.
	 * @return those with errors
	 */
	public List<Measurement> invalid() {
		return this.measurements.stream().filter(Predicate.not(Measurement::valid)).toList();
	}

	public List<Scenario> scenarios() {
		return this.measurements.stream().map(Measurement::scenario).distinct().toList();
	}

	/**
	 * The servers that were measured in a scenario.
	 * @param scenario the scenario
	 * @return their names, in the order of the first round
	 */
	public List<String> servers(Scenario scenario) {
		return this.measurements.stream()
			.filter((measurement) -> measurement.scenario().equals(scenario))
			.map(Measurement::server)
			.distinct()
			.toList();
	}

	/**
	 * What a server achieved.
	 * @param scenario the scenario
	 * @param server the server
	 * @param metric what
	 * @return the summary of all rounds, or nothing if it was not measured
	 */
	public Optional<Summary> summary(Scenario scenario, String server, Metric metric) {
		return Summary.of(values(scenario, server, metric).values());
	}

	/**
	 * The ratio of two servers, taken within each round and then summed up: what disturbs
	 * the machine for longer than a round disturbs both.
	 * @param scenario the scenario
	 * @param server the one above the line
	 * @param reference the one below the line
	 * @param metric what is compared
	 * @return the summary, or nothing if there is no round with both
	 */
	public Optional<Summary> ratio(Scenario scenario, String server, String reference, Metric metric) {
		return ratio(values(scenario, server, metric), values(scenario, reference, metric));
	}

	/**
	 * The ratio of a server to itself under another load.
	 * @param scenario the scenario above the line
	 * @param reference the scenario below the line
	 * @param server the server
	 * @param metric what is compared
	 * @return the summary, or nothing if there is no round with both
	 */
	public Optional<Summary> ratio(Scenario scenario, Scenario reference, String server, Metric metric) {
		return ratio(values(scenario, server, metric), values(reference, server, metric));
	}

	private static Optional<Summary> ratio(Map<Integer, Double> values, Map<Integer, Double> references) {
		List<Double> ratios = new ArrayList<>();
		values.forEach((round, value) -> {
			Double reference = references.get(round);
			if (reference != null && reference != 0) {
				ratios.add(value / reference);
			}
		});
		return Summary.of(ratios);
	}

	/**
	 * The best of some servers.
	 * @param scenario the scenario
	 * @param servers the servers to choose from
	 * @param metric what they are judged by
	 * @param better compares medians; the last is the best
	 * @return the name of the best, or nothing if none was measured
	 */
	public Optional<String> best(Scenario scenario, List<String> servers, Metric metric, Comparator<Double> better) {
		Function<String, Optional<Double>> median = (server) -> summary(scenario, server, metric).map(Summary::median);
		return servers.stream()
			.filter((server) -> median.apply(server).isPresent())
			.max(Comparator.comparing((server) -> median.apply(server).orElseThrow(), better));
	}

	/**
	 * The latencies of all rounds together.
	 * @param scenario the scenario
	 * @param server the server
	 * @return the latencies in nanoseconds, or nothing if they were not measured
	 */
	public Optional<Histogram> latencyNs(Scenario scenario, String server) {
		Histogram sum = null;
		for (Measurement measurement : of(scenario, server)) {
			Histogram latencyNs = measurement.latencyNs();
			if (latencyNs != null) {
				if (sum == null) {
					sum = latencyNs.copy();
				}
				else {
					sum.add(latencyNs);
				}
			}
		}
		return Optional.ofNullable(sum);
	}

	private Map<Integer, Double> values(Scenario scenario, String server, Metric metric) {
		Map<Integer, Double> values = new HashMap<>();
		for (Measurement measurement : of(scenario, server)) {
			Double value = measurement.value(metric);
			if (value != null) {
				values.put(measurement.round(), value);
			}
		}
		return values;
	}

	private List<Measurement> of(Scenario scenario, String server) {
		return this.valid.getOrDefault(new Subject(scenario, server), List.of());
	}

	private record Subject(Scenario scenario, String server) {

	}

}
