package org.leaderfollowers.benchmarks.report;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;

/**
 * Charts of several figures over the same time, one below the other, as one SVG.
 */
public final class TimePlot {

	private final double minutes;

	private final List<LineChart> charts = new ArrayList<>();

	/**
	 * Creates a plot without charts.
	 * @param minutes the end of the horizontal axis; it begins at 0
	 */
	public TimePlot(double minutes) {
		this.minutes = minutes;
	}

	/**
	 * Adds a chart below the others.
	 * @param label the figure with its unit
	 * @param lines the points of each line by its name, each a time in minutes and a
	 * value that is not negative; a line without points is left out
	 */
	public void add(String label, Map<String, List<double[]>> lines) {
		List<Series> series = new ArrayList<>();
		double max = 0;
		for (Map.Entry<String, List<double[]>> line : lines.entrySet()) {
			List<Series.Point> points = new ArrayList<>();
			for (double[] point : line.getValue()) {
				points.add(new Series.Point(point[0], point[1]));
				max = Math.max(max, point[1]);
			}
			if (!points.isEmpty()) {
				series.add(new Series(line.getKey(), series.size(), points));
			}
		}
		this.charts.add(new LineChart(label + " over time", Axis.linear("minutes", this.minutes),
				Axis.linear(label, max), series, false));
	}

	/**
	 * Draws the charts.
	 * @return the text of an SVG file
	 */
	public String svg() {
		StringBuilder svg = new StringBuilder(
				"<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%1$d\" height=\"%2$d\" viewBox=\"0 0 %1$d %2$d\">\n"
					.formatted(LineChart.WIDTH, LineChart.HEIGHT * this.charts.size()));
		for (int i = 0; i < this.charts.size(); i++) {
			svg.append("<g transform=\"translate(0 %d)\">\n".formatted(i * LineChart.HEIGHT))
				.append(this.charts.get(i).svg())
				.append("</g>\n");
		}
		return svg.append("</svg>\n").toString();
	}

}
