package org.leaderfollowers.docs.site;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashSet;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;

import org.jspecify.annotations.Nullable;
import org.jsoup.nodes.Element;

/**
 * The Javadoc of the modules. Names of types and members in the guide are linked to it.
 */
final class Api {

	private static final Pattern TYPE_PAGE = Pattern.compile("[A-Z][\\w.]*\\.html");

	private static final Pattern MEMBER = Pattern.compile("<section class=\"detail\" id=\"([^\"]+)\"");

	private static final Pattern NAME = Pattern.compile("@?([A-Z]\\w*(?:\\.\\w+)*)(?:\\(.*\\))?");

	private final Map<String, Type> types = new TreeMap<>();

	/**
	 * Adds the Javadoc of a module.
	 * @param directory where the site has it
	 * @param address the address of that directory, in links
	 */
	void add(Path directory, String address) throws IOException {
		try (Stream<Path> files = Files.walk(directory)) {
			for (Path file : files.filter(Api::isTypePage).sorted().toList()) {
				String name = file.getFileName().toString().replaceFirst("\\.html$", "");
				Set<String> members = new LinkedHashSet<>();
				MEMBER.matcher(Files.readString(file)).results().map((result) -> result.group(1)).forEach(members::add);
				String page = address + "/" + directory.relativize(file).toString().replace('\\', '/');
				this.types.putIfAbsent(name, new Type(page, members));
			}
		}
	}

	private static boolean isTypePage(Path file) {
		List<String> directories = Stream.of(file.getParent().toString().split("[/\\\\]")).toList();
		return TYPE_PAGE.matcher(file.getFileName().toString()).matches() && directories.contains("leaderfollowers")
				&& !directories.contains("class-use") && !directories.contains("src");
	}

	/** Links each type or member at its first mention in a section. */
	void link(Element content) {
		Set<String> linked = new HashSet<>();
		for (Element code : content.select("code")) {
			if (!code.children().isEmpty() || code.closest("pre, a, h1, h2, h3, h4, h5") != null) {
				continue;
			}
			String address = addressOf(code.text());
			if (address != null && linked.add(Markup.sectionOf(code) + " " + address)) {
				String text = code.text();
				code.text("").appendElement("a").addClass("api").attr("href", address).text(text);
			}
		}
	}

	/**
	 * Returns the address of a type or member in the Javadoc.
	 * @return the address, or {@code null} if there is none
	 */
	@Nullable String addressOf(String text) {
		Matcher matcher = NAME.matcher(text);
		if (!matcher.matches()) {
			return null;
		}
		String name = matcher.group(1);
		Type type = this.types.get(name);
		if (type != null) {
			return type.page();
		}
		int dot = name.lastIndexOf('.');
		Type owner = (dot > 0) ? this.types.get(name.substring(0, dot)) : null;
		return (owner != null) ? owner.addressOf(name.substring(dot + 1)) : null;
	}

	private record Type(String page, Set<String> members) {

		/*
		 * If several methods have the same name, the first one; inherited members are on
		 * other pages.
		 */
		String addressOf(String member) {
			return this.members.stream()
				.filter((candidate) -> candidate.equals(member) || candidate.startsWith(member + "("))
				.findFirst()
				.map((found) -> this.page + "#" + found)
				.orElse(this.page);
		}

	}

}
