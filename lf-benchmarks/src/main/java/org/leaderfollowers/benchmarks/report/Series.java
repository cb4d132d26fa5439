package org.leaderfollowers.benchmarks.report;

import java.util.List;

/**
 * One line of a chart.
 *
 * @param name its name in the legend
 * @param style which of the styles it has: the same in all charts
 * @param points its points, from left to right
 */
record Series(String name, int style, List<Point> points) {

	/**
	 * A point.
	 *
	 * @param x its value on the horizontal axis
	 * @param y its value on the vertical axis
	 */
	record Point(double x, double y) {

	}

	double lastY() {
		return this.points.get(this.points.size() - 1).y();
	}

}
