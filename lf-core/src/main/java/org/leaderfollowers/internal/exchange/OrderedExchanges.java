package org.leaderfollowers.internal.exchange;

import java.util.ArrayDeque;
import java.util.Collection;

import org.jspecify.annotations.Nullable;
import org.leaderfollowers.internal.buffer.GrowingDeque;

/**
 * The exchanges of a protocol whose replies come in the order of the requests. They must
 * be registered in the order in which the requests are written.
 */
public final class OrderedExchanges extends ExchangeTable {

	private final ArrayDeque<Exchange> waiting;

	/**
	 * Creates the table of one connection.
	 * @param places the maximum number of exchanges under way
	 */
	public OrderedExchanges(int places) {
		this(places, new ArrayDeque<>());
	}

	/** For tests: keeps the exchanges in a deque that may fail. */
	OrderedExchanges(int places, ArrayDeque<Exchange> waiting) {
		super(places);
		this.waiting = waiting;
	}

	@Override
	boolean add(Exchange exchange) {
		GrowingDeque.addLast(this.waiting, exchange);
		return true;
	}

	@Override
	boolean remove(Exchange exchange) {
		return this.waiting.removeLastOccurrence(exchange);
	}

	@Override
	@Nullable Exchange find(@Nullable Object key) {
		return this.waiting.pollFirst();
	}

	@Override
	Collection<Exchange> all() {
		return this.waiting;
	}

	@Override
	void clear() {
		this.waiting.clear();
	}

}
