package org.leaderfollowers.spring.metrics;

import java.util.Locale;

/**
 * Values of tags: words of the engine.
 */
final class TagValues {

	private TagValues() {
	}

	static String of(Enum<?> value) {
		return value.name().toLowerCase(Locale.ROOT);
	}

}
