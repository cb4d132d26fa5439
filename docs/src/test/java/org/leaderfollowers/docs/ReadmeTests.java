package org.leaderfollowers.docs;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.regex.MatchResult;
import java.util.regex.Pattern;

import org.junit.jupiter.api.Test;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * The README says what the guide says, and its links lead somewhere.
 */
class ReadmeTests {

	private static final Path ROOT = Path.of("..");

	private static final Path BENCHMARKS = Path.of("src/docs/asciidoc/benchmarks.adoc");

	/** In bytes. */
	private static final long LARGEST_PICTURE = 150_000;

	@Test
	void itsFiguresAndTheirCommandAreThoseOfTheBenchmarks() throws IOException {
		String benchmarks = Files.readString(BENCHMARKS);
		int begin = benchmarks.indexOf("[#benchmarks-block5pct2ms-64c-64b-1p-closed]");
		String load = benchmarks.substring(begin, benchmarks.indexOf("\n[#", begin));
		List<MatchResult> figures = find("\\| `([^`]+)`: [^|]+ \\| ([\\d,]+ \\([\\d,]+–[\\d,]+\\)) \\|");
		assertThat(figures).hasSize(4)
			.allSatisfy((row) -> assertThat(load).contains("|`" + row.group(1) + "`\n|" + row.group(2) + "\n"));
		assertThat(find("\n    (java -jar lf-benchmarks\\.jar .*)\n")).singleElement()
			.satisfies((command) -> assertThat(benchmarks).contains("|`+" + command.group(1) + "+`"));
		assertThat(find("missed (\\d+) of the (\\d+) goals")).singleElement()
			.satisfies((goals) -> assertThat(benchmarks).containsPattern(
					"Of %s goals, \\d+ were met, %s were missed".formatted(goals.group(2), goals.group(1))));
	}

	@Test
	void itsLinksLeadSomewhereAndItsPicturesAreSmall() throws IOException {
		List<Path> files = find("\\]\\((?!https?:)([^)#]+)\\)").stream()
			.map((link) -> ROOT.resolve(link.group(1)))
			.toList();
		assertThat(files).isNotEmpty().allSatisfy((file) -> assertThat(file).exists());
		assertThat(files).filteredOn((file) -> file.toString().endsWith(".png"))
			.isNotEmpty()
			.allSatisfy((picture) -> assertThat(Files.size(picture)).isLessThan(LARGEST_PICTURE));
	}

	@Test
	void itsBadgeIsThatOfAWorkflow() throws IOException {
		assertThat(find("/actions/workflows/([^/]+)/badge\\.svg")).singleElement()
			.satisfies((workflow) -> assertThat(ROOT.resolve(".github/workflows").resolve(workflow.group(1))).exists());
	}

	private static List<MatchResult> find(String regex) throws IOException {
		return Pattern.compile(regex).matcher(Files.readString(ROOT.resolve("README.md"))).results().toList();
	}

}
