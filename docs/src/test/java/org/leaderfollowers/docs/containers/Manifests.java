package org.leaderfollowers.docs.containers;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;

import org.jspecify.annotations.Nullable;
import org.yaml.snakeyaml.Yaml;

/** The manifests of the chapter about containers. */
final class Manifests {

	private static final Path RESOURCES = Path.of("src/test/resources");

	private Manifests() {
	}

	@SuppressWarnings("unchecked")
	static List<Map<String, Object>> documents(String file) throws IOException {
		List<Map<String, Object>> documents = new ArrayList<>();
		new Yaml().loadAll(Files.readString(RESOURCES.resolve(file)))
			.forEach((document) -> documents.add((Map<String, Object>) document));
		return documents;
	}

	/**
	 * Follows keys and indexes into a document.
	 * @return the value, or {@code null} if a key or an element does not exist
	 */
	static @Nullable Object at(Object document, Object... path) {
		Object value = document;
		for (Object step : path) {
			if (value instanceof List<?> list && step instanceof Integer index && index < list.size()) {
				value = list.get(index);
			}
			else if (value instanceof Map<?, ?> map && map.containsKey(step)) {
				value = map.get(step);
			}
			else {
				return null;
			}
		}
		return value;
	}

}
