package org.leaderfollowers.docs;

import java.io.IOException;
import java.io.InputStream;
import java.net.URL;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Collections;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.regex.Pattern;

import org.junit.jupiter.api.Test;
import org.leaderfollowers.spring.autoconfigure.LfProperties;

import static org.assertj.core.api.Assertions.assertThat;

/** The reference names every property, and its default. */
class ReferenceTests {

	private static final Path REFERENCE = Path.of("src/docs/asciidoc/reference.adoc");

	private static final Pattern DEFAULT = Pattern
		.compile("\"name\"\\s*:\\s*\"(lf\\.[^\"]+)\"[^{}]*\"defaultValue\"\\s*:\\s*\"?([^\"\\[\\]{}\\s]+)");

	private static final Pattern NAME = Pattern.compile("\"name\"\\s*:\\s*\"(lf\\.[^\"]+)\"");

	@Test
	void everyPropertyIsDocumented() throws IOException {
		String reference = Files.readString(REFERENCE);
		TreeSet<String> keys = new TreeSet<>();
		for (String name : propertyNames()) {
			keys.add(name.replaceFirst("^lf\\.(server|pool)\\.", ""));
		}
		assertThat(keys).contains("port", "framing.length-field.bytes", "threads.max");
		assertThat(keys).allSatisfy((key) -> assertThat(reference).contains("`" + documented(key) + "`"));
	}

	/** If a default changes, an application changes that relies on it. */
	@Test
	void everyDefaultIsAsDocumented() throws IOException {
		List<String> lines = Files.readAllLines(REFERENCE);
		Map<String, String> documented = new TreeMap<>();
		Map<String, String> defaults = new TreeMap<>();
		DEFAULT.matcher(properties()).results().forEach((property) -> {
			String key = property.group(1).replaceFirst("^lf\\.(server|pool)\\.", "");
			int row = lines.indexOf("|`%s`".formatted(key));
			assertThat(row).as(key).isNotNegative();
			defaults.put(key, property.group(2).toLowerCase(Locale.ROOT));
			documented.put(key, lines.get(row + 1).replaceAll("[|`]", "").toLowerCase(Locale.ROOT));
		});
		assertThat(defaults).containsEntry("port", "7070").containsEntry("charset", "utf-8");
		assertThat(documented).isEqualTo(defaults);
	}

	private static String documented(String key) {
		return switch (key) {
			case "lf.servers" -> "lf.servers.<name>.*";
			case "lf.clients" -> "lf.clients.<name>.*";
			case "lf.pools" -> "lf.pools.<name>.*";
			case "lf.sources" -> "lf.sources.<name>.*";
			default -> key;
		};
	}

	private static List<String> propertyNames() throws IOException {
		return NAME.matcher(properties()).results().map((result) -> result.group(1)).toList();
	}

	/** The part of the metadata that describes the properties. */
	private static String properties() throws IOException {
		String location = LfProperties.class.getProtectionDomain().getCodeSource().getLocation().toString();
		for (URL url : Collections
			.list(ReferenceTests.class.getClassLoader().getResources("META-INF/spring-configuration-metadata.json"))) {
			if (url.toString().contains(location)) {
				try (InputStream input = url.openStream()) {
					String json = new String(input.readAllBytes(), StandardCharsets.UTF_8);
					return json.substring(json.indexOf("\"properties\""), json.indexOf("\"hints\""));
				}
			}
		}
		throw new IllegalStateException("no metadata at " + location);
	}

}
