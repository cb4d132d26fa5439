package org.leaderfollowers.sample.web;

import java.time.DateTimeException;
import java.time.Instant;
import java.time.ZoneOffset;
import java.time.format.DateTimeFormatter;
import java.util.Locale;

/** Dates in the format of HTTP header fields. */
final class HttpDate {

	private static final DateTimeFormatter FORMATTER = DateTimeFormatter
		.ofPattern("EEE, dd MMM yyyy HH:mm:ss 'GMT'", Locale.US)
		.withZone(ZoneOffset.UTC);

	/** The latest formatted date, because many responses are sent in the same second. */
	private static volatile Second latest = new Second(0, format(0));

	private record Second(long number, String date) {
	}

	private HttpDate() {
	}

	static String format(long epochMillis) {
		return FORMATTER.format(Instant.ofEpochMilli(epochMillis));
	}

	static String now() {
		long number = System.currentTimeMillis() / 1000;
		Second second = latest;
		if (second.number() != number) {
			second = new Second(number, format(number * 1000));
			latest = second;
		}
		return second.date();
	}

	/**
	 * Compares two dates.
	 * @param date a date
	 * @param other a date that a client has sent, possibly invalid
	 * @return whether the other date is valid and not before the first one
	 */
	static boolean isNotAfter(String date, String other) {
		if (other.equals(date)) {
			return true;
		}
		try {
			return !Instant.from(FORMATTER.parse(date)).isAfter(Instant.from(FORMATTER.parse(other)));
		}
		catch (DateTimeException ex) {
			// RFC 9110 ignores an invalid date.
			return false;
		}
	}

}
