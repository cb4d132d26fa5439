package org.leaderfollowers.docs;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Set;
import java.util.TreeSet;
import java.util.regex.MatchResult;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;

import org.junit.jupiter.api.Test;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * A promise is tested by classes that exist.
 */
class PromiseChapterTests {

	private static final Path CHAPTER = Path.of("src/docs/asciidoc/promises.adoc");

	private static final Path ROOT = Path.of("..");

	private static final Pattern TEST = Pattern.compile("`(\\w+Tests)`");

	@Test
	void eachTestThatIsNamedExists() throws IOException {
		Set<String> named = TEST.matcher(Files.readString(CHAPTER))
			.results()
			.map((test) -> test.group(1))
			.collect(Collectors.toCollection(TreeSet::new));
		assertThat(named).hasSizeGreaterThan(60);
		assertThat(tests()).containsAll(named);
	}

	@Test
	void eachPromiseNamesATest() throws IOException {
		Pattern row = Pattern.compile("\n\\|([^|\n]+)\n\\|([^|\n]*)\n\\|([^|\n]*)\n");
		String chapter = Files.readString(CHAPTER);
		String promises = chapter.substring(0, chapter.indexOf("[#promises-soak]"));
		assertThat(row.matcher(promises).results().toList()).hasSizeGreaterThan(20)
			.extracting((MatchResult promise) -> promise.group(2))
			.allSatisfy((tests) -> assertThat(tests).containsPattern(TEST));
	}

	private static Set<String> tests() throws IOException {
		try (Stream<Path> modules = Files.list(ROOT)) {
			Set<String> tests = new TreeSet<>();
			for (Path module : modules.map((path) -> path.resolve("src/test")).filter(Files::isDirectory).toList()) {
				try (Stream<Path> files = Files.walk(module)) {
					files.map((file) -> file.getFileName().toString())
						.filter((name) -> name.matches("\\w+Tests\\.(java|kt)"))
						.forEach((name) -> tests.add(name.substring(0, name.lastIndexOf('.'))));
				}
			}
			return tests;
		}
	}

}
