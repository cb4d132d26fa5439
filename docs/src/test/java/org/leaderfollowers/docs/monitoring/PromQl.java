package org.leaderfollowers.docs.monitoring;

import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * The metrics and labels in an expression in the query language of Prometheus. This is
 * not a parser: it only recognizes names of metrics and labels by their form and
 * position.
 */
record PromQl(List<Selector> selectors, Set<String> groupingLabels) {

	private static final Pattern GROUPING = Pattern
		.compile("\\b(?:by|without|on|ignoring|group_left|group_right)\\s*\\(([^)]*)\\)");

	private static final Pattern NAME = Pattern
		.compile("(?<![\\w:\"$.])([a-zA-Z_:][\\w:]*+)\\s*+(\\{[^}]*\\})?+(?!\\s*\\()");

	private static final Pattern LABEL = Pattern.compile("(\\w+)\\s*(?:=~|!~|!=|=)\\s*\"((?:[^\"\\\\]|\\\\.)*)\"");

	private static final Set<String> OPERATORS = Set.of("and", "or", "unless", "bool", "offset");

	static PromQl of(String expression) {
		Set<String> labels = new TreeSet<>();
		Matcher grouping = GROUPING.matcher(expression);
		while (grouping.find()) {
			for (String label : grouping.group(1).split(",")) {
				if (!label.isBlank()) {
					labels.add(label.strip());
				}
			}
		}
		// What is left in quotes is the value of a label: braces keep it.
		String rest = grouping.replaceAll(" ").replaceAll("\\[[^]]*]", "");
		List<Selector> selectors = new ArrayList<>();
		Matcher name = NAME.matcher(rest);
		while (name.find()) {
			if (!OPERATORS.contains(name.group(1))) {
				selectors.add(Selector.of(name.group(1), (name.group(2) != null) ? name.group(2) : ""));
			}
		}
		return new PromQl(selectors, labels);
	}

	/**
	 * The series that are selected.
	 *
	 * @param text the selector as in the expression
	 * @param metric the name of the metric
	 * @param labels the labels that are compared
	 */
	record Selector(String text, String metric, Set<String> labels) {

		static Selector of(String metric, String matchers) {
			Set<String> labels = new TreeSet<>();
			Matcher label = LABEL.matcher(matchers);
			while (label.find()) {
				labels.add(label.group(1));
			}
			return new Selector(metric + matchers, metric, labels);
		}

	}

}
