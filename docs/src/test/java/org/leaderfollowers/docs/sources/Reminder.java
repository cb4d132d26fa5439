package org.leaderfollowers.docs.sources;

import java.time.Duration;
import java.time.Instant;
import java.util.concurrent.Delayed;
import java.util.concurrent.TimeUnit;

// tag::event[]
record Reminder(String account, Instant due) implements Delayed {

	@Override
	public long getDelay(TimeUnit unit) {
		return unit.convert(Duration.between(Instant.now(), this.due));
	}

	@Override
	public int compareTo(Delayed other) {
		return this.due.compareTo(((Reminder) other).due());
	}

}
// end::event[]
