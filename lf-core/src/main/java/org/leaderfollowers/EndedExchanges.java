package org.leaderfollowers;

import java.nio.ByteBuffer;
import java.util.concurrent.CompletableFuture;

import org.leaderfollowers.internal.exchange.Exchange;
import org.leaderfollowers.internal.exchange.Exchange.State;
import org.leaderfollowers.internal.exchange.ExchangeChain;

/**
 * The exchanges of a connection that have ended, until their futures are completed. Used
 * by the owner only. An exchange stays in one of two chains until all is done: if memory
 * is short meanwhile, the next call continues.
 */
final class EndedExchanges {

	private final Exchanges exchanges;

	/** Those that are neither counted nor completed yet. */
	private final ExchangeChain over = new ExchangeChain();

	/** Those that are completed when the thread runs code of the application. */
	private final ExchangeChain counted = new ExchangeChain();

	EndedExchanges(Exchanges exchanges) {
		this.exchanges = exchanges;
	}

	/** Where exchanges are added as soon as they have ended. */
	ExchangeChain over() {
		return this.over;
	}

	/** Whether there are futures to complete. */
	boolean isAny() {
		return !this.counted.isEmpty() || !this.over.isEmpty();
	}

	/**
	 * Counts exchanges, and completes futures of code that never blocks. The others wait
	 * for {@link #complete}.
	 */
	void count() {
		for (Exchange exchange = this.over.poll(); exchange != null; exchange = this.over.poll()) {
			boolean isRelayed = false;
			try {
				this.exchanges.count(exchange);
				isRelayed = Exchanges.isRelayed(exchange);
			}
			finally {
				if (!isRelayed) {
					this.counted.add(exchange);
				}
			}
			if (isRelayed) {
				complete(exchange);
			}
		}
	}

	/** Completes all futures. Runs code of the application. */
	void complete() {
		count();
		for (Exchange exchange = this.counted.poll(); exchange != null; exchange = this.counted.poll()) {
			complete(exchange);
		}
	}

	private void complete(Exchange exchange) {
		boolean done = false;
		try {
			CompletableFuture<ByteBuffer> future = exchange.future();
			if (future != null && exchange.state() == State.REPLIED) {
				future.complete(exchange.reply());
			}
			else if (future != null) {
				future.completeExceptionally(this.exchanges.failure(exchange));
			}
			done = true;
		}
		finally {
			if (!done) {
				this.counted.add(exchange);
			}
		}
	}

}
