package org.leaderfollowers.docs.site;

import java.util.Map;
import java.util.function.UnaryOperator;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;

import org.jsoup.nodes.Element;
import org.jsoup.nodes.Entities;

/**
 * Shows alternatives as tabs: a listing with the role {@code primary} and those with the
 * role {@code secondary} that follow it, and configuration in both of its formats.
 */
final class Tabs {

	private static final Map<String, String> NAMES = Map.of("java", "Java", "kotlin", "Kotlin", "yaml", "YAML",
			"properties", "Properties");

	private static final Pattern YAML_KEY = Pattern.compile("[^:]+:");

	private static final Pattern PROPERTY = Pattern.compile("[^=]+=");

	private Tabs() {
	}

	static void add(Element content) {
		for (Element primary : content.select(".listingblock.primary")) {
			Element tabs = wrap(primary);
			Element next = tabs.nextElementSibling();
			while (next != null && next.is(".listingblock.secondary")) {
				tabs.appendChild(next);
				next = tabs.nextElementSibling();
			}
		}
		addFormat(content, "yaml", "properties",
				(yaml) -> ConfigurationFormats.isConfiguration(yaml) ? ConfigurationFormats.toProperties(yaml) : "");
		addFormat(content, "properties", "yaml", ConfigurationFormats::toYaml);
		for (Element panel : content.select(".tabs > .listingblock")) {
			String language = panel.expectFirst("code").attr("data-lang");
			panel.prependElement("p").addClass("language").text(NAMES.getOrDefault(language, language));
		}
	}

	private static void addFormat(Element content, String from, String to, UnaryOperator<String> converter) {
		for (Element code : content.select(":not(.tabs) > .listingblock code[data-lang=" + from + "]")) {
			String converted = converter.apply(code.wholeText());
			if (!converted.isEmpty()) {
				Element tabs = wrap(code.closest(".listingblock"));
				Element listing = new Element("div").addClass("listingblock");
				listing.appendElement("div")
					.addClass("content")
					.appendElement("pre")
					.appendElement("code")
					.attr("data-lang", to)
					.html(highlight(to, converted));
				// YAML comes first everywhere
				tabs.insertChildren(to.equals("yaml") ? 0 : 1, listing);
			}
		}
	}

	private static Element wrap(Element listing) {
		Element tabs = new Element("div").addClass("tabs");
		listing.replaceWith(tabs);
		return tabs.appendChild(listing);
	}

	private static String highlight(String language, String text) {
		Pattern name = language.equals("yaml") ? YAML_KEY : PROPERTY;
		return text.lines().map((line) -> {
			Matcher matcher = name.matcher(line);
			if (line.startsWith("#")) {
				return span("c", line);
			}
			return matcher.lookingAt() ? span("na", matcher.group()) + span("s", line.substring(matcher.end()))
					: Entities.escape(line);
		}).collect(Collectors.joining("\n"));
	}

	private static String span(String type, String text) {
		return "<span class=\"" + type + "\">" + Entities.escape(text) + "</span>";
	}

}
