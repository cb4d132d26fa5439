package org.leaderfollowers.docs.monitoring;

import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;

/**
 * The dashboard for Grafana.
 *
 * @param json the content of the file
 */
record Dashboard(JsonNode json) {

	static final Path FILE = Path.of("src/docs/asciidoc/monitoring/leader-followers-dashboard.json");

	static Dashboard read() {
		return new Dashboard(JsonMapper.shared().readTree(FILE));
	}

	/** Returns all panels with queries, including those in folded rows. */
	List<JsonNode> panels() {
		return allPanels().stream().filter((panel) -> !isRow(panel)).toList();
	}

	List<JsonNode> allPanels() {
		List<JsonNode> panels = new ArrayList<>();
		for (JsonNode panel : this.json.path("panels")) {
			panels.add(panel);
			panel.path("panels").forEach(panels::add);
		}
		return panels;
	}

	static boolean isRow(JsonNode panel) {
		return panel.path("type").asString().equals("row");
	}

	/** Returns all queries, including those of the annotations. */
	List<Query> queries() {
		List<Query> queries = new ArrayList<>();
		for (JsonNode panel : panels()) {
			for (JsonNode target : panel.path("targets")) {
				queries.add(new Query(panel.path("title").asString(), target.path("refId").asString(),
						target.path("expr").asString()));
			}
		}
		for (JsonNode annotation : this.json.path("annotations").path("list")) {
			if (annotation.path("builtIn").asInt(0) == 0) {
				queries.add(new Query(annotation.path("name").asString(), "annotation",
						annotation.path("target").path("expr").asString()));
			}
		}
		return queries;
	}

	/** Returns the variables whose values come from Prometheus, with their queries. */
	Map<String, String> variables() {
		Map<String, String> variables = new LinkedHashMap<>();
		for (JsonNode variable : this.json.path("templating").path("list")) {
			if (variable.path("type").asString().equals("query")) {
				variables.put(variable.path("name").asString(), variable.path("query").path("query").asString());
			}
		}
		return variables;
	}

	/**
	 * A query of the dashboard.
	 *
	 * @param panel the title of its panel
	 * @param id the identifier of the query in its panel
	 * @param expression the query, with variables
	 */
	record Query(String panel, String id, String expression) {

		String name() {
			return this.panel + " " + this.id;
		}

	}

}
