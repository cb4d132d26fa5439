package org.leaderfollowers.benchmarks.report;

import java.util.ArrayList;
import java.util.Collection;
import java.util.Collections;
import java.util.List;
import java.util.Locale;
import java.util.function.DoubleUnaryOperator;

/**
 * One axis of a chart.
 *
 * @param label what it shows, with its unit
 * @param min the least value
 * @param max the greatest value
 * @param ticks where it is marked
 * @param scale values on this scale are drawn at equal distances
 */
record Axis(String label, double min, double max, List<Tick> ticks, DoubleUnaryOperator scale) {

	private static final int LINEAR_TICKS = 6;

	private static final double[] STEPS = { 1, 2, 5, 10 };

	/**
	 * A mark on an axis.
	 *
	 * @param value where
	 * @param label what is written beside it
	 */
	record Tick(double value, String label) {

	}

	/**
	 * Where a value is on the axis.
	 * @param value the value
	 * @return 0 for the least and 1 for the greatest
	 */
	double position(double value) {
		double start = this.scale.applyAsDouble(this.min);
		double end = this.scale.applyAsDouble(this.max);
		return (this.scale.applyAsDouble(value) - start) / (end - start);
	}

	/** From 0 to a round number that is not less than {@code max}. */
	static Axis linear(String label, double max) {
		double step = roundUp(((max > 0) ? max : 1) / LINEAR_TICKS);
		int digits = (int) Math.max(0, Math.ceil(-Math.log10(step)));
		List<Tick> ticks = new ArrayList<>(List.of(new Tick(0, "0")));
		while (ticks.size() == 1 || last(ticks) < max) {
			double value = ticks.size() * step;
			ticks.add(new Tick(value, String.format(Locale.ROOT, "%,." + digits + "f", value)));
		}
		return new Axis(label, 0, last(ticks), ticks, DoubleUnaryOperator.identity());
	}

	/** Logarithmic, marked at 1, 2 and 5 times the powers of ten around the values. */
	static Axis logarithmic(String label, Collection<Double> values) {
		double least = Math.max(Collections.min(values), 1);
		double greatest = Math.max(Collections.max(values), least);
		double start = Math.pow(10, Math.floor(Math.log10(least)));
		List<Tick> ticks = new ArrayList<>();
		for (double decade = start; ticks.size() < 2 || last(ticks) < greatest; decade *= 10) {
			for (int i = 0; i < STEPS.length - 1 && (ticks.size() < 2 || last(ticks) < greatest); i++) {
				double value = decade * STEPS[i];
				if (value * STEPS[i + 1] / STEPS[i] > least) {
					ticks.add(new Tick(value, number(value)));
				}
			}
		}
		return new Axis(label, ticks.get(0).value(), last(ticks), ticks, Math::log10);
	}

	private static double last(List<Tick> ticks) {
		return ticks.get(ticks.size() - 1).value();
	}

	/** Logarithmic, marked at the values themselves. */
	static Axis of(String label, Collection<Integer> values) {
		List<Tick> ticks = values.stream().map((value) -> new Tick(value, number(value))).toList();
		return new Axis(label, Collections.min(values), Collections.max(values), ticks, Math::log10);
	}

	/** As many nines as the greatest percentile has; each takes the same space. */
	static Axis percentiles(String label, double max) {
		List<Tick> ticks = new ArrayList<>(List.of(new Tick(0, "0"), new Tick(50, "50")));
		for (double percentile = 90; percentile <= max; percentile = 100 - (100 - percentile) / 10) {
			ticks.add(new Tick(percentile, String.format(Locale.ROOT, "%.5f", percentile).replaceAll("\\.?0+$", "")));
		}
		return new Axis(label, 0, max, ticks, (percentile) -> -Math.log10(1 - percentile / 100));
	}

	private static double roundUp(double value) {
		double decade = Math.pow(10, Math.floor(Math.log10(value)));
		for (double step : STEPS) {
			if (step * decade >= value) {
				return step * decade;
			}
		}
		return 10 * decade;
	}

	private static String number(double value) {
		return String.format(Locale.ROOT, "%,.0f", value);
	}

}
