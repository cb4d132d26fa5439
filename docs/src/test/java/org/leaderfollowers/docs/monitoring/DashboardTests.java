package org.leaderfollowers.docs.monitoring;

import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.regex.Pattern;
import java.util.stream.Stream;

import org.junit.jupiter.api.Test;
import tools.jackson.databind.JsonNode;

import static org.assertj.core.api.Assertions.assertThat;

/** Tests that Grafana can import the dashboard, and that people can read it. */
class DashboardTests {

	private static final int COLUMNS = 24;

	private final Dashboard dashboard = Dashboard.read();

	@Test
	void canBeImported() {
		JsonNode json = this.dashboard.json();
		assertThat(json.path("id").isNull()).isTrue();
		assertThat(json.path("uid").asString()).matches("[\\w-]{8,40}");
		assertThat(json.path("title").asString()).isNotBlank();
		assertThat(json.path("schemaVersion").asInt()).isGreaterThanOrEqualTo(42);
	}

	@Test
	void dataSourceIsForTheUserToChoose() {
		List<JsonNode> sources = new ArrayList<>();
		this.dashboard.json().findValues("datasource").forEach(sources::add);
		assertThat(sources).hasSizeGreaterThan(50)
			.extracting((source) -> source.path("uid").asString())
			.containsOnly("${datasource}", "-- Grafana --");
		JsonNode variable = this.dashboard.json().path("templating").path("list").path(0);
		assertThat(variable.path("name").asString()).isEqualTo("datasource");
		assertThat(variable.path("type").asString()).isEqualTo("datasource");
		assertThat(variable.path("query").asString()).isEqualTo("prometheus");
	}

	@Test
	void variablesCanBeCombined() {
		assertThat(this.dashboard.variables().keySet()).containsExactly("job", "instance", "pool", "server");
		for (JsonNode variable : this.dashboard.json().path("templating").path("list")) {
			if (variable.path("type").asString().equals("query")) {
				assertThat(variable.path("multi").asBoolean()).isTrue();
				assertThat(variable.path("includeAll").asBoolean()).isTrue();
				assertThat(variable.path("allValue").asString()).isEqualTo(".*");
				assertThat(variable.path("definition")).isEqualTo(variable.path("query").path("query"));
			}
		}
	}

	@Test
	void panelsHaveDifferentIds() {
		assertThat(this.dashboard.allPanels()).extracting((panel) -> panel.path("id").asInt())
			.doesNotContain(0)
			.doesNotHaveDuplicates();
		assertThat(this.dashboard.allPanels()).extracting((panel) -> panel.path("title").asString())
			.doesNotHaveDuplicates();
	}

	@Test
	void panelsDoNotOverlap() {
		List<JsonNode> top = new ArrayList<>();
		this.dashboard.json().path("panels").forEach(top::add);
		assertNoOverlap(top);
		// A row that is unfolded moves the panels below it.
		top.forEach((row) -> assertNoOverlap(Stream.concat(Stream.of(row), row.path("panels").valueStream()).toList()));
	}

	private static void assertNoOverlap(List<JsonNode> panels) {
		for (JsonNode panel : panels) {
			Area area = Area.of(panel);
			assertThat(area.x()).isNotNegative();
			assertThat(area.x() + area.width()).isLessThanOrEqualTo(COLUMNS);
			assertThat(panels).filteredOn((other) -> other != panel)
				.as(panel.path("title").asString())
				.noneMatch((other) -> area.overlaps(Area.of(other)));
		}
	}

	@Test
	void rowsFollowEachOther() {
		List<Integer> rows = new ArrayList<>();
		this.dashboard.json().path("panels").forEach((panel) -> rows.add(Area.of(panel).y()));
		assertThat(rows).isSorted();
		assertThat(this.dashboard.json().path("panels").path(0).path("type").asString()).isEqualTo("row");
	}

	@Test
	void panelsExplainThemselves() {
		assertThat(this.dashboard.panels()).hasSizeGreaterThan(25).allSatisfy((panel) -> {
			assertThat(panel.path("title").asString()).isNotBlank();
			assertThat(panel.path("description").asString()).as(panel.path("title").asString())
				.hasSizeGreaterThan(20)
				.endsWith(panel.path("title").asString().contains("quantiles") ? "=true" : ".");
			assertThat(panel.path("fieldConfig").path("defaults").path("unit").asString())
				.isIn(Set.of("none", "reqps", "ops", "cps", "s", "percentunit", "bytes", "Bps"));
		});
	}

	@Test
	void seriesAreNamed() {
		assertThat(this.dashboard.panels()).allSatisfy((panel) -> {
			assertThat(panel.path("targets").size()).isPositive();
			List<String> ids = new ArrayList<>();
			panel.path("targets").forEach((target) -> {
				assertThat(target.path("legendFormat").asString()).isNotBlank();
				assertThat(target.path("expr").asString()).isNotBlank();
				ids.add(target.path("refId").asString());
			});
			assertThat(ids).doesNotHaveDuplicates();
		});
	}

	/** The labels in the name of a series must be in the result of its query. */
	@Test
	void legendsNameLabelsThatAreThere() {
		for (JsonNode panel : this.dashboard.panels()) {
			panel.path("targets").forEach((target) -> {
				PromQl query = PromQl.of(target.path("expr").asString());
				Pattern.compile("\\{\\{(\\w+)}}")
					.matcher(target.path("legendFormat").asString())
					.results()
					.map((result) -> result.group(1))
					.forEach((label) -> assertThat(
							query.groupingLabels().contains(label) || query.selectors().get(0).labels().contains(label))
						.as("%s of %s", label, panel.path("title").asString())
						.isTrue());
			});
		}
	}

	@Test
	void everyQueryFollowsTheVariables() {
		assertThat(this.dashboard.queries()).hasSizeGreaterThan(40).allSatisfy((query) -> {
			List<PromQl.Selector> selectors = PromQl.of(query.expression()).selectors();
			assertThat(selectors).isNotEmpty()
				.allSatisfy((selector) -> assertThat(selector.text()).contains("job=~\"$job\"")
					.contains("instance=~\"$instance\""));
		});
	}

	@Test
	void ratesFitTheIntervalOfTheScrapes() {
		assertThat(this.dashboard.queries())
			.filteredOn((query) -> query.expression().matches(".*\\b(rate|increase)\\(.*"))
			.isNotEmpty()
			.allSatisfy((query) -> assertThat(query.expression()).contains("[$__rate_interval]")
				.doesNotContainPattern("\\[\\d"));
	}

	@Test
	void nothingIsDividedByZero() {
		assertThat(this.dashboard.queries()).filteredOn((query) -> query.expression().contains(" / "))
			.isNotEmpty()
			.allSatisfy((query) -> assertThat(query.expression()).containsPattern(" / \\(.* > 0\\)"));
	}

	/**
	 * The area of a panel.
	 *
	 * @param x the first column
	 * @param y the first line
	 * @param width the number of columns
	 * @param height the number of lines
	 */
	private record Area(int x, int y, int width, int height) {

		static Area of(JsonNode panel) {
			JsonNode position = panel.path("gridPos");
			return new Area(position.path("x").asInt(), position.path("y").asInt(), position.path("w").asInt(),
					position.path("h").asInt());
		}

		boolean overlaps(Area other) {
			return this.x < other.x + other.width && other.x < this.x + this.width && this.y < other.y + other.height
					&& other.y < this.y + this.height;
		}

	}

}
