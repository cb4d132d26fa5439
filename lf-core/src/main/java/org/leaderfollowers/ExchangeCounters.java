package org.leaderfollowers;

import java.util.EnumMap;
import java.util.Map;
import java.util.concurrent.atomic.LongAdder;

import org.leaderfollowers.internal.exchange.Exchange;

/** Counts how the exchanges of a client or of a server have ended. Any thread. */
class ExchangeCounters {

	private final LongAdder[] outcomes = new LongAdder[ClientSnapshot.Outcome.values().length];

	final LongAdder lateReplies = new LongAdder();

	ExchangeCounters() {
		for (int i = 0; i < this.outcomes.length; i++) {
			this.outcomes[i] = new LongAdder();
		}
	}

	final void ended(Exchange.State state) {
		ended(switch (state) {
			case REPLIED -> ClientSnapshot.Outcome.REPLIED;
			case TIMED_OUT -> ClientSnapshot.Outcome.TIMED_OUT;
			case CANCELLED -> ClientSnapshot.Outcome.CANCELLED;
			case LOST -> ClientSnapshot.Outcome.LOST;
			case REFUSED -> ClientSnapshot.Outcome.REJECTED;
			case PENDING -> throw new IllegalArgumentException("The exchange has not ended");
		});
	}

	final void ended(ClientSnapshot.Outcome outcome) {
		this.outcomes[outcome.ordinal()].increment();
	}

	final Map<ClientSnapshot.Outcome, Long> outcomes() {
		Map<ClientSnapshot.Outcome, Long> counts = new EnumMap<>(ClientSnapshot.Outcome.class);
		for (ClientSnapshot.Outcome outcome : ClientSnapshot.Outcome.values()) {
			counts.put(outcome, this.outcomes[outcome.ordinal()].sum());
		}
		return Map.copyOf(counts);
	}

}
