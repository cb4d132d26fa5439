package org.leaderfollowers.internal.exchange;

import java.util.Collection;
import java.util.Iterator;

import org.jspecify.annotations.Nullable;
import org.leaderfollowers.internal.exchange.Exchange.State;

/**
 * The exchanges that are under way on one connection. Each takes one of a limited number
 * of places. The monitor of the table orders them. Code under the monitor neither blocks
 * nor calls the application.
 * <p>
 * The rules:
 * <ol>
 * <li>an exchange is registered <em>before</em> the first byte of its request is written,
 * so its reply always finds it;</li>
 * <li>it leaves the table only when its reply arrives or the connection ends. An exchange
 * that has timed out or was cancelled keeps its key and its place, so that its late reply
 * is never matched with another request;</li>
 * <li>a closed table accepts no exchanges, and closing it ends those that it contains.
 * Every registered exchange is therefore replied to, times out, is cancelled or is lost.
 * </li>
 * </ol>
 */
public abstract class ExchangeTable {

	/** The value if no future is registered. */
	public static final long NO_DEADLINE = Long.MAX_VALUE;

	private final int places;

	/**
	 * Written under the monitor. It is volatile so that no wake-up is lost: one thread
	 * frees a place and then looks for waiting threads, and another one waits and then
	 * looks for a place.
	 */
	private volatile int taken;

	/**
	 * How many of the registered exchanges have timed out or were cancelled: their
	 * replies have not come.
	 */
	private int overdue;

	/** Written under the monitor. */
	private volatile boolean closed;

	/**
	 * The earliest deadline of the futures. It may be too early if that future has ended.
	 */
	private volatile long deadlineNanos = NO_DEADLINE;

	/** The result of an attempt to register an exchange. */
	public enum Registration {

		/** The exchange is registered: the request may be written. */
		REGISTERED,

		/** All places are taken. */
		FULL,

		/** Another exchange has the same key. */
		DUPLICATE,

		/** The peer does not read, and the maximum number of bytes waits for it. */
		CONGESTED,

		/** The connection can deliver no further replies. */
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
	 * @param exchange a pending exchange
	 * @param key identifies the reply; ignored if replies come in order
	 * @return the result
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
		exchange.table = this;
		this.taken++;
		long earliest = this.deadlineNanos;
		boolean isTimed = !exchange.isAwaited() && exchange.deadlineNanos() != NO_DEADLINE;
		if (isTimed && (earliest == NO_DEADLINE || exchange.deadlineNanos() - earliest < 0)) {
			this.deadlineNanos = exchange.deadlineNanos();
		}
		return Registration.REGISTERED;
	}

	/**
	 * Removes an exchange whose request was not written. Called by the thread that
	 * registered it.
	 * @param exchange a registered exchange
	 */
	public final synchronized void withdraw(Exchange exchange) {
		if (remove(exchange)) {
			removed(exchange);
		}
	}

	/** It no longer counts, whether it has ended before or not. */
	private void removed(Exchange exchange) {
		this.taken--;
		this.overdue -= exchange.isOverdue ? 1 : 0;
		exchange.isOverdue = false;
		exchange.table = null;
	}

	/**
	 * Finds the exchange whose reply has arrived, and removes it from the table. Called
	 * by the thread that reads.
	 * @param key the key of the reply
	 * @return {@code null} if no exchange has this key; the exchange may have ended
	 */
	public final synchronized @Nullable Exchange take(@Nullable Object key) {
		Exchange exchange = find(key);
		if (exchange != null) {
			removed(exchange);
		}
		return exchange;
	}

	/**
	 * Records that an exchange has ended without its reply, which may still come. Called
	 * by the thread that has ended it. Changes nothing if the exchange has left the table
	 * meanwhile: its reply has come, or its request was not written.
	 * @param exchange an exchange that has ended
	 * @return how many replies are overdue now
	 */
	public final synchronized int overdue(Exchange exchange) {
		if (holds(exchange) && !exchange.isOverdue) {
			exchange.isOverdue = true;
			this.overdue++;
		}
		return this.overdue;
	}

	/**
	 * Whether an exchange is still registered. Any thread.
	 * @param exchange an exchange of this connection
	 * @return whether its request was written or will be written next
	 */
	public final synchronized boolean holds(Exchange exchange) {
		return exchange.table == this;
	}

	/**
	 * How many exchanges are under way, including those whose late replies may still
	 * come. Any thread, without the monitor.
	 * @return the number of places that are taken
	 */
	public final int taken() {
		return this.taken;
	}

	/**
	 * Whether there is a free place. Any thread, without the monitor.
	 * @return whether an attempt makes sense; {@code false} if the table is closed
	 */
	public final boolean hasPlace() {
		return taken() < this.places && !this.closed;
	}

	/**
	 * Whether the table is closed. Any thread.
	 * @return {@code true} after {@link #close}
	 */
	public final boolean isClosed() {
		return this.closed;
	}

	/**
	 * How many exchanges wait for their replies. Any thread.
	 * @return the number of exchanges, without those that have ended
	 */
	public final synchronized int pending() {
		return this.taken - this.overdue;
	}

	/**
	 * When {@link #expire} must be called. Any thread.
	 * @return the time by the clock of the pool, or {@link #NO_DEADLINE}
	 */
	public final long deadlineNanos() {
		return this.deadlineNanos;
	}

	/**
	 * Ends the futures that have timed out. Called by the owner of the connection.
	 * Waiting threads end their exchanges themselves.
	 * @param nowNanos the current time, by the clock of the pool
	 * @param expired where to add the exchanges that this call has ended; the caller
	 * completes them without a lock
	 */
	public final void expire(long nowNanos, ExchangeChain expired) {
		synchronized (this) {
			long earliest = NO_DEADLINE;
			for (Exchange exchange : all()) {
				if (exchange.isAwaited() || exchange.state() != State.PENDING) {
					continue;
				}
				if (exchange.deadlineNanos() - nowNanos > 0) {
					boolean isEarlier = earliest == NO_DEADLINE || exchange.deadlineNanos() - earliest < 0;
					earliest = isEarlier ? exchange.deadlineNanos() : earliest;
				}
				else if (exchange.end(State.TIMED_OUT)) {
					expired.add(exchange);
				}
			}
			this.deadlineNanos = earliest;
		}
	}

	/**
	 * Closes the table, because no further reply will come, and ends the exchanges under
	 * way. Called by the owner of the connection. If it fails for want of memory, the
	 * table is as before.
	 * @param lost where to add those of the ended exchanges that no thread waits for; the
	 * caller completes them without a lock
	 * @return whether it has ended any
	 */
	public final boolean close(ExchangeChain lost) {
		boolean any = false;
		synchronized (this) {
			// Needs memory, which the rest does not.
			Iterator<Exchange> all = all().iterator();
			this.closed = true;
			while (all.hasNext()) {
				Exchange exchange = all.next();
				exchange.table = null;
				if (exchange.end(State.LOST)) {
					any = true;
					if (!exchange.isAwaited()) {
						lost.add(exchange);
					}
				}
			}
			clear();
			this.taken = 0;
			this.overdue = 0;
			this.deadlineNanos = NO_DEADLINE;
		}
		return any;
	}

	// Depends on how replies are matched with requests; called under the monitor

	/** Adds an exchange. Returns {@code false} if another one has the same key. */
	abstract boolean add(Exchange exchange);

	abstract boolean remove(Exchange exchange);

	/** Finds and removes an exchange. */
	abstract @Nullable Exchange find(@Nullable Object key);

	abstract Collection<Exchange> all();

	abstract void clear();

}
