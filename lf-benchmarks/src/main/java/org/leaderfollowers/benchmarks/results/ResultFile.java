package org.leaderfollowers.benchmarks.results;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.io.Writer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.EnumMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;

import org.HdrHistogram.Histogram;
import org.leaderfollowers.benchmarks.load.LoadResult;

/**
 * The raw data of a comparison as comma-separated values. Lines that begin with {@code #}
 * are facts about the whole, {@code # name: value}. Each line is written when it is
 * known, so what hours have measured is not lost in the end.
 */
public final class ResultFile implements AutoCloseable {

	private static final String FACT = "# ";

	private static final List<String> KEYS = List.of("work", "connections", "payload", "pipeline", "rate", "server",
			"round", "errors");

	private final Writer writer;

	private ResultFile(Writer writer) {
		this.writer = writer;
	}

	/**
	 * Begin a file.
	 * @param path where, maybe in a directory that is not there yet
	 * @param facts what is to be known about the whole
	 * @return the file
	 * @throws IOException if it cannot be written
	 */
	public static ResultFile create(Path path, Map<String, String> facts) throws IOException {
		Files.createDirectories(path.toAbsolutePath().getParent());
		ResultFile file = new ResultFile(Files.newBufferedWriter(path));
		facts.forEach(file::fact);
		List<String> head = new ArrayList<>(KEYS);
		for (Metric metric : Metric.values()) {
			head.add(column(metric));
		}
		head.add("latency");
		file.line(String.join(",", head));
		return file;
	}

	/**
	 * Add a fact about the whole.
	 * @param name its name
	 * @param value its value
	 */
	public void fact(String name, String value) {
		line(FACT + name + ": " + value);
	}

	/**
	 * Add a measurement.
	 * @param measurement the measurement
	 */
	public void add(Measurement measurement) {
		Scenario scenario = measurement.scenario();
		List<String> fields = new ArrayList<>(List.of(scenario.work(), "" + scenario.connections(),
				"" + scenario.payload(), "" + scenario.pipeline(), "" + scenario.rate(), measurement.server(),
				"" + measurement.round(), "" + measurement.errors()));
		for (Metric metric : Metric.values()) {
			Double value = measurement.value(metric);
			fields.add((value != null) ? String.format(Locale.ROOT, "%.4f", value) : "");
		}
		Histogram latencyNs = measurement.latencyNs();
		fields.add((latencyNs != null) ? LoadResult.encode(latencyNs) : "");
		line(String.join(",", fields));
	}

	private void line(String line) {
		try {
			this.writer.write(line + "\n");
			this.writer.flush();
		}
		catch (IOException ex) {
			throw new UncheckedIOException(ex);
		}
	}

	@Override
	public void close() throws IOException {
		this.writer.close();
	}

	/**
	 * Read files that belong together. A round of one and a round of another are
	 * different rounds.
	 * @param paths the files
	 * @return what is in them
	 * @throws IOException if one cannot be read
	 */
	public static Run read(List<Path> paths) throws IOException {
		Map<String, String> facts = new LinkedHashMap<>();
		List<Measurement> measurements = new ArrayList<>();
		int firstRound = 0;
		for (Path path : paths) {
			int nextRound = firstRound;
			for (Measurement measurement : read(path, facts, firstRound)) {
				measurements.add(measurement);
				nextRound = Math.max(nextRound, measurement.round() + 1);
			}
			firstRound = nextRound;
		}
		return new Run(facts, new Results(measurements));
	}

	private static List<Measurement> read(Path path, Map<String, String> facts, int firstRound) throws IOException {
		List<Measurement> measurements = new ArrayList<>();
		List<String> head = List.of();
		for (String line : Files.readAllLines(path)) {
			if (line.startsWith(FACT)) {
				String[] fact = line.substring(FACT.length()).split(": ", 2);
				facts.merge(fact[0], fact[1], (one, other) -> one.equals(other) ? one : one + "; " + other);
			}
			else if (head.isEmpty()) {
				head = List.of(line.split(","));
			}
			else {
				measurements.add(parse(head, line.split(",", -1), firstRound));
			}
		}
		return measurements;
	}

	private static Measurement parse(List<String> head, String[] fields, int firstRound) {
		Map<String, String> values = new LinkedHashMap<>();
		for (int i = 0; i < fields.length; i++) {
			if (!fields[i].isEmpty()) {
				values.put(head.get(i), fields[i]);
			}
		}
		Scenario scenario = new Scenario(values.get("work"), Integer.parseInt(values.get("connections")),
				Integer.parseInt(values.get("payload")), Integer.parseInt(values.get("pipeline")),
				Integer.parseInt(values.get("rate")));
		Map<Metric, Double> metrics = new EnumMap<>(Metric.class);
		for (Metric metric : Metric.values()) {
			String value = values.get(column(metric));
			if (value != null) {
				metrics.put(metric, Double.valueOf(value));
			}
		}
		int round = Integer.parseInt(values.get("round"));
		String latency = values.get("latency");
		return new Measurement(scenario, values.get("server"), (round < 0) ? round : firstRound + round, metrics,
				Long.parseLong(values.get("errors")), (latency != null) ? LoadResult.decode(latency) : null);
	}

	private static String column(Metric metric) {
		return metric.name().toLowerCase(Locale.ROOT).replace('_', '-');
	}

}
