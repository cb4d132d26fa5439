package org.leaderfollowers.internal.exchange;

import org.jspecify.annotations.Nullable;

/**
 * Exchanges in the order in which they were added. They are linked through themselves, so
 * an exchange is in one chain at most, and no step needs memory: an exchange that has
 * ended is not lost if memory is short. Not thread-safe.
 */
public final class ExchangeChain {

	private @Nullable Exchange first;

	private @Nullable Exchange last;

	/** Creates an empty chain. */
	public ExchangeChain() {
	}

	/**
	 * Adds an exchange at the end.
	 * @param exchange an exchange that is in no chain
	 */
	public void add(Exchange exchange) {
		if (this.last == null) {
			this.first = exchange;
		}
		else {
			this.last.next = exchange;
		}
		this.last = exchange;
	}

	/**
	 * Removes the first exchange.
	 * @return {@code null} if there is none
	 */
	public @Nullable Exchange poll() {
		Exchange polled = this.first;
		if (polled != null) {
			this.first = polled.next;
			polled.next = null;
			if (this.first == null) {
				this.last = null;
			}
		}
		return polled;
	}

	/**
	 * Whether there is no exchange.
	 * @return {@code true} if {@link #poll} would return {@code null}
	 */
	public boolean isEmpty() {
		return this.first == null;
	}

}
