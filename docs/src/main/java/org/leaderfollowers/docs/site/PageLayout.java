package org.leaderfollowers.docs.site;

import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

import org.jsoup.nodes.Document;
import org.jsoup.nodes.Element;

/**
 * The parts of a page around its text: title, chapters, sections, previous and next page.
 */
final class PageLayout {

	private final Document template;

	private final Book book;

	private final Map<String, String> javadoc;

	/**
	 * Creates a layout.
	 * @param template the page without its text
	 * @param book the guide
	 * @param javadoc titles and addresses of the Javadoc
	 */
	PageLayout(Document template, Book book, Map<String, String> javadoc) {
		this.template = template;
		this.book = book;
		this.javadoc = javadoc;
	}

	Document cover() {
		Document page = page(this.book.title(), this.book.introduction().child(0).text(), "index.html");
		page.expectFirst(".columns").addClass("cover");
		Element article = page.expectFirst("article");
		article.appendElement("h1").text(this.book.title());
		article.appendChildren(this.book.introduction().children());
		Element start = article.appendElement("p").addClass("start");
		this.book.chapters()
			.stream()
			.limit(2)
			.forEach((chapter) -> start.prependElement("a").attr("href", chapter.page()).text(chapter.title()));
		Element contents = article.appendElement("div").addClass("contents");
		groups().forEach((title, links) -> {
			Element section = contents.appendElement("section");
			section.appendElement("h2").text(title);
			appendLinks(section, links);
		});
		page.expectFirst("#sections").remove();
		appendNeighbour(page, "next", "Next", this.book.chapters().get(0));
		return page;
	}

	Document chapter(Chapter chapter) {
		Document page = page(chapter.title() + " :: " + this.book.title(), chapter.description(), chapter.page());
		Element article = page.expectFirst("article");
		article.appendElement("p").addClass("part").text(chapter.part());
		article.appendChild(chapter.content());
		appendSections(page.expectFirst("#sections"), chapter);
		List<Chapter> chapters = this.book.chapters();
		int index = chapters.indexOf(chapter);
		if (index > 0) {
			appendNeighbour(page, "prev", "Previous", chapters.get(index - 1));
		}
		if (index < chapters.size() - 1) {
			appendNeighbour(page, "next", "Next", chapters.get(index + 1));
		}
		if (chapter.content().selectFirst("code[data-lang=mermaid]") != null) {
			page.head().appendElement("script").attr("src", "mermaid/mermaid.min.js").attr("defer", true);
		}
		return page;
	}

	private Document page(String title, String description, String address) {
		Document page = this.template.clone();
		page.outputSettings().prettyPrint(false);
		page.title(title);
		page.expectFirst("meta[name=description]").attr("content", description);
		page.expectFirst(".version").text(this.book.version());
		Element chapters = page.expectFirst("#chapters");
		groups().forEach((group, links) -> {
			chapters.appendElement("h2").text(group);
			appendLinks(chapters, links);
		});
		chapters.select("a[href=" + address + "]").attr("aria-current", "page");
		return page;
	}

	/* Titles of parts, each with the titles and addresses of its pages. */
	private Map<String, Map<String, String>> groups() {
		Map<String, Map<String, String>> groups = new LinkedHashMap<>();
		for (Chapter chapter : this.book.chapters()) {
			groups.computeIfAbsent(chapter.part(), (part) -> new LinkedHashMap<>())
				.put(chapter.title(), chapter.page());
		}
		if (!this.javadoc.isEmpty()) {
			groups.put("Javadoc", this.javadoc);
		}
		return groups;
	}

	private static void appendLinks(Element parent, Map<String, String> links) {
		Element list = parent.appendElement("ul");
		links
			.forEach((title, address) -> list.appendElement("li").appendElement("a").attr("href", address).text(title));
	}

	private static void appendSections(Element navigation, Chapter chapter) {
		Element list = new Element("ul");
		for (Element section : chapter.content().select(".sect2")) {
			Element item = appendSection(list, section.expectFirst("h2"));
			Element nested = new Element("ul");
			section.select(".sect3").forEach((part) -> appendSection(nested, part.expectFirst("h3")));
			if (nested.childrenSize() > 0) {
				item.appendChild(nested);
			}
		}
		if (list.childrenSize() == 0) {
			navigation.remove();
			return;
		}
		navigation.appendElement("h2").id("on-this-page").text("On this page");
		navigation.appendChild(list);
	}

	private static Element appendSection(Element list, Element heading) {
		Element item = list.appendElement("li");
		item.appendElement("a").attr("href", "#" + heading.id()).text(heading.text());
		return item;
	}

	private static void appendNeighbour(Document page, String relation, String label, Chapter chapter) {
		page.head().appendElement("link").attr("rel", relation).attr("href", chapter.page());
		Element link = page.expectFirst(".pager").appendElement("a").attr("rel", relation).attr("href", chapter.page());
		link.appendElement("small").text(label);
		link.appendText(chapter.title());
	}

}
