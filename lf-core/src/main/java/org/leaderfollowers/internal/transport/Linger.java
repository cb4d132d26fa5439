package org.leaderfollowers.internal.transport;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.concurrent.TimeUnit;

import org.leaderfollowers.internal.transport.Transport.Progress;

/**
 * The end of a connection that closes in good order: the peer is told that nothing more
 * comes, and given a moment to close its side, since closing with unread input would make
 * the kernel reset the connection and destroy replies on their way.
 */
public final class Linger {

	/** How long the peer may take to close its side, after which it is reset. */
	private static final long LINGER_NANOS = TimeUnit.SECONDS.toNanos(1);

	/**
	 * How much of a peer that goes on sending is read for nobody. What it may have had
	 * under way when it was told to stop is in this; the rest of a flood is not worth
	 * reading.
	 */
	private static final int LINGER_BYTES = 1024 * 1024;

	private final Transport transport;

	private final long deadlineNanos;

	private boolean outputIsShutDown;

	private int discardedBytes;

	/**
	 * Begins the end.
	 * @param transport to which everything was written
	 * @param nowNanos the time, {@link System#nanoTime()}
	 */
	public Linger(Transport transport, long nowNanos) {
		this.transport = transport;
		this.deadlineNanos = nowNanos + LINGER_NANOS;
	}

	/**
	 * When the peer has had its moment. Any thread.
	 * @return {@link System#nanoTime()}
	 */
	public long deadlineNanos() {
		return this.deadlineNanos;
	}

	/**
	 * Gets on with it.
	 * @param scratch cleared
	 * @param endOfInput whether the peer is known to send nothing more
	 * @param nowNanos the time, {@link System#nanoTime()}
	 * @return what is needed next, or {@link Progress#DONE} if the socket is to be closed
	 */
	public Progress proceed(ByteBuffer scratch, boolean endOfInput, long nowNanos) {
		try {
			if (!this.outputIsShutDown) {
				if (this.transport.shutdownOutput(endOfInput) == Progress.WANTS_WRITE) {
					return (nowNanos - this.deadlineNanos < 0) ? Progress.WANTS_WRITE : Progress.DONE;
				}
				this.outputIsShutDown = true;
			}
			return (!endOfInput && discardInput(scratch) && nowNanos - this.deadlineNanos < 0) ? Progress.WANTS_READ
					: Progress.DONE;
		}
		catch (IOException ex) {
			return Progress.DONE;
		}
	}

	/** Reads for nobody. Returns whether the peer may send more. */
	private boolean discardInput(ByteBuffer scratch) throws IOException {
		int count;
		do {
			count = this.transport.discard(scratch.clear());
			this.discardedBytes += Math.max(0, count);
		}
		while (count > 0 && this.discardedBytes < LINGER_BYTES);
		return count >= 0 && this.discardedBytes < LINGER_BYTES;
	}

}
