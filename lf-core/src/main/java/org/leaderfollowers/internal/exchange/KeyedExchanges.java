package org.leaderfollowers.internal.exchange;

import java.util.Collection;
import java.util.HashMap;
import java.util.Map;

import org.jspecify.annotations.Nullable;

/** The exchanges of a protocol whose replies contain the key of their request. */
public final class KeyedExchanges extends ExchangeTable {

	private final Map<Object, Exchange> byKey;

	private long latestStamp = -1;

	/**
	 * Creates the table of one connection.
	 * @param places the maximum number of exchanges under way
	 */
	public KeyedExchanges(int places) {
		// With another load factor, a map that could not allocate its first table would
		// later take one whose length is no power of two, and lose entries.
		this(places, new HashMap<>(16, 1));
	}

	/** For tests: keeps the exchanges in a map that may fail. */
	KeyedExchanges(int places, Map<Object, Exchange> byKey) {
		super(places);
		this.byKey = byKey;
	}

	/**
	 * Registers an exchange with a unique number. Any thread, before it writes the
	 * request.
	 * @param exchange a pending exchange
	 * @param largest the largest number; numbers are used in turn, from 0
	 * @return the result, which is {@link Registration#FULL} also if every number is in
	 * use
	 */
	public synchronized Registration registerStamped(Exchange exchange, long largest) {
		long stamp = this.latestStamp;
		for (int i = 0; i <= this.byKey.size(); i++) {
			stamp = (stamp >= largest) ? 0 : stamp + 1;
			if (!this.byKey.containsKey(stamp)) {
				this.latestStamp = stamp;
				return register(exchange, stamp);
			}
		}
		return Registration.FULL;
	}

	/**
	 * The number that {@link #registerStamped} has assigned. Called by the thread that
	 * registered the exchange.
	 * @param exchange a registered exchange
	 * @return a number from 0
	 */
	public static long stampOf(Exchange exchange) {
		if (exchange.key instanceof Long stamp) {
			return stamp;
		}
		throw new IllegalStateException("The exchange has no number");
	}

	@Override
	boolean add(Exchange exchange) {
		try {
			return exchange.key != null && this.byKey.putIfAbsent(exchange.key, exchange) == null;
		}
		catch (OutOfMemoryError ex) {
			// A map grows after it has added the entry.
			remove(exchange);
			throw ex;
		}
	}

	@Override
	boolean remove(Exchange exchange) {
		return exchange.key != null && this.byKey.remove(exchange.key, exchange);
	}

	@Override
	@Nullable Exchange find(@Nullable Object key) {
		return (key != null) ? this.byKey.remove(key) : null;
	}

	@Override
	Collection<Exchange> all() {
		return this.byKey.values();
	}

	@Override
	void clear() {
		this.byKey.clear();
	}

}
