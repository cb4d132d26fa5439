package org.leaderfollowers.spring.actuate;

import java.time.Duration;
import java.time.Instant;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.function.Function;

import org.jspecify.annotations.Nullable;
import org.leaderfollowers.LatencySnapshot;

import org.springframework.boot.actuate.endpoint.OperationResponseBody;

/**
 * The pools and servers of the application, as {@link LeaderFollowersEndpoint} shows
 * them. Their snapshots are taken one after the other.
 *
 * @param application the name of the application, or {@code null} if it has none
 * @param time when the snapshots were taken
 * @param pools the pools, by name
 * @param servers the servers, by name
 */
public record LeaderFollowersDescriptor(@Nullable String application, Instant time, Map<String, PoolDescriptor> pools,
		Map<String, ServerDescriptor> servers) implements OperationResponseBody {

	/**
	 * Distribution of the durations of an operation since the start.
	 *
	 * @param count the number of durations
	 * @param total the sum of all durations
	 * @param p50 the duration that half of them did not exceed. Each percentile is at
	 * most an eighth too high
	 * @param p90 the duration that 9 of 10 did not exceed
	 * @param p99 the duration that 99 of 100 did not exceed
	 * @param p999 the duration that 999 of 1000 did not exceed
	 * @param max the longest of them
	 * @param buckets the number of durations by their length, in ascending order, without
	 * empty buckets. The difference between two snapshots counts the durations between
	 * them
	 */
	public record LatencyDescriptor(long count, Duration total, Duration p50, Duration p90, Duration p99, Duration p999,
			Duration max, List<BucketDescriptor> buckets) {

		static LatencyDescriptor of(LatencySnapshot latency) {
			return new LatencyDescriptor(latency.count(), latency.total(), latency.percentile(50),
					latency.percentile(90), latency.percentile(99), latency.percentile(99.9), latency.max(),
					latency.buckets()
						.stream()
						.map((bucket) -> new BucketDescriptor(bucket.upTo(), bucket.count()))
						.toList());
		}

	}

	/**
	 * Durations of about the same length.
	 *
	 * @param upTo the longest duration of this bucket
	 * @param count the number of durations in this bucket only
	 */
	public record BucketDescriptor(Duration upTo, long count) {
	}

	static <E extends Enum<E>> Map<E, Long> counts(Class<E> type, Map<E, Long> counts) {
		return inOrder(type, (key) -> counts.getOrDefault(key, 0L));
	}

	static <E extends Enum<E>, V> Map<E, V> inOrder(Class<E> type, Function<E, V> value) {
		Map<E, V> values = new EnumMap<>(type);
		for (E key : type.getEnumConstants()) {
			values.put(key, value.apply(key));
		}
		return values;
	}

}
