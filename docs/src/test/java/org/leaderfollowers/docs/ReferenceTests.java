package org.leaderfollowers.docs;

import java.io.IOException;
import java.io.InputStream;
import java.net.URL;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Collections;
import java.util.List;
import java.util.TreeSet;
import java.util.regex.Pattern;

import org.junit.jupiter.api.Test;
import org.leaderfollowers.spring.autoconfigure.LfProperties;

import static org.assertj.core.api.Assertions.assertThat;

/** The reference names every property. */
class ReferenceTests {

	private static final Path REFERENCE = Path.of("src/docs/asciidoc/reference.adoc");

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
		String location = LfProperties.class.getProtectionDomain().getCodeSource().getLocation().toString();
		for (URL url : Collections
			.list(ReferenceTests.class.getClassLoader().getResources("META-INF/spring-configuration-metadata.json"))) {
			if (url.toString().contains(location)) {
				try (InputStream input = url.openStream()) {
					String json = new String(input.readAllBytes(), StandardCharsets.UTF_8);
					String properties = json.substring(json.indexOf("\"properties\""), json.indexOf("\"hints\""));
					return NAME.matcher(properties).results().map((result) -> result.group(1)).toList();
				}
			}
		}
		throw new IllegalStateException("no metadata at " + location);
	}

}
