package org.leaderfollowers.benchmarks.report;

import java.util.Comparator;
import java.util.List;
import java.util.Locale;

/**
 * A chart as SVG. It has no background of its own and two sets of colours, so that it can
 * be read on a light and on a dark page; lines differ in their dashes as well as in their
 * colours.
 *
 * @param title what it shows, for those who cannot see it
 * @param x the horizontal axis
 * @param y the vertical axis
 * @param series the lines
 * @param marked whether the points are marked
 */
record LineChart(String title, Axis x, Axis y, List<Series> series, boolean marked) {

	static final int WIDTH = 820;

	static final int HEIGHT = 440;

	private static final int LEFT = 80;

	private static final int RIGHT = 200;

	private static final int TOP = 16;

	private static final int BOTTOM = 56;

	private static final int LEGEND_LINE = 20;

	private static final String[] LIGHT = { "#cf222e", "#bc5a00", "#8250df", "#1a7f37", "#57606a", "#0969da", "#0a7d8c",
			"#bf3989", "#7a6400", "#24292f" };

	private static final String[] DARK = { "#ff7b72", "#f0a04b", "#bc9cff", "#56d364", "#9aa4ae", "#58a6ff", "#39c5cf",
			"#ff80c8", "#d4b83f", "#e6edf3" };

	private static final String[] DASHES = { "", "7 3", "2 3" };

	/** How many styles there are; more lines than that begin again. */
	static final int STYLES = LIGHT.length * DASHES.length;

	String svg() {
		StringBuilder svg = new StringBuilder();
		svg.append(String.format("""
				<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" width="%d" height="%d" role="img">
				<title>%s</title>
				<style>
				text { font: 13px system-ui, -apple-system, "Segoe UI", "DejaVu Sans", sans-serif; fill: #24292f; }
				.grid { stroke: #d0d7de; stroke-width: 1; }
				.line { fill: none; stroke-width: 2; stroke-linejoin: round; }
				""", WIDTH, HEIGHT, WIDTH, HEIGHT, escape(this.title)));
		svg.append(styles(LIGHT));
		svg.append("@media (prefers-color-scheme: dark) {\ntext { fill: #d4d7db; }\n.grid { stroke: #3d444d; }\n");
		svg.append(styles(DARK)).append("}\n</style>\n");
		drawAxes(svg);
		List<Series> fromTop = this.series.stream()
			.sorted(Comparator.comparingDouble(Series::lastY).reversed())
			.toList();
		for (int i = 0; i < fromTop.size(); i++) {
			draw(svg, fromTop.get(i));
			drawLegend(svg, fromTop.get(i), i);
		}
		return svg.append("</svg>\n").toString();
	}

	private String styles(String[] colours) {
		StringBuilder styles = new StringBuilder();
		for (int style : this.series.stream().mapToInt(Series::style).distinct().sorted().toArray()) {
			String colour = colours[style % colours.length];
			styles.append(String.format(".s%d { stroke: %s; } .m%d { fill: %s; }%n", style, colour, style, colour)
				.replace("\r", ""));
		}
		return styles.toString();
	}

	private void drawAxes(StringBuilder svg) {
		for (Axis.Tick tick : this.x.ticks()) {
			double position = x(tick.value());
			line(svg, position, TOP, position, HEIGHT - BOTTOM, "grid", "");
			text(svg, position, HEIGHT - BOTTOM + 20, "middle", tick.label());
		}
		for (Axis.Tick tick : this.y.ticks()) {
			double position = y(tick.value());
			line(svg, LEFT, position, WIDTH - RIGHT, position, "grid", "");
			text(svg, LEFT - 8, position + 4, "end", tick.label());
		}
		text(svg, (LEFT + WIDTH - RIGHT) / 2.0, HEIGHT - 12, "middle", this.x.label());
		int middle = (TOP + HEIGHT - BOTTOM) / 2;
		svg.append(String.format(
				"<text x=\"16\" y=\"%d\" text-anchor=\"middle\" transform=\"rotate(-90 16 %d)\">%s</text>\n", middle,
				middle, escape(this.y.label())));
	}

	private void draw(StringBuilder svg, Series line) {
		svg.append("<polyline class=\"line s")
			.append(line.style())
			.append('"')
			.append(dashes(line))
			.append(" points=\"");
		for (Series.Point point : line.points()) {
			svg.append(decimal(x(point.x()))).append(',').append(decimal(y(point.y()))).append(' ');
		}
		svg.setLength(svg.length() - 1);
		svg.append("\"/>\n");
		if (this.marked) {
			for (Series.Point point : line.points()) {
				svg.append(String.format("<circle class=\"m%d\" cx=\"%s\" cy=\"%s\" r=\"3.5\"/>\n", line.style(),
						decimal(x(point.x())), decimal(y(point.y()))));
			}
		}
	}

	private void drawLegend(StringBuilder svg, Series line, int index) {
		double position = TOP + 10 + index * LEGEND_LINE;
		int start = WIDTH - RIGHT + 14;
		line(svg, start, position, start + 28, position, "line s" + line.style(), dashes(line));
		text(svg, start + 36, position + 4, "start", line.name());
	}

	private static String dashes(Series line) {
		String dashes = DASHES[line.style() % DASHES.length];
		return dashes.isEmpty() ? "" : " stroke-dasharray=\"" + dashes + "\"";
	}

	private static void line(StringBuilder svg, double x1, double y1, double x2, double y2, String style,
			String attributes) {
		svg.append(String.format("<line class=\"%s\"%s x1=\"%s\" y1=\"%s\" x2=\"%s\" y2=\"%s\"/>\n", style, attributes,
				decimal(x1), decimal(y1), decimal(x2), decimal(y2)));
	}

	private static void text(StringBuilder svg, double x, double y, String anchor, String text) {
		svg.append(String.format("<text x=\"%s\" y=\"%s\" text-anchor=\"%s\">%s</text>\n", decimal(x), decimal(y),
				anchor, escape(text)));
	}

	private double x(double value) {
		return LEFT + this.x.position(value) * (WIDTH - RIGHT - LEFT);
	}

	private double y(double value) {
		return HEIGHT - BOTTOM - this.y.position(value) * (HEIGHT - BOTTOM - TOP);
	}

	private static String decimal(double value) {
		return String.format(Locale.ROOT, "%.1f", value);
	}

	private static String escape(String text) {
		return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;");
	}

}
