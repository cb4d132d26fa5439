package org.leaderfollowers.benchmarks.report;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.leaderfollowers.benchmarks.results.Fixture;
import org.leaderfollowers.benchmarks.results.Metric;
import org.leaderfollowers.benchmarks.results.Run;
import org.leaderfollowers.benchmarks.results.Scenario;
import org.leaderfollowers.benchmarks.results.Servers;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * The page says what the figures say, whoever may not like it.
 */
class PageTests {

	private static final Scenario ECHO = Scenario.closed("none", 64);

	private static final Scenario MANY = Scenario.closed("none", 10_000);

	@Test
	void aGoalThatWasMissedIsCalledMissed() {
		String page = page(new Fixture().withAll(ECHO, Servers.ADAPTIVE, 3, 20).withAll(ECHO, Servers.NIO, 3, 10));
		assertThat(page).contains("""
				|echo, 64 connections, 64 B, closed loop
				|CPU µs/request ≤ 1.00 × nio
				|2.00 (2.00–2.00)
				|*missed*
				""").contains("Of 39 goals, 1 was met, 3 were missed, and 35 could not be checked");
	}

	@Test
	void aClaimThatIsContradictedIsSaidToBe() {
		String page = page(new Fixture().withAll(ECHO, Servers.TEXTBOOK, 3, 30)
			.withAll(ECHO, Servers.EAGER, 3, 5)
			.withAll(ECHO, Servers.HALF_SYNC, 3, 10));
		assertThat(page).contains("|futex calls/request < 1 × `hshr` (10.000)\n|3.00 (3.00–3.00): does not agree\n"
				+ "|0.50 (0.50–0.50): agrees\n|not measured\n");
		assertThat(page).contains("`textbook-lf` agrees with the paper in 0 of 7 measured ratios, and not in:");
		assertThat(page).contains("`lf-eager` agrees with the paper in 7 of 7 measured ratios.");
		assertThat(page).contains("* Less locking, since threads exchange no data");
	}

	@Test
	void aSecondLeaderThatHelpsIsABottleneck() {
		String page = page(
				new Fixture().withAll(ECHO, Servers.EAGER, 3, 10).withAll(ECHO, Servers.EAGER_TWO_SETS, 3, 15));
		assertThat(page).contains("reached 1.50 (1.50–1.50) times")
			.contains("a second leader helps, which does not agree");
		page = page(new Fixture().withAll(ECHO, Servers.EAGER, 3, 10).withAll(ECHO, Servers.EAGER_TWO_SETS, 3, 10));
		assertThat(page).contains("a second leader brings nothing, which agrees");
	}

	@Test
	void everyImageIsThereAndWellNamed() {
		Page page = new Page(new Run(Map.of(),
				new Fixture().withAll(ECHO, Servers.ADAPTIVE, 2, 20)
					.withAll(MANY, Servers.ADAPTIVE, 2, 10)
					.withAll(Scenario.open("none", 64, 20_000), Servers.NIO, 2, 10)
					.withAll(Scenario.idle(10_000), Servers.NIO, 1, 683)
					.results()));
		Matcher images = Pattern.compile("image::([^\\[]+)\\[").matcher(page.text());
		assertThat(images.results().map((image) -> image.group(1)))
			.containsExactlyInAnyOrderElementsOf(page.images().keySet())
			.contains("images/benchmarks/connections-none-requests-per-second.svg",
					"images/benchmarks/latency-none-64c-64b-1p-20000rps.svg");
		assertThat(page.images().values()).allSatisfy((svg) -> assertThat(svg).startsWith("<svg").endsWith("</svg>\n"));
	}

	@Test
	void everyRowOfATableHasAllItsCells() {
		String page = page(new Fixture().withAll(ECHO, Servers.ADAPTIVE, 2, 20)
			.with(ECHO, "another", Metric.P50_US, 3)
			.withAll(MANY, Servers.EAGER, 2, 10)
			.withAll(Scenario.idle(10_000), Servers.NIO, 1, 683));
		Matcher tables = Pattern
			.compile("\\[cols=\"([^\"]+)\",options=\"header\"\\]\n\\|===\n(.*?)\\|===\n", Pattern.DOTALL)
			.matcher(page);
		int count = 0;
		while (tables.find()) {
			int columns = tables.group(1).split(",").length;
			String[] rows = tables.group(2).split("\n\n");
			assertThat(rows[0].split("\\|")).as(rows[0]).hasSize(columns + 1);
			int spanned = 0;
			for (int i = 1; i < rows.length; i++) {
				Matcher span = Pattern.compile("^\\.(\\d+)\\+\\|").matcher(rows[i]);
				boolean begins = span.find();
				spanned = begins ? Integer.parseInt(span.group(1)) : spanned;
				long cells = rows[i].chars().filter((character) -> character == '|').count();
				assertThat(cells).as(rows[i]).isEqualTo((spanned > 0 && !begins) ? columns - 1 : columns);
				spanned = Math.max(0, spanned - 1);
			}
			count++;
		}
		assertThat(count).isGreaterThan(7);
	}

	@Test
	void whatIsMissingIsSaid() {
		String page = new Page(new Run(Map.of(Run.LEFT_OUT, "virtual (needs JDK 21)", "JDK", "17"),
				new Fixture().withAll(ECHO, Servers.ADAPTIVE, 2, 20)
					.withErrors(ECHO, Servers.GRIZZLY, 0, 17)
					.withErrors(ECHO, Servers.GRIZZLY, 1, 1)
					.results()))
			.text();
		assertThat(page).contains("virtual (needs JDK 21)")
			.contains(
					"* `grizzly`: echo, 64 connections, 64 B, closed loop (2 of its measurements: 17 errors; 1 error)")
			.contains("|JDK\n|`+17+`\n");
		assertThat(page(new Fixture().withAll(ECHO, Servers.ADAPTIVE, 2, 20))).doesNotContain("What is missing");
	}

	@Test
	void aMachineThatWasNotQuietIsToldAbout() {
		assertThat(page(new Fixture().withAll(ECHO, Servers.ADAPTIVE, 2, 20))).doesNotContain("[WARNING]");
		assertThat(page(new Fixture().withAll(ECHO, Servers.ADAPTIVE, 2, 20)
			.with(ECHO, Servers.NIO, Metric.OTHERS_PERCENT, 3, 40, 60))).contains("[WARNING]")
			.contains("more than 5% of it in 2 of 5 measurements, and up to 60%");
	}

	@Test
	void whoCouldNotKeepUpIsNamed() {
		assertThat(page(new Fixture().with(Scenario.open("none", 64, 60_000), Servers.HALF_SYNC, Metric.UNSENT, 4, 7, 0)
			.with(Scenario.open("none", 64, 60_000), Servers.NIO, Metric.UNSENT, 0, 0, 9)))
			.contains("Could not keep up with the rate: `hshr`.\n");
	}

	@Test
	void thePageIsWrittenWithItsImages(@TempDir Path directory) throws IOException {
		Report.write(new Run(Map.of(), new Fixture().withAll(ECHO, Servers.ADAPTIVE, 2, 20).results()), directory);
		assertThat(directory.resolve("benchmarks.adoc")).content().startsWith("[#benchmarks]\n= Benchmarks\n");
		try (var images = Files.list(directory.resolve("images/benchmarks"))) {
			assertThat(images).hasSize(1);
		}
	}

	private static String page(Fixture fixture) {
		return new Page(new Run(Map.of(), fixture.results())).text();
	}

}
