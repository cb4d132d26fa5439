package org.leaderfollowers.docs.site;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.Map;

import org.jsoup.Jsoup;
import org.jsoup.nodes.Document;
import org.jsoup.nodes.Element;

import org.springframework.util.FileSystemUtils;

/**
 * Makes the site. The one page that Asciidoctor has written is read as a {@link Book};
 * the {@link Markup} of each {@link Chapter} is converted, {@link Tabs} and links to the
 * {@link Api} are added, and the {@link PageLayout} makes a page of it. The
 * {@link SearchIndex} and all other files are put beside the pages.
 */
public final class Site {

	private static final String BOOK = "index.html";

	private static final String TEMPLATE = "page.html";

	private final Path output;

	private Site(Path output) {
		this.output = output;
	}

	/**
	 * Makes the site.
	 * @param arguments the directory of the book; the directory of the template, which
	 * has style sheet and script in {@code site}; the directory to write to, whose
	 * content is replaced; then for each module with Javadoc its name in addresses, its
	 * title and the directory. Javadoc that does not exist is left out.
	 * @throws IOException if the files cannot be read or written
	 */
	public static void main(String... arguments) throws IOException {
		Path book = Path.of(arguments[0]);
		Path sources = Path.of(arguments[1]);
		Site site = new Site(Path.of(arguments[2]));
		FileSystemUtils.deleteRecursively(site.output);
		Api api = new Api();
		Map<String, String> javadoc = new LinkedHashMap<>();
		for (int index = 3; index < arguments.length; index += 3) {
			Path directory = Path.of(arguments[index + 2]);
			if (Files.isDirectory(directory)) {
				String address = "api/" + arguments[index];
				site.copy(directory, address);
				api.add(directory, address);
				javadoc.put(arguments[index + 1], address + "/index.html");
			}
		}
		site.copy(book, "");
		site.copy(sources.resolve("site"), "site");
		site.write(new Book(parse(book.resolve(BOOK))), api, javadoc, parse(sources.resolve(TEMPLATE)));
	}

	private static Document parse(Path file) throws IOException {
		Document document = Jsoup.parse(file, "UTF-8");
		document.outputSettings().prettyPrint(false);
		return document;
	}

	private void write(Book book, Api api, Map<String, String> javadoc, Document template) throws IOException {
		PageLayout layout = new PageLayout(template, book, javadoc);
		SearchIndex index = new SearchIndex();
		Markup.convert(book.introduction());
		write("index.html", layout.cover().outerHtml());
		for (Chapter chapter : book.chapters()) {
			Element content = chapter.content();
			for (Element link : content.select("a[href^=#]")) {
				link.attr("href", book.addressOf(link.attr("href").substring(1)));
			}
			Markup.convert(content);
			Tabs.add(content);
			api.link(content);
			index.add(chapter);
			Markup.breakNames(content);
			write(chapter.page(), layout.chapter(chapter).outerHtml());
		}
		write("site/search-index.js", index.script());
	}

	private void write(String name, String content) throws IOException {
		Files.writeString(this.output.resolve(name), content);
	}

	private void copy(Path source, String name) throws IOException {
		FileSystemUtils.copyRecursively(source, this.output.resolve(name));
	}

}
