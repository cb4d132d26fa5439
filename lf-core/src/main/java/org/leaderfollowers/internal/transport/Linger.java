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

	/**
	 * How long the peer may be silent, take no bytes, and not close its side. If nothing
	 * is unread then, the kernel still delivers replies on their way.
	 */
	private static final long SILENCE_NANOS = TimeUnit.SECONDS.toNanos(1);

	/** How long the peer may continue to send, after which it is reset. */
	private static final long LINGER_NANOS = TimeUnit.SECONDS.toNanos(5);

	/**
	 * How many bytes are read and discarded if the peer continues to send: what the
	 * kernels of both sides usually keep. The rest of a flood is not read, but the peer
	 * still gets the time to read its replies.
	 */
	private static final int LINGER_BYTES = 16 * 1024 * 1024;

	/** How many of them are discarded in a row, because the caller leads. */
	private static final int ROUND_BYTES = 256 * 1024;

	private final Transport transport;

	private final long lastDeadlineNanos;

	/** Written by the owner. */
	private volatile long deadlineNanos;

	private boolean outputIsShutDown;

	/** What was left to write. The leader may write some of it in between. */
	private int pendingBytes;

	private int discardedBytes;

	/**
	 * Begins to linger.
	 * @param transport the transport, which has no pending output
	 * @param nowNanos the current time, {@link System#nanoTime()}
	 */
	public Linger(Transport transport, long nowNanos) {
		this.transport = transport;
		this.pendingBytes = transport.pendingBytes();
		this.deadlineNanos = nowNanos + SILENCE_NANOS;
		this.lastDeadlineNanos = nowNanos + LINGER_NANOS;
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
					int before = this.pendingBytes;
					this.pendingBytes = this.transport.pendingBytes();
					if (this.pendingBytes < before) {
						extend(nowNanos);
					}
					return (nowNanos - this.deadlineNanos < 0) ? Progress.WANTS_WRITE : Progress.DONE;
				}
				this.outputIsShutDown = true;
			}
			if (endOfInput || !discardInput(scratch, nowNanos) || nowNanos - this.deadlineNanos >= 0) {
				return Progress.DONE;
			}
			return (this.discardedBytes < LINGER_BYTES) ? Progress.WANTS_READ : Progress.WANTS_TIME;
		}
		catch (IOException ex) {
			return Progress.DONE;
		}
	}

	/** Reads and discards input. Returns whether the peer may send more. */
	private boolean discardInput(ByteBuffer scratch, long nowNanos) throws IOException {
		int most = Math.min(this.discardedBytes + ROUND_BYTES, LINGER_BYTES);
		int before = this.discardedBytes;
		int count = 1;
		while (count > 0 && this.discardedBytes < most) {
			count = this.transport.discard(scratch.clear());
			this.discardedBytes += Math.max(0, count);
		}
		if (this.discardedBytes > before) {
			extend(nowNanos);
		}
		return count >= 0;
	}

	/** Gives the peer more time, because it has sent or taken bytes. */
	private void extend(long nowNanos) {
		long silentUntil = nowNanos + SILENCE_NANOS;
		boolean isFlood = this.discardedBytes >= LINGER_BYTES || silentUntil - this.lastDeadlineNanos > 0;
		this.deadlineNanos = isFlood ? this.lastDeadlineNanos : silentUntil;
	}

}
