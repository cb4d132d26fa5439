package org.leaderfollowers;

import java.time.Duration;

/**
 * Demands that the arguments of builders are in their ranges.
 */
final class Arguments {

	private Arguments() {
	}

	static int inRange(String name, int value, int least, int greatest) {
		if (value < least || value > greatest) {
			throw new IllegalArgumentException(
					"'%s' must be from %d to %d, but is %d".formatted(name, least, greatest, value));
		}
		return value;
	}

	static Duration notNegative(String name, Duration value) {
		if (value.isNegative()) {
			throw new IllegalArgumentException("'%s' must not be negative, but is %s".formatted(name, value));
		}
		return value;
	}

	static String notBlank(String name, String value) {
		if (value.isBlank()) {
			throw new IllegalArgumentException("'%s' must not be empty".formatted(name));
		}
		return value;
	}

}
