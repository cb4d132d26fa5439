package org.leaderfollowers.docs.site;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.regex.Pattern;
import java.util.stream.Stream;

import org.jsoup.Jsoup;
import org.jsoup.nodes.Document;
import org.jsoup.nodes.Element;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import tools.jackson.databind.json.JsonMapper;

import org.springframework.boot.env.PropertiesPropertySourceLoader;
import org.springframework.boot.env.PropertySourceLoader;
import org.springframework.boot.env.YamlPropertySourceLoader;
import org.springframework.core.env.EnumerablePropertySource;
import org.springframework.core.env.PropertySource;
import org.springframework.core.io.ByteArrayResource;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Tests for the site of the whole guide. They run after the build has created the site.
 */
class SiteTests {

	static final Path SITE = Path.of("target/docs");

	private static final Path CHAPTERS = Path.of("src/docs/asciidoc");

	private static final Path JAVADOC = Path.of("../lf-core/target/reports/apidocs");

	private final Map<String, Document> pages = new TreeMap<>();

	private final Map<Path, Set<String>> anchors = new HashMap<>();

	@BeforeEach
	void readPages() throws IOException {
		for (String page : pages()) {
			this.pages.put(page, Jsoup.parse(SITE.resolve(page)));
		}
	}

	static List<String> pages() throws IOException {
		try (Stream<Path> files = Files.list(SITE)) {
			return files.map((file) -> file.getFileName().toString())
				.filter((name) -> name.endsWith(".html"))
				.sorted()
				.toList();
		}
	}

	@Test
	void everyLinkLeadsSomewhere() {
		List<String> broken = new ArrayList<>();
		List<String> checked = new ArrayList<>();
		this.pages.forEach((name, page) -> {
			for (Element element : page.select("[href], [src]")) {
				String address = element.hasAttr("href") ? element.attr("href") : element.attr("src");
				if (!address.matches("https?://.*")) {
					checked.add(address);
					if (!exists(name, address)) {
						broken.add(name + " -> " + address);
					}
				}
			}
		});
		assertThat(broken).isEmpty();
		assertThat(checked).contains("runbook.html#runbook-pool-starved", "monitoring/prometheus.yaml",
				"images/taxi-stand.png", "site/site.js", "mermaid/mermaid.min.js");
		if (Files.isDirectory(JAVADOC)) {
			assertThat(checked).contains("api/core/index.html",
					"api/spring/org/leaderfollowers/spring/annotation/LfHandler.html");
		}
	}

	private boolean exists(String page, String address) {
		URI uri = URI.create(page).resolve(address.startsWith("#") ? page + address : address);
		Path file = SITE.resolve(uri.getPath());
		return Files.isRegularFile(file) && (uri.getFragment() == null || anchorsOf(file).contains(uri.getFragment()));
	}

	private Set<String> anchorsOf(Path file) {
		return this.anchors.computeIfAbsent(file, (key) -> {
			try {
				return Set.copyOf(Jsoup.parse(file).select("[id]").eachAttr("id"));
			}
			catch (IOException ex) {
				throw new UncheckedIOException(ex);
			}
		});
	}

	@Test
	void eachChapterIsInTheNavigationOfEachPage() throws IOException {
		List<String> chapters;
		try (Stream<Path> files = Files.list(CHAPTERS)) {
			chapters = files.map((file) -> file.getFileName().toString())
				.filter((name) -> name.endsWith(".adoc") && !name.equals("index.adoc"))
				.map((name) -> name.replace(".adoc", ".html"))
				.toList();
		}
		assertThat(this.pages.keySet())
			.containsExactlyInAnyOrderElementsOf(Stream.concat(chapters.stream(), Stream.of("index.html")).toList());
		this.pages.forEach((name, page) -> {
			assertThat(page.select("#chapters a:not([href^=api/])").eachAttr("href"))
				.containsExactlyInAnyOrderElementsOf(chapters);
			assertThat(page.select("#chapters [aria-current=page]").eachAttr("href"))
				.isEqualTo(name.equals("index.html") ? List.of() : List.of(name));
		});
	}

	@Test
	void previousAndNextLeadThroughAllChaptersInOrder() {
		List<String> order = this.pages.get("index.html").select("#chapters a:not([href^=api/])").eachAttr("href");
		assertThat(order).startsWith("when-to-use.html", "getting-started.html").endsWith("reference.html");
		List<String> forth = new ArrayList<>();
		for (String name = "index.html"; !name.isEmpty();) {
			Element next = this.pages.get(name).selectFirst(".pager a[rel=next]");
			name = (next != null) ? next.attr("href") : "";
			if (!name.isEmpty()) {
				Element previous = this.pages.get(name).selectFirst(".pager a[rel=prev]");
				assertThat((previous != null) ? previous.attr("href") : "")
					.isEqualTo(forth.isEmpty() ? "" : forth.get(forth.size() - 1));
				forth.add(name);
			}
		}
		assertThat(forth).isEqualTo(order);
	}

