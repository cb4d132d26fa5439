package org.leaderfollowers.spring.cluster;

import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import java.util.TreeMap;
import java.util.regex.Pattern;

import org.junit.jupiter.api.Test;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Tests for the metadata that tells IDEs about {@link ClusterProperties}.
 */
class ConfigurationMetadataTests {

	private static final Pattern PROPERTY = Pattern
		.compile("\"name\": \"(lf\\.cluster\\.[^\"]+)\",\\s*\"type\": \"[^\"]+\",\\s*\"description\": \"([^\"]+)\"");

	private final Map<String, String> descriptions = read();

	private static Map<String, String> read() {
		try (InputStream input = ClusterProperties.class
			.getResourceAsStream("/META-INF/spring-configuration-metadata.json")) {
			Map<String, String> descriptions = new TreeMap<>();
			PROPERTY.matcher(new String(input.readAllBytes(), StandardCharsets.UTF_8))
				.results()
				.forEach((property) -> descriptions.put(property.group(1), property.group(2)));
			return descriptions;
		}
		catch (IOException ex) {
			throw new UncheckedIOException(ex);
		}
	}

	@Test
	void theReferenceNamesEveryKey() throws IOException {
		String reference = Files
			.readString(Path.of(System.getProperty("basedir", "."), "../docs/src/docs/asciidoc/reference.adoc"));
		assertThat(this.descriptions.keySet()).allSatisfy((name) -> assertThat(reference).contains("`" + name + "`"));
	}

	@Test
	void everyKeyIsThereWithADescriptionInTheStyleOfBoot() {
		assertThat(this.descriptions).containsOnlyKeys("lf.cluster.enabled", "lf.cluster.engine", "lf.cluster.name",
				"lf.cluster.node-name", "lf.cluster.lease", "lf.cluster.verify-interval", "lf.cluster.max-cached-names",
				"lf.cluster.max-outbound-size", "lf.cluster.hazelcast.members", "lf.cluster.hazelcast.port",
				"lf.cluster.hazelcast.kubernetes.service-dns");
		assertThat(this.descriptions).allSatisfy((name, description) -> assertThat(description).as(name)
			.matches("[A-Z].*\\.")
			.doesNotStartWith("The ")
			.doesNotStartWith("A "));
	}

}
