package org.leaderfollowers;

import java.nio.ByteBuffer;
import java.util.concurrent.CompletableFuture;

import org.jspecify.annotations.Nullable;
import org.leaderfollowers.internal.exchange.Exchange;
import org.leaderfollowers.internal.exchange.Exchange.State;

/**
 * The reply to come to a request for which nobody waits. Cancelling it gives the exchange
 * up.
 */
final class Reply extends CompletableFuture<ByteBuffer> {

	final Exchange exchange;

	private volatile @Nullable Exchanges connection;

	/**
	 * Creates the future of a new exchange.
	 * @param deadlineNanos until when, by the clock of the pool
	 */
	Reply(long deadlineNanos) {
		this.exchange = Exchange.ofFuture(deadlineNanos, this);
	}

	/** The request was sent; the future may have been cancelled before. */
	void begin(Exchanges sentOn) {
		this.connection = sentOn;
		giveUpIfCancelled();
	}

	@Override
	public boolean cancel(boolean mayInterruptIfRunning) {
		boolean cancelled = super.cancel(mayInterruptIfRunning);
		giveUpIfCancelled();
		return cancelled;
	}

	private void giveUpIfCancelled() {
		Exchanges sentOn = this.connection;
		if (isCancelled() && sentOn != null && this.exchange.end(State.CANCELLED)) {
			sentOn.givenUp(this.exchange);
		}
	}

}
