package org.leaderfollowers.benchmarks.report;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeSet;

import org.HdrHistogram.Histogram;
import org.leaderfollowers.benchmarks.results.Metric;
import org.leaderfollowers.benchmarks.results.Results;
import org.leaderfollowers.benchmarks.results.Scenario;
import org.leaderfollowers.benchmarks.results.Servers;

/** Draws charts of results. */
final class Charts {

	/** More lines cannot be told apart. The tables have all servers. */
	private static final int MOST_SERIES = 9;

	/** A percentile with fewer values above it depends on chance. */
	private static final int VALUES_ABOVE = 10;

	private static final double NANOS_PER_MICRO = 1e3;

	private static final int STEPS_PER_NINE = 20;

	/** The lines that are drawn first if there are too many, each with its style. */
	private static final List<String> PREFERRED = List.of(Servers.ADAPTIVE, Servers.EAGER, Servers.TEXTBOOK,
			Servers.HALF_SYNC, Servers.NIO, Servers.NETTY, Servers.NETTY_EXECUTOR, Servers.VIRTUAL, Servers.THREADS,
			Servers.GRIZZLY, Servers.ADAPTIVE_TWO_SETS, Servers.EAGER_TWO_SETS, Servers.SPRING_INTEGRATION,
			Servers.NETTY_NIO, Servers.NETTY_NIO_EXECUTOR, Servers.NETTY_ONE_LOOP, Servers.NETTY_TWO_LOOPS);

	private final Results results;

	Charts(Results results) {
		this.results = results;
	}

	/**
	 * The latency of each server by percentile.
	 * @param scenario the load
	 * @return a chart, or nothing if latency was not measured
	 */
	Optional<LineChart> latency(Scenario scenario) {
		Map<String, Histogram> histograms = new LinkedHashMap<>();
		for (String server : drawn(this.results.servers(scenario))) {
			this.results.latencyNs(scenario, server)
				.filter((histogram) -> histogram.getTotalCount() > VALUES_ABOVE)
				.ifPresent((histogram) -> histograms.put(server, histogram));
		}
		if (histograms.isEmpty()) {
			return Optional.empty();
		}
		List<Series> series = new ArrayList<>();
		List<Double> latencies = new ArrayList<>();
		double max = 0;
		for (Map.Entry<String, Histogram> entry : histograms.entrySet()) {
			Series line = latency(entry.getKey(), entry.getValue());
			series.add(line);
			line.points().forEach((point) -> latencies.add(point.y()));
			max = Math.max(max, line.points().get(line.points().size() - 1).x());
		}
		return Optional.of(new LineChart("Latency by percentile: " + scenario.title(),
				Axis.percentiles("percentile of the requests (each nine takes the same space)", max),
				Axis.logarithmic("latency, µs", latencies), series, false));
	}

	private static Series latency(String server, Histogram latencyNs) {
		List<Series.Point> points = new ArrayList<>();
		double nines = Math.log10(latencyNs.getTotalCount() / (double) VALUES_ABOVE);
		int steps = (int) (nines * STEPS_PER_NINE);
		for (int step = 0; step <= steps; step++) {
			double percentile = 100 * (1 - Math.pow(10, -step / (double) STEPS_PER_NINE));
			points.add(new Series.Point(percentile, latencyNs.getValueAtPercentile(percentile) / NANOS_PER_MICRO));
		}
		return new Series(server, style(server), points);
	}

	/**
	 * A metric of each server by the number of connections.
	 * @param metric what is drawn
	 * @param work the handler's work
	 * @return a chart, or nothing if there is but one number of connections
	 */
	Optional<LineChart> byConnections(Metric metric, String work) {
		Map<String, List<Series.Point>> points = new LinkedHashMap<>();
		TreeSet<Integer> connections = new TreeSet<>();
		double max = 0;
		List<Scenario> scenarios = this.results.scenarios()
			.stream()
			.filter((scenario) -> scenario.equals(Scenario.closed(work, scenario.connections())))
			.sorted((one, other) -> Integer.compare(one.connections(), other.connections()))
			.toList();
		for (Scenario scenario : scenarios) {
			for (String server : this.results.servers(scenario)) {
				double value = this.results.summary(scenario, server, metric)
					.map((summary) -> summary.median())
					.orElse(-1.0);
				if (value >= 0) {
					points.computeIfAbsent(server, (key) -> new ArrayList<>())
						.add(new Series.Point(scenario.connections(), value));
					connections.add(scenario.connections());
					max = Math.max(max, value);
				}
			}
		}
		List<Series> series = drawn(List.copyOf(points.keySet())).stream()
			.map((server) -> new Series(server, style(server), points.get(server)))
			.filter((line) -> line.points().size() > 1)
			.toList();
		if (series.isEmpty()) {
			return Optional.empty();
		}
		return Optional.of(new LineChart(metric.label() + " by connections: " + scenarios.get(0).workTitle(),
				Axis.of("connections (logarithmic)", connections), Axis.linear(metric.label(), max), series, true));
	}

	private static List<String> drawn(List<String> servers) {
		return servers.stream()
			.sorted((one, other) -> Integer.compare(style(one), style(other)))
			.limit(MOST_SERIES)
			.toList();
	}

	private static int style(String server) {
		int index = PREFERRED.indexOf(server);
		return (index >= 0) ? index : LineChart.STYLES - 1;
	}

}
