package org.leaderfollowers.docs.monitoring;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;

import org.jspecify.annotations.Nullable;
import org.yaml.snakeyaml.Yaml;

/**
 * The rules for Prometheus.
 *
 * @param recordings the rules that record
 * @param alerts the rules that alert
 */
record Rules(List<Rule> recordings, List<Rule> alerts) {

	static final Path FILE = Path.of("src/docs/asciidoc/monitoring/leader-followers-rules.yaml");

	@SuppressWarnings("unchecked")
	static Rules read() {
		try {
			Map<String, List<Map<String, Object>>> file = new Yaml().load(Files.readString(FILE));
			List<Rule> rules = file.get("groups")
				.stream()
				.flatMap((group) -> ((List<Map<String, Object>>) group.get("rules")).stream())
				.map(Rule::of)
				.toList();
			return new Rules(rules.stream().filter((rule) -> !rule.alert()).toList(),
					rules.stream().filter(Rule::alert).toList());
		}
		catch (IOException ex) {
			throw new UncheckedIOException(ex);
		}
	}

	Stream<Rule> all() {
		return Stream.concat(this.recordings.stream(), this.alerts.stream());
	}

	/**
	 * A rule.
	 *
	 * @param alert whether it alerts
	 * @param name the name of the alert or of the recorded series
	 * @param expression the expression of the rule
	 * @param labels the labels that are added
	 * @param annotations the annotations of an alert
	 */
	record Rule(boolean alert, String name, String expression, Map<String, String> labels,
			Map<String, String> annotations) {

		@SuppressWarnings("unchecked")
		private static Rule of(Map<String, Object> rule) {
			String alert = (String) rule.get("alert");
			return new Rule(alert != null, (alert != null) ? alert : (String) rule.get("record"),
					(String) rule.get("expr"), strings((Map<String, String>) rule.get("labels")),
					strings((Map<String, String>) rule.get("annotations")));
		}

		private static Map<String, String> strings(@Nullable Map<String, String> map) {
			return (map != null) ? map : Map.of();
		}

	}

}
