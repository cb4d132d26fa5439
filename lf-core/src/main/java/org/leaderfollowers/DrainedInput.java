package org.leaderfollowers;

import java.io.IOException;
import java.nio.channels.SocketChannel;

import org.leaderfollowers.internal.transport.Transport;

/**
 * The input that a connection still takes after it has begun to drain: the bytes that
 * have been received when it reads for the first time, and the rest of a message that
 * they begin. A peer that continues to send must not delay the end, and a peer that has
 * sent half of a message delays it only for a short time.
 * <p>
 * If the connection took input until nothing is left, a peer that sends fast enough would
 * be served without end. The number of bytes is therefore determined once, after the
 * handler was called for the drain and has received the answer to its sign-off, if it
 * owes a reply until then. It is exact for plain connections. With TLS it counts the
 * encrypted bytes, which are more than the decrypted ones, so a read that finds nothing
 * ends it as well. Only the owner of the handle touches it.
 */
final class DrainedInput {

	private static final long UNKNOWN = Long.MAX_VALUE;

	private long left;

	private boolean lastMessage;

	/** When the message that has begun must be complete. */
	private long deadline = EngineEventHandler.NO_DEADLINE;

	/** Creates the limit of a connection whose input is not {@link #measure measured}. */
	DrainedInput() {
		this(UNKNOWN);
	}

	/**
	 * Creates a limit.
	 * @param received how many bytes have been received and not read
	 */
	DrainedInput(long received) {
		this.left = received;
	}

	/** Determines what the connection has received, unless this has been done before. */
	void measure(SocketChannel socket, Transport transport) {
		if (this.left != UNKNOWN) {
			return;
		}
		long received = transport.undecodedBytes();
		try {
			// The system knows how many bytes wait. No method of the channel tells.
			received += socket.socket().getInputStream().available();
		}
		catch (IOException ex) {
			// The channel is closed. The next read or write detects this as well.
		}
		this.left = received;
	}

	/** Counts bytes that were read. */
	void count(int bytes) {
		if (this.left != UNKNOWN) {
			this.left -= bytes;
		}
	}

	/** Records that nothing more could be read. */
	void end() {
		if (this.left != UNKNOWN) {
			this.left = 0;
		}
	}

	/** Whether the received bytes have been determined. */
	boolean isMeasured() {
		return this.left != UNKNOWN;
	}

	/** Whether some of the received bytes have not been read. */
	boolean isLeft() {
		return this.left > 0;
	}

	/**
	 * Whether to read again.
	 * @param begun whether a message has begun. It may be completed, and is then the last
	 * one
	 */
	boolean allowsRead(boolean begun) {
		this.lastMessage |= !isLeft() && begun;
		return isLeft() || begun;
	}

	/** Whether the message that has begun is the last one. */
	boolean isLastMessage() {
		return this.lastMessage;
	}

	/**
	 * When the message that has begun must be complete. The time begins with the first
	 * call, so that it does not begin anew with each byte.
	 * @param nowNanos the current time
	 * @param timeoutNanos how long the rest of the message may take
	 */
	long deadline(long nowNanos, long timeoutNanos) {
		if (this.deadline == EngineEventHandler.NO_DEADLINE) {
			this.deadline = nowNanos + timeoutNanos;
		}
		return this.deadline;
	}

	/** Whether the message that has begun is too late. */
	boolean isLate(long nowNanos) {
		return ConnectionTimeouts.isPast(this.deadline, nowNanos);
	}

}
