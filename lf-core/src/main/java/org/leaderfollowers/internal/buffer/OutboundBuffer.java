package org.leaderfollowers.internal.buffer;

import java.io.IOException;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.nio.ByteBuffer;
import java.nio.channels.WritableByteChannel;
import java.util.ArrayDeque;
import java.util.concurrent.TimeUnit;

import org.jspecify.annotations.Nullable;
import org.leaderfollowers.internal.linkage.Linkage;

/**
 * Writes the bytes of a connection to its socket: at once while the socket accepts them,
 * otherwise later and in order.
 * <p>
 * Any thread may send; the monitor of this object determines the order. Only non-blocking
 * writes and copies happen under the monitor, so a leader that flushes never waits long
 * for it.
 */
public class OutboundBuffer {

	/**
	 * The maximum number of bytes of a heap buffer that are written at once. For each
	 * such write, the JDK uses a direct buffer of the same size and keeps it with the
	 * thread.
	 */
	private static final int HEAP_CHUNK = 128 * 1024;

	/** The maximum size of a buffer that is allocated for several small frames. */
	private static final int SHARED_BUFFER = 16 * 1024;

	private static final VarHandle ACCEPTED;

	static {
		try {
			ACCEPTED = MethodHandles.lookup().findVarHandle(OutboundBuffer.class, "accepted", long.class);
		}
		catch (ReflectiveOperationException ex) {
			throw new ExceptionInInitializerError(ex);
		}
		Linkage.link(() -> {
			long ignored = (long) ACCEPTED.getOpaque((OutboundBuffer) null);
		}, () -> ACCEPTED.setOpaque((OutboundBuffer) null, 0L));
	}

	/** Changed under the monitor. */
	private MemoryBudget budget;

	/**
	 * The bytes that wait for the socket. Nearly all connections have none at any time.
	 */
	private volatile @Nullable Waiting waiting;

	/**
	 * Frames that were corked and not passed to the socket yet, from position to limit.
	 */
	private @Nullable ByteBuffer corked;

	/**
	 * How many bytes of frames were accepted. A negative value, the complement, means
	 * that the connection accepts no more frames; a separate flag would make each
	 * connection larger. Written under the monitor, in opaque mode.
	 */
	@SuppressWarnings("FieldMayBeFinal") // changed through ACCEPTED
	private long accepted;

	/** At least one byte that waits. Changed under the monitor; read by any thread. */
	private static final class Waiting {

		final ArrayDeque<ByteBuffer> buffers = new ArrayDeque<>(4);

		volatile long bytes;

		/**
		 * When the socket last accepted a byte; earlier, if it accepts fewer bytes than
		 * the {@linkplain #minRate minimum rate}.
		 */
		volatile long progressNanos = System.nanoTime();

	}

	/** The result of sending a frame. */
	public enum Sent {

		/** The socket has accepted the whole frame. */
		WRITTEN,

		/**
		 * Accepted. Its bytes are the first that wait, so write events are needed from
		 * now on.
		 */
		BEGAN_TO_WAIT,

		/** Accepted; it waits behind other bytes. */
		WAITS,

		/**
		 * Not accepted: the maximum number of bytes waits already, or the
		 * {@link Acceptance} has refused the frame.
		 */
		REFUSED,

		/**
		 * Not accepted, or not entirely, because there is no memory to keep it. No
		 * further frame is accepted.
		 */
		OVERLOADED,

		/** Not accepted: the connection is closed. */
		CLOSED

	}

	/** Decides about frames, in the order in which they are written. */
	@FunctionalInterface
	public interface Acceptance {

		/**
		 * Called under the monitor, before the first byte of the frame is written. Must
		 * not block.
		 * @return whether to write the frame
		 */
		boolean accept();

	}

	/**
	 * Creates the buffer of one connection.
	 * @param budget accounts for the memory of bytes that wait
	 */
	public OutboundBuffer(MemoryBudget budget) {
		this.budget = budget;
	}

	/**
	 * Charges another budget with the bytes that wait, and with those that will.
	 * @param next the budget
	 * @return {@code false} if that budget does not allow it; nothing has changed then
	 */
	public synchronized boolean transfer(MemoryBudget next) {
		Waiting current = this.waiting;
		long bytes = (current != null) ? current.buffers.stream().mapToLong(ByteBuffer::capacity).sum() : 0;
		if (!this.budget.transfer(bytes, next)) {
			return false;
		}
		this.budget = next;
		return true;
	}

