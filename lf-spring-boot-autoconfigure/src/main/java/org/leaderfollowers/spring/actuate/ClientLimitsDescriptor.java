package org.leaderfollowers.spring.actuate;

import java.time.Instant;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

import org.jspecify.annotations.Nullable;
import org.leaderfollowers.spring.limit.ClientLimiter;
import org.leaderfollowers.spring.limit.ClientLimits;

/**
 * The limits that apply to each client of a server.
 *
 * @param limits the limits that are set, by the names of their properties
 * @param action what happens to a connection whose client sends too much
 * @param clients how many clients are counted one by one
 * @param aggregates how many networks of clients are counted together, because the
 * maximum number of clients is reached
 * @param offenders the clients that have exceeded a limit, the latest first; at most 100
 */
public record ClientLimitsDescriptor(Map<String, Long> limits, ClientLimits.Action action, int clients, int aggregates,
		List<OffenderDescriptor> offenders) {

	static @Nullable ClientLimitsDescriptor of(@Nullable ClientLimiter limiter, boolean shown) {
		if (limiter == null) {
			return null;
		}
		ClientLimiter.Snapshot snapshot = limiter.snapshot();
		return new ClientLimitsDescriptor(values(snapshot.limits()), snapshot.limits().action(), snapshot.clients(),
				snapshot.aggregates(),
				snapshot.offenders().stream().map((offender) -> OffenderDescriptor.of(offender, shown)).toList());
	}

	static Map<String, Long> values(ClientLimits limits) {
		Map<String, Long> values = new LinkedHashMap<>();
		limits.values().forEach((limit, value) -> values.put(limit.property(), value));
		return values;
	}

	/**
	 * A client that has exceeded a limit.
	 *
	 * @param client the address, network or key of the client, or {@code null} if the
	 * caller may not see it
	 * @param limit the limit
	 * @param count how often
	 * @param since when for the first time
	 * @param latest when for the last time
	 */
	public record OffenderDescriptor(@Nullable String client, String limit, long count, Instant since, Instant latest) {

		private static OffenderDescriptor of(ClientLimiter.Offender offender, boolean shown) {
			return new OffenderDescriptor(shown ? offender.client() : null, offender.limit().property(),
					offender.count(), offender.since(), offender.latest());
		}

	}

}
