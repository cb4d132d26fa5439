package org.leaderfollowers.internal.transport;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.concurrent.TimeUnit;

import org.leaderfollowers.internal.transport.Transport.Progress;

/**
 * The end of a connection that closes in good order: the peer is told that nothing more
 * follows, and gets some time to close its side. Closing a socket with unread input would
 * make the kernel reset the connection and destroy replies on their way.
 */
public final class Linger {

	/** How long the peer may take to close its side, after which it is reset. */
	private static final long LINGER_NANOS = TimeUnit.SECONDS.toNanos(1);

	/**
	 * How many bytes are read and discarded if the peer continues to send. This includes
	 * what the peer had sent before it was told to stop; the rest of a flood is not read.
	 */
	private static final int LINGER_BYTES = 1024 * 1024;

	private final Transport transport;

	private final long deadlineNanos;

	private boolean outputIsShutDown;

	private int discardedBytes;

	/**
	 * Begins to linger.
	 * @param transport the transport, which has no pending output
	 * @param nowNanos the current time, {@link System#nanoTime()}
	 */
	public Linger(Transport transport, long nowNanos) {
		this.transport = transport;
		this.deadlineNanos = nowNanos + LINGER_NANOS;
	}

	/**
	 * When the peer must have closed its side. Any thread.
	 * @return {@link System#nanoTime()}
	 */
	public long deadlineNanos() {
		return this.deadlineNanos;
	}

	/**
	 * Continues to linger.
	 * @param scratch a buffer to read into, cleared
	 * @param endOfInput whether the peer is known to send nothing more
	 * @param nowNanos the current time, {@link System#nanoTime()}
	 * @return the event that has to happen next, or {@link Progress#DONE} if the socket
	 * must be closed
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

	/** Reads and discards input. Returns whether the peer may send more. */
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
