package org.leaderfollowers.internal.exchange;

import java.util.ArrayList;
import java.util.Collection;
import java.util.List;

import org.jspecify.annotations.Nullable;
import org.leaderfollowers.internal.exchange.Exchange.State;

/**
 * The exchanges that are under way on one connection, at most as many as there are
 * places. The monitor of the table orders them; nothing under it blocks or calls the
 * application.
 * <p>
 * The rules:
 * <ol>
 * <li>an exchange is registered <em>before</em> the first byte of its request is written,
 * so its reply always finds it;</li>
 * <li>it leaves the table when its reply arrives or the connection ends, and at no other
 * moment: an exchange that has timed out or was cancelled keeps its key and its place, so
 * that a late reply is never taken for that of another request;</li>
 * <li>a closed table takes no more exchanges, and closing it ends those that it has: an
 * exchange that was registered is replied to, times out, is cancelled or is lost.</li>
 * </ol>
 */
public abstract class ExchangeTable {

	/** If no future is registered. */
	public static final long NO_DEADLINE = Long.MAX_VALUE;

	private final int places;

	/**
	 * Written under the monitor. Volatile, so that a thread that frees a place and then
	 * looks for waiting threads, and one that waits and then looks for a place, cannot
	 * miss each other.
	 */
	private volatile int taken;

	/** Those that have timed out or were cancelled, and whose replies have not come. */
	private int overdue;

	private boolean closed;

	/** The earliest deadline of a future, or an earlier one of one that has ended. */
	private volatile long deadlineNanos = NO_DEADLINE;

	/**
	 * Whether an exchange was registered.
	 */
	public enum Registration {

		/** It is registered: the request may be written. */
		REGISTERED,

		/** All places are taken. */
		FULL,

		/** Another exchange has its key. */
		DUPLICATE,

		/** The peer does not read, and as much waits for it as may wait. */
		CONGESTED,

		/** No reply will come any more on this connection. */
		CLOSED

	}

	ExchangeTable(int places) {
		this.places = places;
	}

	/**
	 * How many exchanges may be under way. Any thread.
	 * @return from 1
	 */
	public final int places() {
		return this.places;
	}

	/**
	 * Registers an exchange. Any thread, before it writes the request.
	 * @param exchange pending
	 * @param key identifies its reply; of no meaning if replies come in order
	 * @return whether it is registered
	 */
	public final synchronized Registration register(Exchange exchange, @Nullable Object key) {
		if (this.closed) {
			return Registration.CLOSED;
		}
		if (this.taken >= this.places) {
			return Registration.FULL;
		}
		exchange.key = key;
		if (!add(exchange)) {
			return Registration.DUPLICATE;
		}
		this.taken++;
		long earliest = this.deadlineNanos;
		boolean isTimed = !exchange.isAwaited() && exchange.deadlineNanos() != NO_DEADLINE;
		if (isTimed && (earliest == NO_DEADLINE || exchange.deadlineNanos() - earliest < 0)) {
			this.deadlineNanos = exchange.deadlineNanos();
		}
		return Registration.REGISTERED;
	}

	/**
	 * Takes an exchange back whose request was not written. The thread that registered
	 * it.
	 * @param exchange was registered
	 */
	public final synchronized void withdraw(Exchange exchange) {
		if (remove(exchange)) {
			this.taken--;
		}
	}

	/**
	 * The exchange whose reply has arrived, which leaves the table. The thread that
	 * reads.
	 * @param key of the reply
	 * @return {@code null} if it is the reply to nothing; the exchange may have ended
	 */
	public final synchronized @Nullable Exchange take(@Nullable Object key) {
		Exchange exchange = find(key);
		if (exchange != null) {
			this.taken--;
		}
		return exchange;
	}

	/**
	 * An exchange has ended without its reply, which may still come. Whoever has ended
	 * it, once.
	 * @return how many replies are owed by now
	 */
	public final synchronized int overdue() {
		this.overdue += this.closed ? 0 : 1;
		return this.overdue;
	}

	/**
	 * Whether an exchange is registered still. Any thread.
	 * @param exchange one of this connection
	 * @return whether its request was written, or is about to be
	 */
	public final synchronized boolean holds(Exchange exchange) {
		return all().contains(exchange);
	}

	/** A reply has come for an exchange that had ended. The thread that reads. */
	public final synchronized void late() {
		this.overdue -= this.closed ? 0 : 1;
	}

	/**
	 * How many exchanges are under way, with those whose late replies may still come. Any
	 * thread, without the monitor.
	 * @return places that are taken
	 */
	public final int taken() {
		return this.taken;
	}

	/**
	 * Whether there is a free place. Any thread, without the monitor.
	 * @return whether to try
	 */
	public final boolean hasPlace() {
		return taken() < this.places;
	}

	/**
	 * How many exchanges wait for their replies. Any thread.
	 * @return without those that have ended
	 */
	public final synchronized int pending() {
		return Math.max(0, this.taken - this.overdue);
	}

	/**
	 * When {@link #expire} is to be called. Any thread.
	 * @return by the clock of the pool, or {@link #NO_DEADLINE}
	 */
	public final long deadlineNanos() {
		return this.deadlineNanos;
	}

	/**
	 * Ends the futures whose time is up. The owner of the connection. Threads that wait
	 * end their exchanges themselves.
	 * @param nowNanos the time, by the clock of the pool
	 * @return those that this has ended, to be completed without a lock
	 */
	public final List<Exchange> expire(long nowNanos) {
		List<Exchange> expired = new ArrayList<>();
		synchronized (this) {
			long earliest = NO_DEADLINE;
			for (Exchange exchange : all()) {
				if (exchange.isAwaited() || exchange.state() != State.PENDING) {
					continue;
				}
				if (exchange.deadlineNanos() - nowNanos <= 0) {
					expired.add(exchange);
				}
				else if (earliest == NO_DEADLINE || exchange.deadlineNanos() - earliest < 0) {
					earliest = exchange.deadlineNanos();
				}
			}
			this.deadlineNanos = earliest;
		}
		expired.removeIf((exchange) -> !exchange.end(State.TIMED_OUT));
		return expired;
	}

	/**
	 * No reply will come any more: takes no more exchanges, and ends those under way. Any
	 * thread.
	 * @return the futures that this has ended, to be completed without a lock
	 */
	public final List<Exchange> close() {
		List<Exchange> lost;
		synchronized (this) {
			this.closed = true;
			lost = new ArrayList<>(all());
			clear();
			this.taken = 0;
			this.overdue = 0;
			this.deadlineNanos = NO_DEADLINE;
		}
		lost.removeIf((exchange) -> !exchange.end(State.LOST) || exchange.isAwaited());
		return lost;
	}

	// What depends on how replies find their requests; under the monitor

	/** Returns {@code false} if another one has its key. */
	abstract boolean add(Exchange exchange);

	abstract boolean remove(Exchange exchange);

	/** Finds and removes. */
	abstract @Nullable Exchange find(@Nullable Object key);

	abstract Collection<Exchange> all();

	abstract void clear();

}
