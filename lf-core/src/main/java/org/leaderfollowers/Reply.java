package org.leaderfollowers;

import java.nio.ByteBuffer;
import java.util.concurrent.CompletableFuture;

import org.jspecify.annotations.Nullable;
import org.leaderfollowers.internal.exchange.Exchange;
import org.leaderfollowers.internal.exchange.Exchange.State;

/**
 * The future of a reply that no thread waits for. If the future is cancelled, the
 * exchange is given up.
 */
final class Reply extends CompletableFuture<ByteBuffer> {

	final Exchange exchange;

	/** Whether the thread that reads the reply completes the future at once. */
	final boolean isRelayed;

	private volatile @Nullable Exchanges connection;

	/**
	 * Creates the future of a new exchange.
	 * @param deadlineNanos the deadline, by the clock of the pool
	 */
	Reply(long deadlineNanos, boolean isRelayed) {
		this.isRelayed = isRelayed;
		this.exchange = Exchange.ofFuture(deadlineNanos, this);
	}

	/** Records where the request was sent. The future may have been cancelled before. */
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
