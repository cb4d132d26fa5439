package org.leaderfollowers.benchmarks.soak;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.DoubleUnaryOperator;

import org.leaderfollowers.benchmarks.report.TimePlot;

/**
 * The files of a soak. They can be read while it runs.
 */
final class SoakReport {

	private static final double MEGABYTE = 1e6;

	private final Path directory;

	private final List<Sample> samples = new ArrayList<>();

	private final List<String> notes = new ArrayList<>();

	SoakReport(Path directory) {
		this.directory = directory;
	}

	void add(Sample sample) {
		this.samples.add(sample);
	}

	void note(String note) {
		this.notes.add(note);
	}

	List<Sample> samples() {
		return this.samples;
	}

	List<String> notes() {
		return this.notes;
	}

	void write() throws IOException {
		List<String> lines = new ArrayList<>(List.of(Sample.header()));
		this.samples.forEach((sample) -> lines.add(sample.line()));
		Files.write(this.directory.resolve("soak.csv"), lines);
		Files.writeString(this.directory.resolve("soak.svg"), svg());
		Files.write(this.directory.resolve("soak.txt"), this.notes);
	}

	private String svg() {
		TimePlot plot = new TimePlot(this.samples.get(this.samples.size() - 1).seconds() / 60);
		Map<String, List<double[]>> memory = lines("heap", Sample.Figure.HEAP, (bytes) -> bytes / MEGABYTE);
		memory.put("direct", points(Sample.Figure.DIRECT, true, (bytes) -> bytes / MEGABYTE));
		plot.add("memory after a collection, MB", memory);
		plot.add("sockets, selectors and pipes", lines("descriptors", Sample.Figure.DESCRIPTORS, (value) -> value));
		plot.add("threads", lines("threads", Sample.Figure.THREADS, (value) -> value));
		Map<String, List<double[]>> latency = lines("p99", Sample.Figure.P99_MS, (value) -> value);
		latency.put("p50, quiet", points(Sample.Figure.P50_MS, true, (value) -> value));
		plot.add("latency of an honest client, ms", latency);
		return plot.svg();
	}

	private Map<String, List<double[]>> lines(String name, Sample.Figure figure, DoubleUnaryOperator scale) {
		Map<String, List<double[]>> lines = new LinkedHashMap<>();
		lines.put(name + ", quiet", points(figure, true, scale));
		lines.put(name + ", disturbed", points(figure, false, scale));
		return lines;
	}

	private List<double[]> points(Sample.Figure figure, boolean quiet, DoubleUnaryOperator scale) {
		return this.samples.stream()
			.filter((sample) -> sample.quiet() == quiet && !Double.isNaN(sample.value(figure)))
			.map((sample) -> new double[] { sample.seconds() / 60, scale.applyAsDouble(sample.value(figure)) })
			.toList();
	}

}