	@Test
	void theIndexFindsWhatReadersLookFor() throws IOException {
		List<Entry> index = index();
		assertThat(index.stream().map(Entry::page).distinct()).containsExactlyInAnyOrderElementsOf(
				this.pages.keySet().stream().filter((name) -> !name.equals("index.html")).toList());
		assertThat(index).allSatisfy((entry) -> assertThat(exists("index.html", entry.address())).isTrue());
		assertThat(addresses(index, "max-connections", ""))
			.contains("reference.html#reference-properties.max-connections");
		assertThat(addresses(index, "LfPoolStarved", "")).contains("runbook.html#runbook-pool-starved");
		assertThat(addresses(index, "Getting started", "")).contains("getting-started.html");
		assertThat(addresses(index, "", "SlowConsumerException")).contains("how-to.html#how-to-slow-peers");
		assertThat(addresses(index, "", "trusted-networks"))
			.contains("load-balancers.html#load-balancers-proxy-protocol");
	}

	private static List<String> addresses(List<Entry> index, String title, String word) {
		return index.stream()
			.filter((entry) -> entry.title().contains(title) && entry.text().contains(word))
			.map(Entry::address)
			.toList();
	}

	private static List<Entry> index() throws IOException {
		String script = Files.readString(SITE.resolve("site/search-index.js"));
		String json = script.substring(script.indexOf('['), script.lastIndexOf(']') + 1);
		return Stream.of(new JsonMapper().readValue(json, String[][].class))
			.map((entry) -> new Entry(entry[0], entry[1], entry[2], entry[3], entry[4]))
			.toList();
	}

	@Test
	void bothFormatsOfAConfigurationSayTheSame() throws IOException {
		int compared = 0;
		for (Document page : this.pages.values()) {
			for (Element tabs : page.select(".tabs:has(code[data-lang=yaml])")) {
				Map<String, Object> yaml = load(new YamlPropertySourceLoader(), tabs, "yaml");
				assertThat(yaml).isNotEmpty().isEqualTo(load(new PropertiesPropertySourceLoader(), tabs, "properties"));
				compared++;
			}
		}
		assertThat(compared).isGreaterThan(15);
	}

	private static Map<String, Object> load(PropertySourceLoader loader, Element tabs, String language)
			throws IOException {
		byte[] text = tabs.expectFirst("code[data-lang=" + language + "]").wholeText().getBytes(StandardCharsets.UTF_8);
		Map<String, Object> properties = new TreeMap<>();
		for (PropertySource<?> source : loader.load("test", new ByteArrayResource(text))) {
			for (String name : ((EnumerablePropertySource<?>) source).getPropertyNames()) {
				properties.put(name, String.valueOf(source.getProperty(name)));
			}
		}
		return properties;
	}

	@Test
	void nothingIsInlineAndNothingComesFromOtherHosts() {
		Pattern eventHandler = Pattern.compile("on\\w+");
		this.pages.forEach((name, page) -> {
			assertThat(page.select("script:not([src]), style, [style]")).as(name).isEmpty();
			assertThat(page.select("script[src^=http], link[href^=http], img[src^=http], iframe")).as(name).isEmpty();
			assertThat(page.getAllElements().stream().flatMap((element) -> element.attributes().asList().stream()))
				.as(name)
				.noneMatch((attribute) -> eventHandler.matcher(attribute.getKey()).matches());
		});
	}

	@Test
	void pagesHaveLandmarksTitlesAndNames() {
		assertThat(this.pages.values().stream().map(Document::title)).doesNotHaveDuplicates().doesNotContain("");
		this.pages.forEach((name, page) -> {
			assertThat(page.select("html[lang=en]")).as(name).hasSize(1);
			assertThat(page.select("main, body > header, #chapters[aria-label]")).as(name).hasSize(3);
			assertThat(page.select("body > a:first-child").attr("href")).as(name).isEqualTo("#content");
			assertThat(page.select("h1")).as(name).hasSize(1);
			assertThat(page.select("img:not([alt])")).as(name).isEmpty();
			assertThat(page.select("[id]").eachAttr("id")).as(name).doesNotHaveDuplicates();
			assertThat(page.select("a").stream().filter((link) -> link.text().isBlank())).as(name).isEmpty();
			int level = 1;
			for (Element heading : page.select("article :is(h1, h2, h3, h4, h5)")) {
				int next = heading.normalName().charAt(1) - '0';
				assertThat(next).as(name + ": " + heading.text()).isLessThanOrEqualTo(level + 1);
				level = next;
			}
		});
	}

	@Test
	void isReproducible(@TempDir Path again) throws IOException {
		Site.main("target/book", "src/docs", again.toString(), "core", "Engine", JAVADOC.toString(), "spring",
				"Spring Boot", "../lf-spring-boot-autoconfigure/target/reports/apidocs", "test", "Tests",
				"../lf-spring-boot-starter-test/target/reports/apidocs");
		assertThat(hashes(again)).isEqualTo(hashes(SITE));
		assertThat(this.pages.get("getting-started.html").text()).doesNotContain("Last updated");
	}

	private static Map<String, Integer> hashes(Path site) throws IOException {
		Map<String, Integer> hashes = new TreeMap<>();
		try (Stream<Path> files = Files.walk(site)) {
			for (Path file : files.filter(Files::isRegularFile).toList()) {
				hashes.put(site.relativize(file).toString(), Arrays.hashCode(Files.readAllBytes(file)));
			}
		}
		return hashes;
	}

	private record Entry(String page, String anchor, String chapter, String title, String text) {

		String address() {
			return this.anchor.isEmpty() ? this.page : this.page + "#" + this.anchor;
		}

	}

}
