package org.leaderfollowers.docs.site;

import org.jsoup.Jsoup;
import org.jsoup.nodes.Element;
import org.junit.jupiter.api.Test;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Tests for {@link Tabs}.
 */
class TabsTests {

	@Test
	void aListingAndTheOnesAfterItAreAlternatives() {
		Element content = content(listing("primary", "java", "void a()") + listing("secondary", "kotlin", "fun a()")
				+ "<p>Between</p>" + listing("secondary", "kotlin", "fun b()"));
		assertThat(content.select(".tabs")).hasSize(1);
		assertThat(content.select(".tabs > .listingblock > .language").eachText()).containsExactly("Java", "Kotlin");
		assertThat(content.select(".tabs code").eachText()).containsExactly("void a()", "fun a()");
	}

	@Test
	void configurationHasBothFormatsAndYamlFirst() {
		Element content = content(
				listing("", "yaml", "lf:\n  enabled: true\n") + listing("", "properties", "lf.server.port=7071"));
		assertThat(content.select(".tabs > .listingblock > .language").eachText()).containsExactly("YAML", "Properties",
				"YAML", "Properties");
		assertThat(content.select(".tabs code").stream().map(Element::wholeText)).containsExactly(
				"lf:\n  enabled: true\n", "lf.enabled=true", "lf:\n  server:\n    port: 7071", "lf.server.port=7071");
	}

	@Test
	void namesAndValuesAreHighlightedAndEscaped() {
		Element content = content(listing("", "yaml", "# Both\nlf:\n  name: a&lt;b\n"));
		assertThat(content.select("code[data-lang=properties]").html()).isEqualTo(
				"<span class=\"c\"># Both</span>\n<span class=\"na\">lf.name=</span><span class=\"s\">a&lt;b</span>");
	}

	@Test
	void otherListingsHaveNoTabs() {
		Element content = content(
				listing("", "yaml", "- alert: Slow") + listing("", "java", "int a;") + listing("", "console", "$ ls"));
		assertThat(content.select(".tabs, .language")).isEmpty();
	}

	private static Element content(String html) {
		Element content = Jsoup.parse("<div id=\"content\">" + html + "</div>").expectFirst("#content");
		Tabs.add(content);
		return content;
	}

	private static String listing(String role, String language, String code) {
		return "<div class=\"listingblock " + role + "\"><div class=\"content\"><pre><code data-lang=\"" + language
				+ "\">" + code + "</code></pre></div></div>";
	}

}
