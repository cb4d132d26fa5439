package org.leaderfollowers.docs.site;

import org.jsoup.nodes.Element;

/**
 * A chapter of the guide, which becomes a page.
 *
 * @param part the title of the part that the chapter belongs to
 * @param id the anchor of the chapter, which is also the name of its page
 * @param title the title
 * @param content the heading and all that follows it
 */
record Chapter(String part, String id, String title, Element content) {

	String page() {
		return this.id + ".html";
	}

	/** Returns the first sentences, for search engines. */
	String description() {
		Element first = this.content.selectFirst(".paragraph > p");
		return (first != null) ? first.text() : this.title;
	}

}