	/**
	 * Writes a frame, and keeps the bytes that the socket does not accept.
	 * @param channel the socket, in non-blocking mode
	 * @param frame from position to limit; copied if it has to wait
	 * @param limit the frame is refused if this many bytes wait already
	 * @param acceptance called if the frame would be accepted otherwise, or {@code null}
	 * @return the result
	 * @throws IOException if the socket failed
	 */
	public synchronized Sent send(WritableByteChannel channel, ByteBuffer frame, long limit,
			@Nullable Acceptance acceptance) throws IOException {
		if (isClosed()) {
			return Sent.CLOSED;
		}
		Sent earlier = writeCorked(channel);
		if (earlier == Sent.OVERLOADED) {
			return earlier;
		}
		if (waitingBytes() >= limit || (acceptance != null && !acceptance.accept())) {
			return Sent.REFUSED;
		}
		int length = frame.remaining();
		Sent now = writeOrKeep(channel, frame);
		if (now != Sent.OVERLOADED) {
			accepted(length);
		}
		// Write events are needed if either of the two frames has begun to wait.
		return (earlier == Sent.BEGAN_TO_WAIT && now == Sent.WAITS) ? Sent.BEGAN_TO_WAIT : now;
	}

	private void accepted(int bytes) {
		ACCEPTED.setOpaque(this, this.accepted + bytes);
	}

	private boolean isClosed() {
		return this.accepted < 0;
	}

	private void markClosed() {
		if (!isClosed()) {
			ACCEPTED.setOpaque(this, ~this.accepted);
		}
	}

	private Sent writeOrKeep(WritableByteChannel channel, ByteBuffer frame) throws IOException {
		Waiting current = this.waiting;
		// If the write fails, or a part was written and the rest cannot be kept, no
		// further
		// bytes may be written: they would take the place of those that are lost.
		boolean kept = false;
		try {
			if (current == null) {
				write(channel, frame, Long.MAX_VALUE);
				if (!frame.hasRemaining()) {
					kept = true;
					return Sent.WRITTEN;
				}
			}
			Waiting behind = (current != null) ? current : new Waiting();
			kept = keep(frame, behind);
			if (!kept) {
				return Sent.OVERLOADED;
			}
			this.waiting = behind;
		}
		finally {
			if (!kept) {
				markClosed();
			}
		}
		return (current == null) ? Sent.BEGAN_TO_WAIT : Sent.WAITS;
	}

	/**
	 * Corks a frame, to be written together with later frames, at the latest by
	 * {@link #uncork}.
	 * @param gathered holds the corked frames, one after the other; only this object uses
	 * it while frames are corked
	 * @param start where the frame begins: the end of the previous frame, if that is
	 * corked
	 * @param end where the frame ends
	 * @return {@link Sent#WAITS} if it is corked, {@link Sent#CLOSED}, or
	 * {@link Sent#REFUSED} if it must be sent now because bytes wait already
	 */
	public synchronized Sent cork(ByteBuffer gathered, int start, int end) {
		if (isClosed()) {
			return Sent.CLOSED;
		}
		if (this.waiting != null) {
			return Sent.REFUSED;
		}
		accepted(end - start);
		gathered.limit(end);
		if (this.corked == null) {
			// Another thread may have written the earlier frames.
			this.corked = gathered.position(start);
		}
		return Sent.WAITS;
	}

	/**
	 * Writes the corked frames. Any thread: if the handler of the owner does not return,
	 * the thread that takes over calls this method.
	 * @param channel the socket, in non-blocking mode
	 * @return {@link Sent#WRITTEN}, {@link Sent#BEGAN_TO_WAIT} if the socket did not take
	 * all of it, or {@link Sent#OVERLOADED}
	 * @throws IOException if the socket failed
	 */
	public synchronized Sent uncork(WritableByteChannel channel) throws IOException {
		return writeCorked(channel);
	}

	private Sent writeCorked(WritableByteChannel channel) throws IOException {
		ByteBuffer gathered = this.corked;
		if (gathered == null) {
			return Sent.WRITTEN;
		}
		this.corked = null;
		return writeOrKeep(channel, gathered);
	}

