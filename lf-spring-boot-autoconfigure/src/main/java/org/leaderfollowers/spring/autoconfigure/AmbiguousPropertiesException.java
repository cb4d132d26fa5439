package org.leaderfollowers.spring.autoconfigure;

/**
 * Thrown when the server or pool named 'default' is configured in both possible places.
 */
@SuppressWarnings("serial")
class AmbiguousPropertiesException extends RuntimeException {

	private final String prefix;

	private final String otherPrefix;

	AmbiguousPropertiesException(String prefix, String otherPrefix) {
		super("Properties with the prefixes '%s' and '%s' configure the same".formatted(prefix, otherPrefix));
		this.prefix = prefix;
		this.otherPrefix = otherPrefix;
	}

	String getPrefix() {
		return this.prefix;
	}

	String getOtherPrefix() {
		return this.otherPrefix;
	}

}
