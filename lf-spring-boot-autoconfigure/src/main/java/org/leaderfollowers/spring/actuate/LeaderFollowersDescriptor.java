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
 * What the {@link LeaderFollowersEndpoint} shows: the pools and servers of the
 * application. Each is looked at once, one right after the other.
 *
 * @param application the name of the application, or {@code null} if it has none
 * @param time when this was
 * @param pools the pools, by name
 * @param servers the servers, by name
 */
public record LeaderFollowersDescriptor(@Nullable String application, Instant time, Map<String, PoolDescriptor> pools,
		Map<String, ServerDescriptor> servers) implements OperationResponseBody {

	/**
	 * How long something took, each time since the start.
	 *
	 * @param count how many times
	 * @param total all durations together
	 * @param p50 what half of them did not exceed, as the other percentiles at the most
	 * an eighth too much
	 * @param p90 what nine of ten did not exceed
	 * @param p99 what 99 of 100 did not exceed
	 * @param p999 what 999 of 1000 did not exceed
	 * @param max the longest of them
	 * @param buckets how many took how long, in ascending order, without empty ones. The
	 * difference of two looks is what happened in between
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
	 * What took about as long.
	 *
	 * @param upTo the longest duration that belongs here
	 * @param count how many times, without those of other buckets
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