	/**
	 * Copies a frame behind the bytes that wait: into the spare room of the last buffer,
	 * or into a new buffer with as much spare room as bytes that wait already. Many small
	 * frames therefore share a buffer, and the memory is at most about twice the number
	 * of bytes that wait.
	 * @return whether the budget allows it
	 */
	private boolean keep(ByteBuffer frame, Waiting behind) {
		int length = frame.remaining();
		ByteBuffer last = behind.buffers.peekLast();
		if (last == null || last.capacity() - last.limit() < length) {
			last = this.budget.allocateLast(Math.max(length, (int) Math.min(behind.bytes, SHARED_BUFFER)),
					behind.buffers);
			if (last == null) {
				return false;
			}
			last.limit(0);
		}
		int end = last.limit();
		last.limit(end + length).put(end, frame, frame.position(), length);
		frame.position(frame.limit());
		behind.bytes += length;
		return true;
	}

	/**
	 * Writes the bytes that wait, as far as the socket accepts them.
	 * @param channel the socket, in non-blocking mode
	 * @param budget the maximum number of bytes, so that one connection does not occupy a
	 * leader
	 * @return how many bytes still wait
	 * @throws IOException if the socket failed
	 */
	public synchronized long flush(WritableByteChannel channel, long budget) throws IOException {
		Waiting current = this.waiting;
		if (current == null) {
			return 0;
		}
		long written = 0;
		while (written < budget) {
			ByteBuffer first = current.buffers.peekFirst();
			if (first == null) {
				break;
			}
			written += write(channel, first, budget - written);
			if (first.hasRemaining()) {
				break;
			}
			current.buffers.removeFirst();
			this.budget.release(first.capacity());
		}
		if (written > 0) {
			current.progressNanos = progressed(current.progressNanos, written);
			current.bytes -= written;
		}
		if (current.buffers.isEmpty()) {
			this.waiting = null;
			return 0;
		}
		return current.bytes;
	}

	/**
	 * How many bytes the socket must accept in a second while bytes wait.
	 * @return bytes, or 0 if any byte is enough
	 */
	protected int minRate() {
		return 0;
	}

	/**
	 * At the minimum rate, each byte is worth the time that it takes. A socket that is
	 * slower therefore falls behind the clock, and more so from byte to byte.
	 */
	private long progressed(long before, long written) {
		long now = System.nanoTime();
		int rate = minRate();
		if (rate == 0) {
			return now;
		}
		long earned = before + TimeUnit.SECONDS.toNanos(written) / rate;
		return (earned - now < 0) ? earned : now;
	}

	private static int write(WritableByteChannel channel, ByteBuffer buffer, long budget) throws IOException {
		int limit = buffer.limit();
		int written = 0;
		int chunk;
		int taken;
		do {
			if (!buffer.isDirect()) {
				buffer.limit(Math.min(limit, buffer.position() + HEAP_CHUNK));
			}
			chunk = buffer.remaining();
			try {
				taken = channel.write(buffer);
			}
			finally {
				buffer.limit(limit);
			}
			written += taken;
		}
		while (taken == chunk && buffer.hasRemaining() && written < budget);
		return written;
	}

	/** Accepts no further frames. Bytes that wait may still be flushed. */
	public synchronized void close() {
		markClosed();
	}

	/**
	 * Accepts no further frames and discards the bytes that wait. Allocates nothing.
	 * @return how many bytes were discarded
	 */
	public synchronized long discard() {
		markClosed();
		this.corked = null;
		Waiting lost = this.waiting;
		if (lost == null) {
			return 0;
		}
		for (ByteBuffer buffer = lost.buffers.pollFirst(); buffer != null; buffer = lost.buffers.pollFirst()) {
			this.budget.release(buffer.capacity());
		}
		this.waiting = null;
		return lost.bytes;
	}

	/**
	 * How many bytes of frames have been accepted. Any thread, without the monitor.
	 * @return bytes
	 */
	public long acceptedBytes() {
		long current = (long) ACCEPTED.getOpaque(this);
		return (current < 0) ? ~current : current;
	}

	/**
	 * How many bytes wait for the socket. Any thread, without the monitor.
	 * @return bytes
	 */
	public long waitingBytes() {
		Waiting current = this.waiting;
		return (current != null) ? current.bytes : 0;
	}

	/**
	 * When the socket last accepted a byte, or enough bytes for the minimum rate, if
	 * bytes wait. Any thread, without the monitor.
	 * @param otherwise the result if no bytes wait
	 * @return {@link System#nanoTime()}
	 */
	public long progressNanos(long otherwise) {
		Waiting current = this.waiting;
		return (current != null) ? current.progressNanos : otherwise;
	}

}
