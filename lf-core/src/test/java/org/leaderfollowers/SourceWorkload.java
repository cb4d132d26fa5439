package org.leaderfollowers;

import java.time.Duration;
import java.util.ArrayDeque;
import java.util.BitSet;
import java.util.Deque;

import org.jspecify.annotations.Nullable;
import org.leaderfollowers.simulation.Simulator;

/**
 * The event source of one simulated run. Checks that only one thread waits for events,
 * that each event is handled once, and that no more handlers run than allowed.
 */
final class SourceWorkload implements EventSource<Integer>, EventSource.Handler<Integer> {

	static final String NAME = "events";

	private static final int MOST_EVENTS = 30;

	private final Simulator simulator;

	private final Runnable exchange;

	private final int concurrency;

	private final Deque<Integer> events = new ArrayDeque<>();

	private int produced;

	private final BitSet handled = new BitSet();

	private int taken;

	private int running;

	/** How long its leaders had waited in total, before the present one. */
	private long waitedNanos;

	/** Since when the present leader waits. */
	private long waitsSince;

	private boolean woken;

	private @Nullable Thread leader;

	/**
	 * Creates the source.
	 * @param exchange sends a request and waits for the reply, or does nothing
	 */
	SourceWorkload(Simulator simulator, Runnable exchange) {
		this.simulator = simulator;
		this.exchange = exchange;
		this.concurrency = 1 + simulator.choose(3);
	}

	void begin(LeaderFollowersPool pool) {
		pool.register(NAME, this, this.concurrency, this);
		for (int i = this.simulator.choose(MOST_EVENTS); i > 0; i--) {
			this.simulator.at(this.simulator.nanoTime() + this.simulator.choose(30_000_000), "event",
					() -> this.events.add(this.produced++));
		}
	}

	@Override
	public @Nullable Integer await(Duration timeout) {
		require(this.leader == null, "two leaders of the event source");
		this.leader = Thread.currentThread();
		this.waitsSince = this.simulator.nanoTime();
		this.simulator.await("awaits an event", () -> this.woken || !this.events.isEmpty(),
				this.simulator.nanoTime() + timeout.toNanos());
		this.waitedNanos += this.simulator.nanoTime() - this.waitsSince;
		this.woken = false;
		this.leader = null;
		if (this.simulator.fault(50)) {
			throw new IllegalStateException("simulated failure of the event source");
		}
		Integer event = this.events.poll();
		this.taken += (event != null) ? 1 : 0;
		return event;
	}

	/** How long its leaders have waited in total. */
	long waitedNanos() {
		return this.waitedNanos + ((this.leader != null) ? this.simulator.nanoTime() - this.waitsSince : 0);
	}

	@Override
	public void wakeup() {
		this.woken = true;
	}

	@Override
	public void handleEvent(Integer event) {
		this.simulator.note("handles event " + event);
		require(!this.handled.get(event), "event " + event + " was handled twice");
		this.handled.set(event);
		this.running++;
		require(this.running <= this.concurrency, "too many handlers of the event source");
		if (this.simulator.choose(3) == 0) {
			this.simulator.sleep(this.simulator.choose(5_000_000));
		}
		this.exchange.run();
		this.running--;
		if (this.simulator.fault(50)) {
			throw new IllegalStateException("simulated failure of an event");
		}
	}

	/** Requires that all events are handled. */
	void awaitEvents(long patienceNanos) {
		boolean done = this.simulator.await("awaits the events", () -> this.events.isEmpty() && this.running == 0,
				this.simulator.nanoTime() + patienceNanos);
		require(done, this.events.size() + " events are not handled:" + this.simulator.describeThreads());
	}

	/**
	 * Requires that no event that was taken is lost, and that no thread uses the source.
	 */
	void check() {
		require(this.running == 0 && this.leader == null, "a thread still uses the event source");
		require(this.handled.cardinality() == this.taken,
				this.handled.cardinality() + " of " + this.taken + " events were handled");
	}

	private void require(boolean holds, String rule) {
		if (!holds) {
			this.simulator.fail(rule);
		}
	}

}
