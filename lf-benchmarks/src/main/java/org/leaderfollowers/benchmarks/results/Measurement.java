package org.leaderfollowers.benchmarks.results;

import java.util.Locale;
import java.util.Map;
import java.util.Optional;

import org.HdrHistogram.Histogram;
import org.jspecify.annotations.Nullable;

/**
 * One server, measured once.
 *
 * @param scenario the scenario
 * @param server the name of the server
 * @param round the round, from 0: within it, every server was measured once; or
 * {@link #SEPARATE_PASS}
 * @param values the values that could be had
 * @param errors requests without the right reply. If there are any, nothing else here is
 * worth anything
 * @param latencyNs all latencies, or {@code null} if latency is not what was measured
 */
public record Measurement(Scenario scenario, String server, int round, Map<Metric, Double> values, long errors,
		@Nullable Histogram latencyNs) {

	/** The round of what would disturb the others, such as counting system calls. */
	public static final int SEPARATE_PASS = -1;

	public Measurement {
		values = Map.copyOf(values);
	}

	/**
	 * A value of this measurement.
	 * @param metric what
	 * @return the value, or {@code null} if it could not be had
	 */
	public @Nullable Double value(Metric metric) {
		return this.values.get(metric);
	}

	/**
	 * Why this measurement is to be thrown away.
	 * @return the reason, or nothing if it is valid
	 */
	public Optional<String> fault() {
		if (this.errors > 0) {
			return Optional.of(String.format(Locale.ROOT, "%,d error%s", this.errors, (this.errors != 1) ? "s" : ""));
		}
		Double requestsPerSecond = value(Metric.REQUESTS_PER_SECOND);
		return (requestsPerSecond != null && requestsPerSecond == 0) ? Optional.of("no reply in time")
				: Optional.empty();
	}

	public boolean valid() {
		return fault().isEmpty();
	}

}
