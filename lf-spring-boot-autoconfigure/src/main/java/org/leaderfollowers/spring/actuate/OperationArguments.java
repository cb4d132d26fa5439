package org.leaderfollowers.spring.actuate;

import java.time.Duration;
import java.util.Arrays;
import java.util.Locale;
import java.util.stream.Collectors;

import org.jspecify.annotations.Nullable;
import org.leaderfollowers.CloseRate;
import org.leaderfollowers.spring.internal.Printable;

import org.springframework.boot.convert.DurationStyle;
import org.springframework.util.StringUtils;
import org.springframework.util.unit.DataSize;

/**
 * Parses the arguments of operations. Operations take them as text, because the
 * conversion errors of Actuator do not reach the caller. Blank text counts as not given,
 * since JMX consoles cannot leave an argument out.
 */
final class OperationArguments {

	private OperationArguments() {
	}

	static @Nullable Integer integer(String name, @Nullable String value, int least, int greatest) {
		Long number = number(name, value, least, greatest);
		return (number != null) ? number.intValue() : null;
	}

	static int integer(String name, @Nullable String value, int missing, int least, int greatest) {
		Long number = number(name, value, least, greatest);
		return (number != null) ? number.intValue() : missing;
	}

	static @Nullable Long number(String name, @Nullable String value, long least, long greatest) {
		if (!StringUtils.hasText(value)) {
			return null;
		}
		long number;
		try {
			number = Long.parseLong(value.strip());
		}
		catch (NumberFormatException ex) {
			throw invalid(name, "a whole number", value);
		}
		if (number < least || number > greatest) {
			throw invalid(name, "from %d to %d".formatted(least, greatest), value);
		}
		return number;
	}

	/**
	 * Parses a size in the format of Boot's properties.
	 */
	static @Nullable Long bytes(String name, @Nullable String value, long least, long greatest) {
		if (!StringUtils.hasText(value)) {
			return null;
		}
		long bytes;
		try {
			bytes = DataSize.parse(value.strip()).toBytes();
		}
		catch (IllegalArgumentException ex) {
			throw invalid(name, "a size such as '500B', '64KB' or '1MB'", value);
		}
		if (bytes < least || bytes > greatest) {
			throw invalid(name, "from %d to %d bytes".formatted(least, greatest), value);
		}
		return bytes;
	}

	/**
	 * Parses a duration in the format of ISO 8601 or of Boot's properties.
	 */
	static @Nullable Duration duration(String name, @Nullable String value) {
		if (!StringUtils.hasText(value)) {
			return null;
		}
		try {
			return DurationStyle.detectAndParse(value.strip());
		}
		catch (IllegalArgumentException | ArithmeticException ex) {
			throw invalid(name, "a time such as '500ms', '30s' or 'PT30S'", value);
		}
	}

	static @Nullable CloseRate rate(String name, @Nullable String value) {
		if (!StringUtils.hasText(value)) {
			return null;
		}
		try {
			return CloseRate.of(value);
		}
		catch (IllegalArgumentException ex) {
			throw invalid(name, "from 1 to 1000000 connections for each second, minute or hour, such as '50/s', "
					+ "'30/m' or '100/h'", value);
		}
	}

	static boolean flag(String name, @Nullable String value) {
		if (!StringUtils.hasText(value) || "false".equalsIgnoreCase(value.strip())) {
			return false;
		}
		if ("true".equalsIgnoreCase(value.strip())) {
			return true;
		}
		throw invalid(name, "'true' or 'false'", value);
	}

	static <E extends Enum<E>> @Nullable E constant(String name, @Nullable String value, Class<E> type) {
		if (!StringUtils.hasText(value)) {
			return null;
		}
		for (E constant : type.getEnumConstants()) {
			if (constant.name().equalsIgnoreCase(value.strip())) {
				return constant;
			}
		}
		throw invalid(name,
				"one of " + Arrays.stream(type.getEnumConstants())
					.map((constant) -> "'%s'".formatted(constant.name().toLowerCase(Locale.ROOT)))
					.collect(Collectors.joining(", ")),
				value);
	}

	static RefusedRequestException invalid(String name, String expected, String value) {
		return RefusedRequestException.invalid("'%s' must be %s, but is '%s'".formatted(name, expected, quote(value)));
	}

	/**
	 * Makes the text of a caller printable, and shortens it to fit into a line.
	 */
	static String quote(String text) {
		String printable = Printable.of(text);
		return (printable.length() > 64) ? printable.substring(0, 64) + "…" : printable;
	}

}
