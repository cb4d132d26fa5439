package org.leaderfollowers;

import java.time.Duration;

import org.leaderfollowers.internal.promotion.PromotionProtocol;

/** Checks that the arguments of builders are within their ranges. */
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

	static Duration positive(String name, Duration value) {
		if (value.isZero() || value.isNegative()) {
			throw new IllegalArgumentException("'%s' must be more than 0, but is %s".formatted(name, value));
		}
		return value;
	}

	static String notBlank(String name, String value) {
		if (value.isBlank()) {
			throw new IllegalArgumentException("'%s' must not be empty".formatted(name));
		}
		return value;
	}

	/**
	 * Converts to nanoseconds, limited to a value that does not overflow when it is added
	 * to {@link System#nanoTime()}.
	 */
	static long nanos(Duration duration) {
		return (duration.compareTo(Duration.ofNanos(PromotionProtocol.FOREVER_NANOS)) < 0) ? duration.toNanos()
				: PromotionProtocol.FOREVER_NANOS;
	}

	/** Like {@link #nanos}, for an argument that must be more than 0. */
	static long positiveNanos(String name, Duration value) {
		return nanos(positive(name, value));
	}

}
