package org.leaderfollowers;

import java.time.Duration;
import java.time.temporal.ChronoUnit;
import java.util.Locale;
import java.util.Objects;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * How many connections an {@linkplain TcpServer#evacuate evacuation} closes in a second,
 * a minute or an hour, at most. The connections are distributed evenly over this time, so
 * that the servers that their clients connect to next are not overloaded. Up to 100 times
 * a second, a group of connections begins to drain; at 100 connections a second or fewer,
 * a group is one connection.
 * <p>
 * The pause between two groups begins when the first one has been told. Timers are never
 * early and often a millisecond late, so an evacuation is usually a few percent slower
 * than its rate. If the process was stopped for a while, it does not catch up.
 *
 * @param connections the number of connections, from 1 to 1,000,000
 * @param unit {@link ChronoUnit#SECONDS}, {@link ChronoUnit#MINUTES} or
 * {@link ChronoUnit#HOURS}
 */
public record CloseRate(int connections, ChronoUnit unit) {

	private static final long MOST_GROUPS_PER_SECOND = 100;

	private static final Pattern FORMAT = Pattern.compile("\\s*(\\d{1,7})\\s*/\\s*([smh])\\s*");

	/**
	 * Creates a rate.
	 * @param connections the number of connections, from 1 to 1,000,000
	 * @param unit {@link ChronoUnit#SECONDS}, {@link ChronoUnit#MINUTES} or
	 * {@link ChronoUnit#HOURS}
	 * @throws IllegalArgumentException if one of them is something else
	 */
	public CloseRate {
		Arguments.inRange("connections", connections, 1, 1_000_000);
		Objects.requireNonNull(unit, "'unit' must not be null");
		if (unit != ChronoUnit.SECONDS && unit != ChronoUnit.MINUTES && unit != ChronoUnit.HOURS) {
			throw new IllegalArgumentException("'unit' must be SECONDS, MINUTES or HOURS, but is " + unit.name());
		}
	}

	/**
	 * Parses a rate.
	 * @param text for example {@code 50/s}, {@code 30/m} or {@code 100/h}
	 * @return the rate
	 * @throws IllegalArgumentException if the text is not a rate
	 */
	public static CloseRate of(String text) {
		Matcher matcher = FORMAT.matcher(text.toLowerCase(Locale.ROOT));
		if (!matcher.matches()) {
			throw new IllegalArgumentException(
					"A rate must be a number of connections for each second, minute or hour, such as '50/s', '30/m' or '100/h'");
		}
		return new CloseRate(Integer.parseInt(matcher.group(1)), switch (matcher.group(2)) {
			case "s" -> ChronoUnit.SECONDS;
			case "m" -> ChronoUnit.MINUTES;
			default -> ChronoUnit.HOURS;
		});
	}

	/**
	 * How long it takes at least until this number of connections have been told to end.
	 * @param connections how many connections are open
	 * @return the time from the first group to the last one
	 */
	public Duration timeFor(int connections) {
		return Duration.ofNanos(pauseNanos()).multipliedBy((Math.max(connections, 1) - 1) / groupSize());
	}

	/** How many connections are told at the same time. */
	int groupSize() {
		long groups = this.unit.getDuration().toSeconds() * MOST_GROUPS_PER_SECOND;
		return (int) ((this.connections + groups - 1) / groups);
	}

	/**
	 * The time between two groups. It is rounded up, so that in no period of one unit,
	 * wherever it begins, more connections are told than the rate allows.
	 */
	long pauseNanos() {
		long groups = this.connections / groupSize();
		long nanos = this.unit.getDuration().toNanos();
		return (nanos + groups - 1) / groups;
	}

	/**
	 * The rate as {@link #of} parses it.
	 */
	@Override
	public String toString() {
		return this.connections + "/" + switch (this.unit) {
			case SECONDS -> "s";
			case MINUTES -> "m";
			default -> "h";
		};
	}

}
