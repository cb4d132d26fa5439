package org.leaderfollowers.docs.site;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

import org.jsoup.nodes.Document;
import org.jsoup.nodes.Element;

/**
 * The guide as Asciidoctor has written it: parts with chapters.
 */
final class Book {

	private final String title;

	private final String version;

	private final Element introduction;

	private final List<Chapter> chapters = new ArrayList<>();

	private final Map<String, String> pagesByAnchor = new HashMap<>();

	Book(Document document) {
		this.title = document.expectFirst("#header h1").text();
		this.version = document.expectFirst("#revnumber").text().replaceFirst("^version ", "");
		this.introduction = document.expectFirst("#preamble > .sectionbody");
		String part = "";
		for (Element element : document.expectFirst("#content").children()) {
			if (element.is("h1.sect0")) {
				part = element.text();
			}
			else if (element.is(".sect1")) {
				add(part, element);
			}
		}
	}

	private void add(String part, Element content) {
		Element heading = content.expectFirst("h2");
		Chapter chapter = new Chapter(part, heading.id(), heading.text(), content);
		this.chapters.add(chapter);
		for (Element element : content.select("[id]")) {
			this.pagesByAnchor.put(element.id(), chapter.page());
		}
	}

	String title() {
		return this.title;
	}

	String version() {
		return this.version;
	}

	Element introduction() {
		return this.introduction;
	}

	List<Chapter> chapters() {
		return this.chapters;
	}

	/**
	 * Returns the address of an anchor of the book in the site. A page needs no anchor
	 * for its own chapter.
	 */
	String addressOf(String anchor) {
		String page = this.pagesByAnchor.get(anchor);
		if (page == null) {
			throw new IllegalStateException("No chapter has the anchor '" + anchor + "'. Mend the reference to it.");
		}
		return page.equals(anchor + ".html") ? page : page + "#" + anchor;
	}

}
