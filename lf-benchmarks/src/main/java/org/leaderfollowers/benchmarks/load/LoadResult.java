package org.leaderfollowers.benchmarks.load;

import java.nio.ByteBuffer;
import java.util.Arrays;
import java.util.Base64;
import java.util.LinkedHashMap;
import java.util.Locale;
import java.util.Map;
import java.util.zip.DataFormatException;

import org.HdrHistogram.Histogram;

/**
 * The result of a {@link Load}.
 *
 * @param requests replies that came in the measured period
 * @param errors requests without the right reply: wrong bytes, a closed connection, none
 * in time
 * @param unsent requests of an open loop that were due in the measured period and could
 * not be sent until a second after it. They count in the latency with the time they had
 * waited by then
 * @param total replies that came in all
 * @param seconds the length of the measured period
 * @param cpuSeconds CPU time of the generator in the measured period
 * @param latencyNs time from sending, or when due in an open loop, to the last byte of
 * the reply
 * @param latenessNs how long after it was due a request was sent (open loop)
 */
public record LoadResult(long requests, long errors, long unsent, long total, double seconds, double cpuSeconds,
		Histogram latencyNs, Histogram latenessNs) {

	private static final String PREFIX = "RESULT ";

	private static final double MICROSECOND = 1000;

	public double requestsPerSecond() {
		return this.requests / this.seconds;
	}

	/**
	 * The latency that a share of the requests did not exceed.
	 * @param percentile the share in percent
	 * @return the latency in microseconds
	 */
	public double latencyUs(double percentile) {
		return this.latencyNs.getValueAtPercentile(percentile) / MICROSECOND;
	}

	/**
	 * One line for machines, from which {@link #parse} restores the result.
	 * @return the line, beginning with {@code RESULT}
	 */
	public String line() {
		return PREFIX + String.format(Locale.ROOT,
				"requests=%d errors=%d unsent=%d total=%d rps=%.1f seconds=%.4f p50=%.1f p99=%.1f p99.9=%.1f max=%.1f"
						+ " lateness-p99=%.1f cpu-seconds=%.3f latency=%s lateness=%s",
				this.requests, this.errors, this.unsent, this.total, requestsPerSecond(), this.seconds, latencyUs(50),
				latencyUs(99), latencyUs(99.9), this.latencyNs.getMaxValue() / MICROSECOND,
				this.latenessNs.getValueAtPercentile(99) / MICROSECOND, this.cpuSeconds, encode(this.latencyNs),
				encode(this.latenessNs));
	}

	static boolean isResult(String line) {
		return line.startsWith(PREFIX);
	}

	/**
	 * Restore a result from its line.
	 * @param line the line
	 * @return the result
	 */
	public static LoadResult parse(String line) {
		Map<String, String> values = new LinkedHashMap<>();
		for (String field : line.substring(PREFIX.length()).split(" ")) {
			// The first equals sign: Base64 ends with equals signs as well
			int equals = field.indexOf('=');
			values.put(field.substring(0, equals), field.substring(equals + 1));
		}
		return new LoadResult(Long.parseLong(values.get("requests")), Long.parseLong(values.get("errors")),
				Long.parseLong(values.get("unsent")), Long.parseLong(values.get("total")),
				Double.parseDouble(values.get("seconds")), Double.parseDouble(values.get("cpu-seconds")),
				decode(values.get("latency")), decode(values.get("lateness")));
	}

	static Histogram histogram() {
		return new Histogram(1, 120_000_000_000L, 3);
	}

	/**
	 * A histogram as text.
	 * @param histogram the histogram
	 * @return text without blanks
	 */
	public static String encode(Histogram histogram) {
		ByteBuffer bytes = ByteBuffer.allocate(histogram.getNeededByteBufferCapacity());
		int length = histogram.encodeIntoCompressedByteBuffer(bytes);
		return Base64.getEncoder().encodeToString(Arrays.copyOf(bytes.array(), length));
	}

	/**
	 * A histogram from its text.
	 * @param text the text
	 * @return the histogram
	 */
	public static Histogram decode(String text) {
		try {
			return Histogram.decodeFromCompressedByteBuffer(ByteBuffer.wrap(Base64.getDecoder().decode(text)), 0);
		}
		catch (DataFormatException ex) {
			throw new IllegalArgumentException("Not a histogram: " + text, ex);
		}
	}

}
