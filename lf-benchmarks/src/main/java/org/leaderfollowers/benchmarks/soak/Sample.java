package org.leaderfollowers.benchmarks.soak;

import java.util.ArrayList;
import java.util.EnumMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;

/**
 * What was measured at one moment.
 *
 * @param seconds how long the soak has run
 * @param quiet whether only honest clients were there, and garbage was collected
 * @param values the figures
 */
record Sample(double seconds, boolean quiet, Map<Figure, Double> values) {

	/** A figure of a sample; its name in lower case is a column of the file. */
	enum Figure {

		/** Bytes of the heap that the latest collection has left. */
		HEAP,

		/** Bytes in direct buffers. */
		DIRECT,

		/** Open file descriptors of the process. */
		DESCRIPTORS,

		/** Live threads of the virtual machine. */
		THREADS,

		/** Threads of the pool. */
		POOL_THREADS,

		/** Open connections of all servers. */
		CONNECTIONS,

		/** Connections that the servers have accepted until now. */
		ACCEPTED,

		/** Bytes that connections hold for messages, replies and handshakes. */
		BUFFERED,

		/** Handle sets in use. */
		HANDLE_SETS,

		/** Handle sets and threads that break the rule of one leader, until now. */
		LEADER_VIOLATIONS,

		/** Looks at the leaders, until now. */
		LEADER_LOOKS,

		/** Processor time in seconds, until now. */
		CPU_SECONDS,

		/** Median latency of an honest client in milliseconds, since the last sample. */
		P50_MS,

		/** 99th percentile of the same. */
		P99_MS,

		/** Requests of honest clients that were answered, until now. */
		SERVED,

		/** Requests of honest clients that were not answered, until now. */
		FAILED,

		/** Replies to any client that were not the next one, until now. */
		WRONG;

		String column() {
			return name().toLowerCase(Locale.ROOT);
		}

	}

	double value(Figure figure) {
		return this.values.getOrDefault(figure, Double.NaN);
	}

	/** The names of the columns. */
	static String header() {
		List<String> columns = new ArrayList<>(List.of("seconds", "quiet"));
		for (Figure figure : Figure.values()) {
			columns.add(figure.column());
		}
		return String.join(",", columns);
	}

	String line() {
		List<String> columns = new ArrayList<>(List.of(decimal(this.seconds), Boolean.toString(this.quiet)));
		for (Figure figure : Figure.values()) {
			columns.add(decimal(value(figure)));
		}
		return String.join(",", columns);
	}

	private static String decimal(double value) {
		return Double.isNaN(value) ? "" : String.format(Locale.ROOT, "%.3f", value).replaceAll("\\.?0+$", "");
	}

	/** Reads the figures {@code name=value} that the process of the servers prints. */
	static Map<Figure, Double> parse(String line) {
		Map<Figure, Double> values = new EnumMap<>(Figure.class);
		for (String field : line.split(" ")) {
			int equals = field.indexOf('=');
			values.put(Figure.valueOf(field.substring(0, equals).toUpperCase(Locale.ROOT)),
					Double.valueOf(field.substring(equals + 1)));
		}
		return values;
	}

	/** Prints figures for {@link #parse}. */
	static String print(Map<Figure, Double> values) {
		List<String> fields = new ArrayList<>();
		values.forEach((figure, value) -> fields.add(figure.column() + "=" + value));
		return String.join(" ", fields);
	}

}
