package org.leaderfollowers.spring.limit;

import java.time.Instant;
import java.util.ArrayList;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

import org.leaderfollowers.spring.limit.ClientLimiter.Offender;
import org.leaderfollowers.spring.limit.ClientLimits.Limit;

/** The clients that have exceeded a limit lately. Any thread. */
final class Offenders {

	/** The maximum number of entries. The one without news for the longest time goes. */
	static final int MOST = 100;

	/** In the order of the latest excess. */
	private final Map<Key, Offender> offenders = new LinkedHashMap<>(16, 0.75F, true) {

		private static final long serialVersionUID = 1L;

		@Override
		protected boolean removeEldestEntry(Map.Entry<Key, Offender> eldest) {
			return size() > MOST;
		}

	};

	private record Key(String client, Limit limit) {
	}

	/**
	 * Records an excess.
	 * @return whether it is the first one of this client
	 */
	synchronized boolean record(String client, Limit limit, Instant now) {
		Offender offender = this.offenders.compute(new Key(client, limit),
				(key, known) -> (known != null) ? new Offender(client, limit, known.count() + 1, known.since(), now)
						: new Offender(client, limit, 1, now, now));
		return offender.count() == 1;
	}

	/** The offenders, the latest first. */
	synchronized List<Offender> list() {
		List<Offender> list = new ArrayList<>(this.offenders.values());
		Collections.reverse(list);
		return list;
	}

}
