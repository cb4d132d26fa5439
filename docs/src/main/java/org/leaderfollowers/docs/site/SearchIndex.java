package org.leaderfollowers.docs.site;

import java.util.StringJoiner;
import java.util.stream.Collectors;
import java.util.stream.Stream;

import org.jsoup.nodes.Element;

/**
 * The sections and entries that readers can search for, as a script: a page that was
 * opened from a file may load scripts, but may not fetch data.
 */
final class SearchIndex {

	private final StringJoiner entries = new StringJoiner(",\n", "window.lfSearchIndex = [\n", "\n];\n");

	void add(Chapter chapter) {
		for (Element heading : chapter.content().select("h1[id], h2[id], h3[id], h4[id]")) {
			Element section = heading.parent().clone();
			section.select("> h1, > h2, > h3, > h4, .sect2, .sect3, .sect4, tr[id], pre:has(code[data-lang=mermaid])")
				.remove();
			boolean whole = heading.is("h1");
			add(chapter, whole ? "" : heading.id(), heading.text(), section.text());
		}
		for (Element row : chapter.content().select("tr[id]")) {
			String text = row.children().stream().skip(1).map(Element::text).collect(Collectors.joining(" · "));
			add(chapter, row.id(), row.firstElementChild().text(), text);
		}
		for (Element term : chapter.content().select("dt[id]")) {
			Element definition = term.nextElementSibling();
			add(chapter, term.id(), term.text(), (definition != null) ? definition.text() : "");
		}
	}

	private void add(Chapter chapter, String anchor, String title, String text) {
		this.entries.add(Stream.of(chapter.page(), anchor, chapter.title(), title, text)
			.map(SearchIndex::quote)
			.collect(Collectors.joining(",", "[", "]")));
	}

	private static String quote(String text) {
		StringBuilder quoted = new StringBuilder("\"");
		for (char character : text.toCharArray()) {
			switch (character) {
				case '"', '\\' -> quoted.append('\\').append(character);
				case '\n', '\r', '\t' -> quoted.append(' ');
				default -> quoted.append(character);
			}
		}
		return quoted.append('"').toString();
	}

	String script() {
		return this.entries.toString();
	}

}
