package org.leaderfollowers.docs.monitoring;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.regex.Pattern;

import org.junit.jupiter.api.Test;
import org.leaderfollowers.docs.monitoring.Rules.Rule;

import static org.assertj.core.api.Assertions.assertThat;

/** Tests the rules with artificial series, and their links to the runbook. */
class RulesTests {

	private static final Path TESTS = Path.of("src/test/resources/monitoring/leader-followers-rules-tests.yaml");

	private static final Path CONFIGURATION = Path.of("src/docs/asciidoc/monitoring/prometheus.yaml");

	private static final Path RUNBOOK = Path.of("src/docs/asciidoc/runbook.adoc");

	private final Rules rules = Rules.read();

	@Test
	void areValid() throws IOException, InterruptedException {
		Programs.assumeInstalled("promtool");
		assertThat(Programs.run("promtool", "check", "rules", Rules.FILE.toString()))
			.contains(this.rules.all().count() + " rules found");
		Programs.run("promtool", "check", "config", CONFIGURATION.toString());
	}

	@Test
	void alertWhenTheyShouldAndNotOtherwise() throws IOException, InterruptedException {
		Programs.assumeInstalled("promtool");
		Programs.run("promtool", "test", "rules", TESTS.toString());
	}

	@Test
	void eachAlertIsTestedBothWays() throws IOException {
		String tests = Files.readString(TESTS);
		assertThat(this.rules.alerts()).hasSizeGreaterThan(10).allSatisfy((alert) -> {
			assertThat(Pattern.compile("alertname: " + alert.name() + "\\s+eval_time: \\w+\\s+exp_alerts: \\[]")
				.matcher(tests)
				.results()).isNotEmpty();
			assertThat(
					Pattern.compile("alertname: " + alert.name() + "\\s+eval_time: \\w+\\s+exp_alerts:\\s+- exp_labels")
						.matcher(tests)
						.results())
				.isNotEmpty();
		});
	}

	@Test
	void alertsTellWhatHasHappenedAndHowBadItIs() {
		assertThat(this.rules.alerts()).allSatisfy((alert) -> {
			assertThat(alert.name()).startsWith("Lf");
			assertThat(alert.labels()).containsOnlyKeys("severity");
			assertThat(alert.labels().get("severity")).isIn("critical", "warning");
			assertThat(alert.annotations()).containsOnlyKeys("summary", "description", "runbook_url");
			assertThat(alert.annotations().get("description")).containsPattern("\\$labels\\.(pool|server|job)");
		});
		assertThat(this.rules.all()).extracting(Rule::name).doesNotHaveDuplicates();
	}

	@Test
	void nothingIsDividedByZero() {
		assertThat(this.rules.all().filter((rule) -> rule.expression().contains("/"))).isNotEmpty()
			.allSatisfy((rule) -> assertThat(rule.expression()).containsPattern("/ \\(.* > 0\\)$"));
	}

	@Test
	void eachAlertHasItsSectionOfTheRunbookAndEachSectionItsAlert() throws IOException {
		List<String> sections = Pattern.compile("\\[#(runbook-[\\w-]+)]\n== (Lf\\w+)\n")
			.matcher(Files.readString(RUNBOOK))
			.results()
			.map((section) -> section.group(2) + " " + section.group(1))
			.toList();
		assertThat(this.rules.alerts())
			.extracting((alert) -> alert.name() + " "
					+ alert.annotations()
						.get("runbook_url")
						.replaceFirst("^https://guide\\.example\\.org/runbook\\.html#", ""))
			.containsExactlyInAnyOrderElementsOf(sections);
	}

}
