package org.leaderfollowers.docs.site;

import java.util.HashSet;
import java.util.Set;
import java.util.regex.Pattern;

import org.jsoup.nodes.Element;
import org.jsoup.nodes.Entities;
import org.jsoup.nodes.TextNode;

/**
 * Turns the markup of Asciidoctor into that of a page: without inline styles and layout
 * tables, and with anchors for entries that readers look up.
 */
final class Markup {

	private static final Pattern TERM = Pattern.compile("[a-zA-Z@][\\w.<>*-]*");

	private static final Pattern AFTER_DOT = Pattern.compile("\\.(?=\\w)");

	private Markup() {
	}

	static void convert(Element content) {
		content.select("[style]").forEach((element) -> element.removeAttr("style"));
		raiseHeadings(content);
		content.select(".admonitionblock").forEach(Markup::convertAdmonition);
		content.select("b.conum").forEach((number) -> number.text(number.text().replaceAll("[()]", "")));
		content.select("pre.rouge").forEach((listing) -> listing.removeAttr("class"));
		content.select("table.tableblock").forEach((table) -> table.wrap("<div class=\"table\"></div>"));
		content.select("p.tableblock, th.tableblock, td.tableblock").removeClass("tableblock");
		content.select("img").attr("loading", "lazy");
		anchorTerms(content);
	}

	/*
	 * A chapter is no longer a section of the book; it is the whole content of its page.
	 */
	private static void raiseHeadings(Element content) {
		for (int level = 2; level <= 6; level++) {
			content.select("h" + level).tagName("h" + (level - 1));
		}
	}

	private static void convertAdmonition(Element block) {
		Element text = block.expectFirst("td.content");
		Element aside = new Element("aside").addClass("admonition");
		block.classNames().stream().filter((name) -> !name.equals("admonitionblock")).forEach(aside::addClass);
		aside.appendElement("p").addClass("title").text(block.expectFirst("td.icon").text());
		Element body = (text.selectFirst("> div") != null) ? aside : aside.appendElement("p");
		body.appendChildren(text.childNodes());
		block.replaceWith(aside);
	}

	/*
	 * Rows and definitions of properties, meters and the like can be linked to, and
	 * found.
	 */
	private static void anchorTerms(Element content) {
		Set<String> taken = new HashSet<>(content.select("[id]").eachAttr("id"));
		for (Element entry : content.select("tbody > tr, dt")) {
			Element name = entry.is("dt") ? entry : entry.firstElementChild();
			if (name == null || name.select("code").size() != 1 || !name.text().equals(name.select("code").text())
					|| !TERM.matcher(name.text()).matches()) {
				continue;
			}
			String id = sectionOf(entry) + "." + name.text().replaceAll("[<>*]", "");
			if (entry.id().isEmpty() && taken.add(id)) {
				entry.id(id);
			}
		}
	}

	/** Lets long names in narrow columns continue on the next line after a dot. */
	static void breakNames(Element content) {
		for (Element code : content.select("td code, td code a")) {
			for (TextNode text : code.textNodes()) {
				String escaped = Entities.escape(text.getWholeText());
				text.before(AFTER_DOT.matcher(escaped).replaceAll("$0<wbr>"));
				text.remove();
			}
		}
	}

	/** Returns the anchor of the section that contains an element. */
	static String sectionOf(Element element) {
		for (Element section : element.parents()) {
			if (section.is(".sect1, .sect2, .sect3, .sect4") && !section.expectFirst("[id]").id().isEmpty()) {
				return section.expectFirst("[id]").id();
			}
		}
		throw new IllegalStateException("Not in a section: " + element);
	}

}
