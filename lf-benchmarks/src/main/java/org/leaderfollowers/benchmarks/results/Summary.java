package org.leaderfollowers.benchmarks.results;

import java.util.Collection;
import java.util.List;
import java.util.Locale;
import java.util.Optional;

/**
 * The middle and the ends of some values. With a handful of rounds, more would be
 * pretence.
 *
 * @param median the median
 * @param min the smallest
 * @param max the largest
 * @param count how many values there are
 */
public record Summary(double median, double min, double max, int count) {

	/**
	 * Sum values up.
	 * @param values the values
	 * @return the summary, or nothing if there are no values
	 */
	public static Optional<Summary> of(Collection<Double> values) {
		if (values.isEmpty()) {
			return Optional.empty();
		}
		List<Double> sorted = values.stream().sorted().toList();
		int count = sorted.size();
		double median = (sorted.get((count - 1) / 2) + sorted.get(count / 2)) / 2;
		return Optional.of(new Summary(median, sorted.get(0), sorted.get(count - 1), count));
	}

	/**
	 * Whether a value lies between the ends, so that not all rounds are on the same side
	 * of it.
	 * @param value the value
	 * @return whether it does
	 */
	public boolean spans(double value) {
		return this.min < value && value < this.max;
	}

	/**
	 * The median.
	 * @param digits the digits after the point
	 * @return text such as {@code 1.05}
	 */
	public String medianText(int digits) {
		return number(this.median, digits);
	}

	/**
	 * The median and the ends.
	 * @param digits the digits after the point
	 * @return text such as {@code 1.05 (1.02–1.09)}
	 */
	public String text(int digits) {
		if (this.count == 1) {
			return medianText(digits);
		}
		return medianText(digits) + " (" + number(this.min, digits) + "–" + number(this.max, digits) + ")";
	}

	private static String number(double value, int digits) {
		return String.format(Locale.ROOT, "%,." + digits + "f", value);
	}

}
